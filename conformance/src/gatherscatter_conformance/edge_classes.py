"""Find the edge class of a random call."""

from __future__ import annotations

from typing import Any

import numpy as np

from gatherscatter import oracle
from gatherscatter.oracle import FLOATS, OracleRow
from gatherscatter_conformance import unspecified
from gatherscatter_conformance.case import element_type
from gatherscatter_conformance.themes.draft import DraftedCall

_OF_ERRORS = {IndexError: "out of range", TypeError: "type", ValueError: "shape"}


def kind_of(row: OracleRow, call: DraftedCall) -> str:
    """Return one of `KINDS`: the most special property of the call."""
    given = dict(zip(row.inputs, call.inputs, strict=True))
    if _is_unknown(row, call.attributes):
        return "attribute"
    try:
        oracle.call(row.name, *call.inputs, **call.attributes)
    except tuple(_OF_ERRORS) as error:
        return next(kind for error_type, kind in _OF_ERRORS.items() if isinstance(error, error_type))
    special = {"gather_tree": "beams", "tensor_scatter": "ring", "gather_reduce": "bags"}
    if row.kernel in special:
        return "empty" if _has_empty(call) else special[row.kernel]
    return _of_values(row, call, given)


def _of_values(row: OracleRow, call: DraftedCall, given: dict[str, Any]) -> str:
    data, indices = given["data"], given["indices"]
    moved = [data, given["updates"]] if "updates" in given else [data]
    checks = {
        "k=0": row.form == "tuples" and indices.shape[-1] == 0,
        "empty": _has_empty(call),
        "scalar": indices.ndim == 0,
        "nan": any(element_type(array) in FLOATS and not np.isfinite(array).all() for array in moved),
        "wide values": any(_is_wide(array) for array in moved),
        "repeated": row.is_scatter and _repeats(row, call),
        "negative": bool((indices < 0).any()),
        "batch dims": bool(call.attributes.get("batch_dims")),
    }
    return next((kind for kind, holds in checks.items() if holds), "plain")


def _is_unknown(row: OracleRow, attributes: dict[str, Any]) -> bool:
    return any(
        name not in row.attributes or (name in row.choices and value not in row.choices[name])
        for name, value in attributes.items()
    )


def _has_empty(call: DraftedCall) -> bool:
    return any(array is not None and array.size == 0 for array in call.inputs)


def _is_wide(array: np.ndarray) -> bool:
    """Whether some values do not fit in 32 bits."""
    narrow = {"int64": np.int32, "uint64": np.uint32, "float64": np.float32}.get(array.dtype.name)
    if narrow is None:
        return False
    with np.errstate(all="ignore"):
        return not np.array_equal(array.astype(narrow).astype(array.dtype), array, equal_nan=array.dtype.kind == "f")


def _repeats(row: OracleRow, call: DraftedCall) -> bool:
    return any(len(value) > 1 for value in unspecified.contributions(row, call.inputs, call.attributes, False))
