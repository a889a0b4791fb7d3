"""Drawings of calls on the pages of operators."""

from __future__ import annotations

from collections.abc import Iterator

from gatherscatter.explaining.examples import Example, batch_example_of, example_of, pictures
from gatherscatter.specs.table import OpVersion
from site_pages.markdown import presets_comment, session

_IMPORTS = ">>> import numpy as np\n>>> import gatherscatter as gs\n\n"


def drawing(row: OpVersion, opset: dict[str, int]) -> Iterator[str]:
    """A call of a version: picture and code. ``opset`` names the version if it isn't the newest."""
    name = row.name if row.name in pictures() else f"{row.domain}.{row.op_type}"
    yield from _call(row, name, example_of(row.name), opset, _IMPORTS)
    yield presets_comment(row.name)


def batch_drawing(row: OpVersion, opset: dict[str, int]) -> Iterator[str]:
    """A call with ``batch_dims=1``: picture, code, and what it means; nothing if the version has no batch_dims."""
    example = batch_example_of(row.name)
    if example is None:
        return
    yield "## With batch_dims"
    yield (
        "With `batch_dims=1`, the first axis of data and indices is the batch. Entry i of indices reads only from "
        f"`data[i]`. For this call, the result equals `{example.one_by_one}`."
    )
    yield from _call(row, f"{row.domain}.{row.op_type}.batch_dims", example, opset, "")


def _call(row: OpVersion, picture: str, example: Example, opset: dict[str, int], before: str) -> Iterator[str]:
    explained = example.explanation()
    yield f"![The call below as a picture](../pictures/{picture}.svg)"
    code = ", ".join([example.code.removesuffix(")"), *(f"{name}={value}" for name, value in opset.items())]) + ")"
    if explained.result is not None:
        yield session(code, explained.result, before)
    yield "[Explain](../explain.md) draws any small call. In the [playground](../playground.md), you can edit one."
