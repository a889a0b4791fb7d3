"""The conditions of findings: a function for each counts the values at a node that meet it.

`gatherscatter_models.findings.catalog.CONDITIONS` describes each condition. A count is None if it can't be known before
the model runs. A node meets a condition on types, shapes or attributes if the count is positive.
"""

from __future__ import annotations

from collections.abc import Callable

from gatherscatter_models.findings.conditions import (
    bags_and_beams,
    data_values,
    index_values,
    quantized_tables,
    shapes,
    types_and_attributes,
)
from gatherscatter_models.findings.nodes import Count, NodeValues

__all__ = ["COUNTED"]

COUNTED: dict[str, Callable[[NodeValues], Count]] = {
    "always": lambda values: 1,
    "repeated": index_values.repeated,
    "negative": index_values.negative,
    "out of range": index_values.out_of_range,
    "too negative": index_values.too_negative,
    "wide values": data_values.wide_values,
    "wide indices": index_values.wide_indices,
    "empty indices": shapes.empty_indices,
    "empty result": shapes.empty_result,
    "k=0": shapes.no_tuple,
    "empty axis": shapes.empty_axis,
    "nan": data_values.nan,
    "infinite extreme": data_values.infinite_extreme,
    "signed order": data_values.signed_order,
    "bfloat16 rounding": data_values.bfloat16_rounding,
    "non-integral mean": data_values.non_integral_mean,
    "overflowing mean": data_values.overflowing_mean,
    "long axis": shapes.long_axis,
    "shorter indices": shapes.shorter_indices,
    "longer indices": shapes.longer_indices,
    "updates shape": shapes.updates_shape,
    "batch dims differ": shapes.batch_dims_differ,
    "negative batch dims": types_and_attributes.negative_batch_dims,
    "all batch dims": shapes.all_batch_dims,
    "empty batch": shapes.empty_batch,
    "low batch dims": shapes.low_batch_dims,
    "unknown attribute": types_and_attributes.unknown_attribute,
    "extra attribute": types_and_attributes.extra_attribute,
    "short sequence": bags_and_beams.short_sequence,
    "empty slice": index_values.empty_slice,
    "slices": shapes.slices,
    "divisible": shapes.divisible,
    "malformed": types_and_attributes.malformed,
    "index type": types_and_attributes.index_type,
    "element type": types_and_attributes.element_type,
    "empty last bag": bags_and_beams.empty_last_bag,
    "no segments": bags_and_beams.no_segments,
    "no members": bags_and_beams.no_members,
    "negative segment": bags_and_beams.negative_segment,
    "no default row": bags_and_beams.no_default_row,
    "scalar indices": shapes.scalar_indices,
    "several axes": shapes.several_axes,
    "longer along axis": shapes.longer_along_axis,
    "narrow index type": shapes.narrow_index_type,
    "8-bit indices": types_and_attributes.byte_indices,
    "computed indices": index_values.computed_indices,
    "no zero points": quantized_tables.no_zero_points,
    "partial block": quantized_tables.partial_block,
    "inner quantized axis": quantized_tables.inner_quantized_axis,
    "equal axes": quantized_tables.equal_axes,
    "empty table": quantized_tables.empty_table,
    "bfloat16 scales": quantized_tables.bfloat16_scales,
    "one dimension": quantized_tables.one_dimension,
    "computed table": quantized_tables.computed_table,
}
