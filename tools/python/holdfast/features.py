"""What a model file of Holdfast does to a record's features before its network sees them (models/nets/feature_map.hpp),
in numpy: up to rounding what `holdfast predict` computes. A part of holdfast.models."""

import numpy as np

from . import layers as network_layers

ModelError = network_layers.ModelError
FREQUENCY_BITS = 40  # of frequencies, in turns


def mapped(values, features, units):
    """float64 [n, entries] of values [n, columns]; units: of the frequencies, or of a prefix's layers."""
    if values.ndim != 2 or values.shape[1] != features["columns"]:
        raise ModelError(f"features of shape {values.shape}: the model takes {features['columns']} columns")
    inside, columns = clamped(values, features["input"]), transformed(values, features["input"])
    kind = features.get("map", "bins")
    if kind == "bins":
        derived = bins(inside, features["edges"], features["hot"], features["pairs"])
    elif kind == "fourier":
        derived = fourier(columns, units[0])
    elif kind == "prefix":
        derived = prefix(inside, features["prefix"], units)
    elif kind == "none":
        derived = inside[:, :0]
    else:
        raise ModelError(f"features of map {kind!r}: this program knows none, bins, fourier and prefix")
    rows = np.concatenate([columns, derived], axis=1) if features["keep"] else derived
    return clipped(rows, features.get("norm_limit", 0))


def clamped(values, input):
    low, high = input["range"]
    return np.where(values >= low, np.minimum(values, high), low)  # NaN counts as the low end


def transformed(values, input):
    return (clamped(values, input) - input["shift"]) * input["scale"]


def clipped(rows, limit):
    """Rows longer than the limit scaled to it; 0: none."""
    if limit == 0:
        return rows
    lengths = np.sqrt((rows * rows).sum(axis=1, keepdims=True))
    return rows * (limit / np.maximum(lengths, limit))


def bins(inside, edges, hot, pairs):
    """One-hot bins of every column, then of the products of pairs. edges: of each column, or of all."""
    each = edges if edges and isinstance(edges[0], list) else [edges] * inside.shape[1]
    found = [np.searchsorted(column, inside[:, j], side="right") for j, column in enumerate(each)]
    sizes = [len(column) + 1 for column in each]
    parts = [hot * (at[:, None] == np.arange(size)) for at, size in zip(found, sizes)]
    parts += [hot * ((found[i] * sizes[j] + found[j])[:, None] == np.arange(sizes[i] * sizes[j])) for i, j in pairs]
    return np.concatenate(parts, axis=1)


def fourier(columns, frequencies):
    """(cos, sin) of every frequency, one pair after the other, over the root of their number."""
    turns = columns @ np.ldexp(frequencies.astype(np.float64), -FREQUENCY_BITS).T
    angles = 2 * np.pi * (turns - np.rint(turns))
    pairs = np.stack([np.cos(angles), np.sin(angles)], axis=2)
    return pairs.reshape(len(columns), -1) / np.sqrt(len(frequencies))


def prefix(inside, prefix, layers):
    values = transformed(inside, prefix["input"])
    for units, shape in zip(layers, prefix["layers"]):
        values = network_layers.activated(network_layers.weighted(values, units, shape), shape)
    return values
