"""A test vector: one call of one op version, and what the specification says of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

KINDS = {
    "plain": "ordinary values, every target once",
    "example": "an example of the specification, with the values it should print",
    "negative": "indices below zero",
    "out of range": "an index outside, by one or by far",
    "index type": "every index type that the version has, and those that it has not",
    "repeated": "several updates to one place",
    "many updates": "thousands of updates to few places, which threads may race for",
    "nan": "NaN and infinities, in data and in updates",
    "zero sign": "-0.0 and 0.0",
    "rounding": "sums and products that do not fit the type, in an order that shows where they are rounded",
    "wrap-around": "integers that leave their type",
    "wide values": "64-bit values that 32 bits cannot hold",
    "mean": "means, and which way they are rounded",
    "initial value": "reductions that leave the data out",
    "empty": "tensors without elements",
    "k=0": "index tuples of length 0",
    "scalar": "tensors of rank 0",
    "axis": "every axis, counted from both ends, and outside",
    "batch dims": "batch dimensions, legal and not",
    "long axis": "an axis of more than 64 elements",
    "box": "indices shorter or longer than data, where a box of elements is meant",
    "slices": "whole slices moved or combined",
    "ring": "write positions of a cache",
    "beams": "beam search: lengths, end tokens, parents",
    "bags": "bags of rows: offsets, segments, weights, empty bags",
    "shape": "shapes that do not fit together",
    "attribute": "attributes, and values of them, that the version has not",
    "type": "element types that the version or the reduction has not, and mixed ones",
}
"""The edge classes: name, and what it probes."""


@dataclass(frozen=True, eq=False)
class Case:
    """One call and the answer of the specification.

    ``inputs`` are in the order of the op version; text is an object array, a narrow
    type one of ml_dtypes, an optional input that is left out None. The arrays are the caller's own, and may be written.

    >>> from gatherscatter.conformance import corpus
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
    error: str | None  # "IndexError", "ValueError" or "TypeError" where it must
    rules: tuple[str, ...]  # what it checks: "O3", "V10", or "2.6" for a section of semantics
    latitude: str  # why the specification leaves this open; another result is then no departure
    relation: str  # "exact", or "zero sign free" where the sign of zero does not count


def element_type(array: np.ndarray) -> str:
    """The specification's name of an array's type."""
    return "string" if array.dtype.kind in "OUST" else array.dtype.name


def same(result: Any, case: Case) -> bool:
    """Whether a runtime's output is the expected one: type, shape and every bit, but that NaN equals NaN.

    ``result`` is an array, or a tuple or list of the outputs. False where the call had to be refused.
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
    """Bytes that are equal where the values are: one NaN for all, and one zero if signs do not count."""
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
