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
        derived = bins(inside, features["edges"], features["hot"], features["pairs"], features.get("trend", False))
    elif kind == "fourier":
        derived = fourier(columns, units[0])
    elif kind == "prefix":
        derived = prefix(inside, features["prefix"], units)
    elif kind == "scattering":
        derived = scattering(inside, features)
    elif kind == "none":
        derived = inside[:, :0]
    else:
        raise ModelError(f"features of map {kind!r}: this program knows none, bins, fourier, prefix and scattering")
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


def bins(inside, edges, hot, pairs, trend=False):
    """Standardised columns where `trend` says so, one-hot bins of every column, then of the products of pairs. edges: of each
    column, or of all."""
    each = edges if edges and isinstance(edges[0], list) else [edges] * inside.shape[1]
    found = [np.searchsorted(column, inside[:, j], side="right") for j, column in enumerate(each)]
    sizes = [len(column) + 1 for column in each]
    parts = [standardised(inside[:, j], column) for j, column in enumerate(each) if trend]
    parts += [hot * (at[:, None] == np.arange(size)) for at, size in zip(found, sizes)]
    parts += [hot * ((found[i] * sizes[j] + found[j])[:, None] == np.arange(sizes[i] * sizes[j])) for i, j in pairs]
    return np.concatenate(parts, axis=1)


def standardised(column, edges):
    """float64 [n, 1]: (x - m) / s cut to +-3, by the middle edge m and the spread s of the edges; [n, 0] of fewer than three."""
    sixth = len(edges) // 6
    spread = (edges[len(edges) - 1 - sixth] - edges[sixth]) / 2 if len(edges) >= 3 else 0
    if spread <= 0:
        return column[:, None][:, :0]
    return np.clip((column - edges[len(edges) // 2]) / spread, -3, 3)[:, None]


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


# Scattering (models/nets/scattering.cpp), on a torus of 32 x 32: there exact in integers, here up to 1e-6.
SIDE, ANGLES, LOW_WIDTH = 32, 8, 3.2


def wavelet(angle, width, turns, factor):
    """complex [32, 32]: the transform of a Morlet wavelet."""
    y, x = np.meshgrid(*2 * [(np.arange(SIDE) + SIDE // 2) % SIDE - SIDE // 2], indexing="ij")
    cosine, sine = np.cos(np.pi * angle / ANGLES), np.sin(np.pi * angle / ANGLES)
    along, across = cosine * x + sine * y, cosine * y - sine * x
    window = np.exp(-(along**2 + across**2 / 4) / (2 * width**2)) * ((y > -SIDE // 2) & (x > -SIDE // 2))
    wave = np.exp(2j * np.pi * turns * along)
    return np.fft.fft2(np.rint(factor * 2**20 * window * (wave - (window * wave).sum().real / window.sum())) / 2**20)


def low_pass(side, seen):
    """float64 [seen, side]: the low pass at every fourth of 32 pixels, or every other of 16."""
    at = (np.arange(side) + side // 2) % side - side // 2
    window = np.exp(-(at**2) / (2 * (LOW_WIDTH * side / SIDE) ** 2)) * (at > -side // 2)
    taps = np.rint(np.sqrt(side / 8) * (1 - 2**-12) * 2**13 * window / window.sum()) / 2**13
    return np.array([np.roll(taps, side // 8 * (k + 1)) for k in range(seen)])


def modes(size):
    """float64 [size, size]: sines of one half wave, of two, …"""
    at = np.arange(1, size + 1)
    return np.sqrt(2 / (size + 1)) * np.sin(np.pi * np.outer(at, at) / (size + 1))


def scattering(inside, features):
    channels, height, width = features["image"]
    low, high = features["input"]["range"]
    weights, size = features["weights"], ((height + 3) // 4, (width + 3) // 4)
    shares = [(np.arange(1, n + 1) / (n + 1)) ** 2 for n in size]
    squares = shares[0][:, None] + shares[1]
    kept, factor = squares <= 0.625, np.exp(0.25 * (LOW_WIDTH / 4 * np.pi) ** 2 * squares)
    fine = np.array([wavelet(k, 0.8, 3 / 8, 0.1348) for k in range(ANGLES)])
    coarse = np.array([wavelet(k, 1.6, 3 / 16, 2 * 0.0321) for k in range(ANGLES)])

    def seen(torus, weight):
        """Modes [..., kept] of what the low pass leaves of images [..., side, side]."""
        y, x = (modes(n) @ low_pass(torus.shape[-1], n) for n in size)
        return weight * ((y @ torus @ x.T) * factor)[..., kept]

    def moduli(torus, bank, step):
        return np.abs(np.fft.ifft2(np.fft.fft2(torus)[..., None, :, :] * bank)[..., ::step, ::step])

    rows = []
    for image in np.rint((inside - low) / (high - low) * 2**24).reshape(-1, height, width) / 2**24:
        torus = np.roll(np.pad(image, ((0, SIDE - height), (0, SIDE - width))), (2, 2), (0, 1))
        waves = moduli(torus, fine, 1)
        parts = [seen(torus, weights[0]), seen(waves, weights[1]), seen(moduli(torus, coarse, 2), weights[2])]
        rows.append(np.concatenate([part.ravel() for part in [*parts, seen(moduli(waves, coarse, 2), weights[3])]]))
    return np.array(rows).reshape(len(inside), -1)
