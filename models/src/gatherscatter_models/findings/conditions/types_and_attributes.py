"""Conditions on types and attributes."""

from __future__ import annotations

from gatherscatter.operation import Kernel
from gatherscatter_models.findings.nodes import Count, NodeValues


def negative_batch_dims(values: NodeValues) -> Count:
    return int(values.attributes.get("batch_dims", 0) < -1)


def extra_attribute(values: NodeValues) -> Count:
    return len(values.attributes.keys() - {known.name for known in values.row.attributes})


def unknown_attribute(values: NodeValues) -> Count:
    for known in values.row.attributes:
        if known.choices is not None:
            given = values.attributes.get(known.name)
            if given is None:
                return None
            if given not in known.choices:
                return 1
    return 0


def index_type(values: NodeValues) -> Count:
    return _count_other_types(values, ("indices", "scalar"), values.row.index_types)


def element_type(values: NodeValues) -> Count:
    return _count_other_types(values, ("data",), values.row.element_types)


def byte_indices(values: NodeValues) -> Count:
    name = values.types.get("indices", "int64")
    return None if name is None else int(name in ("int8", "uint8"))


def _count_other_types(values: NodeValues, kinds: tuple[str, ...], allowed: tuple[str, ...]) -> Count:
    """How many inputs of these kinds have a type that the version doesn't list."""
    types = [values.types.get(known.name) for known in values.row.inputs if known.kind in kinds]
    return sum(name is not None and name not in allowed for name in types)


def malformed(values: NodeValues) -> Count:
    """Whether an input is missing, or the version does not allow a type, the axis or batch_dims.

    The run of the model finds all other faults.
    """
    if any(not known.optional and known.name not in values.types for known in values.row.inputs):
        return 1
    if values.row.kernel == Kernel.GATHER_ND and values.attributes.get("batch_dims", 0) < 0:
        return 1
    if index_type(values) or element_type(values):
        return 1
    has_axis = "axis" in values.attributes or "axis" in values.arrays
    return int(has_axis and values.rank is not None and values.axis is None)
