"""Run by idp_program.sh in an empty folder: idp_program.py HOLDFAST TOOLS CBC.

The bound of a class is the greatest confidence of N where N_-i may give another label. As a mixed-integer linear program
(paper 001, Eq. 3, of a pair of networks instead of a hyper-network) that is solved here by Cbc, which shares nothing with
the search: binaries instead of boxes. Parameters are read from fleet.h5.
"""

import dataclasses
import json
import shutil
import subprocess
import sys

import h5py
import numpy as np

holdfast, tools, cbc = sys.argv[1:]
sys.path.insert(0, tools)
from holdfast import runs  # noqa: E402

TOLERANCE = 2e-6  # of a confidence: the solver is asked for 1e-9 of rows and integers, and prints 8 digits


@dataclasses.dataclass
class Case:
    """A fleet: its shape, its loss, and how the network sees a feature."""

    name: str
    seed: int
    inputs: int
    hidden: list
    classes: int
    loss: str = "cross_entropy"
    settings: tuple = ()
    records: int = 12
    gap: float = 1e-5  # of the search, relative; a thousandth of it, of the first bound, ends it too


CASES = [
    Case("two layers", 1, 3, [5, 5], 2, settings=("network.input_shift=0.5", "network.input_scale=2")),
    Case("one logit", 1, 5, [8], 2, "binary_cross_entropy"),
    Case("three classes", 9, 3, [5, 4], 3, records=8, gap=1e-3),
]


def run(job, *words):
    done = subprocess.run([holdfast, job, "--quiet", *map(str, words)], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{job}: {done.stderr}")
    return done.stdout


def trained(case, folder):
    """A fleet on records whose labels no network of this size fits well, so that every record counts."""
    random = np.random.default_rng(case.seed)
    features = random.random((case.records, case.inputs))
    with h5py.File(f"{folder}.h5", "w") as file:
        file["x_train"] = features.astype(np.float32)
        file["y_train"] = (features[:, 0] * case.classes + random.random(case.records)).astype(np.int32) % case.classes
    settings = (f"network.hidden={case.hidden}", f"network.loss={case.loss}", f"network.classes={case.classes}", "clip.kind=none", f"training.expected_records={case.records}", "training.batches=2", "training.epochs=60", "training.learning_rate=0.5", *case.settings)
    words = [word for setting in settings for word in ("--set", setting)]
    run("fleet", "--data", f"{folder}.h5", "--out", folder, *words)
    return words


# Networks: of each layer (weight [out, in], bias [out]); the last one's rows are the margins of a class over the others.


def networks(folder, c, classes):
    """N and the N_-i, {id: layers}."""
    def layers_of(values):
        *hidden, last = [(rows[:, :-1], rows[:, -1]) for rows in runs.by_layer(folder, values)]
        if len(last[1]) == 1:  # positive: class 1
            rows = [tuple(-part if c == 0 else part for part in last)]
        else:
            rows = [tuple(part[[c]] - part[[other]] for part in last) for other in range(classes) if other != c]
        return [*hidden, tuple(np.concatenate(parts) for parts in zip(*rows))]

    with h5py.File(f"{folder}/fleet.h5") as file:
        first, *others = [layers_of(values) for values in file["networks"][...]]
        return first, dict(zip(file["left_out"][...].tolist(), others))


def margins(layers, x):
    for weight, bias in layers[:-1]:
        x = np.maximum(weight @ x + bias, 0)
    return layers[-1][0] @ x + layers[-1][1]


# Intervals: (low, high), of vectors.


def times(matrix, interval):
    low, high = interval
    return np.maximum(matrix, 0) @ low + np.minimum(matrix, 0) @ high, np.maximum(matrix, 0) @ high + np.minimum(matrix, 0) @ low


def plus(one, other):
    return one[0] + other[0], one[1] + other[1]


def relu(interval):
    return tuple(np.maximum(end, 0) for end in interval)


def weighted_sums(layers, box):
    """Of every layer, the interval of W a + b."""
    sums = []
    for weight, bias in layers:
        sums.append(plus(times(weight, relu(sums[-1]) if sums else box), (bias, bias)))
    return sums


def difference_intervals(one, other, box):
    """Of every layer's values after ReLU (the last one's before), of the other network less those of the first: section 6.2."""
    sums = weighted_sums(one, box)
    difference, found = (np.zeros(len(box[0])),) * 2, []
    for m, ((weight, bias), (other_weight, other_bias)) in enumerate(zip(one, other)):
        values = relu(sums[m - 1]) if m else box
        difference = plus(times(weight, difference), times(other_weight - weight, plus(values, difference)))
        difference = plus(difference, (other_bias - bias,) * 2)
        if m + 1 < len(one):
            difference = np.minimum(difference[0], 0), np.maximum(difference[1], 0)
        found.append(difference)
    return found


class Program:
    """Rows, bounds and binaries by name, in the LP format."""

    def __init__(self):
        self.rows, self.bounds, self.binaries = [], {}, []

    def add(self, terms, relation, right):
        text = " ".join(f"{coefficient:+.17g} {name}" for name, coefficient in terms if coefficient != 0)
        if text:
            self.rows.append(f"r{len(self.rows)}: {text} {relation} {right:.17g}")
        else:
            assert {"<=": 0 <= right, ">=": 0 >= right, "=": right == 0}[relation]

    def variable(self, name, low, high):
        self.bounds[name] = low, high
        return name

    def binary(self, name):
        self.binaries.append(name)
        return name

    def greatest(self, name):
        """{variable: value} where `name` is greatest, or None if no point satisfies the rows; and nodes of the search."""
        lines = ["Maximize", f"obj: {name}", "Subject To", *self.rows, "Bounds"]
        lines += [f"{low:.17g} <= {each} <= {high:.17g}" for each, (low, high) in self.bounds.items()]
        lines += ["Binaries", *self.binaries] if self.binaries else []
        with open("program.lp", "w") as file:
            file.write("\n".join([*lines, "End", ""]))
        words = "-primalTolerance 1e-9 -integerTolerance 1e-9 -ratioGap 0 -allowableGap 0 -increment 1e-9 -cutsOnOff off -seconds 60"
        done = subprocess.run([cbc, "program.lp", *words.split(), "-solve", "-solution", "solution.txt"], capture_output=True, text=True)
        with open("solution.txt") as file:
            status, *entries = file.read().splitlines()
        if not status.startswith(("Optimal", "Infeasible", "Integer infeasible")) or done.returncode:
            raise RuntimeError(f"cbc: {status}\n{done.stdout}")
        nodes = [int(line.split()[-1]) for line in done.stdout.splitlines() if line.startswith("Enumerated nodes")]
        if not status.startswith("Optimal"):
            return None, sum(nodes)
        values = dict.fromkeys([*self.bounds, *self.binaries], 0.0)
        values.update((entry.split()[-3], float(entry.split()[-2])) for entry in entries)
        return values, sum(nodes)


def encode(program, prefix, layers, box, relaxed=()):
    """Values of the last layer, of (m, k) those after ReLU. Of the units `relaxed`, the triangle alone."""
    below, units = [f"x{j}" for j in range(len(box[0]))], {}
    for m, ((weight, bias), (low, high)) in enumerate(zip(layers, weighted_sums(layers, box))):
        here = []
        for k in range(len(bias)):
            l, u = low[k] - 1e-6, high[k] + 1e-6
            total = program.variable(f"{prefix}h{m}_{k}", l, u)
            program.add([(total, -1), *zip(below, weight[k])], "=", -bias[k])
            if m + 1 < len(layers):
                here.append(rectified(program, f"{prefix}z{m}_{k}", total, l, u, (m, k) in relaxed))
                units[m, k] = here[-1]
            else:
                here.append(total)
        below = here
    return below, units


def rectified(program, name, total, l, u, is_relaxed):
    """max(total, 0), of total in [l, u]: Eq. 3f; a binary only where the sign is open."""
    if l >= 0:
        return total
    value = program.variable(name, 0, max(u, 0))
    if u > 0:
        program.add([(value, 1), (total, -1)], ">=", 0)
        if is_relaxed:
            program.add([(value, u - l), (total, -u)], "<=", -u * l)
        else:
            sign = program.binary(f"{name}_on")
            program.add([(value, 1), (sign, -u)], "<=", 0)
            program.add([(value, 1), (total, -1), (sign, -l)], "<=", -l)
    return value


@dataclasses.dataclass
class Optimum:
    value: float  # 0: the label does not change
    nodes: int


def optimum(one, other, box, dependencies=False, relaxed=False):
    """Eq. 3 of the pair: the greatest confidence of `one` where a margin of `other` is not above 0. All twin units relaxed: an
    upper bound."""
    program = Program()
    for j, (low, high) in enumerate(zip(*box)):
        program.variable(f"x{j}", low, high)
    ours, our_units = encode(program, "n", one, box)
    units = our_units if relaxed else ()
    theirs, their_units = encode(program, "t", other, box, units)
    ends = weighted_sums(one, box)[-1]
    program.variable("beta", 0, max(0, ends[1].min()) + 1)
    for margin in ours:
        program.add([(margin, 1), ("beta", -1)], ">=", 0)
    if len(theirs) == 1:
        program.add([(theirs[0], 1)], "<=", 0)
    else:
        chosen = [program.binary(f"against{k}") for k in range(len(theirs))]
        most = np.maximum(weighted_sums(other, box)[-1][1], 0) + 1
        for k, margin in enumerate(theirs):
            program.add([(margin, 1), (chosen[k], most[k])], "<=", most[k])
        program.add([(name, 1) for name in chosen], ">=", 1)
    if dependencies:
        found = difference_intervals(one, other, box)
        our_units |= {(len(one) - 1, k): margin for k, margin in enumerate(ours)}
        their_units |= {(len(one) - 1, k): margin for k, margin in enumerate(theirs)}
        for (m, k), unit in our_units.items():
            low, high = found[m][0][k], found[m][1][k]
            program.add([(their_units[m, k], 1), (unit, -1)], ">=", low - 1e-9)
            program.add([(their_units[m, k], 1), (unit, -1)], "<=", high + 1e-9)
    values, nodes = program.greatest("beta")
    if values is None:
        return Optimum(0.0, nodes)
    # What the solver found is so of the networks themselves.
    x = np.array([values[f"x{j}"] for j in range(len(box[0]))])
    assert abs(margins(one, x).min() - values["beta"]) <= TOLERANCE, (margins(one, x), values["beta"])
    assert relaxed or margins(other, x).min() <= TOLERANCE, margins(other, x)
    return Optimum(values["beta"], nodes)


def contradictions(exact, lower, upper, gap):
    """lower <= exact <= upper <= (1 + gap) lower, up to TOLERANCE: what of it is not so."""
    found = []
    if lower > exact + TOLERANCE:
        found.append(f"the witness's {lower} is above the optimum {exact}")
    if upper < exact - TOLERANCE:
        found.append(f"the upper bound {upper} is below the optimum {exact}")
    if upper > exact * (1 + gap) + 0.01 * gap + TOLERANCE:
        found.append(f"the upper bound {upper} is not near the optimum {exact}")
    return found


def bounds(folder, gap):
    found = json.loads(run("idp", "--run", folder, "--gap", gap, "--seconds", 600, "--json"))
    assert all(one["complete"] for one in found["classes"]), found
    return found


def box_of(case, found):
    seen = runs.network("fleet")
    low, high = ((end - seen["input_shift"]) * seen["input_scale"] for end in (found["low"], found["high"]))
    return np.full(case.inputs, low), np.full(case.inputs, high)


failures = 0


def expect(holds, words):
    global failures
    if not holds:
        failures += 1
        print(f"FAILED: {words}")


def expect_equal(words, exact, bound, gap):
    for problem in contradictions(exact, bound["lower"], bound["upper"], gap):
        expect(False, f"{words}: {problem}")


def optima_of(case, c, box, nodes):
    """{record: the optimum of its pair}; of the same program with matching dependencies, and with relaxed units, the nodes
    are counted."""
    one, others = networks("fleet", c, case.classes)
    optima = {}
    for record, other in others.items():
        found = {
            "plain": optimum(one, other, box),
            "with matching dependencies": optimum(one, other, box, dependencies=True),
            "relaxed too": optimum(one, other, box, dependencies=True, relaxed=True),
        }
        for kind, solved in found.items():
            nodes[kind] = nodes.get(kind, 0) + solved.nodes
        exact, cut, relaxed = (solved.value for solved in found.values())
        where = f"{case.name}, class {c}, record {record}"
        expect(abs(cut - exact) <= TOLERANCE, f"{where}: {cut} with matching dependencies, {exact} without")
        expect(relaxed >= exact - TOLERANCE, f"{where}: {relaxed} relaxed, below {exact}")
        optima[record] = exact
    return optima


def compare(case):
    """The fleet's bounds, class by class, and those of fleets without one record alone."""
    words = trained(case, "fleet")
    found = bounds("fleet", case.gap)
    box = box_of(case, found)
    nodes = {}
    optima = [optima_of(case, c, box, nodes) for c in range(case.classes)]
    for c, bound in enumerate(found["classes"]):
        where, best = f"{case.name}, class {c}", max(optima[c].values())
        expect_equal(where, best, bound, case.gap)
        expect(optima[c][bound["record"]] >= bound["lower"] - TOLERANCE, f"{where}: the witness's record has {optima[c][bound['record']]}, not {bound['lower']}")
        # There is something to compare, and the comparison sees other bounds.
        expect(best > 0.01, f"{where}: the optimum is {best}")
        for factor in (0.5, 2):
            expect(contradictions(best, factor * bound["lower"], factor * bound["upper"], case.gap), f"{where}: {factor} of the bound passes")
    for record in sorted(optima[0])[::3]:
        with open("record.txt", "w") as file:
            file.write(f"{record}\n")
        run("fleet", "--data", "fleet.h5", "--out", "pair", "--records", "record.txt", *words)
        for c, bound in enumerate(bounds("pair", case.gap)["classes"]):
            expect_equal(f"{case.name}, class {c}, record {record} alone", optima[c][record], bound, case.gap)
        shutil.rmtree("pair")
    shutil.rmtree("fleet")
    count = sum(map(len, optima))
    print(f"{case.name}: {count} programs; nodes " + ", ".join(f"{number} {kind}" for kind, number in nodes.items()), flush=True)


for each in CASES:
    compare(each)
if failures:
    sys.exit(f"{failures} failures")
print("the bounds are the optima of the programs")
