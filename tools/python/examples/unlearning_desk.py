# %% [markdown]
# # Unlearning desk: somebody asks to be forgotten
# Which answers stay as they are is known beforehand; then the run becomes what it were had they never come.

# %%
import numpy as np

import holdfast

random = np.random.default_rng(2)
X = random.uniform(0, 10, (500, 4))
y = (X[:, 0] + X[:, 1] + random.normal(0, 1, 500) > 10).astype(int)
asked = random.uniform(0, 10, (200, 4))

# %% Neighbours are tables with some records more or less.
model = holdfast.CertifiedClassifier(schema=(0, 10), classes=[0, 1], expected_persons=500, population="patients").fit(X, y, ids=np.arange(500))
print(model.guarantee_["status"], model.guarantee_["statement"])

# %% Before: answers that stand any two removals.
before, sure = model.predict(asked), model.certified(asked, 2)
print(f"{sure.mean():.2f} of the answers stay, whoever the two are")

# %% After: nothing else may have changed, and the records are gone.
model.forget([7, 421])
after = model.predict(asked)
print((before != after).sum(), "answers changed")
assert (before == after)[sure].all() and sure.any()

# %% Who asks again is gone already, and who never came is not known.
assert (model.forget([7]).predict(asked) == after).all()
try:
    model.forget([12345])
except holdfast.InputError as error:
    print(error)
