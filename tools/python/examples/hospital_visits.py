# %% [markdown]
# # Hospital: who comes back, learnt from several visits a person
# A row is a visit; what is protected is a patient with all of them. Nobody has stated ranges or how many patients there
# are: both are measured under privacy, for a part of the same epsilon.

# %%
import numpy as np

import holdfast

random = np.random.default_rng(3)


def visits(patients):
    """One to four visits of each patient, and whether the patient came back after the last one."""
    count = random.integers(1, 5, patients)
    whose = np.repeat(np.arange(patients), count)
    frail = random.uniform(0, 1, patients)
    rows = {"age": np.round(30 + 50 * frail[whose] + random.normal(0, 6, len(whose))),
            "days in bed": np.round(12 * frail[whose] * random.uniform(0.6, 1, len(whose))),
            "drugs": random.integers(0, 9, len(whose))}
    return rows, (frail + random.normal(0, 0.15, patients) > 0.5).astype(int)[whose], whose


# %% Four visits of a patient at most, a public number; of who has more, four are kept.
table, back, whose = visits(4000)
model = holdfast.PrivateClassifier(3, classes=[0, 1], rows_at_most=4, population="hospital-2024", ledger="hospital.ledger")
model.fit(table, back, ids=whose)
print(model.guarantee_["status"], model.guarantee_["statement"])

# %% Patients of another year.
new, later, _ = visits(1000)
accuracy = model.score(new, later)
print(f"{accuracy:.3f} of {len(later)} visits right, beside {max(later.mean(), 1 - later.mean()):.3f} by the commoner answer")

# %% What it cost each patient, measuring included, however often they came.
spent = holdfast.Ledger("hospital.ledger").spent("hospital-2024")
print(spent["spent_epsilon"], "of", spent["budget_epsilon"])
assert accuracy > 0.7 and spent["spent_epsilon"] <= 3
