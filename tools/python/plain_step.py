#!/usr/bin/env python3
"""plain_step.py NETWORK… [--threads N] [--repeats N]: milliseconds of plain training steps in PyTorch.

NETWORK: blobs, imdb or amex, the networks, batches and numbers of steps of `holdfast bench step`; or convolution, a step
of tools/microbench/convolution.cpp: convolutions 1-16 (4x4, stride 2) and 16-32 (4x4), dense 100, dense 1, 1000 images of
28 x 28. Forward, mean loss, backward and update, as PyTorch trains, without a record's gradient being looked at; the
batch lies ready. Prints the fastest of the repeats, of each network in double and in single precision.
"""

import argparse
import signal
import time

import torch
from torch import nn


def dense(*widths):
    layers = []
    for inputs, outputs in zip(widths, widths[1:]):
        layers += [nn.Linear(inputs, outputs), nn.ReLU()]
    return layers[:-1]


def convolutional():
    return [
        nn.Conv2d(1, 16, 4, stride=2), nn.ReLU(), nn.Conv2d(16, 32, 4), nn.ReLU(),
        nn.Flatten(), nn.Linear(3200, 100), nn.ReLU(), nn.Linear(100, 1)]


# The layers, the batch [records, ...], the steps.
NETWORKS = {
    "blobs": (lambda: dense(6, 128, 2), (3000, 6), 4),
    "imdb": (lambda: dense(768, 100, 2), (40000, 768), 1),
    "amex": (lambda: dense(188, 128, 128, 2), (100000, 188), 1),
    "convolution": (convolutional, (1000, 1, 28, 28), 1),
}


def seconds(network, dtype, repeats):
    torch.manual_seed(1)
    layers, batch, steps = NETWORKS[network]
    model = nn.Sequential(*layers()).to(dtype)
    records = torch.rand(batch, dtype=dtype) - 0.5
    labels = torch.arange(batch[0]) % 2
    if network == "convolution":
        loss, labels = nn.BCEWithLogitsLoss(), labels.to(dtype)[:, None]
    else:
        loss = nn.CrossEntropyLoss()
    update = torch.optim.SGD(model.parameters(), lr=0.1)
    best = float("inf")
    for _ in range(repeats + 1):  # the first one warms up
        start = time.perf_counter()
        for _ in range(steps):
            update.zero_grad()
            loss(model(records), labels).backward()
            update.step()
        best = min(best, time.perf_counter() - start)
    return best


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("networks", metavar="NETWORK", nargs="+", choices=NETWORKS)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    for network in arguments.networks:
        for name, dtype in (("double", torch.float64), ("single", torch.float32)):
            print(f"{network} {name} {1000 * seconds(network, dtype, arguments.repeats):.2f}")


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # where nobody reads on, it ends without a word
    main()
