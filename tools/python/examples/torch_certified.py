# %% [markdown]
# # A PyTorch network, certified here
# A network that PyTorch trained becomes a model file. Of every query is then proved how far it may move until the answer could
# change, every rounding included; attacks that know all parameters are held against that.

# %%
import csv

import numpy as np
import torch

import holdfast
from holdfast import models

random = np.random.default_rng(5)
torch.manual_seed(5)


def points(count):
    X = random.uniform(0, 1, (count, 4))
    return X, (X[:, 0] + X[:, 1] ** 2 > 0.8).astype(int)


# %% Trained there.
X, y = points(2000)
network = torch.nn.Sequential(torch.nn.Linear(4, 16), torch.nn.ReLU(), torch.nn.Linear(16, 2)).double()
optimiser = torch.optim.Adam(network.parameters(), lr=0.02)
for _ in range(200):
    optimiser.zero_grad()
    torch.nn.functional.cross_entropy(network(torch.tensor(X)), torch.tensor(y)).backward()
    optimiser.step()
models.write_model("network.h5", models.from_torch(network))

# %% Certified here: every feature may move by so much.
asked, truth = points(300)
np.save("asked.npy", asked)
np.save("truth.npy", truth)
holdfast.run("import", "asked.npy", "--labels", "truth.npy", "--scale", "*=0:1", "--out", "asked.h5")
found = holdfast.run("certify", "--model", "network.h5", "--queries", "asked.h5:train", "--input-radius", "0.01,0.05", "--attack", "pgd,margin", "--out", "radii.csv")
for row in found["radii"]:
    print(f"within {row['radius']}: {row['certified']:.2f} proved right, {row['robust']:.2f} right whatever was tried")

# %% PyTorch gives the same answers, and keeps them within each query's own radius.
with open("radii.csv", encoding="utf-8") as file:
    rows = list(csv.DictReader(file))
labels, radii = (np.array([float(row[name]) for row in rows]) for name in ("label", "radius"))


def answers(values):
    return network(torch.tensor(values)).argmax(dim=1).numpy()


moved = asked + random.uniform(-1, 1, asked.shape) * radii[:, None]
print(f"{(labels == truth).mean():.3f} right; half of the answers stand any move by {np.median(radii):.3f}")
assert (answers(asked) == labels).all() and (answers(moved) == labels).all() and np.median(radii) >= 0.05
