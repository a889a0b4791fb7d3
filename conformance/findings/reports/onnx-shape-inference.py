"""onnx-shape-inference: shapes that do not hold when the model runs, and names for elements of declared vectors."""

from importlib import metadata

import onnx.parser
import onnx_ir as ir
from onnx_shape_inference import infer_symbolic_shapes

MODELS = {
    "Split, parts are an input": (
        "g (float[6] x, int64[2] parts) => (y, z) { y, z = Split <axis = 0> (x, parts) }",
        "a size that depends on parts",
    ),
    "Squeeze, axes are an input": (
        "g (float[1, 3, 1, 5] x, int64[1] axes) => (y) { y = Squeeze (x, axes) }",
        "three dims, which depend on axes",
    ),
    "Slice, axes are an input": (
        "g (float[4, 9] x, int64[1] axes) => (y) { a = Constant <value_ints = [0]> ()"
        "  b = Constant <value_ints = [2]> ()  y = Slice (x, a, b, axes) }",
        "[2,9] or [4,2]",
    ),
    "Slice, axis of unknown size": (
        "g (float[n] x) => (y) { a = Constant <value_ints = [0]> ()  b = Constant <value_ints = [5]> ()"
        "  y = Slice (x, a, b) }",
        "min(n, 5)",
    ),
    "Pad, axes are an input": (
        "g (float[4, 9] x, int64[1] axes, float c) => (y) { p = Constant <value_ints = [1, 1]> ()"
        "  y = Pad (x, p, c, axes) }",
        "[6,9] or [4,11]",
    ),
    "Unique with an axis": (
        "g (float[3, 4] x) => (y) { y = Unique <axis = 0> (x) }",
        "a size up to 3, and 4",
    ),
    "Resize, not_smaller": (
        "g (float[1, 1, 2, 4] x) => (y) { s = Constant <value_ints = [1, 3]> ()  y = Resize <axes = [2, 3], "
        'keep_aspect_ratio_policy = "not_smaller", mode = "nearest"> (x, , , s) }',
        "[1,1,2,3]",
    ),
    "Concat of vectors of 10**5": (
        "g (int64[100000] x) => (y) { y = Concat <axis = 0> (x, x) }",
        "no name for each element",
    ),
}

print("release  ", "onnx-shape-inference", metadata.version("onnx-shape-inference"))
for title, (text, expected) in MODELS.items():
    model = ir.from_proto(onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["": 19]> {text}'))
    try:
        output = infer_symbolic_shapes(model, warn_on_missing=False).graph.outputs[0]
        names = sum(map(len, output.metadata_props.values()))
        found = f"{names:,} characters of names" if "vectors" in title else output.shape
    except ValueError as error:
        found = f"{type(error).__name__} from {type(error.__cause__).__name__}"
    print(f"{title}: {found}, expected {expected}")
