"""The facts about op versions and element types that the page needs, as plain JSON values."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from gatherscatter.arrays.casts import dtype_of
from gatherscatter.choices import SCALE_TYPES
from gatherscatter.errors import OpTypeError
from gatherscatter.sentences import read_sentences
from gatherscatter.specs import calls
from gatherscatter.specs.rows import INDEX_RANGES, INTEGERS, Attribute
from gatherscatter.specs.table import SPECIFICATIONS, TABLE, OpVersion


def facts() -> dict[str, Any]:
    """The whole table.

    >>> facts()["types"]["int8"]
    {'dtype': 'int8', 'extension': False, 'family': 'integer', 'bits': 8, 'signed': True}
    """
    names = list(dict.fromkeys(name for row in TABLE for name in (*row.element_types, *SCALE_TYPES)))
    return {
        "ops": [_op(row) for row in TABLE],
        "domains": SPECIFICATIONS,
        "types": {name: _type(name) for name in names},
        "index_types": INTEGERS,
        "scale_types": SCALE_TYPES,
        "index_ranges": INDEX_RANGES,
        "reductions": calls.GENERIC_REDUCTIONS,
        "sentences": read_sentences(),
    }


def _op(row: OpVersion) -> dict[str, Any]:
    plain = ("name", "domain", "op_type", "version", "kernel", "output", "element_types", "index_types", "index_range")
    return {
        **{key: getattr(row, key) for key in (*plain, "shape_rule", "reduction", "deprecated", "source")},
        "inputs": [vars(one) for one in row.inputs],
        "attributes": [_attribute(one) for one in row.attributes],
        "prepare": row.prepare and row.prepare.__name__,
        "finish": row.finish and row.finish.__name__,
        "reducible": _list_reductions(row),
        "wide": [
            name for name in row.element_types if calls.default_accumulate(row, np.empty(0, dtype_of(name))) == "wide"
        ],
    }


def _attribute(attribute: Attribute) -> dict[str, Any]:
    required = attribute.is_required
    return vars(attribute) | {"default": None if required else attribute.default, "required": required}


def _list_reductions(row: OpVersion) -> dict[str, list[str]]:
    """The element types that have each reduction of the version."""
    choices = next((one.choices or () for one in row.attributes if one.name == "reduction"), (row.reduction or "none",))
    reductions = [calls.GENERIC_REDUCTIONS.get(choice, choice) for choice in choices if choice != "none"]
    return {each: [name for name in row.element_types if _has_reduction(row, each, name)] for each in reductions}


def _has_reduction(row: OpVersion, reduction: str, name: str) -> bool:
    try:
        calls.check_reduction(row, reduction, dtype_of(name))
    except OpTypeError:
        return False
    return True


def _type(name: str) -> dict[str, Any]:
    dtype = dtype_of(name)
    named = {"dtype": str(dtype), "extension": dtype.isbuiltin == 2}
    if name == "string" or name == "bool":
        return named | {"family": name}
    if dtype.kind == "c":
        return named | {"family": "complex", "part": np.empty(0, dtype).real.dtype.name}
    if "int" in name:
        limits = ml_dtypes.iinfo(dtype)  # type: ignore[no-untyped-call]
        return named | {"family": "integer", "bits": limits.bits, "signed": bool(limits.min < 0)}
    return named | {"family": "float"} | _float(dtype)


def _float(dtype: np.dtype[Any]) -> dict[str, Any]:
    """Digits of the significand, the smallest and the largest number, and the special numbers of the type."""
    limits = ml_dtypes.finfo(dtype)  # type: ignore[no-untyped-call]
    known: dict[str, Any] = {
        "digits": int(limits.nmant) + 1,
        "max": float(limits.max),
        "unsigned": bool(np.isnan(_cast(-1.0, dtype))),
    }
    if dtype.itemsize > 2:
        return known
    special = {"nan": np.nan, "zero": 0.0, "negativeZero": -0.0, "infinity": np.inf, "negativeInfinity": -np.inf}
    texts = {
        key: str(_cast(value, dtype)).replace("inf", "Infinity").replace("nan", "NaN") for key, value in special.items()
    }
    return known | {"least": float(limits.smallest_subnormal)} | texts


def _cast(value: float, dtype: np.dtype[Any]) -> float:
    with np.errstate(all="ignore"):
        return float(np.float32(value).astype(dtype))
