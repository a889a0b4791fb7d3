"""Load and run models: ONNX files and OpenVINO IR."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from gatherscatter_models.interface import Model, ModelError, check_model, is_openvino_model, name_inputs

if TYPE_CHECKING:
    import onnx as onnx_package

    ModelSource = str | os.PathLike[str] | onnx_package.ModelProto | Any  # or an openvino.Model, which has no types

ENGINES = ("gatherscatter", "openvino")


def load(model: ModelSource | bytes, *, engine: str = "gatherscatter", node_time_limit: float | None = None) -> Model:
    """Load a model from a path (``.onnx``, or ``.xml`` of an OpenVINO IR), bytes, a ModelProto or an openvino.Model.

    ``engine="gatherscatter"`` runs the gather and scatter nodes on this package's kernels. ``engine="openvino"`` runs
    the whole model in the ``openvino`` package. ``node_time_limit`` is as in `run`. ``plan`` of a loaded ONNX model
    shows the nodes that run as one step.

    Raises
    ------
    ModelError
        The model can't be used.
    ValueError
        ``engine`` or ``node_time_limit`` is not valid.
    """
    if node_time_limit is not None and (not isinstance(node_time_limit, int | float) or not node_time_limit > 0):
        raise ValueError(f"node_time_limit must be a positive number of seconds, not {node_time_limit!r}")
    if engine not in ENGINES:
        raise ValueError(f"engine must be one of {', '.join(ENGINES)}; got {engine!r}")
    check_model(model)
    if isinstance(model, str | os.PathLike):
        model = _existing_file(model)
    elif isinstance(model, bytes):
        from gatherscatter_models.onnx.model import parse_bytes

        model = parse_bytes(model)
    is_ir = _is_xml(model) if isinstance(model, Path) else is_openvino_model(model)
    if node_time_limit is not None and (is_ir or engine == "openvino"):
        raise ValueError("node_time_limit is for ONNX models that run with engine='gatherscatter'")
    if engine == "openvino":
        from gatherscatter_models.openvino.engine import load_openvino

        return load_openvino(model)
    if is_ir:
        from gatherscatter_models.openvino.ir import load_ir

        return load_ir(model)
    from gatherscatter_models.onnx.model import load_onnx

    return load_onnx(model, time_limit=node_time_limit, fuse=True)


def run(
    model: ModelSource | bytes,
    inputs: Mapping[str, ArrayLike] | Sequence[ArrayLike],
    *,
    engine: str = "gatherscatter",
    node_time_limit: float | None = None,
) -> dict[str, np.ndarray]:
    """Load a model, run it once, and return its outputs by name.

    In an ONNX model, a Gather and the node that reads its rows can run as one step, if that is faster. The node must be
    a ScatterND, ScatterElements, ReduceSum or ReduceMean, and no other node may read the rows. The result is
    bit-for-bit identical to that of two steps.
    ``load(model).plan`` has a line for each step.

    Parameters
    ----------
    model : path, bytes, onnx.ModelProto or openvino.Model
        The path of an ``.onnx`` file, with its external data if it has any, or of an ``.xml`` file of OpenVINO IR, with
        its ``.bin`` file. Or the bytes of an ``.onnx`` file, a ModelProto, or a Model of OpenVINO. ONNX models need the
        extra ``onnx``, and IR needs the extra ``openvino``.
    inputs : mapping of str to array, or sequence of arrays
        The model's inputs by name, or in the order of the model. Types and known dims must be as the model declares.
    engine : {'gatherscatter', 'openvino'}
        'gatherscatter': this package's kernels run the gather and scatter nodes. 'openvino': the ``openvino`` package
        runs all nodes.
    node_time_limit : float, optional
        The time limit in seconds for each node of an ONNX model, including its subgraphs. By default, only
        RegexFullMatch has a limit: 2 s, and 1 s for every million characters. A short expression can run forever.

    Returns
    -------
    dict of str to array

    Raises
    ------
    ModelError
        The file or the inputs can't be used. The message gives the reason in one line.
    TimeoutError
        A node took longer than ``node_time_limit``. This error is also a ModelError.
    IndexError, ValueError, TypeError
        An error of a gather or scatter node. A note names the node.
    ImportError
        The format or the engine needs an extra that is not installed. The message names it.

    >>> import numpy as np, gatherscatter_models as gm
    >>> from onnx import TensorProto, helper
    >>> node = helper.make_node("Gather", ["table", "ids"], ["rows"])
    >>> tensors = [helper.make_tensor_value_info("table", TensorProto.FLOAT, ["n", 2]),
    ...            helper.make_tensor_value_info("ids", TensorProto.INT64, ["k"])]
    >>> rows = helper.make_tensor_value_info("rows", TensorProto.FLOAT, None)
    >>> model = helper.make_model(helper.make_graph([node], "lookup", tensors, [rows]))
    >>> gm.run(model, {"table": np.float32([[1, 2], [3, 4]]), "ids": np.array([1, 1])})
    {'rows': array([[3., 4.],
           [3., 4.]], dtype=float32)}
    """
    loaded = load(model, engine=engine, node_time_limit=node_time_limit)
    return loaded.run(name_inputs(loaded.inputs, inputs))


def _existing_file(model: str | os.PathLike[str]) -> Path:
    path = Path(model)
    if path.is_file():
        return path
    raise ModelError(f"{path}: {'not a regular file' if path.exists() else 'no such file'}")


def _is_xml(path: Path) -> bool:
    """Whether a file is XML, by its suffix. Other files are XML if they begin with ``<``, as no ONNX file does."""
    suffix = path.suffix.lower()
    if suffix in (".xml", ".onnx"):
        return suffix == ".xml"
    from gatherscatter_models.openvino.graph import begins_as_xml

    return begins_as_xml(path)
