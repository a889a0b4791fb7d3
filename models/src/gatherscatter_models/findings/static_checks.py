"""Errors of gather and scatter nodes that follow from the file: types, attributes, and shapes that no call can have."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import ml_dtypes  # noqa: F401  (gives NumPy the names of bfloat16, float8 and int4)
import numpy as np

from gatherscatter.errors import OpError
from gatherscatter.specs.calls import check_call, check_inputs
from gatherscatter.specs.rows import DOMAIN
from gatherscatter_models.findings.nodes import INDEX_ROLES, Operand, Site
from gatherscatter_models.interface import ModelError


def check_sites(sites: Iterable[Site]) -> None:
    """Raise ModelError for a node whose call fails with any values. The text is that of the call, and names the node.

    Input types that are not known are not checked, and neither are shapes with unknown sizes.
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
    is_whole = all(known.name in attributes for known in row.attributes)  # a function's caller gives the others
    sizes_are_known = all(operand.shape is not None and None not in operand.shape for operand in operands.values())
    inputs = tuple(None if operand is None else _stand_in(operand, sizes_are_known) for operand in site.operands)
    if sizes_are_known and is_whole and all(operands[name].constant for name in ("axis",) if name in operands):
        check_call(row, inputs, attributes)
    elif is_whole:
        check_inputs(row, inputs, attributes)


def _stand_in(operand: Operand, with_shape: bool) -> np.ndarray:
    """Return an array of the type and shape of an operand. It takes no memory, and its elements are equal."""
    assert operand.element_type is not None
    if operand.role == "axis" and operand.constant is not None:
        return operand.constant()
    dtype = np.dtype(object if operand.element_type == "string" else operand.element_type)
    is_wrong_index = operand.role in INDEX_ROLES and dtype.kind not in "iu"
    if dtype.kind == "O" or is_wrong_index or not with_shape or operand.shape is None:
        return np.empty((0,) * len(operand.shape or (0,)), dtype)  # errors about types do not read elements
    return np.broadcast_to(np.zeros((), dtype), tuple(size or 0 for size in operand.shape))
