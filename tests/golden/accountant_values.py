#!/usr/bin/env python3
"""What other accountants say of the same steps: tests/golden/accountant_values.json.

The losses and Renyi curves of Google's dp_accounting (pip install dp-accounting), the Gaussian mechanism by mpmath to
40 digits. Run it to write the file anew, with --check to compare:
    python3 tests/golden/accountant_values.py [--check]
accountant_golden_test.cpp holds the program's accountants against it.
"""

import json
import os
import sys
from fractions import Fraction

import mpmath
import numpy
from dp_accounting import dp_event
from dp_accounting.pld import privacy_loss_distribution as pld
from dp_accounting.rdp import RdpAccountant
from scipy import stats

ORDERS = [2, 3, 5, 8, 16, 31, 64, 128, 512, 1024, 2048]  # of renyi_orders()
SAMPLED = [  # rate, noise multiplier, steps, delta
    ("1/128", 1.0, 1000, "1e-5"),
    ("1/16", 2.0, 300, "1e-6"),
    ("1/4", 1.5, 20, "1e-9"),
    ("1/1024", 0.6, 2000, "1e-5"),
    ("1/2", 4.0, 2, "1e-3"),
    ("15/16", 3.0, 50, "1e-5"),
    ("1/1024", 5.0, 1, "1e-9"),
    ("1/64", 1.25, 10000, "1e-6"),
    ("1/64", 20.0, 10000, "1e-6"),
]
SUBSTITUTED = [("1/128", 1.0, 1000, "1e-5"), ("1/4", 3.0, 20, "1e-6"), ("1/2", 8.0, 2, "1e-4")]
BOUNDED = [  # what dp_accounting bounds quickly: few steps, or rough ones
    (rate, multiplier, steps, delta)
    for rate, multiplier in (("1/64", 0.75), ("1/16", 1.5), ("1/256", 1.0), ("1/4", 4.0), ("1/8", 10.0))
    for steps, delta in ((1, "1e-3"), (8, "1e-6"), (40, "1e-5"), (150, "1e-4"), (400, "1e-7"))
]
ONE_STEP = [("1/64", 1 / 64, 1, "1e-5"), ("1/64", 0.5, 1, "1e-5"), ("1/2", 0.125, 1, "1e-9")]
MANY_STEPS = [  # steps: their log2
    ("1e-4", 2.0, 27, "1e-6"),
    ("2.17e-5", 1.0, 30, "1e-5"),
    ("1e-2", 100.0, 30, "1e-5"),
    ("4e-7", 0.75, 40, "1e-5"),
    ("1e-3", 1000.0, 40, "1e-5"),
]
UNSAMPLED = [(1.0, 1, "1e-5"), (10.0, 100, "1e-6"), (50.0, 2500, "1e-9"), (0.5, 3, "1e-2"), (400.0, 1, "1e-2")]


def event(rate, multiplier, steps):
    one = dp_event.PoissonSampledDpEvent(float(Fraction(rate)), dp_event.GaussianDpEvent(multiplier))
    return dp_event.SelfComposedDpEvent(one, steps)


def epsilon_of_loss(loss, steps, delta):
    return float(loss.self_compose(steps).get_epsilon_for_delta(float(delta)))


def add_remove(rate, multiplier, steps, delta):
    """Bounds from below and from above of the true epsilon. The upper one is within some 1e-5 of it."""
    interval = min(1e-4, 1e-3 / steps**0.5)
    return [
        epsilon_of_loss(
            pld.from_gaussian_mechanism(
                multiplier,
                pessimistic_estimate=pessimistic,
                use_connect_dots=pessimistic,
                value_discretization_interval=interval,
                sampling_prob=float(Fraction(rate)),
            ),
            steps,
            delta,
        )
        for pessimistic in (False, True)
    ]


def substitute(rate, multiplier, steps, delta):
    """(1-q) N(0) + q N(1) against (1-q) N(0) + q N(-1), cut into bins of x: a post-processing, so from below both."""
    q = float(Fraction(rate))
    edges = numpy.arange(-40 * multiplier, 40 * multiplier, multiplier / 500)

    def law(shift):
        masses = (1 - q) * numpy.diff(stats.norm.cdf(edges, 0, multiplier))
        return masses + q * numpy.diff(stats.norm.cdf(edges, shift, multiplier))

    one, other = law(1), law(-1)
    present = (one > 1e-250) & (other > 1e-250)
    numbers = numpy.flatnonzero(present)
    loss = pld.from_two_probability_mass_functions(
        dict(zip(numbers, numpy.log(other[numbers]))),
        dict(zip(numbers, numpy.log(one[numbers]))),
        pessimistic_estimate=False,
        value_discretization_interval=min(1e-4, 1e-3 / steps**0.5),
    )
    return epsilon_of_loss(loss, steps, delta)


def gaussian(multiplier, steps, delta):
    mpmath.mp.dps = 40
    mu = mpmath.sqrt(steps) / mpmath.mpf(multiplier)

    def excess(epsilon):
        tail = mpmath.ncdf(mu / 2 - epsilon / mu) - mpmath.exp(epsilon) * mpmath.ncdf(-mu / 2 - epsilon / mu)
        return tail - mpmath.mpf(delta)

    low, high = mpmath.mpf(0), mu * mu / 2 + 60 * mu
    if excess(low) <= 0:
        return 0.0
    for _ in range(120):
        middle = (low + high) / 2
        low, high = (middle, high) if excess(middle) > 0 else (low, middle)
    return float(high)


def one_step(rate, multiplier, _, delta):
    """Of a removal, which costs more than an addition: the tails of the best event at every epsilon."""
    mpmath.mp.dps = 40
    rate, sigma = mpmath.mpf(Fraction(rate).numerator) / Fraction(rate).denominator, mpmath.mpf(multiplier)

    def excess(epsilon):
        threshold = sigma**2 * mpmath.log((mpmath.exp(epsilon) - 1 + rate) / rate) + mpmath.mpf(1) / 2
        centred, shifted = mpmath.ncdf(-threshold / sigma), mpmath.ncdf((1 - threshold) / sigma)
        return (1 - rate) * centred + rate * shifted - mpmath.exp(epsilon) * centred - mpmath.mpf(delta)

    low, high = mpmath.mpf(0), 1 / sigma**2 * (1 + 60 * sigma)
    for _ in range(120):
        middle = (low + high) / 2
        low, high = (middle, high) if excess(middle) > 0 else (low, middle)
    return float(high)


def many_steps(rate, multiplier, doublings, delta):
    """By Fourier's integral of delta(epsilon) = E[max(0, 1 - e^(epsilon - S))], S the sum of all losses: with M(z) =
    E[e^(z S)], the power of one step's, it is the mean of M(z) e^(-z epsilon)/(z (z + 1)) on a line of real part > 0."""
    rate, steps = float(rate), 2.0**doublings
    x = numpy.linspace(-40 * multiplier, 40 * multiplier + 2, 8001)
    centred = stats.norm.pdf(x, 0, multiplier) * (x[1] - x[0])
    loss = numpy.log1p(rate * numpy.expm1((2 * x - 1) / (2 * multiplier**2)))
    mu = rate * (steps * numpy.expm1(1 / multiplier**2)) ** 0.5

    def epsilon_of(masses, loss):
        real = 1  # where moments of little noise are not yet those of a record that is in every step
        line = real + 1j * numpy.linspace(-12 / mu, 12 / mu, 401)
        moments = numpy.array([steps * numpy.log1p((masses * numpy.expm1(z * loss)).sum()) for z in line])

        def excess(epsilon):
            terms = numpy.exp(moments - line * epsilon) / (line * (line + 1))
            return terms.real.sum() * (line[1] - line[0]).imag / (2 * numpy.pi) - float(delta)

        low, high = 0.0, mu * (mu / 2 + 40)
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if excess(middle) > 0 else (low, middle)
        return high

    return float(max(epsilon_of(centred * numpy.exp(loss), loss), epsilon_of(centred, -loss)))


def settings(of, name, compute):
    return [{"rate": rate, "multiplier": multiplier, "steps": steps, "delta": delta,
             name: compute(rate, multiplier, steps, delta)} for rate, multiplier, steps, delta in of]


def computed():
    return {
        "orders": ORDERS,
        "sampled": [
            {
                "rate": rate,
                "multiplier": multiplier,
                "steps": steps,
                "delta": delta,
                "curve": [float(RdpAccountant([a]).compose(event(rate, multiplier, 1))._rdp[0]) for a in ORDERS],
                "by_curve": float(
                    RdpAccountant(ORDERS).compose(event(rate, multiplier, steps)).get_epsilon(float(delta))
                ),
                "bounds": add_remove(rate, multiplier, steps, delta),
            }
            for rate, multiplier, steps, delta in SAMPLED
        ],
        "bounded": settings(BOUNDED, "bounds", add_remove),
        "one_step": settings(ONE_STEP, "epsilon", one_step),
        "many_steps": settings(MANY_STEPS, "epsilon", many_steps),
        "substituted": settings(SUBSTITUTED, "below", substitute),
        "unsampled": [
            {"multiplier": multiplier, "steps": steps, "delta": delta, "epsilon": gaussian(multiplier, steps, delta)}
            for multiplier, steps, delta in UNSAMPLED
        ],
    }


def main():
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "accountant_values.json")
    text = json.dumps(computed(), indent=1) + "\n"
    if "--check" in sys.argv[1:]:
        with open(path) as file:
            sys.exit(0 if file.read() == text else "accountant_values.json is not what this program computes")
    with open(path, "w") as file:
        file.write(text)


if __name__ == "__main__":
    main()
