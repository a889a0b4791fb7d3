"""Conditions on the inputs of operators that reduce bags, and of GatherTree."""

from __future__ import annotations

import numpy as np

from gatherscatter.operation import Kernel
from gatherscatter_models.findings.nodes import Count, NodeValues


def empty_last_bag(values: NodeValues) -> Count:
    """Whether the last bag has no indices: it starts at their end, or no bag has any."""
    if values.row.kernel != Kernel.GATHER_REDUCE:
        return 0
    shape, offsets = values.shapes.get("indices"), values.arrays.get("offsets")
    if "offsets" in values.types:
        if shape is None or shape[0] is None or offsets is None:
            return None
        return int(offsets.size > 0 and offsets[-1] == shape[0])
    if "segment_ids" in values.types:
        return 0
    return None if shape is None or None in shape else int(shape[0] != 0 and shape[1] == 0)


def no_segments(values: NodeValues) -> Count:
    return _count_scalar(values, "num_segments", 0)


def no_default_row(values: NodeValues) -> Count:
    return _count_scalar(values, "default_index", -1)


def _count_scalar(values: NodeValues, role: str, wanted: int) -> Count:
    if role not in values.types:
        return 0
    return int(np.all(values.arrays[role] == wanted)) if role in values.arrays else None


def negative_segment(values: NodeValues) -> Count:
    if "segment_ids" not in values.types:
        return 0
    ids = values.arrays.get("segment_ids")
    return None if ids is None else int(np.count_nonzero(ids < 0))


def no_members(values: NodeValues) -> Count:
    if "segment_ids" not in values.types or "num_segments" not in values.types:
        return 0
    shape, without_segments = values.shapes.get("segment_ids"), no_segments(values)
    if shape is None or shape[0] is None:
        return None
    if shape[0] > 0 or without_segments == 1:
        return 0
    return 1 if without_segments == 0 else None


def short_sequence(values: NodeValues) -> Count:
    if values.row.kernel != Kernel.GATHER_TREE:
        return 0
    lengths = values.arrays.get("max_seq_len")
    return None if lengths is None else int(np.count_nonzero(lengths <= 0))
