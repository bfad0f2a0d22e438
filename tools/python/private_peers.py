#!/usr/bin/env python3
"""Private linear models by other libraries, for tools/private_training and tools/private_accuracy --peers, which call this in their environment.

    private_peers.py FILE.h5 --records N --epsilon E --delta D --runs R [--centre C] [--learning-rate A]

Prints {"NAME VERSION": [[accuracy, seconds], …]} for those of these that are installed (tools/python/requirements.txt); what
does not go together with the versions beside it is left out, and named on stderr:
  diffprivlib  LogisticRegression as it comes, at the pure epsilon E; its public bound of a record's norm follows from
               features in [0, 1], bias included.
  interpret    DPExplainableBoostingClassifier (DP-EBM) as it comes, with 16 bins of public bounds [0, 1].
  Opacus       per-record gradients, clip and noise by its GradSampleModule and DPOptimizer, noise by its PRV accountant,
               in 100 full batches with the schedule and the scaling of jobs/configs/private.toml.
  scikit-learn HistGradientBoostingClassifier as it comes, which is not private: what could be had.
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
    with h5py.File(path) as file:
        return [file[f"{what}_{split}"][:] for split in ("train", "test") for what in "xy"]


def by_diffprivlib(asked, x, y, x_test, y_test):
    from diffprivlib.models import LogisticRegression

    model = LogisticRegression(epsilon=asked.epsilon, data_norm=math.sqrt(x.shape[1] + 1), max_iter=1000)
    start = time.monotonic()
    model.fit(x, y)
    return model.score(x_test, y_test), time.monotonic() - start


def by_interpret(asked, x, y, x_test, y_test):
    from interpret.privacy import DPExplainableBoostingClassifier

    columns = x.shape[1]
    model = DPExplainableBoostingClassifier(epsilon=asked.epsilon, delta=asked.delta, max_bins=16,
                                            feature_types=["continuous"] * columns,
                                            privacy_bounds=np.tile([0.0, 1.0], (columns, 1)))
    start = time.monotonic()
    model.fit(x, y)
    return float((model.predict(x_test) == y_test).mean()), time.monotonic() - start


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
    labels = torch.from_numpy(y.astype(np.float32))
    model = GradSampleModule(torch.nn.Linear(x.shape[1], 1), loss_reduction="sum")
    rate = asked.learning_rate
    optimizer = DPOptimizer(torch.optim.SGD(model.parameters(), lr=rate), noise_multiplier=asked.noise, max_grad_norm=1.0,
                            expected_batch_size=asked.records, loss_reduction="mean")
    average = [torch.zeros_like(parameter) for parameter in model.parameters()]
    for step in range(STEPS):
        optimizer.param_groups[0]["lr"] = rate / (1 + 0.04 * step)
        optimizer.zero_grad()
        torch.nn.functional.binary_cross_entropy_with_logits(model(scaled[0])[:, 0], labels, reduction="sum").backward()
        optimizer.step()
        if step >= STEPS // 2:
            for sum_, parameter in zip(average, model.parameters()):
                sum_ += parameter.detach()
    seconds = time.monotonic() - start
    margins = scaled[1] @ average[0][0] + average[1]
    return float(((margins.numpy() > 0) == (y_test > 0)).mean()), seconds


def by_boosted_trees(asked, x, y, x_test, y_test):
    from sklearn.ensemble import HistGradientBoostingClassifier

    start = time.monotonic()
    model = HistGradientBoostingClassifier().fit(x, y)
    return model.score(x_test, y_test), time.monotonic() - start


# Module, distribution, what is tried.
PEERS = (("diffprivlib", "diffprivlib", by_diffprivlib), ("interpret", "interpret-core", by_interpret),
         ("opacus", "opacus", by_opacus), ("sklearn", "scikit-learn", by_boosted_trees))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file")
    for name, kind in (("records", int), ("epsilon", float), ("delta", float), ("runs", int)):
        parser.add_argument(f"--{name}", type=kind, required=True)
    parser.add_argument("--centre", type=float, default=0.25)
    parser.add_argument("--learning-rate", type=float, default=25.0)
    asked = parser.parse_args()
    warnings.filterwarnings("ignore")
    data = tables(asked.file)
    results = {}
    for name, distribution, trained in PEERS:
        if importlib.util.find_spec(name) is None:
            continue
        version = f"{distribution} {importlib.metadata.version(distribution)}"
        try:
            if name == "opacus":
                asked.noise = noise_of(asked)
            results[version] = [trained(asked, *data) for _ in range(asked.runs)]
        except (ImportError, AttributeError, TypeError) as error:  # it and what is installed beside do not go together
            print(f"private_peers.py: left out: {version}: {error} (tools/python/requirements.txt has versions that go together)", file=sys.stderr)
    print(json.dumps(results))


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # where nobody reads on, it ends without a word
    main()
