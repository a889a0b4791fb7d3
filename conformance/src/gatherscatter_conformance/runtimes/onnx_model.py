"""The one-node ONNX model of a case, as source text."""

from __future__ import annotations

from gatherscatter.versions import DOMAIN_VERSION
from gatherscatter_conformance.case import Case
from gatherscatter_conformance.runtimes.runtime import NotAskedError, arguments, row_of

IMPORTS = "from onnx import helper"
OLDEST_OPSET = 7  # the oldest opset that runtimes promise to read


def model_source(case: Case, *, domain: str = "") -> str:
    """Return lines that build ``model`` and ``feeds`` from the inputs. ``domain`` is the domain of the node."""
    row = row_of(case)
    if row.domain != "onnx":
        raise NotAskedError("this is an operator of OpenVINO")
    present = [each.name for each, array in zip(row.inputs, case.inputs, strict=False) if array is not None]
    names = [each.name if each.name in present else "" for each in row.inputs]
    imports = f'helper.make_opsetid("", {max(row.version, OLDEST_OPSET)})'
    moved = ""
    if domain:
        imports += f', helper.make_opsetid("{domain}", {DOMAIN_VERSION})'
        moved = f', domain="{domain}", opset={row.version}'
    return f"""\
feeds = {{{", ".join(f'"{name}": {name}' for name in present)}}}
element = {{name: helper.np_dtype_to_tensor_dtype(array.dtype) for name, array in feeds.items()}}
node = helper.make_node("{row.op_type}", {names}, ["output"]{moved}{arguments(case.attributes)})
inputs = [helper.make_tensor_value_info(name, element[name], array.shape) for name, array in feeds.items()]
outputs = [helper.make_tensor_value_info("output", element["{names[0]}"], None)]
graph = helper.make_graph([node], "one_node", inputs, outputs)
model = helper.make_model(graph, opset_imports=[{imports}], ir_version=10)
"""
