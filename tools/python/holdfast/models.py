"""Model files of Holdfast (models/nets/model_file.hpp) from and to numpy, PyTorch and scikit-learn.

    python3 -m holdfast.models info MODEL.h5                      what the file says of itself
    python3 -m holdfast.models to-torch MODEL.h5 STATE.pt         the state_dict of to_torch(model)
    python3 -m holdfast.models from-torch STATE.pt MODEL.h5       of Linear layers with ReLU between them
    python3 -m holdfast.models to-sklearn MODEL.h5 ARRAYS.npz     coef_, intercept_, classes_ of to_sklearn(model)
    python3 -m holdfast.models from-sklearn ARRAYS.npz MODEL.h5   of coef_ and intercept_

Files are read as numbers alone: no pickle is ever loaded. In a program of your own, to_torch() and to_sklearn() give
modules and estimators, from_torch() and from_sklearn() take them. Needs numpy and h5py; torch and scikit-learn where
they are named.

A model from elsewhere is not differentially private, and its file says so. Whatever program trained it, `holdfast
predict` answers with it.
"""

import argparse
import dataclasses
import hashlib
import json
import os
import signal
import sys
import tempfile

import h5py
import numpy as np

from . import features as feature_maps
from . import layers as network_layers
from . import schema as schemas

ModelError = network_layers.ModelError
UNIT_BITS = network_layers.UNIT_BITS  # parameters are integers times 2^-50,
LIMIT = 1 << 60  # of at most 1024
ONE_LOGIT = {"binary_cross_entropy": True, "hinge": True, "huber": True, "cross_entropy": False, "one_vs_rest": False, "squared_error": True}
NO_RANGE = (-float(np.finfo(np.float64).max), float(np.finfo(np.float64).max))
DESCRIPTION = ("layers", "classes", "loss", "input", "precision", "kind", "program", "program_version", "guarantee", "cost")

NOT_PRIVATE = {
    "status": "not differentially private",
    "statement": "a model from elsewhere",
    "gap": "nothing is known of how it was trained",
    "relation": "",
    "conditions": [],
}


@dataclasses.dataclass
class Model:
    """Layers with ReLU between them, of (clamp(feature; range) - shift) * scale."""

    units: list  # of each layer: int64 [out, in + 1], the bias last in its row, in units of 2^-50
    classes: int
    loss: str
    shift: float = 0.0
    scale: float = 1.0
    range: tuple = NO_RANGE
    precision: str = "double"
    kind: str = "elsewhere"
    program: str = "unknown"
    program_version: str = ""
    guarantee: dict = dataclasses.field(default_factory=lambda: dict(NOT_PRIVATE))
    cost: dict | None = None
    features: dict | None = None  # what a record becomes first, as the file's description says it
    map_units: list = dataclasses.field(default_factory=list)  # of Fourier features [frequencies]; of a prefix, as units
    shapes: list | None = None  # of each layer, as layers.py says; None: all dense, with biases
    schema: dict | None = None  # what the columns of a table are; None: not known

    def shape(self, layer):
        rows, columns = self.units[layer].shape
        return self.shapes[layer] if self.shapes else [columns - 1, rows]

    def table(self, frame):
        """float64 [n, features] of a DataFrame or {column: values}, by the columns' names: what the model takes.

        ModelError: columns, categories or values that it does not know, by row and counted.
        """
        if self.schema is None:
            raise ModelError("the model does not know the names of its columns: give it features")
        return schemas.features_of(self.schema, frame)

    def class_names(self):
        """Of labels 0, 1, …, as the table has them."""
        return (self.schema or {}).get("classes") or [str(label) for label in range(self.classes)]

    def mapped(self, features):
        """float64 [n, entries]: what the first layer's clamp, shift and scale take; without a map the features."""
        values = np.asarray(features, np.float64)
        return values if self.features is None else feature_maps.mapped(values, self.features, self.map_units)

    def weight(self, layer):
        """float64 [out, in]: the nearest doubles."""
        return network_layers.rounded(self.units[layer])[:, :-1]

    def bias(self, layer):
        """float64 [out]"""
        return network_layers.rounded(self.units[layer])[:, -1]

    def logits(self, features):
        """float64 [n, outputs]; up to rounding what `holdfast predict --scores` gives in double precision."""
        values = (np.clip(self.mapped(features), *self.range) - self.shift) * self.scale
        for layer, units in enumerate(self.units):
            values = network_layers.activated(values, self.shape(layer - 1)) if layer else values
            values = network_layers.weighted(values, units, self.shape(layer))
        return values

    def labels(self, features):
        """int [n]; where two logits agree up to rounding, `holdfast predict` decides more finely."""
        logits = self.logits(features)
        if self.loss == "squared_error":
            raise ModelError("a regression gives numbers, not labels: they are its logits")
        return (logits[:, 0] > 0).astype(int) if ONE_LOGIT[self.loss] else logits.argmax(axis=1)

    def version(self):
        """The oldest that says all."""
        features = self.features or {}
        if features.get("map") == "scattering":
            return 6
        if self.schema is not None:
            return 5
        if any(isinstance(shape, dict) for shape in [*(self.shapes or []), *features.get("prefix", {}).get("layers", [])]):
            return 4
        return 1 if self.features is None else 3 if "map" in features else 2

    def description(self):
        return {
            "format": "holdfast model",
            "version": self.version(),
            "layers": [self.shape(layer) for layer in range(len(self.units))],
            "classes": self.classes,
            "loss": self.loss,
            "input": {"shift": self.shift, "scale": self.scale, "range": list(self.range)},
            "precision": self.precision,
            "kind": self.kind,
            "program": self.program,
            "program_version": self.program_version,
            "guarantee": self.guarantee,
            "cost": self.cost,
            **({} if self.features is None else {"features": self.features}),
            **({} if self.schema is None else {"schema": self.schema}),
        }


def units_of(weight, bias, where):
    """The integers nearest to a layer's parameters: int64 [out, in + 1]."""
    parameters = np.column_stack([np.asarray(weight, np.float64), np.asarray(bias, np.float64)])
    largest = np.abs(parameters).max() if np.isfinite(parameters).all() else np.inf
    if not largest <= LIMIT >> UNIT_BITS:
        raise ModelError(f"{where}: a parameter of size {largest:g}, beyond 1024: scale the features or the layers")
    return np.rint(np.ldexp(parameters, UNIT_BITS)).astype(np.int64)


def digest_of(description, units):
    digest = hashlib.blake2b(description, digest_size=32)
    for layer in units:
        digest.update(np.ascontiguousarray(layer, "<i8").tobytes())
    return digest.hexdigest()


def checked(model, where):
    """The model, whose layers fit each other, its loss and its classes."""
    if model.loss not in ONE_LOGIT:
        raise ModelError(f"{where}: loss is {model.loss!r}, not one of {', '.join(ONE_LOGIT)}")
    shapes = [model.shape(layer) for layer in range(len(model.units))]
    for shape, units in zip(shapes, model.units):
        problem = network_layers.problem_of(shape, units)
        if problem:
            raise ModelError(f"{where}: {problem}")
    taken = [network_layers.rows_in(shape) for shape in shapes] + [1 if ONE_LOGIT[model.loss] else model.classes]
    if not shapes or taken[1:] != [network_layers.rows_out(shape) for shape in shapes]:
        raise ModelError(f"{where}: layers {[layer.shape for layer in model.units]} fit neither each other nor the loss")
    least, most = (1, 1) if model.loss == "squared_error" else (2, 2 if ONE_LOGIT[model.loss] else 1000)
    if not least <= model.classes <= most:
        raise ModelError(f"{where}: {model.classes} classes with loss {model.loss}")
    low, high = model.range
    if not (np.isfinite([model.shift, model.scale, low, high]).all() and model.scale > 0 and low < high):
        raise ModelError(f"{where}: no input transform: shift {model.shift}, scale {model.scale}, range {model.range}")
    return model


def read_model(path):
    """The Model of a file. ModelError: it is none, damaged, of a newer version, or contradicts itself."""
    try:
        require_seal(path)
        with h5py.File(path, "r") as file:
            return model_in(file, path)
    except ModelError:
        raise
    except KeyError as error:
        raise ModelError(f"{path}: is no model of holdfast: {error}") from error
    except (OSError, ValueError, TypeError, RecursionError) as error:
        raise ModelError(f"{path}: cannot be read: {error}") from error


BLOCK, SEAL = 4 << 20, b"HOLDFAST-SEAL-1\n"


def seal_of(file, size):
    """What ends a sealed file of so many bytes before it: dist/files/seal.hpp."""
    file.seek(0)
    blocks = b"".join(hashlib.blake2b(file.read(min(BLOCK, size - at)), digest_size=32).digest() for at in range(0, size, BLOCK))
    foot = SEAL + size.to_bytes(8, "little")
    return blocks + foot + hashlib.blake2b(blocks + foot, digest_size=32).digest()


def require_seal(path):
    with open(path, "rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - 56))
        foot = file.read()
        sealed = int.from_bytes(foot[16:24], "little")
        if not foot.startswith(SEAL) or sealed > size:
            raise ModelError(f"{path}: does not end with a seal: fetch or publish it again")
        seal = seal_of(file, sealed)
        file.seek(sealed)
        if file.read() != seal:
            raise ModelError(f"{path}: is damaged: fetch or publish it again")


def model_in(file, path):
    text = bytes(values(file, "description", np.uint8))
    description = json.loads(text)
    if description["format"] != "holdfast model":
        raise ModelError(f"{path}: is no model of holdfast")
    if description["version"] not in range(1, 7):
        raise ModelError(f"{path}: a model of version {description['version']}; this program reads 1 to 6")
    units = layers_in(file, "layer", description["layers"])
    map_units = map_units_in(file, description.get("features", {}))
    if bytes(values(file, "digest", np.uint8)).decode() != digest_of(text, map_units + units):
        raise ModelError(f"{path}: its digest is another: fetch or publish it again")
    fields = {name: description[name] for name in DESCRIPTION if name not in ("layers", "input")}
    if "features" in description:
        fields.update(features=description["features"], map_units=map_units)
    if "schema" in description:
        fields.update(schema=description["schema"])
    if any(isinstance(shape, dict) for shape in description["layers"]):
        fields.update(shapes=description["layers"])
    given = description["input"]
    return checked(Model(units, shift=given["shift"], scale=given["scale"], range=tuple(given["range"]), **fields), path)


def layers_in(file, whose, layers):
    sizes = [(shape["in"], shape["out"]) if isinstance(shape, dict) else shape for shape in layers]
    return [values(file, f"{whose}_{number}/units", np.int64, (rows, width + 1)) for number, (width, rows) in enumerate(sizes)]


def map_units_in(file, features):
    if features.get("map") == "fourier":
        return [values(file, "frequencies", np.int64, (features["frequencies"], features["columns"]))]
    return layers_in(file, "prefix", features["prefix"]["layers"]) if features.get("map") == "prefix" else []


def values(file, name, dtype, shape=None):
    """A whole dataset of the file itself: a link may lead to another one, and a shape promise more than is there."""
    found = file
    for part in name.split("/"):
        if not isinstance(found, h5py.Group) or not isinstance(found.get(part, getlink=True), h5py.HardLink):
            raise ModelError(f"{file.filename}: '{name}' is no dataset of this file")
        found = found[part]
    if not isinstance(found, h5py.Dataset) or found.external or found.is_virtual:
        raise ModelError(f"{file.filename}: '{name}' is no dataset of this file")
    if found.dtype != dtype or found.shape != (shape or (found.size,)) or found.nbytes > os.path.getsize(file.filename):
        raise ModelError(f"{file.filename}: '{name}' has another type or shape than the description says")
    return found[...]


def write_model(path, model):
    """Writes the file, complete or not at all, and replaces none; returns its digest."""
    description = json.dumps(checked(model, path).description(), sort_keys=True, allow_nan=False).encode()
    digest = digest_of(description, model.map_units + model.units)
    with tempfile.TemporaryDirectory(dir=os.path.dirname(os.path.abspath(path))) as folder:
        partial = os.path.join(folder, "model.h5")
        with h5py.File(partial, "w") as file:
            for name, text in (("description", description), ("digest", digest.encode())):
                file.create_dataset(name, data=np.frombuffer(text, np.uint8))
            if model.features and model.features.get("map") == "fourier":
                file.create_dataset("frequencies", data=model.map_units[0], dtype="<i8")
            else:
                write_layers(file, "prefix", model.map_units)
            write_layers(file, "layer", model.units)
        with open(partial, "r+b") as file:
            file.write(seal_of(file, file.seek(0, os.SEEK_END)))
        try:
            os.link(partial, path)
        except FileExistsError:
            raise ModelError(f"{path}: another file is there, and is kept") from None
    return digest


def write_layers(file, whose, layers):
    for number, units in enumerate(layers):
        both = network_layers.rounded(units)
        for name, part, dtype in (("units", units, "<i8"), ("weight", both[:, :-1], "<f8"), ("bias", both[:, -1], "<f8")):
            file.create_dataset(f"{whose}_{number}/{name}", data=part, dtype=dtype)


def from_layers(layers, loss=None, **fields):
    """A model of (weight [out, in], bias [out]) of each layer; without a loss, that of as many outputs.

    fields: shapes, of layers that are not all dense (layers.py).
    """
    units = [units_of(weight, bias, f"layer {layer}") for layer, (weight, bias) in enumerate(layers)]
    outputs = units[-1].shape[0] if units else 0
    loss = loss or ("binary_cross_entropy" if outputs == 1 else "cross_entropy")
    classes = 1 if loss == "squared_error" else 2 if outputs == 1 else outputs  # 1: a regression
    return checked(Model(units, classes, loss, **fields), "the model")


def arrays_of(state):
    """A state_dict, of torch or numpy, as float64 arrays."""
    return {name: np.asarray(value.detach().cpu() if hasattr(value, "detach") else value, np.float64) for name, value in state.items()}


def model_to_state_dict(path):
    """{"layer_0.weight": …} of a model file, numpy float64: to_torch()'s names, a convolution's [out, in, height, width]."""
    model, state = read_model(path), {}
    for layer in range(len(model.units)):
        shape, convolution = model.shape(layer), network_layers.part(model.shape(layer), "convolution")
        weight = model.weight(layer)
        sides = [convolution["image"][0] // convolution["groups"], *convolution["window"]] if convolution else weight.shape[1:]
        state[f"layer_{layer}.weight"] = weight.reshape(len(weight), *sides)
        if network_layers.has_bias(shape):
            state[f"layer_{layer}.bias"] = model.bias(layer)
    return state


def from_state_dict(state, layers, image=None, loss=None, **fields):
    """A model of a state_dict's weights and biases, in their order. layers: the texts of network.layers, as there without
    the last one to the logits."""
    state, pairs = arrays_of(state), []
    for name in [name for name in state if name.endswith("weight")]:
        weight = state.pop(name)
        pairs.append((weight.reshape(len(weight), -1), state.pop(name[: -len("weight")] + "bias", None)))
    if state:
        raise ModelError(f"{', '.join(state)}: nothing that a dense layer or a convolution has")
    shapes = network_layers.shapes_of(layers, pairs[0][0].shape[1] if pairs else 0, image)
    if len(pairs) != len(shapes) + 1:
        raise ModelError(f"{len(pairs)} weights, where network.layers and the logits have {len(shapes) + 1}")
    last, last_bias = pairs[-1]
    shapes.append([last.shape[1], len(last)] if last_bias is not None else {"in": last.shape[1], "out": len(last), "bias": False})
    for place, (shape, (_, bias)) in enumerate(zip(shapes, pairs), 1):
        if (bias is not None) != network_layers.has_bias(shape):
            raise ModelError(f"layer {place}: a bias in one of the layers and the state_dict alone; write no_bias or leave it out")
    shapes = shapes if any(isinstance(shape, dict) for shape in shapes) else None
    return from_layers([(weight, np.zeros(len(weight)) if bias is None else bias) for weight, bias in pairs], loss, shapes=shapes, **fields)


def save_state_dict(state, layers, path, image=None, loss=None, **fields):
    """Writes from_state_dict()'s model to a file, which network.initial and features.prefix take; returns its digest.

    fields: shift, scale and range of the input, program, program_version.
    """
    return write_model(path, from_state_dict(state, layers, image, loss, **fields))


def to_torch(model):
    """torch.nn.Sequential of float64: `input` (clamp, shift, scale), then layers with ReLU between them.

    Of a model whose features are mapped, it takes what model.mapped(features) gives.
    """
    from . import torch as modules

    return modules.to_torch(model)


def from_torch(module, loss=None, image=None, layers=None, **fields):
    """Of a Sequential of Linear, Conv2d, pooling and ReLU, with to_torch()'s input module first if it has one, or the
    state_dict of one: of Linear and ReLU alone, or with layers, the texts of network.layers. image: [channels, height,
    width] that a Conv2d takes.

    fields: shift, scale and range of the input, program, program_version.
    """
    from . import torch as modules

    return modules.from_torch(module, loss, image, layers, **fields)


def affine(model):
    """(coef [rows, features], intercept [rows]) of a linear model on raw features: shift and scale folded in.

    Of two classes one row, whose sign decides. The clamp to the public range is no affine map and stays outside: clip
    the features to model.range first.
    """
    if model.features is not None:
        raise ModelError("a model of mapped features is no linear model of raw ones: use mapped() and to_torch()")
    if len(model.units) != 1:
        raise ModelError("a network with hidden layers is no linear model: use to_torch")
    units = model.units[0]
    if units.shape[0] == 2:
        units = units[1:] - units[:1]  # exact
    coef = network_layers.rounded(units[:, :-1]) * model.scale
    return coef, network_layers.rounded(units[:, -1]) - coef.sum(axis=1) * model.shift


def to_sklearn(model):
    """LogisticRegression (LinearSVC of a hinge or huber loss, LinearRegression of a squared error) with affine(model)'s
    coef_ and intercept_.

    Of three classes or more and one_vs_rest, a OneVsRestClassifier of one LogisticRegression a class. Features outside
    model.range must be clipped to it first.
    """
    from sklearn.linear_model import LinearRegression, LogisticRegression
    from sklearn.multiclass import OneVsRestClassifier
    from sklearn.preprocessing import LabelBinarizer
    from sklearn.svm import LinearSVC

    coef, intercept = affine(model)
    classes = np.arange(model.classes)

    def fitted(estimator, coef, intercept, classes):
        estimator.coef_, estimator.intercept_, estimator.classes_ = coef, intercept, classes
        estimator.n_features_in_ = coef.shape[1]
        return estimator

    if model.loss == "squared_error":
        regression = LinearRegression()
        regression.coef_, regression.intercept_, regression.n_features_in_ = coef[0], intercept[0], coef.shape[1]
        return regression
    if model.loss == "one_vs_rest" and model.classes > 2:
        whole = OneVsRestClassifier(LogisticRegression())
        whole.estimators_ = [fitted(LogisticRegression(), coef[c : c + 1], intercept[c : c + 1], np.arange(2)) for c in classes]
        whole.classes_, whole.label_binarizer_ = classes, LabelBinarizer(sparse_output=True).fit(classes)
        whole.n_features_in_ = coef.shape[1]
        return whole
    return fitted(LinearSVC() if model.loss in ("hinge", "huber") else LogisticRegression(), coef, intercept, classes)


def from_sklearn(estimator, **fields):
    """Of a fitted linear classifier or MLPClassifier (ReLU), or a Pipeline of StandardScaler and one of these.

    A OneVsRestClassifier of LogisticRegression is linear too.

    Its classes must be 0, 1, …, as those of datasets are. Or of one output that LinearRegression or MLPRegressor learned.
    """
    steps = [step for _, step in getattr(estimator, "steps", [("", estimator)])]
    classifier, scalers = steps[-1], steps[:-1]
    regression = not hasattr(classifier, "classes_")
    if not regression and list(classifier.classes_) != list(range(len(classifier.classes_))):
        raise ModelError(f"classes {list(classifier.classes_)}: fit it to class indices 0, 1, …")
    if hasattr(classifier, "coefs_"):
        if classifier.activation != "relu":
            raise ModelError(f"activation {classifier.activation}: networks here have ReLU between their layers")
        layers = [(weight.T, bias) for weight, bias in zip(classifier.coefs_, classifier.intercepts_)]
    elif all(type(one).__name__ == "LogisticRegression" for one in getattr(classifier, "estimators_", [None])):
        rows = classifier.estimators_
        layers = [(np.vstack([one.coef_ for one in rows]), np.concatenate([one.intercept_ for one in rows]))]
    elif hasattr(classifier, "coef_"):
        coef = np.atleast_2d(classifier.coef_)
        layers = [(coef, np.broadcast_to(classifier.intercept_, len(coef)))]
    else:
        raise ModelError(f"{type(classifier).__name__} has neither coef_ nor coefs_")
    for scaler in reversed(scalers):
        layers[0] = unscaled(*layers[0], scaler)
    name, one_logit = type(classifier).__name__, len(layers[-1][1]) == 1
    loss = "hinge" if "SVC" in name and one_logit else "one_vs_rest" if name == "OneVsRestClassifier" and not one_logit else None
    return from_layers(layers, "squared_error" if regression else loss, **{"program": "scikit-learn", **fields})


def unscaled(weight, bias, scaler):
    """A first layer on what a StandardScaler was given, instead of what it gave."""
    if type(scaler).__name__ != "StandardScaler":
        raise ModelError(f"{type(scaler).__name__} cannot be folded into a layer: only StandardScaler can")
    if scaler.scale_ is not None:
        weight = weight / scaler.scale_
    if scaler.mean_ is not None:
        bias = bias - weight @ scaler.mean_
    return weight, bias


# The command line ------------------------------------------------------------------------------------------------------


def info(arguments):
    model = read_model(arguments.model)
    description = model.description()
    description["parameters"] = sum(layer.size for layer in model.units)
    print(json.dumps(description, indent=1))


def command_to_torch(arguments):
    import torch

    torch.save(to_torch(read_model(arguments.model)).state_dict(), arguments.out)


def command_from_torch(arguments):
    import torch

    state = torch.load(arguments.state, map_location="cpu", weights_only=True)
    layers, image = (json.loads(text or "null") for text in (arguments.layers, arguments.image))
    print(write_model(arguments.model, from_torch(state, arguments.loss, image, layers)))


def command_to_sklearn(arguments):
    model = read_model(arguments.model)
    coef, intercept = affine(model)
    with open(arguments.out, "wb") as file:
        np.savez(file, coef_=coef, intercept_=intercept, classes_=np.arange(model.classes))
    if model.range != NO_RANGE:
        print(f"clip features to [{model.range[0]:g}, {model.range[1]:g}] first: the clamp is not in the arrays", file=sys.stderr)


def command_from_sklearn(arguments):
    with np.load(arguments.arrays, allow_pickle=False) as arrays:
        model = from_layers([(arrays["coef_"], arrays["intercept_"])], arguments.loss, program="scikit-learn")
    print(write_model(arguments.model, model))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for name, run, files in (
        ("info", info, ["model"]),
        ("to-torch", command_to_torch, ["model", "out"]),
        ("from-torch", command_from_torch, ["state", "model"]),
        ("to-sklearn", command_to_sklearn, ["model", "out"]),
        ("from-sklearn", command_from_sklearn, ["arrays", "model"]),
    ):
        command = commands.add_parser(name)
        command.set_defaults(run=run)
        for file in files:
            command.add_argument(file)
        if name.startswith("from-"):
            command.add_argument("--loss", choices=list(ONE_LOGIT), help="by the number of outputs, if left out")
        if name == "from-torch":
            command.add_argument("--layers", help="JSON: the texts of network.layers, of layers that are not all dense")
            command.add_argument("--image", help="JSON: [channels, height, width] that the first of them takes")
    arguments = parser.parse_args()
    try:
        arguments.run(arguments)
    except (ModelError, OSError, KeyError) as error:
        sys.exit(f"{parser.prog}: {error}")


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # where nobody reads on, it ends without a word
    main()
