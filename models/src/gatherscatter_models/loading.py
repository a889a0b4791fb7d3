"""Load and run models: ONNX files and OpenVINO IR."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from gatherscatter.system.processes import shared_process
from gatherscatter_models.interface import Model, ModelError, check_model, is_ir, name_inputs

if TYPE_CHECKING:
    import onnx as onnx_package

    ModelSource = str | os.PathLike[str] | onnx_package.ModelProto | Any  # or an openvino.Model, which has no types

CHECKER = "gatherscatter_models.onnx.checking"
ENGINES = ("auto", "onnxruntime", "reference", "openvino")


def load(model: ModelSource | bytes, *, engine: str = "auto") -> Model:
    """Load a model from a path (``.onnx``, or ``.xml`` of an OpenVINO IR), bytes, a ModelProto or an openvino.Model.

    ``engine`` is as in `run`. ``plan`` of a model that ONNX Runtime runs shows the nodes that gatherscatter's library
    runs, and why.

    Raises
    ------
    ModelError
        The model can't be used.
    ValueError
        ``engine`` is not valid.

    Warns
    -----
    UserWarning
        ONNX Runtime can't run the model, so the reference evaluator does. The text names the node and the reason.
    """
    loaded = open_model(model, engine)
    if note := getattr(loaded, "note", ""):
        warnings.warn(note, stacklevel=2)
    return loaded


def open_model(model: ModelSource | bytes, engine: str = "auto") -> Model:
    """`load` without its warning, which is ``note`` of the model."""
    if engine not in ENGINES:
        raise ValueError(f"engine must be one of {', '.join(ENGINES)}; got {engine!r}")
    check_model(model)
    if isinstance(model, str | os.PathLike):
        model = _existing_file(model)
    elif isinstance(model, bytes):
        from gatherscatter_models.onnx.reading import parse_bytes

        model = parse_bytes(model)
    reads_ir = is_ir(model)
    if engine == "openvino":
        from gatherscatter_models.openvino.engine import load_openvino

        return load_openvino(model)
    if reads_ir:
        if engine == "onnxruntime":
            raise ModelError("ONNX Runtime runs no OpenVINO IR; convert it to ONNX first: gatherscatter convert")
        from gatherscatter_models.openvino.ir import load_ir

        return load_ir(model)
    shared_process(CHECKER).start()  # it starts while this process imports the same packages
    from gatherscatter_models.onnx.running import load_onnx

    return load_onnx(model, None if engine == "auto" else engine)


def run(
    model: ModelSource | bytes,
    inputs: Mapping[str, ArrayLike] | Sequence[ArrayLike],
    *,
    engine: str = "auto",
) -> dict[str, np.ndarray]:
    """Load a model, run it once, and return its outputs by name.

    Another process reads the file first and checks it, because some files end the process that reads them.

    Parameters
    ----------
    model : path, bytes, onnx.ModelProto or openvino.Model
        The path of an ``.onnx`` file, with its external data if it has any, or of an ``.xml`` file of OpenVINO IR, with
        its ``.bin`` file; the bytes of an ``.onnx`` file; a ModelProto; or a Model of OpenVINO. IR needs the extra
        ``openvino``.
    inputs : mapping of str to array, or sequence of arrays
        The model's inputs by name, or in the order of the model. Types and known dims must be as the model declares.
    engine : {'auto', 'onnxruntime', 'reference', 'openvino'}
        'onnxruntime': ONNX Runtime with gatherscatter's library (`gatherscatter_models.onnx.InferenceSession`).
        'reference': the reference evaluator of the onnx package for ONNX models, and this package's functions for the
        layers of an IR. Both have gatherscatter's operators. 'openvino': OpenVINO, with its own operators. 'auto':
        ONNX Runtime for ONNX models, or the reference evaluator if ONNX Runtime refuses the model, and 'reference' for
        IR.

    Returns
    -------
    dict of str to array

    Raises
    ------
    ModelError
        The file or the inputs can't be used. The message gives the reason in one line.
    IndexError, ValueError, TypeError
        An error of a gather or scatter node. A note names the node.
    ImportError
        The format or the engine needs an extra that is not installed. The message names it.

    Warns
    -----
    UserWarning
        ONNX Runtime can't run the model, so the reference evaluator does. The text names the node and the reason.

    >>> import numpy as np, gatherscatter_models as gm
    >>> from onnx import TensorProto, helper
    >>> node = helper.make_node("Gather", ["table", "ids"], ["rows"])
    >>> tensors = [helper.make_tensor_value_info("table", TensorProto.FLOAT, ["n", 2]),
    ...            helper.make_tensor_value_info("ids", TensorProto.INT64, ["k"])]
    >>> rows = helper.make_tensor_value_info("rows", TensorProto.FLOAT, None)
    >>> graph = helper.make_graph([node], "lookup", tensors, [rows])
    >>> model = helper.make_model(graph, ir_version=10, opset_imports=[helper.make_opsetid("", 18)])
    >>> gm.run(model, {"table": np.float32([[1, 2], [3, 4]]), "ids": np.array([1, 1])})
    {'rows': array([[3., 4.],
           [3., 4.]], dtype=float32)}
    """
    loaded = open_model(model, engine)
    if note := getattr(loaded, "note", ""):
        warnings.warn(note, stacklevel=2)
    return loaded.run(name_inputs(loaded.inputs, inputs))


def _existing_file(model: str | os.PathLike[str]) -> Path:
    path = Path(model)
    if path.is_file():
        return path
    raise ModelError(f"{path}: {'not a regular file' if path.exists() else 'no such file'}")
