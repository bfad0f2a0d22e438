#!/usr/bin/env python3
"""convolution_step.py [--threads N] [--repeats N]: seconds of a plain training step in PyTorch.

Of the network and batch of tools/microbench/convolution.cpp: convolutions 1-16 (4x4, stride 2) and 16-32 (4x4), dense
100, dense 1, 1000 images of 28 x 28; forward, mean loss, backward, as PyTorch trains, without a record's gradient
being looked at. Prints the fastest of the repeats in milliseconds, in double and in single precision.
"""

import argparse
import time

import torch
from torch import nn


def step_seconds(dtype, repeats):
    torch.manual_seed(1)
    model = nn.Sequential(
        nn.Conv2d(1, 16, 4, stride=2), nn.ReLU(), nn.Conv2d(16, 32, 4), nn.ReLU(),
        nn.Flatten(), nn.Linear(3200, 100), nn.ReLU(), nn.Linear(100, 1)).to(dtype)
    images = torch.rand(1000, 1, 28, 28, dtype=dtype) - 0.5
    labels = (torch.arange(1000) % 2).to(dtype)
    loss = nn.BCEWithLogitsLoss()
    best = float("inf")
    for _ in range(repeats + 1):  # the first one warms up
        model.zero_grad()
        start = time.perf_counter()
        loss(model(images)[:, 0], labels).backward()
        best = min(best, time.perf_counter() - start)
    return best


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    for name, dtype in (("double", torch.float64), ("single", torch.float32)):
        print(f"{name} plain {1000 * step_seconds(dtype, arguments.repeats):.1f} ms")


if __name__ == "__main__":
    main()
