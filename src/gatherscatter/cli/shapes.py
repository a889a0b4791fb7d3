"""Parse shapes on the command line."""

from __future__ import annotations

import re

import click


def parse_shape(text: str) -> tuple[int, ...]:
    """Parse ``8,4`` as ``(8, 4)``. Parentheses, spaces and ``8x4`` are accepted. ``()`` is the shape of a scalar."""
    bare = text.strip()
    if bare == "()":
        return ()
    sizes = re.split(r"\s*[,x]\s*", bare.strip("()[] ").removesuffix(","))
    if not all(re.fullmatch(r"[0-9]{1,18}", size) for size in sizes):
        raise click.UsageError(f"{text!r} is not a shape: write sizes with commas between them, as in 8,4")
    return tuple(map(int, sizes))
