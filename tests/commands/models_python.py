"""Run by models_python.sh in an empty folder: models_python.py HOLDFAST TOOLS."""

import dataclasses
import json
import os
import subprocess
import sys

import h5py
import numpy as np

holdfast, tools = sys.argv[1:]
sys.path.insert(0, tools)
import halves  # noqa: E402
from holdfast import layers as network_layers, models, runs  # noqa: E402

random = np.random.default_rng(7)
FEATURES = 5
CASES = [(hidden, classes, loss) for hidden in ([], [7], [6, 4]) for classes, loss in ((2, "binary_cross_entropy"), (2, "hinge"), (2, "cross_entropy"), (4, "cross_entropy"), (2, "huber"), (2, "one_vs_rest"), (4, "one_vs_rest"))]


def model_of(hidden, classes, loss, **fields):
    """With parameters of up to 53 bits and more, as training makes them."""
    widths = [FEATURES, *hidden, 1 if models.ONE_LOGIT[loss] else classes]
    units = [random.integers(-(2**50), 2**50, (rows, width + 1)) for width, rows in zip(widths, widths[1:])]
    units[0][0, 0] = 2**60 - 1  # no double
    return models.Model(units, classes, loss, **fields)


def dataset(path, features, labels):
    with h5py.File(path, "w") as file:
        file["x_test"], file["y_test"] = features, labels


def seal(path):
    with open(path, "r+b") as file:
        file.write(models.seal_of(file, file.seek(0, os.SEEK_END)))


def run(job, *words):
    done = subprocess.run([holdfast, job, "--quiet", *words], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr)
    return done.stdout


def predict(*words):
    return run("predict", *words)


def scores(path, queries):
    lines = predict("--model", path, "--queries", queries, "--scores").splitlines()[1:]
    table = np.array([[float(entry) for entry in line.split(",")] for line in lines])
    return table[:, 0].astype(int), table[:, 1:]


def close(one, other, tolerance=1e-12):
    return np.allclose(one, other, rtol=tolerance, atol=tolerance * np.abs(other).max())


def refused(words, action, *arguments, **named):
    try:
        action(*arguments, **named)
    except (models.ModelError, RuntimeError) as error:
        assert words in str(error), error
        return
    raise AssertionError(f"accepted, though {words}")


features = random.normal(size=(100, FEATURES)) * 2
dataset("queries.h5", features, random.integers(0, 2, 100))


def test_predict_gives_numpys_numbers():
    for number, (hidden, classes, loss) in enumerate(CASES):
        model = model_of(hidden, classes, loss, shift=0.25, scale=1.5, range=(-1.0, 2.5))
        path = f"case_{number}.h5"
        digest = models.write_model(path, model)
        labels, logits = scores(path, "queries.h5")
        assert close(logits, model.logits(features)) and (labels == model.labels(features)).all(), path
        back = models.read_model(path)
        assert all((one == other).all() for one, other in zip(back.units, model.units))
        assert back.description() == model.description()
        said = json.loads(predict("--model", path, "--queries", "queries.h5", "--json", "--scores"))
        assert said["model"] == digest and said["guarantee"]["status"] == "not differentially private", said
        assert said["labels"] == list(labels) and np.array_equal(said["logits"], logits)


def test_published_models_are_read():
    data = ["--data", "blobs.h5", "--ledger", "ledger.db"]
    run("synth", "blobs", "--records", "200", "--test", "50", "--out", "blobs.h5")
    run("account", *data, "--budget", "1", "--budget-delta", "1e-5")
    run("train", *data, "--out", "run", *(f"--set={setting}" for setting in ("training.kind=noisy", "clip.kind=norm", "network.hidden=[8]")))
    run("publish", "--run", "run", "--ledger", "ledger.db", "--out", "published.h5")
    model = models.read_model("published.h5")
    with h5py.File("blobs.h5") as file:
        labels, logits = scores("published.h5", "blobs.h5")
        assert close(logits, model.logits(file["x_test"][...])) and len(labels) == 50
    assert (model.kind, model.cost["epsilon"], model.guarantee["status"]) == ("noisy", 1, "proved")
    with h5py.File("published.h5") as file:
        for layer in range(2):
            assert (file[f"layer_{layer}/weight"][...] == model.weight(layer)).all()
            assert (file[f"layer_{layer}/bias"][...] == model.bias(layer)).all()


def test_published_models_with_bins_are_read():
    data = ["--data", "bins.h5", "--ledger", "bins.db"]
    run("synth", "blobs", "--records", "200", "--test", "50", "--out", "bins.h5")
    run("account", *data, "--budget", "1", "--budget-delta", "1e-5")
    bins = ("features.map=bins", "features.edges=[-0.5,0,0.5,1]", "features.pairs=[0,1]", "features.hot=0.5", "network.input_shift=0.5")
    run("train", *data, "--out", "mapped", *(f"--set={setting}" for setting in ("training.kind=noisy", "clip.kind=norm", "network.hidden=[]", *bins)))
    run("publish", "--run", "mapped", "--ledger", "bins.db", "--out", "mapped.h5")
    model = models.read_model("mapped.h5")
    with h5py.File("bins.h5") as file:
        queries = file["x_test"][...]
    labels, logits = scores("mapped.h5", "bins.h5")
    assert close(logits, model.logits(queries), 1e-6) and (labels == model.labels(queries)).all()
    assert model.units[0].shape == (1, 6 + 6 * 5 + 25 + 1) and models.write_model("again.h5", model)
    assert predict("--model", "again.h5", "--queries", "bins.h5", "--scores") == predict("--model", "mapped.h5", "--queries", "bins.h5", "--scores")
    refused("mapped()", models.affine, model)
    refused("6 columns", model.logits, queries[:, :5])


MAPS = {
    "shorter": ["features.norm_limit=0.6"],
    "columns": ["features.map=bins", "features.edges=[[0],[],[0.25,0.5],[],[0.1],[-1,0,1]]", "features.pairs=[2,5]"],
    "clipped": ["features.map=bins", "features.edges=[0,0.5]", "features.norm_limit=2", "network.input_scale=3"],
    "fourier": ["features.map=fourier", "features.frequencies=20", "features.seed=3", "network.input_shift=0.5"],
    "waves": ["features.map=fourier", "features.frequencies=7", "features.keep=false", "features.bandwidth=0.2"],
    "prefix": ["features.map=prefix", "features.prefix=public.h5"],
    "image_prefix": ["features.map=prefix", "features.prefix=image_public.h5"],
    "short_prefix": ["features.map=prefix", "features.prefix=public.h5", "features.norm_limit=1"],
}


def test_published_models_of_every_map_are_read():
    data = ["--data", "maps.h5", "--ledger", "maps.db"]
    run("synth", "blobs", "--records", "200", "--test", "50", "--out", "maps.h5")
    run("account", *data, "--budget", "9", "--budget-delta", "1e-4")
    widths = [(6, 5), (5, 4), (4, 1)]
    layers = [(random.normal(size=(rows, width)), random.normal(size=rows)) for width, rows in widths]
    models.write_model("public.h5", models.from_layers(layers, "hinge", range=(-1.0, 2.0), shift=0.25, scale=1.5))
    shapes = network_layers.shapes_of(["conv 4 2x2 padding 1", "average_pool 2x2 stride 1", "conv 2 1x2 groups 2 no_bias", "max_pool 2x2 stride 1"], 6, [1, 2, 3])
    shapes.append([network_layers.rows_out(shapes[-1]), 1])
    layers = [(random.normal(size=(4, 4)), random.normal(size=4)), (random.normal(size=(2, 4)), np.zeros(2)), (random.normal(size=(1, shapes[-1][0])), [0.0])]
    models.write_model("image_public.h5", models.from_layers(layers, "hinge", shapes=shapes, range=(-1.0, 2.0), shift=0.25, scale=1.5))
    with h5py.File("maps.h5") as file:
        queries = file["x_test"][...]
    for name, settings in MAPS.items():
        words = ["training.kind=noisy", "clip.kind=norm", "network.hidden=[12]", "training.epochs=2", *settings]
        run("train", *data, "--out", name, *(f"--set={word}" for word in words))
        run("publish", "--run", name, "--ledger", "maps.db", "--out", f"{name}.h5")
        model = models.read_model(f"{name}.h5")
        labels, logits = scores(f"{name}.h5", "maps.h5")
        assert close(logits, model.logits(queries), 1e-5) and (labels == model.labels(queries)).all(), name
        assert not close(logits, dataclasses.replace(model, units=[-layer for layer in model.units]).logits(queries), 1e-5)
        assert model.description()["version"] == (4 if name == "image_prefix" else 3)
        models.write_model(f"{name}_again.h5", model)
        answers = [predict("--model", path, "--queries", "maps.h5", "--scores") for path in (f"{name}.h5", f"{name}_again.h5")]
        assert answers[0] == answers[1], name
        with h5py.File(f"{name}.h5") as one, h5py.File(f"{name}_again.h5") as other:
            assert sorted(one) == sorted(other), name
        if model.map_units:
            model.map_units[0][0, 0] += 2**38
            models.write_model(f"{name}_other.h5", model)
            assert predict("--model", f"{name}_other.h5", "--queries", "maps.h5", "--scores") != answers[0], name


def test_published_models_of_scattered_images_are_read():
    data = ["--data", "scattered.h5", "--ledger", "scattered.db"]
    run("synth", "images", "--records", "60", "--test", "20", "--out", "scattered.h5")
    run("account", *data, "--budget", "9", "--budget-delta", "1e-4")
    words = ["training.kind=noisy", "clip.kind=norm", "network.hidden=[]", "training.epochs=2", "training.learning_rate=5", "features.map=scattering"]
    run("train", *data, "--out", "scattered", *(f"--set={word}" for word in words))
    run("publish", "--run", "scattered", "--ledger", "scattered.db", "--out", "scattered_model.h5")
    model = models.read_model("scattered_model.h5")
    with h5py.File("scattered.h5") as file:
        queries = file["x_test"][...]
    labels, logits = scores("scattered_model.h5", "scattered.h5")
    assert close(logits, model.logits(queries), 1e-4) and (labels == model.labels(queries)).all()
    assert model.description()["version"] == 6
    models.write_model("scattered_again.h5", model)
    answers = [predict("--model", path, "--queries", "scattered.h5", "--scores") for path in ("scattered_model.h5", "scattered_again.h5")]
    assert answers[0] == answers[1]


IMAGES = [
    (["conv 4 3x2 stride 2 padding 1 dilation 1", "average_pool 2x2 stride 1", "conv 6 1x2 groups 2 no_bias", "max_pool 1x2 stride 1", "flatten", "dense 5 no_bias", "dense 3"], [2, 5, 6]),
    (["conv 3 3x3 padding 1", "relu", "max_pool 3x3 stride 2 padding 1", "dropout 0.5", "conv 5 2x2 dilation 2"], [1, 8, 6]),
    (["conv 4 2x2 groups 2", "average_pool 3x3 stride 2 padding 1"], [2, 6, 6]),
    (["dense 4 no_bias"], None),
]
PIXELS = 60


def image_model(texts, image, loss="cross_entropy", classes=3):
    """With parameters of up to 53 bits and more, biases 0 where there are none."""
    shapes = network_layers.shapes_of(texts, PIXELS, image)
    rows = network_layers.rows_out(shapes[-1])
    shapes.append([rows, 1 if models.ONE_LOGIT[loss] else classes])
    units = []
    for shape in shapes:
        rows, width = (shape["out"], shape["in"]) if isinstance(shape, dict) else shape[::-1]
        units.append(random.integers(-(2**50), 2**50, (rows, width + 1)))
        if not network_layers.has_bias(shape):
            units[-1][:, -1] = 0
    return models.Model(units, classes, loss, shapes=shapes, shift=0.25, scale=1.5, range=(-1.0, 2.5))


def image_queries(model, name):
    queries = random.normal(size=(50, network_layers.rows_in(model.shapes[0]))) * 2
    dataset(name, queries, random.integers(0, 2, 50))
    return queries


def test_images_are_answered_with_numpys_numbers():
    for number, (texts, image) in enumerate(IMAGES):
        model = image_model(texts, image)
        path, data = f"image_{number}.h5", f"pixels_{number}.h5"
        digest = models.write_model(path, model)
        queries = image_queries(model, data)
        labels, logits = scores(path, data)
        assert close(logits, model.logits(queries)) and (labels == model.labels(queries)).all(), texts
        back = models.read_model(path)
        assert back.description() == model.description() and back.description()["version"] == 4
        state = models.model_to_state_dict(path)
        assert [name for name in state if name.endswith("weight")] == [f"layer_{l}.weight" for l in range(len(model.units))]
        assert ("layer_0.bias" in state) == network_layers.has_bias(model.shapes[0])
        named = {"loss": "cross_entropy", "shift": 0.25, "scale": 1.5, "range": (-1.0, 2.5)}
        models.save_state_dict(state, texts, f"again_{number}.h5", image, **named)
        again = models.read_model(f"again_{number}.h5")
        assert again.shapes == model.shapes and close(scores(f"again_{number}.h5", data)[1], logits)
        assert json.loads(predict("--model", path, "--queries", data, "--json"))["model"] == digest


def test_bad_layers_are_refused():
    for texts, words in ((["conv 4 3x3 groups 3"], "groups"), (["conv 4 9x9"], "window"), (["max_pool 2x2"], "layer 1"), (["conv"], "layer 1"), (["lstm 4"], "no layer"), (["conv 4 3x3 strid 2"], "unknown word")):
        refused(words, lambda texts=texts: models.checked(image_model(texts, [2, 5, 6]), "the model"))
    model = image_model(*IMAGES[0])
    model.units[1][0, -1] = 1
    refused("biases in a layer without", models.write_model, "biased.h5", model)
    model = image_model(*IMAGES[0])
    model.shapes[1] = {**model.shapes[1], "pooling": {**model.shapes[1]["pooling"], "image": [1, 1, 1]}}
    refused("does not fit its image", models.write_model, "misfit.h5", model)
    state = {"a.weight": np.ones((2, 3)), "b.weight": np.ones((1, 2)), "b.bias": np.ones(1)}
    refused("where network.layers and the logits have 3", models.from_state_dict, state, ["dense 2 no_bias", "dense 2"])
    refused("a bias in one of", models.from_state_dict, state, ["dense 2"])
    refused("nothing that", models.from_state_dict, {**state, "c.running_mean": np.ones(2)}, ["dense 2 no_bias"])


def test_a_network_made_elsewhere_is_trained_on_and_certified():
    texts, image = ["conv 3 3x3 stride 2 padding 1", "max_pool 2x2", "dense 4"], [1, 6, 6]
    run("synth", "images", "--side", "6", "--records", "200", "--test", "40", "--out", "strokes.h5")
    shapes = network_layers.shapes_of(texts, 36, image) + [[4, 1]]
    state = {}
    for layer, shape in enumerate(shapes):
        rows, width = (shape["out"], shape["in"]) if isinstance(shape, dict) else shape[::-1]
        state[f"{layer}.weight"], state[f"{layer}.bias"] = random.normal(size=(rows, width)) / 3, np.full(rows, 0.25)
    digest = models.save_state_dict(state, texts, "start.h5", image)
    words = (f"network.layers={json.dumps(texts)}", f"network.image={image}", "network.initial=start.h5", "certificate.levels=3", "training.epochs=2", "clip.gamma=0.01", "training.learning_rate=0.5")
    run("train", "--data", "strokes.h5", "--out", "certified", *(f"--set={word}" for word in words))
    said = runs.manifest("certified")
    assert said["configuration"]["network.initial_digest"] == digest
    assert any("network.initial" in condition for condition in said["guarantee"]["conditions"]), said["guarantee"]
    nominal = runs.boxes("certified", 0, 0)
    assert all((lower == upper).all() for lower, upper in zip(*nominal))
    moved = max(np.abs(box[:, :-1] - state[f"{layer}.weight"]).max() for layer, box in enumerate(nominal[0]))
    assert 0 < moved < 0.02, moved  # two steps of at most .5 * .01 and a seed would start elsewhere
    inner, outer = runs.boxes("certified", 0, 1), runs.boxes("certified", 0, 3)
    assert all((o <= i).all() and (i < n).all() for o, i, n in zip(outer[0], inner[0], nominal[0]))
    assert all((o >= i).all() and (i > n).all() for o, i, n in zip(outer[1], inner[1], nominal[1]))
    run("certify", "--run", "certified", "--queries", "strokes.h5:test")
    found = runs.certificates("certified")
    assert found["distance"].shape == (1, 40) and found["distance"].max() > 0 and found["guarantee"]["statement"]
    parameters = [np.rint(np.ldexp(box, models.UNIT_BITS)).astype(np.int64) for box in nominal[0]]
    trained = models.Model(parameters, 2, "binary_cross_entropy", shapes=shapes, range=(0.0, 1.0))
    with h5py.File("strokes.h5") as file:
        features = file["x_test"][...]
    assert (trained.labels(features) == found["ensemble_label"]).all()
    # Cut behind its first layer: a public prefix, and what a training behind it starts from.
    assert all((mine == theirs).all() for mine, theirs in zip(runs.parameters("certified"), parameters))
    assert runs.network("certified")["layers"] == texts
    halves.cut("certified", 1, "front.h5", "rest.h5")
    front, rest = models.read_model("front.h5"), models.read_model("rest.h5")
    between = network_layers.activated(network_layers.weighted(features, front.units[0], front.shape(0)), front.shape(0))
    assert np.allclose(rest.logits(between), trained.logits(features))
    behind = ("features.map=prefix", "features.prefix=front.h5", "features.keep=false", "network.hidden=[4]", "network.initial=rest.h5", "clip.gamma=1e-12", "training.epochs=1")
    run("train", "--data", "strokes.h5", "--out", "continued", *(f"--set={word}" for word in behind))
    run("certify", "--run", "continued", "--queries", "strokes.h5:test")
    assert (runs.certificates("continued")["ensemble_label"] == found["ensemble_label"]).all()
    refused("other layers", run, "train", "--data", "strokes.h5", "--out", "other", "--set=network.initial=start.h5")
    refused("where network.initial_digest says", run, "train", "--data", "strokes.h5", "--out", "other", *(f"--set={word}" for word in words), f"--set=network.initial_digest={'ab' * 32}")


def test_accuracy_is_that_of_the_labels():
    model = model_of([7], 2, "hinge")
    models.write_model("accuracy.h5", model)
    truth = model.labels(features)
    truth[:25] = 1 - truth[:25]
    dataset("truth.h5", features, truth)
    assert predict("--model", "accuracy.h5", "--queries", "truth.h5", "--accuracy").startswith("accuracy 0.7500 of 100 queries")


def test_bad_models_are_refused():
    model = model_of([7], 2, "hinge")
    models.write_model("kept.h5", model)
    refused("another file is there", models.write_model, "kept.h5", model)
    refused("beyond 1024", models.from_layers, [(np.full((1, 2), 1025.0), [0.0])])
    refused("beyond 1024", models.from_layers, [(np.full((1, 2), np.nan), [0.0])])
    refused("fit neither", models.from_layers, [(np.ones((3, 2)), np.ones(3)), (np.ones((2, 4)), np.ones(2))])
    refused("loss is 'exp'", models.from_layers, [(np.ones((1, 2)), [0.0])], "exp")
    refused("cannot be read", models.read_model, "none.h5")
    with open("kept.h5", "rb") as file:
        whole = file.read()
    at = whole.index(model.units[0].tobytes())
    with open("damaged.h5", "wb") as file:
        file.write(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
    refused("is damaged", models.read_model, "damaged.h5")
    refused("damaged.h5", predict, "--model", "damaged.h5", "--queries", "queries.h5")
    with h5py.File("link.h5", "w") as file:
        file["description"] = h5py.ExternalLink("kept.h5", "/description")
    seal("link.h5")
    refused("no dataset of this file", models.read_model, "link.h5")
    with h5py.File("inner.h5", "w") as file, h5py.File("kept.h5") as kept:
        for name in ("description", "digest"):
            file[name] = kept[name][...]
        file["layer_0"], file["layer_1"] = h5py.ExternalLink("kept.h5", "/layer_0"), h5py.SoftLink("/layer_0")
    seal("inner.h5")
    refused("no dataset of this file", models.read_model, "inner.h5")
    refused("not followed", predict, "--model", "inner.h5", "--queries", "queries.h5")
    for text in (b"[1]", b"{}", b'{"format":"holdfast model","version":1,"layers":[[1e9,2]]}', b"[" * 100000):
        with h5py.File("odd.h5", "w") as file:
            file["description"] = np.frombuffer(text, np.uint8)
        seal("odd.h5")
        refused("odd.h5", models.read_model, "odd.h5")
        refused("odd.h5", predict, "--model", "odd.h5", "--queries", "queries.h5")
        os.remove("odd.h5")
    refused("not followed", predict, "--model", "link.h5", "--queries", "queries.h5")


def command(*words):
    done = subprocess.run([sys.executable, "-B", "-m", "holdfast.models", *words], env={**os.environ, "PYTHONPATH": tools}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def test_the_command_line():
    model = model_of([], 2, "binary_cross_entropy", shift=0.25, scale=1.5, range=(-1.0, 2.5))
    model.units[0][0, 0] = 2**49
    models.write_model("linear.h5", model)
    assert json.loads(command("info", "linear.h5"))["parameters"] == FEATURES + 1
    assert "clip features to [-1, 2.5]" in command("to-sklearn", "linear.h5", "linear.npz")
    command("from-sklearn", "linear.npz", "folded.h5")
    clipped = np.clip(features, -1.0, 2.5)
    assert close(models.read_model("folded.h5").logits(clipped), model.logits(features))


def test_torch_gives_the_same_numbers():
    import torch
    from torch import nn

    for number, (hidden, classes, loss) in enumerate(CASES):
        model = model_of(hidden, classes, loss, shift=0.25, scale=1.5, range=(-1.0, 2.5))
        models.write_model(f"torch_{number}.h5", model)
        module = models.to_torch(model)
        with torch.no_grad():
            logits = module(torch.from_numpy(features)).numpy()
        assert close(logits, scores(f"torch_{number}.h5", "queries.h5")[1])
        for source in (module, module.state_dict()):
            back = models.from_torch(source, loss)
            assert (back.shift, back.scale, back.range) == (0.25, 1.5, (-1.0, 2.5))
            assert all((back.weight(l) == model.weight(l)).all() and (back.bias(l) == model.bias(l)).all() for l in range(len(model.units)))
    trained = nn.Sequential(nn.Linear(FEATURES, 8), nn.ReLU(), nn.Dropout(), nn.Linear(8, 3)).eval()
    models.write_model("trained.h5", models.from_torch(trained))
    with torch.no_grad():
        logits = trained.double()(torch.from_numpy(features)).numpy()
    assert close(scores("trained.h5", "queries.h5")[1], logits)
    refused("Linear and Conv2d with ReLU", models.from_torch, nn.Sequential(nn.Linear(2, 2), nn.Tanh(), nn.Linear(2, 2)))
    refused("nothing that", models.from_torch, {"0.weight": torch.ones(2, 3), "0.running_mean": torch.ones(2)})
    for number, (texts, image) in enumerate(IMAGES[:3]):
        model = image_model(texts, image)
        models.write_model(f"torch_image_{number}.h5", model)
        queries = image_queries(model, f"torch_pixels_{number}.h5")
        module = models.to_torch(model)
        with torch.no_grad():
            logits = module(torch.from_numpy(queries)).numpy()
        assert close(logits, scores(f"torch_image_{number}.h5", f"torch_pixels_{number}.h5")[1]), texts
        back = models.from_torch(module, "cross_entropy")
        assert back.shapes == model.shapes and all((back.weight(l) == model.weight(l)).all() for l in range(len(model.units)))
        names = [name for name in module.state_dict() if name.startswith("layer_")]
        state = models.model_to_state_dict(f"torch_image_{number}.h5")
        assert sorted(names) == sorted(state) and all((module.state_dict()[name].numpy() == state[name]).all() for name in names)
    net = nn.Sequential(nn.Conv2d(1, 3, 3, stride=2, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Dropout(0.1), nn.Linear(3, 2)).double().eval()
    models.write_model("net.h5", models.from_torch(net, image=[1, 4, 4]))
    dataset("small.h5", queries[:, :16], np.zeros(50, int))
    with torch.no_grad():
        assert close(scores("net.h5", "small.h5")[1], net(torch.from_numpy(queries[:, :16].reshape(-1, 1, 4, 4))).numpy())
    refused("whole strides", models.from_torch, nn.Sequential(nn.Conv2d(1, 3, 3), nn.ReLU(), nn.MaxPool2d(2, ceil_mode=True), nn.Flatten(), nn.Linear(3, 2)), image=[1, 4, 4])
    refused("without ReLU", models.from_torch, nn.Sequential(nn.Conv2d(1, 3, 3), nn.AvgPool2d(2), nn.ReLU(), nn.Flatten(), nn.Linear(3, 2)), image=[1, 4, 4])
    refused("for both sides", models.from_torch, nn.Sequential(nn.Conv2d(1, 3, 3, stride=(1, 2)), nn.ReLU(), nn.Flatten(), nn.Linear(3, 2)), image=[1, 4, 4])
    refused("BatchNorm1d is no Sequential", models.from_torch, nn.BatchNorm1d(3))
    refused("axes", models.from_torch, net.state_dict())
    command("to-torch", "torch_4.h5", "state.pt")
    command("from-torch", "state.pt", "state_again.h5")
    assert close(scores("state_again.h5", "queries.h5")[1], scores("torch_4.h5", "queries.h5")[1])
    texts, image = IMAGES[1]
    command("to-torch", "torch_image_1.h5", "pixels.pt")
    command("from-torch", "pixels.pt", "pixels_again.h5", "--layers", json.dumps(texts), "--image", json.dumps(image))
    assert close(scores("pixels_again.h5", "torch_pixels_1.h5")[1], scores("torch_image_1.h5", "torch_pixels_1.h5")[1])


def test_sklearn_gives_the_same_numbers():
    import warnings

    from sklearn.linear_model import LinearRegression, LogisticRegression
    from sklearn.multiclass import OneVsRestClassifier
    from sklearn.neural_network import MLPClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import MinMaxScaler, StandardScaler
    from sklearn.svm import LinearSVC

    warnings.simplefilter("ignore")  # of fits that have not converged: any parameters will do
    for number, (hidden, classes, loss) in enumerate(CASES):
        model = model_of(hidden, classes, loss, shift=0.25, scale=1.5, range=(-1.0, 2.5))
        if hidden:
            refused("hidden layers", models.to_sklearn, model)
            continue
        model.units[0][0, 0] = 2**49
        estimator = models.to_sklearn(model)
        models.write_model(f"sklearn_{number}.h5", model)
        labels, logits = scores(f"sklearn_{number}.h5", "queries.h5")
        clipped = np.clip(features, -1.0, 2.5)
        found = estimator.decision_function(clipped).reshape(100, -1)
        assert close(found, logits if found.shape == logits.shape else logits[:, 1:] - logits[:, :1])
        assert (estimator.predict(clipped) == labels).all()
        if loss == "one_vs_rest" and classes > 2:
            chances = 1 / (1 + np.exp(-logits))
            assert close(estimator.predict_proba(clipped), chances / chances.sum(axis=1, keepdims=True))
        if loss.endswith("cross_entropy") and classes > 2:
            powers = np.exp(logits - logits.max(axis=1, keepdims=True))
            assert close(estimator.predict_proba(clipped), powers / powers.sum(axis=1, keepdims=True))
    for classes in (2, 3):
        truth = (features[:, 0] > 0).astype(int) + (classes == 3) * (features[:, 1] > 0)
        for number, estimator in enumerate((LogisticRegression(), LinearSVC(), OneVsRestClassifier(LogisticRegression()), make_pipeline(StandardScaler(), LogisticRegression()), MLPClassifier([8, 4]), make_pipeline(StandardScaler(), MLPClassifier([6])))):
            estimator.fit(features, truth)
            path = f"fitted_{classes}_{number}.h5"
            models.write_model(path, models.from_sklearn(estimator))
            labels, logits = scores(path, "queries.h5")
            assert (labels == estimator.predict(features)).all(), path
            if hasattr(estimator, "decision_function"):
                assert close(logits, estimator.decision_function(features).reshape(100, -1)), path
    numbers = truth + random.normal(size=100)
    for number, estimator in enumerate((LinearRegression(), make_pipeline(StandardScaler(), LinearRegression()))):
        estimator.fit(features, numbers)
        path = f"regression_{number}.h5"
        models.write_model(path, models.from_sklearn(estimator))
        predictions = [float(line) for line in predict("--model", path, "--queries", "queries.h5").splitlines()]
        assert close(predictions, estimator.predict(features)), path
        assert close(models.to_sklearn(models.read_model(path)).predict(features), predictions)
    refused("class indices", models.from_sklearn, LogisticRegression().fit(features, np.where(truth > 0, "yes", "no")))
    refused("StandardScaler", models.from_sklearn, make_pipeline(MinMaxScaler(), LogisticRegression()).fit(features, truth))


def test_a_regression_predicts_numbers():
    model = model_of([7], 1, "squared_error", range=(-1.0, 2.5))
    models.write_model("numbers.h5", model)
    targets = random.normal(size=100)
    dataset("targets.h5", features, targets)
    predictions = np.array([float(line) for line in predict("--model", "numbers.h5", "--queries", "targets.h5").splitlines()])
    assert close(predictions, model.logits(features)[:, 0])
    said = json.loads(predict("--model", "numbers.h5", "--queries", "targets.h5", "--json", "--accuracy"))
    assert close(said["mean_squared_error"], np.mean((predictions - np.clip(targets, -(2.0**20), 2.0**20)) ** 2))
    assert models.read_model("numbers.h5").description() == model.description()
    refused("not labels", model.labels, features)
    refused("1 classes", models.checked, model_of([], 1, "hinge"), "a model")
    refused("2 classes", models.checked, model_of([], 2, "squared_error"), "a model")


skipped = 0
for name, test in list(globals().items()):
    if name.startswith("test_"):
        try:
            test()
        except ModuleNotFoundError as error:
            skipped += 1
            print(f"{name}: not tried, {error}")
print("predict and Python agree" + (f"; {skipped} of the tests not tried" if skipped else ""))
