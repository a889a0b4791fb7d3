"""Call an op version: the checks of its row, and then its kernel."""

from __future__ import annotations

from typing import Any

import numpy as np

from gatherscatter.oracle.arithmetic import Reduce, is_reducible
from gatherscatter.oracle.bags import bags
from gatherscatter.oracle.caches_and_beams import gather_tree, tensor_scatter
from gatherscatter.oracle.element_types import IX, element_type, is_bytes
from gatherscatter.oracle.gathers import gather, gather_elements, gather_nd
from gatherscatter.oracle.indices import RULES, axis_input, require
from gatherscatter.oracle.quantized import SCALES, gather_block_quantized
from gatherscatter.oracle.rows import GENERIC, REQUIRED, ROWS, OracleRow
from gatherscatter.oracle.scatters import scatter_elements, scatter_nd, scatter_update


def call(name: str, *inputs: Any, **attributes: Any) -> np.ndarray:
    """Return or raise the expected outcome of `gs.op(name)(*inputs, **attributes)`."""
    row = ROWS[name]
    family = {a for other in ROWS.values() if (other.domain, other.op_type) == (row.domain, row.op_type)
              for a in other.attributes}  # fmt: skip
    for attribute in attributes:
        if attribute not in family:
            raise TypeError(attribute)
    for attribute, default in row.attributes.items():
        if default is REQUIRED and attribute not in attributes:
            raise TypeError(attribute)
    given: dict[str, Any] = {
        key: None if x is None else np.asarray(x) for key, x in zip(row.inputs, inputs, strict=False)
    }
    check_types(row, given)
    for attribute, value in attributes.items():
        require(attribute in row.attributes)
        require(attribute not in row.choices or value in row.choices[attribute])
    values = {k: v for k, v in row.attributes.items() if v is not REQUIRED} | attributes
    reduction = values.get("reduction", row.fixed_reduction)
    reduction = GENERIC.get(reduction, reduction)
    check_reduction(reduction, element_type(given[row.inputs[0]].dtype), text=row.domain == "onnx")
    accumulate = "wide" if row.domain == "openvino" else "step"
    return dispatch(row, given, values, Reduce(reduction, values.get("use_init_val", True), accumulate))


def check_types(row: OracleRow, given: dict[str, Any]) -> None:
    names = {key: element_type(value.dtype) for key, value in given.items() if value is not None}
    main = names[row.inputs[0]]
    for key, name in names.items():
        if key in ("indices", "write_indices", "offsets", "segment_ids", "num_segments", "default_index"):
            allowed = name in row.index_types and name == names.get("indices", name)  # one T_IND
        elif key == "axis":
            allowed = name in IX
        elif key == "scales":
            allowed = name in SCALES
        else:
            allowed = name in row.types and name == main
        if not allowed:
            raise TypeError(f"{key}: {name}")


def check_reduction(reduction: str, name: str, text: bool = True) -> None:
    if not is_reducible(reduction, name) or (name == "string" and reduction != "none" and not text):
        raise TypeError(reduction)


def dispatch(row: OracleRow, given: dict[str, Any], values: dict[str, Any], how: Reduce) -> np.ndarray:
    x = list(given.values())
    if row.kernel == "gather_reduce":
        return bags(x[0], given, values, how)
    if row.kernel == "gather_quantized":
        return gather_block_quantized(*x, **values)
    if row.kernel == "gather_tree":
        return gather_tree(*x)
    axis = axis_input(given["axis"]) if "axis" in given else values.get("axis", 0)
    for key in ("updates", "update"):
        if key in given and is_bytes(given[key]) != is_bytes(x[0]):
            raise TypeError(key)
    if row.kernel == "tensor_scatter":
        return tensor_scatter(x[0], x[1], given.get("write_indices"), values["axis"], values["mode"])
    if row.kernel == "gather":
        return gather(x[0], x[1], axis, values.get("batch_dims", 0), RULES[row.rule])
    if row.kernel == "gather_elements":
        return gather_elements(x[0], x[1], axis, RULES[row.rule], equal=row.domain == "openvino")
    if row.kernel == "gather_nd":
        return gather_nd(
            x[0], x[1], values.get("batch_dims", 0), RULES[row.rule], fused=row.name == "openvino.GatherND-5"
        )
    if row.kernel == "scatter_elements":
        limited = row.name == "openvino.ScatterElementsUpdate-3"
        return scatter_elements(x[0], x[1], x[2], axis, RULES[row.rule], how, axis_limited=limited)
    if row.kernel == "scatter_update":
        return scatter_update(x[0], x[1], x[2], axis, RULES[row.rule], how)
    return scatter_nd(x[0], x[1], x[2], RULES[row.rule], how, one_element=row.domain == "openvino")
