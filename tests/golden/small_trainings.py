#!/usr/bin/env python3
"""Trainings of boxes small enough to be computed twice: tests/golden/small_trainings.json.

Written from models/mathematics.md alone, with exact fractions that are rounded where the document says so; it shares
nothing with the program but the definitions. Run it to write the file anew, with --check to compare:
    python3 tests/golden/small_trainings.py [--check]
small_trainings_test.cpp trains the same with the program and wants the same integers. Python alone, no package.
"""

import json
import math
import os
import struct
import sys
from fractions import Fraction

UNIT = Fraction(1, 1 << 50)  # of parameters
LIMIT = 1 << 60  # L, in units
MASK = (1 << 32) - 1


class Format:
    """One precision: correctly rounded operations, to nearest and of two equally near to even."""

    def __init__(self, name, digits, least_exponent, gradient_bits, saturation):
        self.name, self.digits, self.least_exponent = name, digits, least_exponent
        self.gradient_bits, self.saturation = gradient_bits, saturation

    def round(self, value):
        """The nearest number of the format; no value here comes near the greatest."""
        if value == 0:
            return Fraction(0)
        exponent = abs(value.numerator).bit_length() - value.denominator.bit_length()
        if abs(value) < Fraction(2) ** exponent:
            exponent -= 1
        ulp = Fraction(2) ** max(exponent - self.digits + 1, self.least_exponent)
        return round(value / ulp) * ulp  # Python rounds a Fraction to even

    def fma(self, a, b, c):
        return self.round(a * b + c)

    def saturated(self, value):
        return max(-self.saturation, min(self.saturation, value))

    def make_odd(self, value):
        """The last bit of the significand set; zero stays zero."""
        kind, word = ("<d", "<Q") if self.digits == 53 else ("<f", "<I")
        bits = struct.unpack(word, struct.pack(kind, float(value)))[0]
        return value if value == 0 else Fraction(struct.unpack(kind, struct.pack(word, bits | 1))[0])


DOUBLE = Format("double", 53, -1074, 40, Fraction(2) ** 300)
SINGLE = Format("single", 24, -149, 14, Fraction(2) ** 60)


# Definition: keyed hash (Philox4x32-10) -----------------------------------------------------------------------------


def keyed_hash(seed, stream, counter):
    c = [counter & MASK, counter >> 32 & MASK, stream & MASK, stream >> 32 & MASK]
    k = [seed & MASK, seed >> 32 & MASK]
    for _ in range(10):
        p, q = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(q >> 32) ^ c[1] ^ k[0], q & MASK, (p >> 32) ^ c[3] ^ k[1], p & MASK]
        k = [(k[0] + 0x9E3779B9) & MASK, (k[1] + 0xBB67AE85) & MASK]
    return c[1] << 32 | c[0]


def batch_of(record, seed, epoch, batches):
    return keyed_hash(seed, (1 << 32) + epoch, record["id"]) % batches


def initial_parameters(seed, shapes):
    units = []
    for inputs, outputs in shapes:
        bound = 1.0 / math.sqrt(float(inputs))
        for _ in range(outputs * (inputs + 1)):
            uniform = (keyed_hash(seed, 0x1217, len(units)) >> 11) * 2.0**-53
            units.append(round(Fraction(bound * (2.0 * uniform - 1.0)) / UNIT))
    return units


# Definition: monotone exp; Lemma: loss derivative -------------------------------------------------------------------


def monotone_exp(x):
    """Of a Fraction that is a double; every step in double."""
    argument = round(max(Fraction(-700), min(Fraction(700), x)) * 2**40) / Fraction(2**40)
    power = round(DOUBLE.round(argument * Fraction(float.fromhex("0x1.71547652b82fep+0"))))
    reduced = argument
    for part in ("0x1.62e42fefa39efp-1", "0x1.abc9e3b39803fp-56"):
        reduced = DOUBLE.fma(Fraction(power), -Fraction(float.fromhex(part)), reduced)
    total = Fraction(1.0 / math.factorial(13))
    for n in range(12, -1, -1):
        total = DOUBLE.fma(total, reduced, Fraction(1.0 / math.factorial(n)))
    return total * Fraction(2) ** power


def loss_derivative(real, loss, c, label, own, others):
    """By logit c, c's own logit at one end of the box and the others at the other."""
    if loss == "huber":
        width, sign = Fraction(1, 2), 1 if label == 1 else -1
        rise = DOUBLE.round(DOUBLE.round(own[0] - sign * (1 + width)) / (2 * width))
        return real.round(max(min(rise, max(-sign, 0)), min(-sign, 0)))
    if len(own) == 1 or loss == "one_vs_rest":
        total = DOUBLE.round(1 + monotone_exp(-own[c]))
        target = label if len(own) == 1 else int(label == c)
    else:
        total, target = Fraction(1), int(label == c)
        for j in range(len(own)):
            if j != c:
                total = DOUBLE.round(total + monotone_exp(DOUBLE.round(others[j] - own[c])))
    return real.round(DOUBLE.round(DOUBLE.round(1 / total) - target))


# The pass over one record: intervals are pairs (lower, upper) -------------------------------------------------------


def corners(real, w, z, total):
    """The box of an fma: its extremes are at the corners, at the lower and the upper sum."""
    least = min(real.fma(a, b, total[0]) for a in w for b in z)
    return least, max(real.fma(a, b, total[1]) for a in w for b in z)


def affine(real, row, z):
    total = row[-1]
    for w, value in zip(row, z):
        total = corners(real, w, value, total)
    return total


def gated(real, bounds, z):
    low, high = bounds
    if z[1] <= 0:
        low, high = Fraction(0), Fraction(0)
    elif z[0] <= 0:  # open at some point of the box, shut at another: the hull with 0
        low, high = min(low, 0), max(high, 0)
    return real.saturated(low), real.saturated(high)


def gradients(real, loss, layers, features, label, entry):
    """Bounds of one record's clipped gradient, [parameters], in units of the gradient grid."""
    inputs = [[(x, x) for x in features]]
    for layer in layers[:-1]:
        sums = [affine(real, row, inputs[-1]) for row in layer]
        inputs.append([tuple(real.saturated(max(end, Fraction(0))) for end in bounds) for bounds in sums])
    logits = [affine(real, row, inputs[-1]) for row in layers[-1]]
    lower, upper = [bounds[0] for bounds in logits], [bounds[1] for bounds in logits]
    delta = [(loss_derivative(real, loss, c, label, lower, upper),
              loss_derivative(real, loss, c, label, upper, lower)) for c in range(len(logits))]
    entries = []
    for layer, z in zip(reversed(layers), reversed(inputs)):
        one = (Fraction(1), Fraction(1))
        entries = [entry(d, value, value is one) for d in delta for value in z + [one]] + entries
        before = []
        for j in range(len(z)):
            total = (Fraction(0), Fraction(0))
            for row, d in zip(layer, delta):
                total = corners(real, row[j], d, total)
            before.append(gated(real, total, z[j]))
        delta = before
    return entries


class Clip:
    """Lemma: entry, of either clip, on the grid of one precision."""

    def __init__(self, settings, real):
        self.real, self.factored = real, settings["clip.kind"] == "factored"
        down = lambda limit: Fraction(limit) if real.digits == 53 else rounded_down(real, Fraction(limit))
        self.gamma_weight = self.gamma_bias = Fraction(settings["clip.gamma"])
        if self.factored:
            self.a, self.c = down(settings["clip.delta_limit"]), down(settings["clip.activation_limit"])
            slack = 1 + 4 * Fraction(2) ** (1 - real.digits)
            self.gamma_weight = DOUBLE.round(DOUBLE.round(self.a * self.c) * slack)
            self.gamma_bias = DOUBLE.round(self.a * slack)
        largest = max(self.gamma_weight, self.gamma_bias)
        self.exponent = math.frexp(float(largest))[1] - real.gradient_bits
        self.unit = Fraction(2) ** self.exponent
        self.weight_units = math.ceil(self.gamma_weight / self.unit)
        self.bias_units = math.ceil(self.gamma_bias / self.unit)

    def factors(self, bounds, limit):
        return [self.real.make_odd(max(-limit, min(limit, end))) for end in bounds]

    def entry(self, delta, z, bias):
        if self.factored:
            delta, z = self.factors(delta, self.a), z if bias else self.factors(z, self.c)
        units = [round(d * value / self.unit) for d in delta for value in z]
        if not self.factored:
            units = [max(-self.weight_units, min(self.weight_units, n)) for n in units]
        return min(units), max(units)


def rounded_down(real, limit):
    nearest = real.round(limit)
    if nearest <= limit:
        return nearest
    bits = struct.unpack("<I", struct.pack("<f", float(nearest)))[0]
    return Fraction(struct.unpack("<f", struct.pack("<I", bits - 1))[0])


def as_seen(settings, real, x):
    """A feature as the network sees it: Python's floats are doubles, rounded at every step."""
    low, high = settings["feature_range"]
    inside = min(max(x, low), high)
    return real.round(Fraction((inside - settings["network.input_shift"]) * settings["network.input_scale"]))


# Definition: step; Theorem: core and radius -------------------------------------------------------------------------


def clamp(value, limit):
    return max(-limit, min(limit, value))


def factor(value):
    """A double as the program multiplies by it: units of 2^-125, rounded down."""
    return Fraction(math.floor(Fraction(value) * 2**125), 2**125)


def updated(d, v, theta, total):
    half = Fraction(1, 2)
    decayed = theta - math.floor(d * theta + half)
    return clamp(decayed - clamp(math.floor(v * total + half), 4 * LIMIT - 1), LIMIT)


class Radius:
    def __init__(self, gamma):
        self.gamma, self.greatest = gamma, []

    def advance(self, d, v, first_of_epoch):
        if first_of_epoch:
            self.greatest.append(0)
        self.greatest = [r - math.floor(d * r) for r in self.greatest]
        self.greatest[-1] = max(self.greatest[-1], min(math.ceil(v * self.gamma), 2 * LIMIT))

    def value(self):
        return min(sum(self.greatest), 2 * LIMIT)


# Theorem: averaged momentum; Lemma: l1 penalty ----------------------------------------------------------------------


def rates_of(settings, alphas):
    """Of each step alpha gamma, eta and m, in double."""
    mu, ahead = settings["training.momentum"], settings["training.nesterov"]
    gamma, beta = (1.0, mu) if ahead else (0.0, 1.0)
    rates, i = [], 0.0
    for t in reversed(range(len(alphas))):
        s = alphas[t] * beta + i
        eta = alphas[t] * gamma + (1.0 if t == 0 else 1 - settings["training.dampening"]) * s
        assert eta * settings["training.l2"] <= 1
        rates.append((alphas[t] * gamma, eta, alphas[t] * beta / s))
        i = mu * s / (1 - eta * settings["training.l2"])
    return rates[::-1]


def thresholded(theta, s):
    return theta - clamp(theta, s)


def averaged(m, theta, z):
    half = Fraction(1, 2)
    return clamp(theta - math.floor(m * theta + half) + math.floor(m * z + half), LIMIT)


class AveragedRadius:
    def __init__(self, gamma):
        self.gamma, self.greatest = gamma, []

    def advance(self, factors, first_of_epoch):
        d, v, own_d, own_v, m = factors
        if first_of_epoch:
            self.greatest.append((0, 0))
        left = lambda theta, z: (min(theta - math.floor(m * theta) + math.ceil(m * z), 2 * LIMIT), z)
        self.greatest = [left(theta - math.floor(own_d * theta), z - math.floor(d * z)) for theta, z in self.greatest]
        impulse = left(math.ceil(own_v * self.gamma), math.ceil(v * self.gamma))
        self.greatest[-1] = tuple(max(pair) for pair in zip(self.greatest[-1], impulse))

    def value(self):
        return min(sum(theta for theta, z in self.greatest), 2 * LIMIT)


# Theorem: enclosure, of one member and every level ------------------------------------------------------------------


def trained(settings, records, public):
    real = SINGLE if settings["training.precision"] == "single" else DOUBLE
    clip = Clip(settings, real)
    sizes = [len(records[0]["x"])] + settings["network.hidden"]
    sizes.append(1 if settings["network.classes"] == 2 else settings["network.classes"])
    shapes = list(zip(sizes, sizes[1:]))
    biases = [p % (n + 1) == n for n, out in shapes for p in range(out * (n + 1))]
    seed, batches = settings["training.seed"], settings["training.batches"]
    theta = initial_parameters(seed, shapes)
    ends = lambda: (list(theta), list(theta))
    levels = [{"k": k, "core": ends(), "core z": ends(), "charged": ends(), "charged z": ends()}
              for k in range(settings["certificate.levels"] + 1)]
    momentum = settings["training.momentum"] > 0
    radius_of = AveragedRadius if momentum else Radius
    radii = {True: radius_of(clip.bias_units), False: radius_of(clip.weight_units)}
    once, always = (settings["certificate.budget"] in (budget, "both") for budget in ("per_epoch", "per_batch"))
    relation = settings["certificate.relation"]
    B = settings["training.expected_records"] / (1.0 * batches) + len(public) / float(batches)

    def box(level):
        reach = (2 if relation == "substitute" else 1) * level["k"]
        widths = [reach * radii[bias].value() for bias in biases]
        around = ([clamp(l - w, LIMIT) for l, w in zip(level["core"][0], widths)],
                  [clamp(u + w, LIMIT) for u, w in zip(level["core"][1], widths)])
        kept = ([around] if once else []) + ([level["charged"]] if always else [])
        return [max(ends) for ends in zip(*(b[0] for b in kept))], [min(ends) for ends in zip(*(b[1] for b in kept))]

    def layers_of(lower, upper):
        ends = [tuple(real.round(end * UNIT) for end in pair) for pair in zip(lower, upper)]
        layers, at = [], 0
        for n, out in shapes:
            layers.append([ends[at + o * (n + 1):at + (o + 1) * (n + 1)] for o in range(out)])
            at += out * (n + 1)
        return layers

    def gradients_of(group, layers, epoch, number):
        seen = [r for r in group if batch_of(r, seed, epoch, batches) == number]
        labels = [r["y"] % settings["network.classes"] for r in seen]
        loss = settings.get("network.loss", "auto")
        return [gradients(real, loss, layers, [as_seen(settings, real, x) for x in r["x"]], label, clip.entry)
                for r, label in zip(seen, labels)]

    alphas = [max(settings["training.learning_rate"] / (1.0 + settings["training.learning_rate_decay"] * step),
                  settings["training.learning_rate_floor"]) for step in range(settings["training.epochs"] * batches)]
    decay_of = lambda rate: factor(rate * settings["training.l2"])
    gradient_of = lambda rate: factor(math.ldexp(rate / B, clip.exponent) / 2.0**-50)
    rates = rates_of(settings, alphas) if momentum else []

    def after(end, z, total, step, threshold):
        """A parameter and what descends beside it."""
        if not momentum:
            return thresholded(updated(decay_of(alphas[step]), gradient_of(alphas[step]), end, total), threshold), z
        own, eta, m = rates[step]
        z = thresholded(updated(decay_of(eta), gradient_of(eta), z, total), threshold)
        return averaged(factor(m), updated(decay_of(own), gradient_of(own), end, total), z), z

    def move(box, z, p, ends, sums, step):
        """Both ends of parameter p, and of what descends beside it; the lower end takes the upper sum."""
        penalty = round(Fraction(alphas[step] * settings["training.l1"]) / UNIT)
        published = settings["training.l1_step"] == "sign"
        (low, high), low_z, high_z = ends, z[0][p], z[1][p]
        if published:
            sign = lambda n: (n > 0) - (n < 0)
            low_z, high_z = low_z - penalty * sign(high), high_z - penalty * sign(low)
            moved = [n - penalty * sign(n) for n in (low, high)]
            jump = [-penalty] * (low <= 0 < high) + [penalty] * (low < 0 <= high)
            low, high = min(moved + jump), max(moved + jump)
        threshold = 0 if published else penalty
        box[0][p], z[0][p] = after(low, low_z, sums[1], step, threshold)
        box[1][p], z[1][p] = after(high, high_z, sums[0], step, threshold)

    for step, alpha in enumerate(alphas):
        epoch, number = divmod(step, batches)
        for level in levels:
            common, k = box(level), level["k"]
            layers = layers_of(*common)
            own = gradients_of(records, layers, epoch, number)
            all_of_batch = own + gradients_of(public, layers, epoch, number)
            for p, bias in enumerate(biases):
                lower, upper = (sum(g[p][end] for g in all_of_batch) for end in (0, 1))
                core = level["core"]
                move(core, level["core z"], p, (core[0][p], core[1][p]), (lower, upper), step)
                if k > 0:  # Lemma: charges
                    gamma = clip.bias_units if bias else clip.weight_units
                    most, least = sorted((-g[p][0] for g in own))[:k], sorted((g[p][1] for g in own))[:k]
                    if relation == "remove":
                        lower, upper = lower + sum(min(0, n) for n in most), upper - sum(min(0, n) for n in least)
                    else:
                        lower, upper = lower - k * gamma, upper + k * gamma
                    if relation == "substitute":
                        lower, upper = lower + sum(most), upper - sum(least)
                move(level["charged"], level["charged z"], p, (common[0][p], common[1][p]), (lower, upper), step)
        for radius in radii.values():
            if momentum:
                own, eta, m = rates[step]
                factors = (decay_of(eta), gradient_of(eta), decay_of(own), gradient_of(own), factor(m))
                radius.advance(factors, number == 0)
            else:
                radius.advance(decay_of(alpha), gradient_of(alpha), number == 0)
    return [{"k": level["k"], "lower": box(level)[0], "upper": box(level)[1]} for level in levels]


# The cases ----------------------------------------------------------------------------------------------------------


def make_records(count, first_id):
    """Dyadic features of either sign, some beyond the range; "y" is of three classes, and of two modulo 2."""
    return [{"id": first_id + 7919 * i * i, "x": [((37 * i + 11) % 64 - 32) / 16.0, ((53 * i + 29) % 48 - 20) / 8.0],
             "y": (i + i // 3) % 3} for i in range(count)]


SETTINGS = {"network.hidden": [2], "network.classes": 2, "network.input_shift": 0.25, "network.input_scale": 0.75,
            "training.epochs": 2, "training.batches": 2, "training.learning_rate": 1.5,
            "training.learning_rate_decay": 0.25, "training.learning_rate_floor": 0.0, "training.l2": 0.125,
            "training.l1": 0.0, "training.l1_step": "proximal", "training.momentum": 0.0, "training.dampening": 0.0,
            "training.nesterov": False, "training.expected_records": 13, "training.seed": 6,
            "training.precision": "double", "clip.kind": "elementwise", "clip.gamma": 0.06, "clip.delta_limit": 0.2,
            "clip.activation_limit": 0.3, "certificate.levels": 2, "feature_range": [-1.75, 2.5]}


def changes():
    """Every relation, budget and clip that go together; single precision, three classes of a linear model; losses."""
    for relation in ("add_remove", "substitute", "remove"):
        for budget in ("per_epoch", "per_batch", "both"):
            for kind in ("elementwise", "factored"):
                if kind == "elementwise" or relation == "add_remove":
                    yield {"certificate.relation": relation, "certificate.budget": budget, "clip.kind": kind}
    for kind in ("elementwise", "factored"):
        yield {"certificate.relation": "add_remove", "certificate.budget": "per_epoch", "clip.kind": kind,
               "training.precision": "single"}
    yield {"certificate.relation": "substitute", "certificate.budget": "per_batch", "network.classes": 3,
           "network.hidden": []}
    for changed in ({"network.loss": "huber"}, {"network.loss": "one_vs_rest", "network.classes": 3}):
        yield {"certificate.relation": "add_remove", "certificate.budget": "per_epoch", **changed}
    for changed in ({"certificate.budget": "per_epoch", "training.nesterov": True, "training.dampening": 0.25},
                    {"certificate.budget": "per_epoch", "training.l1": 0.0625},
                    {"certificate.budget": "per_batch", "training.l1": 0.0625, "training.l1_step": "sign"}):
        yield {"certificate.relation": "add_remove", "training.momentum": 0.5, "training.l2": 0.03125, **changed}
    yield {"certificate.relation": "substitute", "certificate.budget": "per_epoch", "training.l1": 0.0625}


def text():
    """A record, a case's changes or a box on each line: differences can be read."""
    records, public = make_records(12, 1), make_records(3, 2**40)
    rows = lambda values: "[\n  " + ",\n  ".join(json.dumps(value) for value in values) + "]"
    blocks = []
    for change in changes():
        boxes = trained({**SETTINGS, **change}, records, public)
        blocks.append('{"changes": ' + json.dumps(change) + ',\n "boxes": ' + rows(boxes) + "}")
    return ('{"settings": ' + json.dumps(SETTINGS) + ',\n "records": ' + rows(records) + ',\n "public_records": ' +
            rows(public) + ',\n "cases": [\n' + ",\n".join(blocks) + "]}\n")


if __name__ == "__main__":
    path = os.path.splitext(os.path.abspath(__file__))[0] + ".json"
    if "--check" in sys.argv[1:]:
        same = open(path).read() == text()
        print("as recorded" if same else path + " differs")
        sys.exit(0 if same else 1)
    open(path, "w").write(text())
