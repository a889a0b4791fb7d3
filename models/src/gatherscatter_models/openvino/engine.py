"""``--engine openvino``: run the whole model in the openvino package, for layers that gatherscatter does not run.

The results may differ from gatherscatter's:

- The CPU plugin computes i64 and u64 in 32 bits and f64 in float32, for any declared types. This module
  refuses integers that do not fit, because OpenVINO would change them silently.
- With one thread, the synchronous call drops the exceptions of kernels and returns uninitialised memory. So this module
  uses the asynchronous call only.
- Some kernels of the plugin do not check for bad indices.
"""

from __future__ import annotations

import importlib
import io
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gatherscatter.messages.text import quote, quote_if_needed
from gatherscatter.system.extras import find_missing, install_command
from gatherscatter_models.interface import ModelError, TensorInfo, is_openvino_model
from gatherscatter_models.openvino import element_types
from gatherscatter_models.openvino.graph import shorten, sizes_of, type_of
from gatherscatter_models.openvino.inputs import Parameter, accept_inputs, read_parameter

Array = NDArray[Any]
_CONFIG = {"INFERENCE_PRECISION_HINT": "f32"}


def load_openvino(model: str | os.PathLike[str] | Any) -> OpenVinoModel:
    """Compile an .xml, an .onnx file or an `onnx.ModelProto` in the openvino package for the CPU."""
    if find_missing(["openvino"]):
        command = install_command("gatherscatter-models[openvino]")
        raise ModelError(f"the engine 'openvino' needs OpenVINO: {command}")
    core = importlib.import_module("openvino").Core()
    name, source = _source(model)
    try:
        read = source if is_openvino_model(source) else core.read_model(source)
        return OpenVinoModel(core.compile_model(read, "CPU", _CONFIG), _node_count(read))
    except RuntimeError as error:
        raise ModelError(f"{name}: the openvino package refuses it: {shorten(error)}") from None


class OpenVinoModel:
    """A compiled model with the interface `interface.Model`. Inputs and outputs are as in `IrModel`."""

    def __init__(self, compiled: Any, node_count: int) -> None:
        self._compiled = compiled
        self._parameters = tuple(read_parameter(port) for port in compiled.inputs)
        self.inputs: tuple[TensorInfo, ...] = tuple(parameter.info for parameter in self._parameters)
        self.outputs: tuple[TensorInfo, ...] = tuple(_output(port) for port in compiled.outputs)
        self.node_count = node_count

    def run(
        self, inputs: Mapping[str, ArrayLike], progress: Callable[[str], None] | None = None
    ) -> dict[str, np.ndarray]:
        """Run the model in one step, so ``progress`` is called once."""
        arrays = accept_inputs(self._parameters, inputs)
        for parameter, array in zip(self._parameters, arrays, strict=True):
            _refuse_narrowing(parameter, array)
        if progress is not None:
            progress("the whole model in openvino")
        request = self._compiled.create_infer_request()
        try:
            request.start_async({i: _tensor(array) for i, array in enumerate(arrays)})
            request.wait()
        except RuntimeError as error:
            raise ModelError(f"the openvino package failed: {shorten(error)}") from None
        return {info.name: _array(tensor) for info, tensor in zip(self.outputs, request.output_tensors, strict=True)}


def _source(model: Any) -> tuple[str, Any]:
    if is_openvino_model(model):
        return "the model", model
    if not isinstance(model, str | os.PathLike):
        return "the model", io.BytesIO(model.SerializeToString())
    path = Path(model)
    name = quote_if_needed(path.name)
    if not path.is_file():
        raise ModelError(f"{name}: there is no such file")
    return name, path


def _node_count(model: Any) -> int:
    return sum(node.get_type_name() not in ("Parameter", "Constant", "Result") for node in model.get_ops())


def _output(port: Any) -> TensorInfo:
    name = min(port.get_names(), default=port.get_node().get_friendly_name())
    return TensorInfo(name, type_of(port, f"output {quote(name)}").numpy_name, sizes_of(port))


def _refuse_narrowing(parameter: Parameter, array: Array) -> None:
    if array.dtype.kind not in "iu" or array.dtype.itemsize < 8 or array.size == 0:
        return
    limits = np.iinfo(np.int32)
    if int(array.min()) < limits.min or int(array.max()) > limits.max:
        raise ModelError(
            f"input {quote(parameter.name)} holds values beyond 32 bits, which openvino would change silently"
        )


def _tensor(array: Array) -> Any:
    openvino = importlib.import_module("openvino")
    if array.dtype == element_types.BFLOAT16:  # openvino has no NumPy dtype for it: hand over the bits
        tensor = openvino.Tensor(openvino.Type.bf16, openvino.Shape(array.shape))
        tensor.data.view(np.uint16)[...] = array.view(np.uint16)
        return tensor
    if array.dtype == element_types.STRING:
        return openvino.Tensor(array.astype(np.str_))
    return openvino.Tensor(np.ascontiguousarray(array).reshape(array.shape))


def _array(tensor: Any) -> Array:
    name = tensor.element_type.get_type_name()
    if name == "string":
        return np.asarray(tensor.str_data).astype(object)
    array: Array = np.array(tensor.data)
    return array.view(element_types.BFLOAT16) if name == "bf16" else array
