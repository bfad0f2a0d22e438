# %% [markdown]
# # An ensemble trained in slices, read back in pandas
# On a cluster `slurm/submit` trains an ensemble as an array job: each task a slice of its members, all into one folder.
# Here two tasks stand for the array. What the folder holds then is read in numpy or pandas; it is its owner's alone.

# %%
import holdfast
from holdfast import runs

holdfast.run("synth", "blobs", "--records", 4000, "--test", 200, "--population", "crowd", "--seed", 5, "--out", "crowd.h5")
settings = {"network.hidden": "[8]", "ensemble.members": 8, "certificate.levels": 4, "training.epochs": 2, "training.expected_records": 4000}
options = [word for name, value in settings.items() for word in ("--set", f"{name}={value}")]

# %% Each task of the array would be one of these, on a node of its own.
for members in ("0:4", "4:8"):
    holdfast.run("train", "--data", "crowd.h5", "--out", "crowd", "--members", members, *options)

# %% Distances of every member, and of the vote.
holdfast.run("certify", "--run", "crowd", "--queries", "crowd.h5:test")
found = runs.certificates("crowd")
print("queries that stand one record, by member:", (found["distance"] >= 1).mean(axis=1).round(2))
votes = found["ensemble_distance"]
print(f"by the vote of {len(found['distance'])}: {(votes >= 1).mean():.2f}; median distance {int(sorted(votes)[len(votes) // 2])}")
try:
    table = runs.frame("crowd")
    print(table.groupby("label")["distance"].describe())
except ImportError:
    print("(pandas is not installed)")

# %% Boxes of one member: where its parameters may lie, were two records others.
lower, upper = runs.boxes("crowd", member=7, k=2)
print("widths by layer:", [float((high - low).max()) for low, high in zip(lower, upper)])
assert all((low <= high).all() for low, high in zip(lower, upper)) and (votes >= 1).mean() > 0.5
