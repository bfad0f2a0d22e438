# %% [markdown]
# # Poisoned votes: answers that a few bad records cannot turn
# Whoever can put records into a table may want an answer changed. Two remedies: boxes around one network, which say what any
# k records could do to it; and a vote of networks that learn from disjoint parts, of which a record is in one alone.

# %%
import numpy as np

import holdfast

random = np.random.default_rng(4)
X = random.uniform(-1, 1, (3000, 6))
y = (X[:, :3].sum(axis=1) + random.normal(0, 0.3, 3000) > 0).astype(int)
asked = random.uniform(-1, 1, (300, 6))
stated = dict(schema=(-1, 1), classes=[0, 1], expected_persons=3000, population="uploads", columns="coordinates")

# %% One network, and a vote of thirty with boxes of their own. On few signed columns one network stands more.
ids = np.arange(3000)
alone = holdfast.CertifiedClassifier(levels=60, **stated).fit(X, y, ids=ids)
votes = holdfast.CertifiedClassifier(levels=1, configuration={"ensemble.members": 30}, **stated).fit(X, y, ids=ids)
for k in (1, 5, 10):
    print(f"{k:3} records: {alone.certified(asked, k).mean():.2f} of the answers stand by one network, {votes.certified(asked, k).mean():.2f} by votes")

# %% A table that somebody has added five records to: the answers that stand five are what they were.
bad = random.uniform(-1, 1, (5, 6))
poisoned = holdfast.CertifiedClassifier(levels=1, configuration={"ensemble.members": 30}, **stated).fit(
    np.vstack([X, bad]), np.append(y, (bad[:, :3].sum(axis=1) < 0).astype(int)), ids=np.arange(3005))
stand = votes.certified(asked, 5)
assert (votes.predict(asked) == poisoned.predict(asked))[stand].all() and stand.mean() > 0.5
