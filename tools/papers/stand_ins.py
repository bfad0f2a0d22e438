"""Data that several papers ask about, and trainings on them."""

from entries import HALVES, OUT, rounded

SIX = "x1,x2,x1^2,x2^2,x1^3,x2^3"  # columns of blobs
CLUSTERS = {"separable": ("--centre", 1.25, "--spread", 0.35), "overlapping": ("--centre", 1, "--spread",
    0.75)}  # of the package
# A public half teaches a network of convolutions; what is behind its first layers is trained with boxes on the private half.
TAUGHT = {"network.image": "[1,28,28]", "network.layers": '["conv 16 4x4 stride 2","conv 32 4x4","dense 100"]',
          "network.input_shift": 0.5, "network.input_scale": 2, "training.epochs": 40, "training.batches": 8,
          "training.learning_rate": 0.1, "training.momentum": 0.9, "clip.gamma": 1000, "certificate.levels": 0}
REVIEWS = {"network.hidden": [100], "network.input_shift": 0.5, "network.input_scale": 4}
# What the text prints; what the scripts of the package add to it; what was chosen on a public half (own Settings).
PRINTED = {"pneumoniamnist": {"training.epochs": 4, "training.learning_rate": 0.06, "training.learning_rate_decay": 0.5,
                              "clip.gamma": 1},
           "imdb_lsa100": {"training.epochs": 3, "training.learning_rate": 0.2, "training.learning_rate_decay": 0.5,
                           "clip.gamma": 0.04}}
SCRIPTS = {"pneumoniamnist": {"training.momentum": 0.95, "training.nesterov": True, "clip.gamma": 0.9},
           "imdb_lsa100": {"training.momentum": 0.99, "training.dampening": 0.3}}
OWN = {"pneumoniamnist": {"training.epochs": 4, "training.batches": 1, "training.learning_rate": 4, "clip.gamma": 0.1},
       "imdb_lsa100": {"training.epochs": 1, "training.batches": 1, "training.learning_rate": 256, "clip.gamma": 0.005}}
WAYS = ("as printed", "as its scripts", "own")


def blobs(here, kind="separable", records=3000, test=1000, *words):
    return here.made("synth", "blobs", *CLUSTERS[kind], "--records", records, "--test", test, "--seed", 1, "--out", OUT, *words)


def map_of(here, run, span, side):
    """(distances, labels) of a run over the plane: [side][side], rows from below."""
    at = [span * (2 * place + 1 - side) / side for place in range(side)]
    grid = here.file(SIX + "\n" + "".join(f"{x},{y},{x * x},{y * y},{x**3},{y**3}\n" for y in at for x in at))
    asked = here.made("import", grid, "--format", "csv", "--no-labels", "--out", OUT)
    found = here.steps(["certify", "--run", run, "--queries", (asked, ":train")],
                       ["python", "-c", "import json, sys; from holdfast import runs; found = runs.certificates(sys.argv[1]); "
                        "print(json.dumps("
                        "[found['distance'][0].tolist(), found['label'][0].tolist()]))", run]).answer
    return [[values[row * side:(row + 1) * side] for row in range(side)] for values in found]


def halves(here, name):
    """{part: dataset}: public, private, and of the public half prefix and stand_in; which a record falls into follows from
    its place in the file alone."""
    parts = ("public", "private", "prefix", "stand_in")
    dealt = here.steps(["python", HALVES, "part", here.table(name), *((OUT, f"/{part}.h5") for part in parts)])
    return {part: here.made("import", (dealt, f"/{part}.h5"), "--out", OUT, "--population", name, "--source-scaling", "public")
            for part in parts}


def behind(here, name, data, way):
    """The settings of the network that is trained: behind what a public half taught, of images."""
    if name != "pneumoniamnist":
        return REVIEWS
    kept = 3 if way == "own" else 2  # the last layer from a seed, or both dense ones from where the public training left them
    epochs = {"training.epochs": here.small(TAUGHT["training.epochs"], 1)}
    taught = here.trained(data, {**TAUGHT, **epochs, "training.expected_records": rounded(data.answer["rows"]["train"])})
    cut = here.steps(["python", HALVES, "cut", taught, kept, (OUT, "/prefix.h5"), (OUT, "/rest.h5")])
    network = {"network.hidden": [] if way == "own" else [100], "features.map": "prefix",
               "features.prefix": (cut, "/prefix.h5"), "features.keep": False}
    return network if way == "own" else {**network, "network.initial": (cut, "/rest.h5")}


def fine_tuned(here, name, way, relation="add_remove", levels=None, **changed):
    """(run, private half); changed: settings, a double underscore for the point."""
    parts = halves(here, name)
    rows = parts["private"].answer["rows"]["train"]
    steps = OWN[name] if way == "own" else {
        **PRINTED[name], **(SCRIPTS[name] if way == "as its scripts" else {}), "training.batching": "sequential",
        "training.batch_size": rows,
        "training.batches": 1, "training.normalise": "actual", "certificate.budget": "per_batch"}
    boxes = {"certificate.level_list": levels} if levels else {"certificate.levels": here.small(50, 5)}
    return here.trained(parts["private"], {
        **behind(here, name, parts["public"], way), **steps, "training.expected_records": rounded(rows),
        # the published boxes replace records
        "certificate.relation": "substitute" if way != "own" and relation == "add_remove" else relation,
        **boxes, **{key.replace("__", "."): value for key, value in changed.items()}}), parts["private"]
