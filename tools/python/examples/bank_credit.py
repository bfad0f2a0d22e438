# %% [markdown]
# # Bank credit: a model for every branch
# Customers with numbers, categories, dates and gaps; what anybody may know of them is a schema. The model goes to all
# branches, whatever they ask it; the ledger says what it cost the customers.

# %%
import numpy as np

import holdfast

random = np.random.default_rng(1)


def customers(count):
    income, home = random.uniform(5, 95, count), random.choice(["rent", "own", ""], count)
    since = np.datetime64("2020-01-01") + random.integers(0, 1500, count)
    bad = income + np.where(home == "own", 20, 0) + random.normal(0, 8, count) < 50
    table = {"income": income, "home": home, "since": [str(day) for day in since], "number": [f"K{place}" for place in range(count)]}
    return table, np.where(bad, "default", "paid")


# %% What anybody may know: from books, not from the table.
schema = holdfast.Schema.from_public({"income": (0, 100)}, {"home": ["rent", "own", ""]}, classes=["paid", "default"])
schema["column"].append({"name": "since", "type": "date", "format": "%Y-%m-%d", "range": ["2020-01-01", "2024-12-31"]})

# %% One model for epsilon 1, out of 3 for all models of these customers.
table, outcome = customers(2000)
model = holdfast.PrivateClassifier(1, schema=schema, expected_persons=2000, ids="number", population="customers-2024",
                                   ledger="credit.ledger", budget=(3, 1e-4)).fit(table, outcome)
print(model.guarantee_["status"])
print(model.explain())

# %% A branch has the file, and customers of its own, with columns in another order.
model.save("credit.h5")
branch = holdfast.PrivateClassifier.load("credit.h5")
new, later = customers(500)
accuracy = branch.score(dict(reversed(new.items())), later)
print(f"{accuracy:.3f} of 500 new customers right")

# %% What may be published of it, and what is left.
ledger = holdfast.Ledger("credit.ledger")
spent = ledger.spent("customers-2024")
print(spent["spent_epsilon"], "of", spent["budget_epsilon"])
assert model.guarantee_["status"] == "proved" and accuracy > 0.8 and spent["spent_epsilon"] == 1
