"""An ONNX backend: ``gatherscatter_models.onnx.backend.run_model(model, inputs)``. See ``onnx.backend.base``."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from onnx.backend.base import Backend as BackendBase
from onnx.backend.base import BackendRep, namedtupledict

from gatherscatter_models.interface import ModelError, name_inputs
from gatherscatter_models.onnx.running import OnnxModel, load_onnx

# The element type and shape of each output, which a caller of run_node may give.
OutputsInfo = Sequence[tuple[Any, tuple[int, ...]]]
Model = onnx.ModelProto | str | os.PathLike[str]

__all__ = ["Backend", "PreparedModel", "is_compatible", "prepare", "run_model", "run_node", "supports_device"]


class PreparedModel(BackendRep):
    """A loaded model, ready to run repeatedly."""

    def __init__(self, model: OnnxModel) -> None:
        self.model = model

    def run(self, inputs: Any, **_: Any) -> tuple[Any, ...]:
        """Run the model. Return the outputs in the model's order, as a named tuple.

        ``inputs`` is a mapping, a sequence, or the only array.
        """
        results = self.model.run(name_inputs(self.model.inputs, _to_sequence(inputs)))
        return namedtupledict("Outputs", list(results))(*results.values())


class Backend(BackendBase):
    """Runs the gather and scatter operators on this package's kernels and all others on the reference evaluator."""

    @classmethod
    def is_compatible(cls, model: Model, device: str = "CPU", **_: Any) -> bool:
        """Whether `prepare` would succeed."""
        try:
            cls.prepare(model, device)
        except (ModelError, RuntimeError):
            return False
        return True

    @classmethod
    def prepare(cls, model: Model, device: str = "CPU", **_: Any) -> PreparedModel:
        """Load a model for repeated runs; RuntimeError if the device is not the CPU."""
        if not cls.supports_device(device):
            raise RuntimeError(f"device {device!r} isn't supported; the only device is 'CPU'")
        return PreparedModel(load_onnx(model, "reference"))

    @classmethod
    def run_model(cls, model: Model, inputs: Any, device: str = "CPU", **options: Any) -> tuple[Any, ...]:
        """Load a model and run it once."""
        return cls.prepare(model, device, **options).run(inputs)

    @classmethod
    def run_node(
        cls,
        node: onnx.NodeProto,
        inputs: Any,
        device: str = "CPU",
        outputs_info: OutputsInfo | None = None,
        **options: Any,
    ) -> tuple[Any, ...]:
        """Run one node. ``opset_version=`` selects the version of its operator (default: the newest).

        ``outputs_info`` has the element type and shape of each output. A ModelError is raised if a result differs.
        """
        names = [name for name in node.input if name]
        arrays = inputs if isinstance(inputs, Mapping) else _pair_with_names(names, _to_sequence(inputs))
        graph = onnx.helper.make_graph(
            [node],
            "node",
            [_value_info(name, np.asarray(arrays[name])) for name in dict.fromkeys(names)],
            [onnx.helper.make_empty_tensor_value_info(name) for name in node.output if name],
        )
        opset = onnx.helper.make_opsetid(node.domain, options.pop("opset_version", None) or _newest(node.domain))
        results = cls.run_model(onnx.helper.make_model(graph, opset_imports=[opset]), arrays, device, **options)
        _check_outputs(results, outputs_info)
        return results

    @classmethod
    def supports_device(cls, device: str) -> bool:
        """Whether the device is the CPU, the only one supported."""
        return device.split(":")[0] == "CPU"


def _to_sequence(inputs: Any) -> Any:
    return inputs if isinstance(inputs, Mapping | Sequence) else [inputs]


def _pair_with_names(names: list[str], inputs: Sequence[Any]) -> dict[str, Any]:
    if len(names) != len(inputs):
        raise ModelError(f"the node has {len(names)} inputs ({', '.join(names)}); {len(inputs)} arrays were given")
    return dict(zip(names, inputs, strict=True))


def _newest(domain: str) -> int:
    """Return the newest opset of a domain in the onnx package."""
    if domain in ("", "ai.onnx"):
        return onnx.defs.onnx_opset_version()
    return max((schema.since_version for schema in onnx.defs.get_all_schemas() if schema.domain == domain), default=1)


def _check_outputs(results: tuple[Any, ...], outputs_info: OutputsInfo | None) -> None:
    if outputs_info is None:
        return
    if len(results) != len(outputs_info):
        raise ModelError(f"the node has {len(results)} outputs; outputs_info has {len(outputs_info)} entries")
    for position, (result, (dtype, shape)) in enumerate(zip(results, outputs_info, strict=True)):
        if result.dtype != np.dtype(dtype) or result.shape != tuple(shape):
            found, said = f"{result.dtype} {result.shape}", f"{np.dtype(dtype)} {tuple(shape)}"
            raise ModelError(f"output {position} is {found}; outputs_info says {said}")


def _value_info(name: str, array: np.ndarray) -> onnx.ValueInfoProto:
    dtype = np.dtype(object) if array.dtype.kind in "UST" else array.dtype.newbyteorder("=")
    return onnx.helper.make_tensor_value_info(name, onnx.helper.np_dtype_to_tensor_dtype(dtype), array.shape)


is_compatible = Backend.is_compatible
prepare = Backend.prepare
run_model = Backend.run_model
run_node = Backend.run_node
supports_device = Backend.supports_device
