"""Parse the shapes and sizes of random inputs on the command line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import click

from gatherscatter.cli.input_files import split_name
from gatherscatter.cli.shapes import parse_shape
from gatherscatter.messages.suggestions import find_similar, name_candidates
from gatherscatter_models.interface import TensorInfo
from gatherscatter_models.random_inputs import UNNAMED


def parse_sizes(texts: Sequence[str], declared: Sequence[TensorInfo]) -> dict[str, int]:
    """Parse ``--dim NAME=SIZE`` texts. Every name must be a dynamic dimension of these inputs."""
    names = {size for info in declared for size in info.shape or () if isinstance(size, str)}
    if any(size is None for info in declared for size in info.shape or ()):
        names.add(UNNAMED)
    sizes = {
        name: (text, parse_shape(value))
        for name, text, value in _split_named("--dim", "a dynamic dimension", texts, names)
    }
    for text, shape in sizes.values():
        if len(shape) != 1:
            raise click.UsageError(f"--dim {text}: one size is needed")
    return {name: shape[0] for name, (_, shape) in sizes.items()}


def parse_shapes(texts: Sequence[str], declared: Sequence[TensorInfo]) -> dict[str, tuple[int, ...]]:
    """Parse ``--shape NAME=2,3`` texts. Every name must be one of these inputs."""
    named = _split_named("--shape", "the name", texts, {info.name for info in declared})
    return {name: parse_shape(value) for name, _, value in named}


def _split_named(option: str, what: str, texts: Sequence[str], names: set[str]) -> Iterator[tuple[str, str, str]]:
    for text in texts:
        name, value = split_name(text, names) or (text, "")
        if name not in names:
            there = f"choose from {', '.join(sorted(names))}" if names else "the random inputs have none"
            suggestion = name_candidates(map(repr, find_similar(name, names)[:1]))
            raise click.UsageError(f"{option} {text}: {name!r} is not {what} of a random input; {there}{suggestion}")
        yield name, text, value
