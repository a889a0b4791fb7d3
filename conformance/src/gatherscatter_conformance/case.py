"""A test vector: one call of one op version, and the answer of the specification."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

KINDS = {
    "plain": "ordinary values, and each index names another element",
    "example": "an example from the specification, with the correct values",
    "negative": "indices below zero",
    "out of range": "an index just outside its range, or far outside",
    "index type": "every index type of the version, and types that it must refuse",
    "repeated": "several updates to one target",
    "many updates": "thousands of updates to few targets, for which threads may race",
    "nan": "NaN and infinities, in data and in updates",
    "zero sign": "-0.0 and 0.0",
    "rounding": "sums and products that are rounded, in an order that shows after which step",
    "wrap-around": "integers that overflow their type",
    "wide values": "64-bit values that 32 bits cannot hold",
    "mean": "means, and how they are rounded",
    "initial value": "reductions that ignore the data",
    "empty": "tensors without elements",
    "k=0": "index tuples of length 0",
    "scalar": "tensors of rank 0",
    "axis": "every axis, counted from both ends, and axes out of range",
    "batch dims": "legal and illegal batch dimensions",
    "long axis": "an axis of more than 64 elements",
    "box": "boxes of indices that are shorter or longer than data",
    "slices": "whole slices moved or combined",
    "ring": "write positions of a cache",
    "beams": "beam search: lengths, end tokens, parents",
    "bags": "bags of rows: offsets, segments, weights, empty bags",
    "shape": "shapes that do not fit together",
    "attribute": "attributes, and values of attributes, that the version does not have",
    "type": "element types that the version or the reduction does not have, and mixed types",
}
"""The edge classes: the name of each, and what it tests."""


@dataclass(frozen=True, eq=False)
class Case:
    """One call and the answer of the specification.

    ``inputs`` are in the order of the op version. Text is an object array, and narrow types are those of ml_dtypes. An
    omitted optional input is None. The arrays belong to the caller, who may change them.

    >>> from gatherscatter_conformance import corpus
    >>> case = corpus.cases("onnx/GatherND-12/int64/none/example/*")[0]
    >>> case.op, case.type, case.expected[0].tolist()
    ('onnx.GatherND-12', 'int64', [0, 3])
    """

    id: str
    op: str
    type: str
    reduction: str
    kind: str
    inputs: tuple[np.ndarray | None, ...]
    attributes: dict[str, int | str | bool]
    expected: tuple[np.ndarray, ...] | None  # None: the call must be refused
    error: str | None  # "IndexError", "ValueError" or "TypeError" if the call must be refused
    rules: tuple[str, ...]  # the rules that it checks: "O3", "V10", or "2.6" for a section of docs/specification.md
    latitude: str  # why the specification leaves this open; then a different result is not a departure
    relation: str  # "exact", or "zero sign free" if the sign of zero does not count


def element_type(array: np.ndarray) -> str:
    """Return the specification's name of an array's type."""
    return "string" if array.dtype.kind in "OUST" else array.dtype.name


def same(result: Any, case: Case) -> bool:
    """Whether the output of a runtime has the expected type, shape and bits. Any NaN equals any other NaN.

    ``result`` is an array, or a tuple or list of the outputs. False if the call had to be refused.
    """
    results = result if isinstance(result, tuple | list) else (result,)
    if case.expected is None or len(results) != len(case.expected):
        return False
    zero_sign = case.relation == "exact"
    return all(_same(np.asarray(r), e, zero_sign) for r, e in zip(results, case.expected, strict=True))


def _same(result: np.ndarray, expected: np.ndarray, zero_sign: bool) -> bool:
    if element_type(result) != element_type(expected) or result.shape != expected.shape:
        return False
    if element_type(expected) == "string":
        return bool(result.astype(object).tolist() == expected.tolist())
    return _to_comparable_bytes(result, zero_sign) == _to_comparable_bytes(expected, zero_sign)


def _to_comparable_bytes(array: np.ndarray, zero_sign: bool) -> bytes:
    """Return bytes that are equal for equal values: all NaN become one, and all zeros if signs do not count."""
    plain = np.array(array, dtype=array.dtype.newbyteorder("="), order="C")
    parts = plain.reshape(-1)
    if plain.dtype.kind == "c":
        parts = parts.view(plain.real.dtype)
    nans = parts != parts
    if nans.any():
        parts[nans] = np.nan
    if not zero_sign:
        parts[parts == 0] = 0
    return parts.tobytes()
