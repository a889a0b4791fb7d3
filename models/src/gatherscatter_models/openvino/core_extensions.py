"""`extensions`: run gatherscatter's operators in an `openvino.Core`, and ONNX models with them."""

from __future__ import annotations

import importlib
from typing import Any

from gatherscatter.specs import table
from gatherscatter.specs.table import OpVersion
from gatherscatter_models.openvino.dropped_errors import warn_of_one_cpu
from gatherscatter_models.openvino.extension_ops import op_class
from gatherscatter_models.openvino.package import openvino


def extensions() -> list[Any]:
    """Return all operators for an `openvino.Core`: ``core.add_extension(gm.openvino.extensions())``.

    The core then runs the gather and scatter nodes of ONNX models on this package's kernels, with their errors. It can
    also read and write IR files with these operations. In a file, the type of an operation is the name of the op
    version, and its version is ``extension``. To use the operations in graphs made in Python, see
    `gatherscatter_models.openvino.op_class`.

    Returns
    -------
    list of openvino.Extension
        An operation for each op version, and a conversion for each ONNX operator. A Gather of int64 data remains
        OpenVINO's own Gather, because ONNX graphs use it to compute shapes. OpenVINO can infer ranks only through its
        own operations.

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
    A bad index raises a RuntimeError that contains gatherscatter's message. OpenVINO's synchronous call drops errors of
    kernels if it runs on one thread. `op_class` therefore changes ``openvino.InferRequest.infer`` so that it raises
    these errors. Synchronous calls that do not use ``infer`` do not raise them. The output of the operation then holds
    NaN or zeros, and a RuntimeWarning has the message.

    The CPU plugin passes 64-bit data and 64-bit indices to extensions in 32 bits. For data, a RuntimeWarning reports
    this.

    Source: ONNX operator schemas and OpenVINO operation specifications.

    >>> import numpy as np, onnx, openvino, gatherscatter_models as gm
    >>> model = onnx.parser.parse_model(
    ...     '<ir_version: 8, opset_import: ["": 18]>'
    ...     'sums (float[n] data, int64[k, 1] indices, float[k] updates) => (float[n] out)'
    ...     '{ out = ScatterND <reduction = "add"> (data, indices, updates) }')
    >>> onnx.save(model, "sums.onnx")
    >>> core = openvino.Core()
    >>> core.add_extension(gm.openvino.extensions())
    >>> compiled = core.compile_model("sums.onnx", "CPU")
    >>> [op.get_type_name() for op in core.read_model("sums.onnx").get_ops() if "Scatter" in op.get_type_name()]
    ['onnx.ScatterND-18']
    >>> compiled([np.zeros(3, np.float32), np.array([[2], [2]]), np.ones(2, np.float32)])[0]
    array([0., 0., 2.], dtype=float32)
    """
    warn_of_one_cpu()
    frontend = importlib.import_module("openvino.frontend.onnx")
    rows = [row for row in table.ops() if row.domain in ("onnx", "openvino")]
    operations = [openvino.OpExtension(op_class(row.name)) for row in rows]
    op_types = dict.fromkeys(row.op_type for row in table.ops() if row.domain == "onnx")
    return operations + [frontend.ConversionExtension(name, "", _conversion(name)) for name in op_types]


def _conversion(op_type: str) -> Any:
    """Return the conversion from an ONNX node to an operation.

    It uses the newest op version, which gives the same results for all calls that older versions accept.
    """
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
