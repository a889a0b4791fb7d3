"""The options of ``gatherscatter apply`` that are about arrays in chunks."""

from __future__ import annotations

import re
from typing import Any

import click

LOCAL = "local"  # a scheduler

_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}


class Size(click.ParamType):  # type: ignore[type-arg]  # generic in click 8.4 only
    """A number of bytes: 500MB, 2GiB."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The number of bytes that a text stands for."""
        found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([kmgt]i?)?b?", str(value).strip(), re.IGNORECASE)
        if found is None:
            self.fail(f"{value!r} is no size: write it as 500MB or 2GiB", param, ctx)
        return int(float(found[1]) * _UNITS[(found[2] or "").lower()])


class Chunks(click.ParamType):  # type: ignore[type-arg]  # generic in click 8.4 only
    """Sizes of chunks along the axes: 1000 for all of them, or 1000,500; -1 is the whole axis."""

    name = "chunks"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, ...]:
        """The sizes that a text stands for."""
        try:
            sizes = tuple(int(part) for part in str(value).split(","))
        except ValueError:
            sizes = ()
        if not sizes or any(size != -1 and size < 1 for size in sizes):
            self.fail(
                f"{value!r} are no sizes of chunks: write them as 1000 or 1000,500 (-1: the whole axis)", param, ctx
            )
        return sizes


def chunk_sizes(chunks: tuple[int, ...] | None, shape: tuple[int, ...]) -> tuple[int, ...] | None:
    """What ``--chunks`` says for an array: one size is for all axes."""
    if chunks is None:
        return None
    sizes = chunks * len(shape) if len(chunks) == 1 else chunks
    if len(sizes) != len(shape):
        raise click.UsageError(f"--chunks has {len(sizes)} sizes, but the array has {len(shape)} axes")
    return tuple(max(n, 1) if size == -1 else size for size, n in zip(sizes, shape, strict=True))


OPTIONS: tuple[tuple[tuple[str, ...], dict[str, Any]], ...] = (
    (("--memory-limit",), {"type": Size(), "metavar": "SIZE", "help": "With .zarr: take about so much memory (2GiB)."}),
    (
        ("--chunks",),
        {"type": Chunks(), "metavar": "N,...", "help": "Chunks of data, with --scheduler; or of the new .zarr."},
    ),
    (("--scheduler",), {"metavar": "ADDRESS|local", "help": "Compute with Dask, into a new .zarr array."}),
    (("--resume",), {"is_flag": True, "help": "With .zarr: finish a scatter that was interrupted."}),
    (("--dry-run",), {"is_flag": True, "help": "With .zarr: only say what would be touched."}),
)


def options() -> list[click.Option]:
    """What there is to choose for arrays in chunks."""
    return [click.Option(list(names), **facts) for names, facts in OPTIONS]
