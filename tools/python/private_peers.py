#!/usr/bin/env python3
"""Private linear models by other libraries, for tools/reproduce and tools/private_accuracy --peers, which call this in their environment.

    private_peers.py FILE.h5 --records N --epsilon E --delta D --runs R [--centre C] [--learning-rate A] [--numbers LOW:HIGH]

Prints {"NAME VERSION": [{"accuracy": …, "seconds": …}, …]}, with the figures that `holdfast evaluate` shows, for those of these that are installed (tools/python/requirements.txt); what
does not go together with the versions beside it is left out, and named on stderr:
  diffprivlib  LogisticRegression as it comes, at the pure epsilon E; its public bound of a record's norm follows from
               features in [0, 1], bias included.
  interpret    DPExplainableBoostingClassifier (DP-EBM) as it comes, with 16 bins of public bounds [0, 1].
  Opacus       per-record gradients, clip and noise by its GradSampleModule and DPOptimizer, noise by its PRV accountant,
               in 100 full batches with the schedule and the scaling of jobs/configs/private.toml.
  scikit-learn HistGradientBoostingClassifier as it comes, which is not private: what could be had.
With --numbers, the public range of numbers that y holds, a regression, and the part of the variance explained (R^2) and the
root mean squared error in place of these:
  diffprivlib  LinearRegression as it comes, at the pure epsilon E, with these bounds.
  AdaSSP       noisy sufficient statistics, ridge of adaptive size (Wang, "Revisiting differentially private linear
               regression", UAI 2018, algorithm 2), on y scaled to [-1, 1]; by numpy.
  scikit-learn HistGradientBoostingRegressor and LinearRegression, which are not private.
"""

import argparse
import importlib.metadata
import importlib.util
import json
import math
import signal
import sys
import time
import warnings

import h5py
import numpy as np

STEPS = 100  # as private.toml


def tables(path):
    """Pixels that are bytes in units of their range, labels as what can be subtracted."""
    with h5py.File(path) as file:
        parts = [file[f"{what}_{split}"][:] for split in ("train", "test") for what in "xy"]
    whole = np.issubdtype(parts[1].dtype, np.integer)
    return [part.astype(np.int64) if whole and part.ndim == 1 else part / np.float32(255) if part.dtype == np.uint8 else part
            for part in parts]


def area_under_curve(probability, inside):
    """By ranks, ties by half."""
    _, place, count = np.unique(probability, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(count) - (count - 1) / 2)[place]
    mine = inside.sum()
    return (ranks[inside].sum() - mine * (mine + 1) / 2) / (mine * (len(inside) - mine))


def figures(probabilities, truth):
    """As jobs/program/quality.hpp has them: of several classes each against all others."""
    labels, classes = probabilities.argmax(axis=1), probabilities.shape[1]
    found = {"accuracy": (labels == truth).mean(),
             "balanced_accuracy": np.mean([(labels[truth == c] == c).mean() for c in np.unique(truth)]),
             "auc": np.mean([area_under_curve(probabilities[:, c], truth == c) for c in np.unique(truth)]),
             "brier": np.square(probabilities - np.eye(classes)[truth]).sum() / len(truth) / 2,
             "log_loss": -np.log(np.maximum(probabilities[np.arange(len(truth)), truth], 1e-15)).mean(),
             "calibration_error": 0}
    for c in range(classes):
        gaps = np.bincount(np.minimum(9, (probabilities[:, c] * 10).astype(int)), probabilities[:, c] - (truth == c), 10)
        found["calibration_error"] += np.abs(gaps).sum() / len(truth) / 2
    return {name: float(value) for name, value in found.items()}


def by_diffprivlib(asked, x, y, x_test, y_test):
    from diffprivlib.models import LogisticRegression

    model = LogisticRegression(epsilon=asked.epsilon, data_norm=math.sqrt(x.shape[1] + 1), max_iter=1000)
    start = time.monotonic()
    model.fit(x, y)
    return figures(model.predict_proba(x_test), y_test), time.monotonic() - start


def by_interpret(asked, x, y, x_test, y_test):
    from interpret.privacy import DPExplainableBoostingClassifier

    if y.max() > 1:
        raise ValueError("it knows two classes alone")
    columns = x.shape[1]
    model = DPExplainableBoostingClassifier(epsilon=asked.epsilon, delta=asked.delta, max_bins=16,
                                            feature_types=["continuous"] * columns,
                                            privacy_bounds=np.tile([0.0, 1.0], (columns, 1)))
    start = time.monotonic()
    model.fit(x, y)
    return figures(model.predict_proba(x_test), y_test), time.monotonic() - start


def noise_of(asked):
    from opacus.accountants.utils import get_noise_multiplier

    return get_noise_multiplier(target_epsilon=asked.epsilon, target_delta=asked.delta, sample_rate=1.0, steps=STEPS,
                                accountant="prv", epsilon_tolerance=asked.epsilon / 1000)


def by_opacus(asked, x, y, x_test, y_test):
    import torch
    from opacus import GradSampleModule
    from opacus.optimizers import DPOptimizer

    start = time.monotonic()
    scaled = [torch.from_numpy((np.asarray(rows, dtype=np.float32) - np.float32(asked.centre)) * 4) for rows in (x, x_test)]
    classes = int(y.max()) + 1
    labels = torch.from_numpy(y.astype(np.float32 if classes == 2 else np.int64))
    loss = torch.nn.functional.binary_cross_entropy_with_logits if classes == 2 else torch.nn.functional.cross_entropy
    model = GradSampleModule(torch.nn.Linear(x.shape[1], 1 if classes == 2 else classes), loss_reduction="sum")
    rate = asked.learning_rate
    optimizer = DPOptimizer(torch.optim.SGD(model.parameters(), lr=rate), noise_multiplier=asked.noise, max_grad_norm=1.0,
                            expected_batch_size=asked.records, loss_reduction="mean")
    average = [torch.zeros_like(parameter) for parameter in model.parameters()]
    for step in range(STEPS):
        optimizer.param_groups[0]["lr"] = rate / (1 + 0.04 * step)
        optimizer.zero_grad()
        loss(model(scaled[0]).squeeze(1), labels, reduction="sum").backward()
        optimizer.step()
        if step >= STEPS // 2:
            for sum_, parameter in zip(average, model.parameters()):
                sum_ += parameter.detach()
    seconds = time.monotonic() - start
    margins = scaled[1] @ (average[0].T / (STEPS - STEPS // 2)) + average[1] / (STEPS - STEPS // 2)
    if classes == 2:
        margins = torch.hstack([torch.zeros_like(margins), margins])
    return figures(torch.softmax(margins.double(), dim=1).numpy(), y_test), seconds


def by_boosted_trees(asked, x, y, x_test, y_test):
    from sklearn.ensemble import HistGradientBoostingClassifier

    start = time.monotonic()
    model = HistGradientBoostingClassifier().fit(x, y)
    return figures(model.predict_proba(x_test), y_test), time.monotonic() - start


def of_numbers(asked, answers, y_test):
    clipped = np.clip(y_test, *asked.numbers)
    error = np.mean((answers - clipped) ** 2)
    return {"explained_variance": float(1 - error / np.var(clipped)), "root_mean_squared_error": math.sqrt(error)}


def numbers_by_diffprivlib(asked, x, y, x_test, y_test):
    from diffprivlib.models import LinearRegression

    columns = x.shape[1]
    model = LinearRegression(epsilon=asked.epsilon, bounds_X=(np.zeros(columns), np.ones(columns)), bounds_y=tuple(asked.numbers))
    start = time.monotonic()
    model.fit(x, y)
    return of_numbers(asked, model.predict(x_test), y_test), time.monotonic() - start


def numbers_by_adassp(asked, x, y, x_test, y_test):
    start = time.monotonic()
    low, high = asked.numbers
    middle, half = (low + high) / 2, (high - low) / 2
    rows, tests = (np.hstack([table, np.ones((len(table), 1))]) for table in (x, x_test))
    targets = np.clip((y - middle) / half, -1, 1)
    random, columns = np.random.default_rng(), rows.shape[1]
    longest, third, log = math.sqrt(columns), asked.epsilon / 3, math.log(6 / asked.delta)
    gram = rows.T @ rows
    least = max(0, np.linalg.eigvalsh(gram)[0] + math.sqrt(log) / third * longest**2 * random.normal() - log / third * longest**2)
    ridge = max(0, math.sqrt(columns * log * math.log(2 * columns**2 / 0.05)) * longest**2 / third - least)
    noise = np.triu(random.normal(size=(columns, columns)))
    noise += np.triu(noise, 1).T
    noisy = gram + math.sqrt(log) / third * longest**2 * noise + ridge * np.eye(columns)
    weights = np.linalg.solve(noisy, rows.T @ targets + math.sqrt(log) / third * longest * random.normal(size=columns))
    seconds = time.monotonic() - start
    return of_numbers(asked, tests @ weights * half + middle, y_test), seconds


def numbers_without_privacy(kind):
    def fitted(asked, x, y, x_test, y_test):
        start = time.monotonic()
        model = kind().fit(x, y)
        return of_numbers(asked, model.predict(x_test), y_test), time.monotonic() - start

    return fitted


def numbers_by_boosted_trees(*given):
    from sklearn.ensemble import HistGradientBoostingRegressor

    return numbers_without_privacy(HistGradientBoostingRegressor)(*given)


def numbers_by_least_squares(*given):
    from sklearn.linear_model import LinearRegression

    return numbers_without_privacy(LinearRegression)(*given)


# Module, distribution, what is tried.
PEERS = (("diffprivlib", "diffprivlib", by_diffprivlib), ("interpret", "interpret-core", by_interpret),
         ("opacus", "opacus", by_opacus), ("sklearn", "scikit-learn", by_boosted_trees))
PEERS_OF_NUMBERS = (("diffprivlib", "diffprivlib", numbers_by_diffprivlib), ("numpy", "AdaSSP by numpy", numbers_by_adassp),
                    ("sklearn", "scikit-learn", numbers_by_boosted_trees), ("sklearn", "least squares by scikit-learn", numbers_by_least_squares))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file")
    for name, kind in (("records", int), ("epsilon", float), ("delta", float), ("runs", int)):
        parser.add_argument(f"--{name}", type=kind, required=True)
    parser.add_argument("--centre", type=float, default=0.25)
    parser.add_argument("--learning-rate", type=float, default=25.0)
    parser.add_argument("--numbers", type=lambda text: [float(end) for end in text.split(":")], metavar="LOW:HIGH")
    asked = parser.parse_args()
    warnings.filterwarnings("ignore")
    data = tables(asked.file)
    results = {}
    for name, title, trained in PEERS_OF_NUMBERS if asked.numbers else PEERS:
        if importlib.util.find_spec(name) is None:
            continue
        version = f"{title} {importlib.metadata.version(title.split()[-1])}"
        try:
            if name == "opacus":
                asked.noise = noise_of(asked)
            outcomes = [trained(asked, *data) for _ in range(asked.runs)]
            results[version] = [{**found, "seconds": seconds} for found, seconds in outcomes]
        except (ImportError, AttributeError, TypeError, ValueError) as error:  # it and what is installed beside do not go together
            print(f"private_peers.py: left out: {version}: {error} (tools/python/requirements.txt has versions that go together)", file=sys.stderr)
    print(json.dumps(results))


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # where nobody reads on, it ends without a word
    main()
