"""`extensions`: what an `openvino.Core` needs to run our operators, and ONNX models on them."""

from __future__ import annotations

import importlib
from typing import Any

from gatherscatter.openvino.dropped_errors import warn_of_one_cpu
from gatherscatter.openvino.extension_ops import op_class
from gatherscatter.openvino.package import openvino
from gatherscatter.specs import table
from gatherscatter.specs.table import OpVersion


def extensions() -> list[Any]:
    """All our operators for an `openvino.Core`: ``core.add_extension(gs.openvino.extensions())``.

    The core then runs the gather and scatter nodes of the ONNX models that it reads on this package's kernels, with
    their errors, and reads and writes IR files with these operations in them. Their type there is the name of the op
    version, their version ``extension``. `gatherscatter.openvino.op_class` gives the operations themselves, for graphs
    made in Python.

    Returns
    -------
    list of openvino.Extension
        An operation for each op version, and a conversion for each ONNX operator. Gather of int64, with which ONNX
        graphs compute shapes, stays OpenVINO's own: it must see through it to know ranks.

    Raises
    ------
    ImportError
        The ``openvino`` package is missing; the message names the extra.

    Warns
    -----
    RuntimeWarning
        The process has one CPU: see the notes.

    Notes
    -----
    A bad index is a RuntimeError with our text in it. OpenVINO's synchronous call drops errors of kernels where it
    runs on one thread, so `op_class` has ``openvino.InferRequest.infer`` raise what OpenVINO would drop. In synchronous
    calls that do not go through it the operation's output holds NaN or zeros, and a RuntimeWarning has our text.

    The CPU plugin hands extensions 64-bit data in 32 bits, and a RuntimeWarning says so. It hands them 64-bit
    indices in 32 bits, too.

    Source: ONNX operator schemas and OpenVINO operation specifications.

    >>> import numpy as np, onnx, openvino, gatherscatter as gs
    >>> model = onnx.parser.parse_model(
    ...     '<ir_version: 8, opset_import: ["": 18]>'
    ...     'sums (float[n] data, int64[k, 1] indices, float[k] updates) => (float[n] out)'
    ...     '{ out = ScatterND <reduction = "add"> (data, indices, updates) }')
    >>> onnx.save(model, "sums.onnx")
    >>> core = openvino.Core()
    >>> core.add_extension(gs.openvino.extensions())
    >>> compiled = core.compile_model("sums.onnx", "CPU")
    >>> [op.get_type_name() for op in core.read_model("sums.onnx").get_ops() if "Scatter" in op.get_type_name()]
    ['onnx.ScatterND-18']
    >>> compiled([np.zeros(3, np.float32), np.array([[2], [2]]), np.ones(2, np.float32)])[0]
    array([0., 0., 2.], dtype=float32)
    """
    warn_of_one_cpu()
    frontend = importlib.import_module("openvino.frontend.onnx")
    operations = [openvino.OpExtension(op_class(row.name)) for row in table.ops()]
    op_types = dict.fromkeys(row.op_type for row in table.ops() if row.domain == "onnx")
    return operations + [frontend.ConversionExtension(name, "", _conversion(name)) for name in op_types]


def _conversion(op_type: str) -> Any:
    """From a node of an ONNX model to our operation; the newest version means the same for all that older ones take."""
    row = table.op(f"onnx.{op_type}")
    row = table.op("onnx.ScatterElements") if row.deprecated else row

    def convert(node: Any) -> list[Any]:
        inputs = [node.get_input(i) for i in range(node.get_input_size())]
        attributes = _attributes(row, node)
        if row.op_type == "Gather" and inputs[0].get_element_type() == openvino.Type.i64:
            opset = importlib.import_module("openvino.opset8")
            return list(opset.gather(*inputs, opset.constant(attributes["axis"])).outputs())
        return list(op_class(row.name)(inputs, **attributes).outputs())

    return convert


def _attributes(row: OpVersion, node: Any) -> dict[str, Any]:
    return {known.name: node.get_attribute(known.name, known.default) for known in row.attributes}
