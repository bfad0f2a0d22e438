"""Scalable differential privacy with certified robustness in adversarial learning (DPAL)."""

import math
import random

from entries import entry, judged


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
