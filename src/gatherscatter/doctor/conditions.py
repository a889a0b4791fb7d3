"""The conditions of findings, counted at a node: how many values fulfil one, or None where that can't be known.

`gatherscatter.conformance.findings.CONDITIONS` says what each name means.
"""

from __future__ import annotations

from collections.abc import Callable

from . import count_indices, count_shapes, count_values
from .values import Count, Values

COUNTED: dict[str, Callable[[Values], Count]] = {
    "always": lambda values: 1,
    "repeated": count_indices.repeated,
    "negative": count_indices.negative,
    "out of range": count_indices.out_of_range,
    "too negative": count_indices.too_negative,
    "wide values": count_values.wide_values,
    "wide indices": count_indices.wide_indices,
    "empty indices": count_indices.empty_indices,
    "empty result": count_shapes.empty_result,
    "k=0": count_indices.no_tuple,
    "empty axis": count_indices.empty_axis,
    "nan": count_values.nan,
    "infinite": count_values.infinite,
    "non-integral mean": count_values.non_integral_mean,
    "overflowing mean": count_values.overflowing_mean,
    "long axis": count_shapes.long_axis,
    "shorter indices": count_shapes.shorter_indices,
    "longer indices": count_shapes.longer_indices,
    "updates shape": count_shapes.updates_shape,
    "batch dims differ": count_shapes.batch_dims_differ,
    "empty batch": count_shapes.empty_batch,
    "unknown attribute": count_shapes.unknown_attribute,
    "short sequence": count_values.short_sequence,
    "empty slice": count_indices.empty_slice,
    "slices": count_shapes.slices,
    "malformed": count_shapes.malformed,
    "scalar indices": count_shapes.scalar_indices,
    "several axes": count_shapes.several_axes,
    "longer along axis": count_shapes.longer_along_axis,
    "narrow index type": count_shapes.narrow_index_type,
    "computed indices": count_indices.computed_indices,
}
