"""Errors of gather and scatter nodes that follow from the file: types, attributes, and shapes that no call can have."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

import ml_dtypes  # noqa: F401  (gives NumPy the names of bfloat16, float8 and int4)
import numpy as np

from gatherscatter.errors import OpError
from gatherscatter.operation import BY_INDEX, Kernel
from gatherscatter.specs import own_operators
from gatherscatter.specs.calls import check_call, check_inputs
from gatherscatter.specs.rows import DOMAIN
from gatherscatter.specs.table import OpVersion
from gatherscatter_models.findings.nodes import INDEX_ROLES, Operand, Site
from gatherscatter_models.interface import ModelError


def check_sites(sites: Iterable[Site]) -> None:
    """Raise ModelError for a node whose call fails with any values. The text is that of the call, and names the node.

    Input types that are not known are not checked. Where sizes are not known, ranks are checked.
    """
    for site in sites:
        try:
            _check_site(site)
        except OpError as error:
            raise ModelError(f"{error}; in node {site.label}") from None


def _check_site(site: Site) -> None:
    row, attributes = site.row, dict(site.attributes)
    if row.domain == DOMAIN and attributes.pop("opset", None) is not None:
        row = replace(row, domain="onnx")  # the node is of a version of ONNX
        attributes.pop("accumulate", None)  # which the domain adds
    operands = {operand.role: operand for operand in site.operands if operand is not None}
    if any(operand.element_type is None for operand in operands.values()):
        return
    if not all(known.name in attributes for known in row.attributes):  # a function's caller gives the others
        return
    check = own_operators.check if row.domain == DOMAIN else check_call
    shapes = [operand.shape for operand in operands.values() if operand.shape is not None]
    has_ranks = len(shapes) == len(operands) and ("axis" not in operands or operands["axis"].constant is not None)
    if has_ranks and not any(None in shape for shape in shapes):
        check(row, _make_stand_ins(site, lambda operand: tuple(size or 0 for size in operand.shape or ())), attributes)
    elif has_ranks and row.kernel in BY_INDEX and not (_has_tuples(row) and _last_size(operands["indices"]) is None):
        _check_ranks(row, site, operands, attributes)
    else:
        check_inputs(row, _make_stand_ins(site, lambda operand: (0,) * len(operand.shape or (0,))), attributes)


def _check_ranks(row: OpVersion, site: Site, operands: Mapping[str, Operand], attributes: dict[str, Any]) -> None:
    """Check a call in which all sizes are 1, except the length of the index tuples."""

    def shape_of(operand: Operand) -> tuple[int, ...]:
        ones = (1,) * len(operand.shape or ())
        is_tuples = _has_tuples(row) and operand.role == "indices" and ones
        return (*ones[:-1], _last_size(operand) or 0) if is_tuples else ones

    try:
        check_call(row, _make_stand_ins(site, shape_of), attributes)
    except OpError as error:
        text = str(error).partition(" (data ")[0]
        if "has shape" in text:  # the sizes are not those of the model
            ranks = ", ".join(f"{role} of rank {len(operand.shape or ())}" for role, operand in operands.items())
            text = f"{row.name}: no call has {ranks}"
        raise ModelError(f"{text}; in node {site.label}") from None


def _has_tuples(row: OpVersion) -> bool:
    return row.kernel in (Kernel.GATHER_ND, Kernel.SCATTER_ND)


def _last_size(operand: Operand) -> int | None:
    return operand.shape[-1] if operand.shape else 1


def _make_stand_ins(site: Site, shape_of: Callable[[Operand], tuple[int, ...]]) -> tuple[np.ndarray | None, ...]:
    return tuple(None if operand is None else _stand_in(operand, shape_of(operand)) for operand in site.operands)


def _stand_in(operand: Operand, shape: tuple[int, ...]) -> np.ndarray:
    """Return an array of the type of an operand. It takes no memory, and its elements are equal."""
    assert operand.element_type is not None
    if operand.role == "axis" and operand.constant is not None:
        return operand.constant()
    dtype = np.dtype(object if operand.element_type == "string" else operand.element_type)
    is_wrong_index = operand.role in INDEX_ROLES and dtype.kind not in "iu"
    if dtype.kind == "O" or is_wrong_index:
        return np.full((0,) * len(shape), "" if dtype.kind == "O" else 0, dtype)  # a type is checked without elements
    return np.broadcast_to(np.zeros((), dtype), shape)
