"""The one-node ONNX model of a case, as source text."""

from __future__ import annotations

import numpy as np

from gatherscatter.specs import DOMAIN_VERSION
from gatherscatter_conformance.case import Case
from gatherscatter_conformance.exports.exported import NARROW_OPSET, OLDEST_OPSET
from gatherscatter_conformance.runtimes.runtime import NotAskedError, arguments, row_of

IMPORTS = "from onnx import helper, numpy_helper"
NARROW_IR_VERSION = 12  # of NARROW_OPSET


def fed_inputs(case: Case) -> dict[str, np.ndarray]:
    """Return the inputs of the model. Quantized tables are constants, as their specification says."""
    row = row_of(case)
    named = zip(row.inputs, case.inputs, strict=False)
    return {
        each.name: array
        for each, array in named
        if array is not None and (row.kernel != "gather_quantized" or each.kind == "indices")
    }


def model_source(case: Case, *, domain: str = "") -> str:
    """Return lines that build ``model`` and ``feeds`` from the inputs. ``domain`` is the domain of the node."""
    row = row_of(case)
    if row.domain == "openvino":
        raise NotAskedError("this is an operator of OpenVINO")
    present = [each.name for each, array in zip(row.inputs, case.inputs, strict=False) if array is not None]
    names = [each.name if each.name in present else "" for each in row.inputs]
    fed = fed_inputs(case)
    imports = f'helper.make_opsetid("", {max(row.version, OLDEST_OPSET)})'
    moved = constants = ""
    ir_version = 10
    if row.domain != "onnx":
        imports = f'helper.make_opsetid("", {NARROW_OPSET}), helper.make_opsetid("{row.domain}", {row.version})'
        moved, ir_version = f', domain="{row.domain}"', NARROW_IR_VERSION
        made = ", ".join(f'numpy_helper.from_array({name}, "{name}")' for name in present if name not in fed)
        constants = f", [{made}]"
    elif domain:
        imports += f', helper.make_opsetid("{domain}", {DOMAIN_VERSION})'
        moved = f', domain="{domain}", opset={row.version}'
    typed = row.typing_input.name
    return f"""\
feeds = {{{", ".join(f'"{name}": {name}' for name in fed)}}}
element = {{name: helper.np_dtype_to_tensor_dtype(array.dtype) for name, array in feeds.items()}}
node = helper.make_node("{row.op_type}", {names}, ["output"]{moved}{arguments(case.attributes)})
inputs = [helper.make_tensor_value_info(name, element[name], array.shape) for name, array in feeds.items()]
outputs = [helper.make_tensor_value_info("output", helper.np_dtype_to_tensor_dtype({typed}.dtype), None)]
graph = helper.make_graph([node], "one_node", inputs, outputs{constants})
model = helper.make_model(graph, opset_imports=[{imports}], ir_version={ir_version})
"""
