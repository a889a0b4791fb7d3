"""OpenVINO: ONNX's GatherElements passes negative indices to GatherElements-6, whose specification excludes them."""

import sys

import numpy as np
import onnx.parser
import openvino

TEXT = (
    "OpenVINO operation set, GatherElements-6, input indices: All index values are expected to be within bounds "
    "[0, s-1]"
)
MODEL = """<ir_version: 10, opset_import: ["": 13]>
    g (float[8] data, int64[1] indices)
    => (float[1] output) { output = GatherElements (data, indices) }"""

model = openvino.Core().read_model(onnx.parser.parse_model(MODEL).SerializeToString())
kinds = [f"{node.get_type_name()} {node.get_type_info().version_id}" for node in model.get_ordered_ops()]
result = openvino.compile_model(model, "CPU")([np.arange(8, dtype=np.float32), np.array([-1])])[0]
expected = "an operator that takes negative indices, or nodes that make them non-negative"
observed = f"{', '.join(kinds)}; the result for -1 is {result}"
departs = "GatherElements opset6" in kinds and len(kinds) == 4

print("release  ", "openvino", openvino.__version__)
print("text     ", TEXT)
print("expected ", expected)
print("observed ", observed)
sys.exit(0 if departs else 3)
