"""Scalable differential privacy with certified robustness in adversarial learning (DPAL)."""

import math
import random

from entries import DRAWING, LATER, entry, judged, told

NOT_YET = ("training with noise on adversaries, its baselines (AdLM, PixelDP, SecureSGD) and attacks at the query are no kind of training or command here; nor are convolutions in "
           "training with noise")
FIGURES = {
    "Figure 2": "MNIST, attacks of .2: DPAL above AdLM and DP-SGD at every epsilon, p < 3e-10; these two are defenceless; from .1 to .2 it falls by 1.76% on average.",
    "Figure 3": "MNIST at epsilon 2: certified accuracy 82.28% at .05, 72.40% at .6; PixelDP (epsilon_r = .1, not private) 94.19% to 9.08%, under FGSM to 77.47%.",
    "Figure 4": "MNIST, attacks of .1: DPAL above AdLM and DP-SGD at every epsilon.", "Figure 5": "Figure 2 in full.",
    "Figure 6": "CIFAR-10, attacks of .1: from 44.1% at epsilon 2 to 48.77% at 10, above all baselines.",
    "Figure 7": "CIFAR-10, attacks of .2: as Figure 6, hardly changed.", "Figure 8": "Figure 3 in full.", "Figure 9": "CIFAR-10 at epsilon 4: above PixelDP (epsilon_r = .1) in all cases."}
told("003", "Figure 1", DRAWING, "a drawing of the network")
for figure, claims in FIGURES.items():
    told("003", figure, LATER, NOT_YET, claims)


@entry("003", "Lemma 3", says="The first layer's parameters are epsilon_1-private: its gradient reads only records with noise.",
       data="Exact but for rounding, nothing is run: two records of two features, two units, one step, epsilon_1 = 1; the one noise for all records as printed, 2000 draws.")
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
    return judged(max(found["equal records"]) >= min(found["unequal records"]), f"equal records give a gradient whose determinant is 0 (at most {max(found['equal records']):.0e}), unequal ones never "
                  f"(at least {min(found['unequal records']):.0e}): one draw tells neighbours apart at every epsilon. d + beta noises are in d beta outputs", stand_in=False)


@entry("003", "Lemma 6", says="The coefficients of the objective are private in the labels: one noise chi_3 for all classes.",
       data="Exact, nothing is run: two classes, h = 1, labels counted (3, 2) and (2, 3), 1000 draws of the noise.")
def labels(here):
    draws = random.Random(6)
    differences = {counts: {round((counts[0] + noise) - (counts[1] + noise), 6) for noise in (draws.expovariate(1) - draws.expovariate(1) for _ in range(1000))} for counts in ((3, 2), (2, 3))}
    for counts, seen in differences.items():
        here.row(labels=str(counts), differences_seen=" ".join(map(str, seen)))
    return judged(bool(set.intersection(*differences.values())), "the difference of two classes' coefficients is free of noise: it is the count, in every draw", stand_in=False)


def tail(distance):
    """Of the sum of two Laplace noises of scale 1."""
    return (0.5 + distance / 4) * math.exp(-distance) if distance >= 0 else 1 - tail(-distance)


@entry("003", "Proposition 1", says="Where the least of the label exceeds e^(2 epsilon_r) times the most of any other, it is robust to moves of kappa + phi.",
       data="Exact, nothing is run: one feature, one unit, both noises Laplace(1); class k below -3.99, i above 5.21, 98 others share what is between.")
def robust(here):
    below, above = 3.99, 5.21

    def others(shift):
        return tail(below + shift), tail(above - shift)

    k, i = others(0)
    claimed = math.log(k / max(i, (1 - k - i) / 98))
    turned = next(step / 1000 for step in range(10000) if others(step / 1000)[1] > others(step / 1000)[0])
    here.row(label=k, next=i, claimed_move=claimed, label_changes_at=turned)
    return judged(turned >= claimed, f"robust to {claimed:.3f} is claimed, beyond {turned:.2f} the label is another: group privacy is inverted, and the unit reads the noisy input, a cascade", stand_in=False)
