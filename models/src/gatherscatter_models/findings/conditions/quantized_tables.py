"""Conditions on block-quantized tables."""

from __future__ import annotations

from gatherscatter.specs.table import codes_per_byte
from gatherscatter_models.findings.nodes import Count, NodeValues


def no_zero_points(values: NodeValues) -> Count:
    return int("zero_points" not in values.types)


def partial_block(values: NodeValues) -> Count:
    """Whether the last block along the quantized axis is shorter than the others."""
    axis, shape, block_size = values.quantize_axis, values.shapes.get("data"), values.attributes.get("block_size")
    length = None if axis is None or shape is None else shape[axis]
    if axis is None or shape is None or length is None or block_size is None:
        return None
    if axis == len(shape) - 1:
        length *= codes_per_byte(values.types.get("data"), values.attributes.get("bits", 4))
    return int(block_size > 0 and length % block_size != 0)


def inner_quantized_axis(values: NodeValues) -> Count:
    axis, rank = values.quantize_axis, values.rank
    return None if axis is None or rank is None else int(axis != rank - 1)


def equal_axes(values: NodeValues) -> Count:
    axis, along = values.axis, values.quantize_axis
    return None if axis is None or along is None else int(axis == along)


def empty_table(values: NodeValues) -> Count:
    shape = values.shapes.get("data")
    return None if shape is None or None in shape else int(0 in shape)


def bfloat16_scales(values: NodeValues) -> Count:
    name = values.types.get("scales")
    return None if name is None else int(name == "bfloat16")


def one_dimension(values: NodeValues) -> Count:
    return None if values.rank is None else int(values.rank == 1)


def computed_table(values: NodeValues) -> Count:
    return int(any(role in values.types and role not in values.constants for role in ("data", "scales", "zero_points")))
