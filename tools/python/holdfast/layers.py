"""Layers of Holdfast's networks in numpy: what one computes at a point, and the texts of network.layers that name them
(models/nets/layers.hpp). A part of holdfast.models.

A shape says what a layer is, as a model file's description does: [in, out] of a dense one, else an object with in, out,
bias, convolution {image, window, stride, padding, dilation, groups} and pooling {kind, image, …}. Rows of an image are
its pixels in the order (channel, y, x).
"""

import numpy as np

UNIT_BITS = 50  # of parameters


class ModelError(ValueError):
    """A file, module or estimator that is no model, or features that are not for it, and why."""


def rounded(units):
    return np.ldexp(units.astype(np.float64), -UNIT_BITS)


def part(shape, name):
    return shape.get(name) if isinstance(shape, dict) else None


def has_bias(shape):
    return not isinstance(shape, dict) or shape["bias"]


def sides_over(window):
    """(height, width) of what a window makes of its image."""
    return tuple((pixels + 2 * window["padding"] - window["dilation"] * (taps - 1) - 1) // window["stride"] + 1 for pixels, taps in zip(window["image"][1:], window["window"]))


def rows_in(shape):
    convolution = part(shape, "convolution")
    return int(np.prod(convolution["image"])) if convolution else shape["in"] if isinstance(shape, dict) else shape[0]


def weighted_image(shape):
    """[channels, height, width] of what the weights give; of a dense layer [out, 1, 1]."""
    convolution = part(shape, "convolution")
    out = shape["out"] if isinstance(shape, dict) else shape[1]
    return [out, *(sides_over(convolution) if convolution else (1, 1))]


def image_out(shape):
    pooling = part(shape, "pooling")
    return [pooling["image"][0], *sides_over(pooling)] if pooling else weighted_image(shape)


def rows_out(shape):
    return int(np.prod(image_out(shape)))


def patches(values, window, beside):
    """[n, channels, places, taps] of values [n, rows]."""
    channels, height, width = window["image"]
    edge = window["padding"]
    padded = np.pad(values.reshape(-1, channels, height, width), ((0, 0), (0, 0), (edge, edge), (edge, edge)), constant_values=beside)
    at = [np.arange(places)[:, None] * window["stride"] + np.arange(taps) * window["dilation"] for places, taps in zip(sides_over(window), window["window"])]
    found = padded[:, :, at[0][:, None, :, None], at[1][None, :, None, :]]
    return found.reshape(len(values), channels, at[0].shape[0] * at[1].shape[0], -1)


def weighted(values, units, shape):
    """Weights and biases of a layer, without ReLU: float64 [n, rows]."""
    parameters = rounded(units)
    weight, bias = parameters[:, :-1], parameters[:, -1]
    convolution = part(shape, "convolution")
    if not convolution:
        return values @ weight.T + bias
    groups = convolution["groups"]
    taps = patches(values, convolution, 0.0)
    count, channels, places, _ = taps.shape
    taps = taps.reshape(count, groups, channels // groups, places, -1).transpose(0, 1, 3, 2, 4).reshape(count, groups, places, -1)
    result = np.matmul(taps, weight.reshape(groups, len(weight) // groups, -1).transpose(0, 2, 1)[None])
    return (result.transpose(0, 1, 3, 2).reshape(count, len(weight), places) + bias[:, None]).reshape(count, -1)


def activated(values, shape):
    """max(0, ·) and what is pooled of it."""
    values = np.maximum(values, 0)
    pooling = part(shape, "pooling")
    if not pooling:
        return values
    average = pooling["kind"] == "average"
    taps = patches(values, pooling, 0.0 if average else -np.inf)
    return (taps.mean(axis=3) if average else taps.max(axis=3)).reshape(len(values), -1)


def problem_of(shape, units):
    """What is wrong between a shape and a layer's parameters; empty: nothing."""
    rows, columns = units.shape
    if not isinstance(shape, dict):
        return "" if [columns - 1, rows] == list(shape) else f"parameters {units.shape} of a layer {shape}"
    convolution = part(shape, "convolution")
    taken = convolution["image"][0] // convolution["groups"] * int(np.prod(convolution["window"])) if convolution else shape["in"]
    if [columns - 1, rows] != [shape["in"], shape["out"]] or taken != shape["in"]:
        return f"parameters {units.shape} of a layer {shape}"
    if convolution and (convolution["image"][0] % convolution["groups"] or rows % convolution["groups"]):
        return f"{convolution['groups']} groups, which do not divide the channels"
    if min(image_out(shape)) < 1 or (part(shape, "pooling") and shape["pooling"]["image"] != weighted_image(shape)):
        return "a window that does not fit its image"
    return "biases in a layer without" if not shape["bias"] and units[:, -1].any() else ""


# The texts of network.layers --------------------------------------------------------------------------------------------

WORDS = {
    "conv": ("stride", "padding", "dilation", "groups", "no_bias"),
    "dense": ("no_bias",),
    "average_pool": ("stride", "padding"),
    "max_pool": ("stride", "padding", "dilation"),
}


def window_in(words, image, stride):
    """Of "3x3 stride 2 …", and what else those words say."""
    sides = [int(side) for side in words[0].split("x")]
    said, rest = {"stride": stride or sides[0], "padding": 0, "dilation": 1, "groups": 1, "no_bias": False}, iter(words[1:])
    for word in rest:
        said[word] = word == "no_bias" or int(next(rest))
    groups, no_bias = said.pop("groups"), said.pop("no_bias")
    return {"image": list(image), "window": sides, **said}, groups, not no_bias


def shapes_of(texts, inputs, image=None, bias=True):
    """The shapes that texts name, the last layer left out. ModelError: as the program, which says it in more words."""
    shapes, rows = [], inputs if image is None else int(np.prod(image))
    for place, text in enumerate(texts, 1):
        word, *words = text.split() or [""]
        try:
            unknown = [given for given in words[1:] if given.isalpha() or "_" in given]
            if not set(unknown) <= set(WORDS.get(word, ())):
                raise ModelError(f"unknown word in {unknown}")
            if word in ("relu", "flatten", "dropout"):
                image = None if word == "flatten" else image
                continue
            if word == "dense":
                with_bias = bias and "no_bias" not in words
                shape = [rows, int(words[0])]
                shapes.append(shape if with_bias else {"in": rows, "out": shape[1], "bias": False})
                image = None
            elif word == "conv":
                window, groups, with_bias = window_in(words[1:], image, 1)
                taken = image[0] // groups * int(np.prod(window["window"]))
                shapes.append({"in": taken, "out": int(words[0]), "bias": bias and with_bias, "convolution": {**window, "groups": groups}})
            elif word in ("average_pool", "max_pool"):
                window, _, _ = window_in(words, image, None)
                shapes[-1]["pooling"] = {**window, "kind": "average" if word == "average_pool" else "greatest"}
            else:
                raise ModelError(f"no layer; there are {', '.join(WORDS)}, dropout, relu and flatten")
        except (ValueError, TypeError, IndexError, KeyError, StopIteration, ZeroDivisionError) as error:
            raise ModelError(f"layer {place}, {text!r}: {error}") from error
        image = image_out(shapes[-1]) if word != "dense" else None
        rows = rows_out(shapes[-1])
    return shapes
