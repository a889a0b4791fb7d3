"""Train a small graph network, once with plain indices and once with prepared ones, and compare.

The network has two layers. In each layer, a node adds up the features of its neighbours, and a matrix turns the sums
into new features. Gradients go back along the same edges. `gs.gather_reduce` does such a step in one pass.

The edges are the same in every epoch, so preparing them saves time. `gs.prepare` checks them once and groups them by
node, for both directions.

    python epochs.py [--nodes N] [--edges N] [--features N] [--epochs N]
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from time import perf_counter

import numpy as np

import gatherscatter as gs

Move = Callable[[np.ndarray], np.ndarray]


class Layer:
    """The sums over incoming edges @ weights. ``collect`` and ``spread`` are the two directions along the edges."""

    def __init__(self, weights: np.ndarray, collect: Move, spread: Move) -> None:
        self.weights, self.collect, self.spread = weights, collect, spread

    def forward(self, features: np.ndarray) -> np.ndarray:
        self.sums = self.collect(features)
        return self.sums @ self.weights

    def backward(self, gradient: np.ndarray, rate: float) -> np.ndarray:
        """Update the weights, and return the gradient of the features."""
        back = self.spread(gradient @ self.weights.T)
        self.weights = self.weights - rate * (self.sums.T @ gradient)
        return back


def plain(source: np.ndarray, target: np.ndarray, nodes: int) -> tuple[Move, Move]:
    """Return both directions, with the array functions."""

    def move(features: np.ndarray, start: np.ndarray, end: np.ndarray) -> np.ndarray:
        return gs.gather_reduce(features, start, segment_ids=end, num_segments=nodes)

    return partial(move, start=source, end=target), partial(move, start=target, end=source)


def prepared(source: np.ndarray, target: np.ndarray, nodes: int) -> tuple[Move, Move]:
    """Return both directions, with edges that are prepared once."""
    edges = gs.prepare(np.stack([target, source], axis=1), (nodes, nodes))
    return edges.propagate, partial(edges.propagate, transpose=True)


def train(features: np.ndarray, wanted: np.ndarray, moves: tuple[Move, Move], epochs: int) -> tuple[list[float], float]:
    """Return the loss of each epoch, and the least seconds of an epoch."""
    generator = np.random.default_rng(1)
    width = features.shape[1]
    weights = [generator.standard_normal((width, width), np.float32) / width for _ in range(2)]
    layers = [Layer(each, *moves) for each in weights]
    losses, seconds = [], []
    for _ in range(epochs):
        start = perf_counter()
        hidden = features
        for layer in layers:
            hidden = layer.forward(hidden)
        error = hidden - wanted
        losses.append(float(np.mean(error * error)))
        for layer in reversed(layers):
            error = layer.backward(error, 1e-3 / len(features))
        seconds.append(perf_counter() - start)
    return losses, min(seconds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name, default in (("nodes", 2000), ("edges", 12_000), ("features", 32), ("epochs", 5)):
        parser.add_argument(f"--{name}", type=int, default=default)
    sizes = parser.parse_args()
    generator = np.random.default_rng(0)
    source, target = generator.integers(0, sizes.nodes, (2, sizes.edges))
    features, wanted = generator.standard_normal((2, sizes.nodes, sizes.features), np.float32)
    results = {}
    for make in (plain, prepared):
        start = perf_counter()
        moves = make(source, target, sizes.nodes)
        once = perf_counter() - start
        losses, seconds = train(features, wanted, moves, sizes.epochs)
        results[make.__name__] = losses
        print(f"{make.__name__:8}: {seconds * 1e3:.3g} ms for an epoch, {once * 1e3:.3g} ms before the first")
    assert results["plain"] == results["prepared"], "the losses must be bit-for-bit identical"
    print("losses:", *(f"{loss:.6f}" for loss in results["plain"]))


if __name__ == "__main__":
    main()
