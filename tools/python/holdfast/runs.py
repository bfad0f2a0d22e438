#!/usr/bin/env python3
"""What a run folder of `holdfast train` holds, in numpy: its boxes and its certificates. For the owner of the records
alone: both depend on them without protection.

    lower, upper = boxes("run", member=0, k=5)
    certificates("run")["ensemble_distance"]
    parameters("run")[0], network("run")["layers"]

Needs numpy and h5py.
"""

import json
import os

import h5py
import numpy as np

LEAST = 2.0**-50  # unit of parameters


def manifest(run):
    """What the folder says of the run: configuration, dataset, guarantee, …"""
    with open(os.path.join(run, "manifest.json")) as file:
        return json.load(file)


def outward(units, up):
    """The doubles next to units of 2^-50 that are no less (up) or no more than they are."""
    near = units.astype(np.float64)
    # Of integers up to 2^60: a double of that size is one itself.
    off = near.astype(np.int64) < units if up else near.astype(np.int64) > units
    return np.where(off, np.nextafter(near, np.inf if up else -np.inf), near) * LEAST


def network(run):
    """{option: value} of the configuration's section network."""
    options = manifest(run)["configuration"].items()
    return {name.removeprefix("network."): value for name, value in options if name.startswith("network.")}


def ends(run, member, k):
    """(lower, upper) of the box of level k: int64 [parameters] each."""
    with h5py.File(os.path.join(run, "boxes.h5")) as file:
        levels = file["levels"][...]
        if k not in levels:
            raise KeyError(f"no box of level {k}: there are {levels.min()}..{levels.max()}, {len(levels)} of them")
        level = int(np.flatnonzero(levels == k)[0])
        return [file[name][member, level] for name in ("lower", "upper")]


def by_layer(run, values):
    """values [parameters] as [out, in + 1] of each layer, the bias last in its row."""
    shapes = [(rows, width + 1) for width, rows in manifest(run)["layers"]]
    cuts = np.cumsum([rows * columns for rows, columns in shapes])[:-1]
    return [part.reshape(shape) for part, shape in zip(np.split(values, cuts), shapes)]


def parameters(run, member=0):
    """Those of the run itself, as holdfast.models.Model has them: of each layer int64 [out, in + 1], in units of 2^-50."""
    return by_layer(run, ends(run, member, 0)[0])


def boxes(run, member=0, k=0):
    """(lower, upper): of each layer float64 [out, in + 1], the bias last in its row, rounded outward. Every run of this
    training on a dataset at most k records away has its parameters in between; k = 0: the parameters themselves."""
    return tuple(by_layer(run, outward(units, up)) for units, up in zip(ends(run, member, k), (False, True)))


def certificates(run):
    """What `holdfast certify` found last: label and distance [members, queries], ensemble_label, ensemble_distance and id
    [queries] of the queries; `guarantee`, what a distance means: no k changed records change an answer of distance k; and
    `input_radius`, how far the query may move besides, in `norm`."""
    if not os.path.exists(os.path.join(run, "certificates.json")):
        raise FileNotFoundError(f"{run}: nothing was certified yet: holdfast certify --run {run} --queries FILE:test")
    with h5py.File(os.path.join(run, "distances.h5")) as file:
        found = {name: file[name][...] for name in file}
    with open(os.path.join(run, "certificates.json")) as file:
        said = json.load(file)
    return {**found, "guarantee": said["guarantee"], "input_radius": said.get("input_radius", 0.0), "norm": said.get("norm")}


def frame(run):
    """A pandas.DataFrame of what `holdfast certify` found last: id, label, distance [queries] of the ensemble; `attrs` holds
    the guarantee, and how far queries may move."""
    import pandas

    found = certificates(run)
    rows = pandas.DataFrame({"id": found["id"], "label": found["ensemble_label"], "distance": found["ensemble_distance"]})
    rows.attrs.update((name, found[name]) for name in ("guarantee", "input_radius", "norm"))
    return rows
