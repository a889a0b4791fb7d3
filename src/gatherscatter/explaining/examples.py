"""A first example of every operator, for the pages of the documentation."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from gatherscatter.explaining import Explanation, explain
from gatherscatter.specs.table import op

_TABLE = [[10, 11, 12], [20, 21, 22], [30, 31, 32]]
# Two rows of 16 numbers with 4 bits: 1, 2, 3, ... before the zero point of 8 is subtracted.
_QUANTIZED = (
    np.array([[0x21, 0x43, 0x65, 0x87, 0xA9, 0xCB, 0xED, 0x0F], [0x88] * 8], np.uint8),
    np.array([1, 0, -2, 5]),
    np.array([[0.5], [2.0]], np.float32),
)
_ZEROS = np.zeros((3, 3), np.int64).tolist()


@dataclass(frozen=True)
class Example:
    """Inputs in the order of the newest version of an operator, and attributes.

    >>> EXAMPLES["onnx.Gather"].explanation().result
    array([[30, 31, 32],
           [10, 11, 12],
           [30, 31, 32]])
    """

    operator: str
    inputs: tuple[Any, ...]
    attributes: dict[str, Any] = field(default_factory=dict)
    one_by_one: str = ""  # an expression with the same result that takes batch entries one by one

    def explanation(self) -> Explanation:
        """The call explained."""
        return explain(self.operator, *self.inputs, **self.attributes)

    @property
    def code(self) -> str:
        """The call as Python.

        >>> EXAMPLES["onnx.ScatterND"].code
        "gs.onnx.ScatterND([1, 2, 3, 4, 5, 6, 7, 8], [[4], [3], [4], [-1]], [9, 10, 11, 12], reduction='add')"
        """
        arguments = [*map(_literal, self.inputs), *(f"{name}={value!r}" for name, value in self.attributes.items())]
        module, _, name = self.operator.partition("-")[0].rpartition(".")
        return f"gs.{module.rpartition('.')[2]}.{name}({', '.join(arguments)})"


def _literal(value: Any) -> str:
    return f"np.array({value.tolist()}, np.{value.dtype})" if isinstance(value, np.ndarray) else repr(value)


def _examples() -> tuple[Example, ...]:
    gather_nd = (_TABLE, [[0, 1], [2, 0], [-1, 0]])
    scatter_nd = ([1, 2, 3, 4, 5, 6, 7, 8], [[4], [3], [4], [-1]], [9, 10, 11, 12])
    pairs, half = [[1.0, 2.0], [10.0, 20.0], [100.0, 200.0]], [1.0, 0.5, 1.0, 1.0]
    elements = (_ZEROS, [[1, 0, 2], [0, 2, 1]], [[10, 11, 12], [20, 21, 22]])
    return (
        Example("onnx.Gather", (_TABLE, [2, 0, -1])),
        Example("onnx.GatherElements", (_TABLE, [[1, 2, 0], [2, 0, 0]])),
        Example("onnx.GatherND", gather_nd),
        Example("onnx.Scatter", elements),
        Example("onnx.ScatterElements", elements),
        Example("onnx.ScatterND", scatter_nd, {"reduction": "add"}),
        Example("onnx.TensorScatter", ([[[1], [2], [0], [0]], [[3], [0], [0], [0]]], [[[8]], [[9]]], [2, 1])),
        Example("openvino.EmbeddingBagOffsets", (pairs, [0, 2, 1, 2], [0, 2, 2], 0, half)),
        Example("openvino.EmbeddingBagOffsetsSum", (_TABLE, [0, 2, 1, 2], [0, 2, 2])),
        Example("openvino.EmbeddingBagPacked", (_TABLE, [[0, 2], [1, 1]]), {"reduction": "mean"}),
        Example("openvino.EmbeddingBagPackedSum", (pairs, [[0, 2], [1, 2]], [[1.0, 0.5], [1.0, 1.0]])),
        Example("openvino.EmbeddingSegmentsSum", (_TABLE, [0, 2, 1, 2], [0, 0, 2, 2], 3, 1)),
        Example("openvino.Gather", (_TABLE, [2, 0, 1], 1)),
        Example("openvino.Gather-8", (_TABLE, [2, -3, 5], 1)),
        Example("openvino.GatherElements", (_TABLE, [[1, 2, 0], [2, 0, 0]]), {"axis": 0}),
        Example("openvino.GatherND", (_TABLE, [[0, 1], [2, 0], [1, 2]])),
        Example(
            "openvino.GatherTree",
            ([[[1, 2, 3]], [[4, 5, 6]], [[7, 8, 9]]], [[[0, 0, 0]], [[0, 1, 1]], [[2, 1, 2]]], [3], 5),
        ),
        Example("openvino.SegmentMax", ([[3, 1], [2, 5], [4, 0]], [0, 0, 2], 3), {"fill_mode": "ZERO"}),
        Example("openvino.ScatterUpdate", (_ZEROS, [2, 0], [[1, 2, 3], [4, 5, 6]], 0)),
        Example("openvino.ScatterElementsUpdate", ([1, 2, 3, 4], [1, 3, 1], [6, 7, 10], 0), {"reduction": "mean"}),
        Example("com.microsoft.GatherBlockQuantized", _QUANTIZED, {"block_size": 16, "quantize_axis": 1}),
        Example("openvino.ScatterNDUpdate", (_TABLE, [[1], [0]], [[1, 2, 3], [4, 5, 6]]), {"reduction": "sub"}),
    )


EXAMPLES = {example.operator: example for example in _examples()}
"""By the name of an operator, or of an op version with a separate example; see `example_of`."""


# Calls with batch_dims, by kernel: inputs, attributes, and an expression that takes the entries one by one.
_BATCHES: dict[str, tuple[tuple[Any, ...], dict[str, Any], str]] = {
    "gather": (
        ([[10, 11, 12], [20, 21, 22]], [[2, 0], [1, 1]], 1),
        {"batch_dims": 1},
        "np.stack([gs.gather(d, i) for d, i in zip(data, indices)])",
    ),
    "gather_nd": (
        ([_TABLE, [[40, 41, 42], [50, 51, 52], [60, 61, 62]]], [[1], [2]]),
        {"batch_dims": 1},
        "np.stack([gs.gather_nd(d, i) for d, i in zip(data, indices)])",
    ),
}

# Further calls that the page about `explain` shows.
CASES = {
    "bad-index": Example("onnx.GatherND", (_TABLE, [[0, 1], [2, 5]])),
    "bad-shape": Example("onnx.ScatterND", (_TABLE, [[1], [0]], [[1, 2], [3, 4]])),
    "last-wins": Example("onnx.ScatterND", ([1, 2, 3, 4], [[1], [-3]], [8, 9])),
    "large": Example(
        "onnx.GatherND",
        (
            np.arange(6_000_000) % 97,
            np.array([[1_234_567 * n % 6_000_000] for n in range(5000)]),
        ),
    ),
}


def pictures() -> dict[str, Example]:
    """The examples, the calls with ``batch_dims`` and the further cases that the documentation shows, by file name.

    >>> pictures()["onnx.GatherND.batch_dims"].attributes
    {'batch_dims': 1}
    """
    batches = {f"{name}.batch_dims": batch_example_of(name) for name in EXAMPLES if "-" not in name}
    return EXAMPLES | {name: example for name, example in batches.items() if example is not None} | CASES


def write_pictures(folder: str | os.PathLike[str]) -> list[Path]:
    """Write the SVG of everything in `pictures` into a folder.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     print(write_pictures(folder)[0].name)
    onnx.Gather.svg
    """
    paths = []
    for name, example in pictures().items():
        paths.append(Path(folder) / f"{name}.svg")
        example.explanation().save(paths[-1])
    return paths


def example_of(name: str) -> Example:
    """The example of an op version; a name without a version is its newest.

    >>> example_of("openvino.ScatterNDUpdate-3").attributes
    {}
    """
    row = op(name)
    example = EXAMPLES.get(row.name) or EXAMPLES[f"{row.domain}.{row.op_type}"]
    choices = {one.name: one.choices for one in row.attributes}
    attributes = {key: value for key, value in example.attributes.items()
                  if key in choices and value in (choices[key] or [value])}  # fmt: skip
    return Example(row.name, example.inputs, attributes)


def batch_example_of(name: str) -> Example | None:
    """The example with ``batch_dims=1`` of an op version; None if the version has no such attribute.

    >>> batch_example_of("onnx.GatherND").attributes
    {'batch_dims': 1}
    """
    row = op(name)
    if all(one.name != "batch_dims" for one in row.attributes):
        return None
    return Example(row.name, *_BATCHES[row.kernel])
