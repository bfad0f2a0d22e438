#!/usr/bin/env python3
"""The arrays of tools/reproduce: a table's training records parted by a public rule, or its first ones, and a trained network
cut in two.

    halves.py part TABLE.h5 PUBLIC.h5 PRIVATE.h5 PREFIX.h5 STAND_IN.h5
    halves.py first TABLE.h5 RECORDS TESTS SOME.h5
    halves.py cut RUN LAYERS PREFIX.h5 DENSE.h5

part: which half a record falls into, and which part of the public one, follows from its place in the file alone, which
becomes its id. PRIVATE is a half and the test records; PUBLIC the other half. Of that again PREFIX is three eighths and
STAND_IN the rest, three parts of five to train on and two to ask.
cut: two model files of a run's parameters: its first LAYERS hidden layers, as features.prefix takes them, and those
behind, as network.initial does.

Needs numpy and h5py.
"""

import argparse
import hashlib
import signal
import sys

import h5py
import numpy as np

from holdfast import layers as network_layers
from holdfast import models, runs


def drawn(places, sides, word):
    """For each place a number below sides, the same on any machine, whatever the record is."""
    words = (hashlib.blake2b(f"{word} {place}".encode(), digest_size=8).digest() for place in places)
    return np.array([int.from_bytes(digest, "little") % sides for digest in words], np.int64)


def part(table, public, private, prefix, stand_in):
    with h5py.File(table, "r") as file:
        records = {split: (file[f"x_{split}"][...], file[f"y_{split}"][...]) for split in ("train", "test")}
        attributes = {name: value for name, value in file.attrs.items() if name != "sealed"}  # which is of the whole file
    trained = len(records["train"][1])
    of_public, eighth = drawn(range(trained), 2, "half") == 0, drawn(range(trained), 8, "eighth")
    test = np.arange(len(records["test"][1]))

    def written(path, **places):
        """places: {split: where its records are}; test records are numbered behind those of training."""
        with h5py.File(path, "w") as file:
            file.attrs.update(attributes)
            for split, found in places.items():
                source, at = ("test", test) if found is test else ("train", np.flatnonzero(found))
                file[f"x_{split}"], file[f"y_{split}"] = (array[at] for array in records[source])
                file[f"id_{split}"] = (at + (trained if found is test else 0)).astype(np.uint64)

    written(public, train=of_public)
    written(private, train=~of_public, test=test)
    written(prefix, train=of_public & (eighth < 3))
    written(stand_in, train=of_public & (eighth >= 3) & (eighth < 6), test=of_public & (eighth >= 6))


def first(table, records, tests, some):
    with h5py.File(table, "r") as file, h5py.File(some, "w") as out:
        out.attrs.update({name: value for name, value in file.attrs.items() if name != "sealed"})
        for split, count in (("train", records), ("test", tests)):
            for array in (f"x_{split}", f"y_{split}"):
                out[array] = file[array][:count]


def cut(run, layers, prefix, dense):
    network = runs.network(run)
    units, image = runs.parameters(run), network["image"] or None
    texts = network["layers"] or [f"dense {width}" for width in network["hidden"]]
    shapes = network_layers.shapes_of(texts, 0 if image else units[0].shape[1] - 1, image)
    if not 1 <= layers <= len(shapes):
        raise ValueError(f"it has {len(shapes)} hidden layers, so it is not cut behind {layers}")
    shapes.append([units[-1].shape[1] - 1, len(units[-1])])
    between = network_layers.rows_out(shapes[layers - 1])
    asked = {"classes": network["classes"], "loss": "binary_cross_entropy" if len(units[-1]) == 1 else "cross_entropy",
             "program": "tools/reproduce"}
    # What a prefix has behind its last hidden layer is not looked at.
    models.write_model(prefix, models.Model(
        [*units[:layers], np.zeros((len(units[-1]), between + 1), np.int64)], shapes=[*shapes[:layers], [between, len(units[-1])]],
        shift=network["input_shift"], scale=network["input_scale"], **asked))
    models.write_model(dense, models.Model(units[layers:], shapes=shapes[layers:], **asked))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    parts = commands.add_parser("part")
    for name in ("table", "public", "private", "prefix", "stand_in"):
        parts.add_argument(name)
    firsts = commands.add_parser("first")
    firsts.add_argument("table")
    for name in ("records", "tests"):
        firsts.add_argument(name, type=int)
    firsts.add_argument("some")
    cuts = commands.add_parser("cut")
    cuts.add_argument("run")
    cuts.add_argument("layers", type=int)
    for name in ("prefix", "dense"):
        cuts.add_argument(name)
    given = vars(parser.parse_args())
    try:
        {"part": part, "first": first, "cut": cut}[given.pop("command")](**given)
    except (OSError, KeyError, ValueError) as error:
        sys.exit(f"halves.py: {given.get('table', given.get('run'))}: {error}")


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # where nobody reads on, it ends without a word
    main()
