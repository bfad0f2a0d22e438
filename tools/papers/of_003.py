"""Scalable differential privacy with certified robustness in adversarial learning (DPAL)."""

import math
import random

from drawing import lines
from entries import HALVES, OUT, entry, judged, paid, percent

ATTACKS = ("fgsm", "ifgsm", "mim", "pgd")
# A convolution of 5 x 5 is the auto-encoder, as the models of the paper have one first. What the text does not state (beta, T,
# rates, n, eta, the split of epsilon) was chosen on part of one half of the training records; networks are smaller and T_mu of
# MNIST is 3 in place of 10, so that a figure takes minutes.
NETWORK = {"network.layers": '["conv 8 5x5 stride 2 padding 2","max_pool 2x2","dense 32"]', "network.classes": 10,
           "network.loss": "cross_entropy", "network.input_shift": 0.5, "network.input_scale": 2}
# Attacks on a model of ours look through no pooling: windows that lie beside one another in its place.
PLAIN = {**NETWORK, "network.layers": '["conv 8 5x5 stride 4 padding 2","dense 32"]'}
PUBLISHED = {**NETWORK, "training.kind": "dpal", "dpal.sensitivity": "window", "dpal.encoder_rate": 1e-4}
TABLES = {"mnist": {"records": 60000, "tests": 1000, "batch": 2400, "epochs": 8, "steps": 3, "psi": 2,
                    "epsilons": (1, 2, 4), "at": 2},
          "cifar10_10k": {"records": 10000, "tests": 1000, "batch": 1667, "epochs": 33, "steps": 3, "psi": 10,
                          "epsilons": (2, 4, 10), "at": 4}}
SIZES = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6)  # of a move, in the paper's units, which are twice the program's


class Images:
    """A table of images, its first records and tests, as the figures ask it."""

    def __init__(self, here, name):
        self.here, self.name, self.told = here, name, TABLES[name]
        self.records, tests = here.small((self.told["records"], self.told["tests"]), (min(self.told["records"], 240), 40))
        some = here.steps(["python", HALVES, "first", here.table(name), self.records, tests, (OUT, "/some.h5")])
        self.data = here.made("import", (some, "/some.h5"), "--out", OUT, "--population", name, "--source-scaling", "public")
        columns = self.data.answer["features"]
        channels = 3 if name == "cifar10_10k" else 1
        side = math.isqrt(columns // channels)
        self.image = {"network.image": f"[{channels},{side},{side}]", "training.expected_records": self.records}

    def published(self, variant, epsilon, **changed):
        """A run of a variant as it is published, but for what is changed."""
        told, small = self.told, self.here.small
        settings = {**PUBLISHED, **self.image, "dpal.variant": variant, "dpal.epsilon": epsilon, "dpal.psi": told["psi"],
                    "dpal.steps": small(told["steps"], 1), "dpal.draws": small(400, 4),
                    "training.batches": max(2, round(self.records / told["batch"])), "training.epochs": small(told["epochs"], 1),
                    "training.learning_rate": {"dpal": 0.05 if changed else 0.03, "adlm": 0.03}.get(variant, 0.5)}
        if variant == "secure_sgd":
            settings |= {"clip.kind": "norm", "clip.norm_limit": 1}
        settings |= {f"dpal.{name}": value for name, value in changed.items()}
        return self.here.trained(self.data, settings)

    def attacked(self, run, sizes):
        """What evaluate says of each attack: {(attack, size): row}."""
        said = self.here.said("evaluate", "--run", run, "--data", (self.data, ":test"), "--input-radius",
                              ",".join(f"{size / 2:g}" for size in sizes))
        return said["accuracy"]["single"], {(row["attack"], round(2 * row["radius"], 6)): row for row in said["attacks"]}

    def ours(self, settings, epsilon, sizes, number):
        """The same of a model that is paid for, published and attacked, with its certificates, and boxes prove these."""
        ledger, run, model = (OUT, "/ledger.db"), (OUT, "/run"), (OUT, "/model.h5")
        noisy = {"training.kind": "noisy", "clip.kind": "norm", "noise.epsilon": epsilon, "noise.delta": 1e-5,
                 "training.expected_records": self.records, **settings}
        said = self.here.steps(
            *paid(self.data, noisy, number=number),
            ["publish", "--run", run, "--ledger", ledger, "--out", model],
            ["certify", "--model", model, "--queries", (self.data, ":test"), "--input-radius",
             ",".join(f"{size / 2:g}" for size in sizes), "--attack", ",".join(ATTACKS), "--attack-steps",
             self.here.small(self.told["steps"], 1), "--attack-restarts", 1]).answer
        return said["clean"], {(attack, round(2 * row["radius"], 6)): {"conventional": row["attacks"][attack],
                                                                      "certified_clean": row["certified"]}
                               for row in said["radii"] for attack in ATTACKS}

    def dp_sgd(self, epsilon, sizes):
        batches = max(2, round(self.records / self.told["batch"]))
        steps = {**PLAIN, **self.image, "training.batches": batches, "noise.sampling_rate": round(2**16 / batches) / 2**16,
                 "training.epochs": self.here.small(self.told["epochs"], 1), "training.learning_rate": 1,
                 "training.precision": "single"}
        return self.ours(steps, epsilon, sizes, 0)

    def worst_case(self, epsilon, sizes):
        steps = {**{key: value for key, value in NETWORK.items() if key != "network.layers"}, "network.hidden": [],
                 "robust.attack": "worst_case", "robust.input_radius": 0.025, "training.batches": 1,
                 "training.epochs": self.here.small(60, 2), "training.learning_rate": 1, "training.momentum": 0.9,
                 "clip.norm_limit": 3, "noise.average": 0.3}
        return self.ours(steps, epsilon, sizes, 1)


def models(images, certified):
    """{name: function of (epsilon, sizes) that gives (clean, {(attack, size): row})}."""
    def of(variant, **changed):
        return lambda epsilon, sizes: images.attacked(images.published(variant, epsilon, **changed), sizes)
    beside = {"PixelDP": of("pixel_dp")} if certified else {"AdLM": of("adlm"), "DP-SGD": images.dp_sgd}
    return {"DPAL": of("dpal"), "DPAL, its loss corrected": of("dpal", taylor="corrected"), **beside,
            "SecureSGD": of("secure_sgd"), "worst case (ours)": images.worst_case}


def conventional(here, name, size, also):
    """Accuracy under attacks of a size by epsilon; also: the other size that is asked at once."""
    images, sizes = Images(here, name), sorted({size, also})
    epsilons = here.small(images.told["epsilons"], images.told["epsilons"][-1:])
    found = {}
    for model, ask in models(images, False).items():
        for epsilon in epsilons:
            clean, rows = ask(epsilon, sizes)
            under = {attack: rows[attack, size]["conventional"] for attack in ATTACKS}
            found[model, epsilon] = (clean, under, {attack: rows[attack, also]["conventional"] for attack in ATTACKS})
            here.row(model=model, epsilon=epsilon, clean=clean, size=size, **under)
    for attack in ATTACKS:
        here.draw(lines(f"{name}, {attack} of {size:g}", "epsilon", "accuracy",
                        {model: [(epsilon, found[model, epsilon][1][attack]) for epsilon in epsilons]
                         for model in models(images, False)}, log=True))
    def mean(model, at=1):
        return sum(sum(found[model, epsilon][at].values()) for epsilon in epsilons) / len(epsilons) / len(ATTACKS)

    best = max(("DPAL", "DPAL, its loss corrected"), key=mean)
    private = [found[model, epsilon][1][attack] - found[best, epsilon][1][attack] for model in ("AdLM", "DP-SGD")
               for epsilon in epsilons for attack in ATTACKS]
    fall = (mean(best) - mean(best, 2)) * (1 if also > size else -1)
    return judged(max(private) < 0, "right under attack, the mean over epsilons and attacks: " + ", ".join(
        f"{model} {mean(model):.3f}" for model in models(images, False)) +
        f"; {best} is above AdLM and DP-SGD in {sum(one < 0 for one in private)} of {len(private)} cases, and falls by "
        f"{percent(fall)} from .1 to .2. No epsilon is true of DPAL, AdLM and SecureSGD; DP-SGD and ours are (epsilon, "
        "1e-5)-private")


def certified(here, name):
    """Certified accuracy by the size of a move, at one epsilon."""
    images = Images(here, name)
    sizes = here.small(SIZES, (0.05, 0.6))
    curves, claims = {}, {}
    for model, ask in models(images, True).items():
        clean, rows = ask(images.told["at"], sizes)
        for attack in ATTACKS:
            claims[model, attack] = [rows[attack, size].get("certified_attacked", rows[attack, size]["certified_clean"])
                                     for size in sizes]
            here.row(model=model, attack=attack, clean=clean,
                     **{f"certified at {size:g}": share for size, share in zip(sizes, claims[model, attack])},
                     **{f"right under {size:g}": rows[attack, size]["conventional"] for size in sizes})
        here.row(model=model, attack="none", clean=clean,
                 **{f"certified at {size:g}": rows["fgsm", size]["certified_clean"] for size in sizes})
        curves[model] = list(zip(sizes, (sum(claims[model, attack][i] for attack in ATTACKS) / len(ATTACKS)
                                         for i in range(len(sizes)))))
    here.draw(lines(f"{name}, epsilon {images.told['at']}", "size of a move, in [-1, 1]", "called certified", curves))
    best = max(("DPAL", "DPAL, its loss corrected"), key=lambda model: sum(share for _, share in curves[model]))
    ahead = [size for (size, theirs), (_, pixel) in zip(curves[best], curves["PixelDP"]) if theirs > pixel]
    fall = curves[best][0][1] - curves[best][-1][1]
    wanted = [size for size in sizes if size >= 0.3 or name != "mnist"]
    return judged(ahead and set(wanted) <= set(ahead) and fall < 0.2, "called certified at the least and the greatest size: " +
                  ", ".join(f"{model} {curve[0][1]:.3f} and {curve[-1][1]:.3f}" for model, curve in curves.items()) +
                  f"; {best} is above PixelDP at {', '.join(f'{size:g}' for size in ahead) or 'none of them'}. Published sizes "
                  "(DPAL's kappa + phi) are asked at attacked inputs, and not proved; ours are, at the inputs as they are")


for _figure, _name, _size, _also in (("Figure 2", "mnist", 0.2, 0.1), ("Figure 4", "mnist", 0.1, 0.2), ("Figure 5", "mnist", 0.2, 0.1),
                                     ("Figure 6", "cifar10_10k", 0.1, 0.2), ("Figure 7", "cifar10_10k", 0.2, 0.1)):
    entry("003", _figure)(lambda here, name=_name, size=_size, also=_also: conventional(here, name, size, also))
for _figure, _name in (("Figure 3", "mnist"), ("Figure 8", "mnist"), ("Figure 9", "cifar10_10k")):
    entry("003", _figure)(lambda here, name=_name: certified(here, name))


@entry("003", "Lemma 3")
def gradients(here):
    draws, found = random.Random(3), {}

    def laplace(scale):
        return scale * (draws.expovariate(1) - draws.expovariate(1))

    for name, records in (("equal records", [(0.3, -0.2)] * 2), ("unequal records", [(0.3, -0.2), (-0.5, 0.4)])):
        sizes = []
        for _ in range(2000):
            theta = [[draws.uniform(-1, 1) for _ in range(2)] for _ in range(2)]
            input_noise, unit_noise = ([laplace(2.0) for _ in range(2)] for _ in range(2))
            gradient = [[0.0, 0.0], [0.0, 0.0]]
            for record in records:
                x = [value + noise for value, noise in zip(record, input_noise)]
                h = [sum(x[i] * theta[i][j] for i in range(2)) + unit_noise[j] for j in range(2)]
                for i in range(2):
                    for j in range(2):
                        gradient[i][j] += (0.5 - x[i]) * h[j]
            sizes.append(abs(gradient[0][0] * gradient[1][1] - gradient[0][1] * gradient[1][0]))
        found[name] = sizes
        here.row(dataset=name, least_determinant=min(sizes), most_determinant=max(sizes))
    return judged(max(found["equal records"]) >= min(found["unequal records"]),
                  f"equal records give a gradient whose determinant is 0 (at most {max(found['equal records']):.0e}), unequal "
                  f"ones never "
                  f"(at least {min(found['unequal records']):.0e}): one draw tells neighbours apart at every epsilon. d + beta "
                  f"noises are in d beta outputs", stand_in=False)


@entry("003", "Lemma 6")
def labels(here):
    draws = random.Random(6)
    differences = {counts: {round((counts[0] + noise) - (counts[1] + noise), 6)
                            for noise in (draws.expovariate(1) - draws.expovariate(1) for _ in range(1000))}
                            for counts in ((3, 2), (2, 3))}
    for counts, seen in differences.items():
        here.row(labels=str(counts), differences_seen=" ".join(map(str, seen)))
    return judged(bool(set.intersection(*differences.values())), "the difference of two classes' coefficients is free of "
                  "noise: it is the count, in every draw", stand_in=False)


def tail(distance):
    """Of the sum of two Laplace noises of scale 1."""
    return (0.5 + distance / 4) * math.exp(-distance) if distance >= 0 else 1 - tail(-distance)


@entry("003", "Proposition 1")
def robust(here):
    below, above = 3.99, 5.21

    def others(shift):
        return tail(below + shift), tail(above - shift)

    k, i = others(0)
    claimed = math.log(k / max(i, (1 - k - i) / 98))
    turned = next(step / 1000 for step in range(10000) if others(step / 1000)[1] > others(step / 1000)[0])
    here.row(label=k, next=i, claimed_move=claimed, label_changes_at=turned)
    return judged(turned >= claimed, f"robust to {claimed:.3f} is claimed, beyond {turned:.2f} the label is another: group "
                  f"privacy is inverted, and the unit reads the noisy input, a cascade", stand_in=False)
