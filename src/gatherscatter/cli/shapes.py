"""Shapes and sizes of inputs as they are typed on a command line."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import click

from gatherscatter.cli.input_files import split_name
from gatherscatter.model_interface import TensorInfo
from gatherscatter.models.random_inputs import UNNAMED


def parse_shape(text: str) -> tuple[int, ...]:
    """``8,4`` to ``(8, 4)``; parentheses, spaces and ``8x4`` are understood, ``()`` is the shape of a scalar."""
    bare = text.strip()
    if bare == "()":
        return ()
    sizes = re.split(r"\s*[,x]\s*", bare.strip("()[] ").removesuffix(","))
    if not all(re.fullmatch(r"[0-9]{1,18}", size) for size in sizes):
        raise click.UsageError(f"{text!r} is no shape: write sizes with commas between them, as in 8,4")
    return tuple(map(int, sizes))


def parse_sizes(texts: Sequence[str], declared: Sequence[TensorInfo]) -> dict[str, int]:
    """``--dim NAME=SIZE`` texts; every name must be an open dimension of these inputs."""
    names = {size for info in declared for size in info.shape or () if isinstance(size, str)}
    if any(size is None for info in declared for size in info.shape or ()):
        names.add(UNNAMED)
    sizes = {name: (text, parse_shape(value)) for name, text, value in _split_named("--dim", texts, names)}
    for text, shape in sizes.values():
        if len(shape) != 1:
            raise click.UsageError(f"--dim {text}: one size is needed")
    return {name: shape[0] for name, (_, shape) in sizes.items()}


def parse_shapes(texts: Sequence[str], declared: Sequence[TensorInfo]) -> dict[str, tuple[int, ...]]:
    """``--shape NAME=2,3`` texts; every name must be one of these inputs."""
    named = _split_named("--shape", texts, {info.name for info in declared})
    return {name: parse_shape(value) for name, _, value in named}


def _split_named(option: str, texts: Sequence[str], names: set[str]) -> Iterator[tuple[str, str, str]]:
    for text in texts:
        name, value = split_name(text, names) or (text, "")
        if name not in names:
            there = f"there is {', '.join(sorted(names))}" if names else "nothing is open"
            raise click.UsageError(f"{option} {text}: no {name!r} among the inputs to make up; {there}")
        yield name, text, value
