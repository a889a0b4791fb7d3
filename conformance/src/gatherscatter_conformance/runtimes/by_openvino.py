"""OpenVINO on the CPU: op versions by their opset's builder, and ONNX models through its frontend."""

from __future__ import annotations

import re
from typing import ClassVar

import numpy as np

from gatherscatter.specs import element_type
from gatherscatter_conformance.case import Case
from gatherscatter_conformance.observations import Outputs
from gatherscatter_conformance.runtimes.onnx_model import IMPORTS, fed_inputs, model_source
from gatherscatter_conformance.runtimes.runtime import NotAskedError, Runtime, arguments, name_inputs, row_of

_SETUP = "import openvino as ov\ncore = ov.Core()"
# Results in the precision of the model. Otherwise, a processor with bfloat16 may use it for float32.
_CONFIG = '{"EXECUTION_MODE_HINT": "ACCURACY"}'

# The error of Model.evaluate for a layer that has no reference implementation for its types.
_NOT_EVALUATED = "Evaluation failed on"

# The opset of Python's API that has each op version.
_OPSETS = {"openvino.Gather-1": 1, "openvino.GatherTree-1": 1, "openvino.ScatterNDUpdate-3": 4}

# Types that NumPy lacks are exchanged as bits.
_BITS = {
    "bfloat16": "bf16",
    "float8_e4m3fn": "f8e4m3",
    "float8_e5m2": "f8e5m2",
    "float8_e8m0fnu": "f8e8m0",
}
_TYPES = {"bool": "boolean", "string": "string", **_BITS}


class OpenVino(Runtime):
    """A model of one layer, compiled for the CPU."""

    name: ClassVar[str] = "openvino"
    title: ClassVar[str] = "OpenVINO CPU"
    package: ClassVar[str] = "openvino"
    modules: ClassVar[tuple[str, ...]] = ("openvino",)
    setup: ClassVar[str] = _SETUP

    def source(self, case: Case) -> str:
        """Return the parameters, the layer, and the call. An axis is a constant, as in all real models."""
        row = row_of(case)
        if row.domain != "openvino":
            raise NotAskedError("this is an operator of ONNX")
        given = {each.name: array for each, array in zip(row.inputs, case.inputs, strict=False) if array is not None}
        has_default = "default_index" in given or all(each.name != "default_index" for each in row.inputs)
        if row.version == 3 and "per_sample_weights" in given and not has_default:
            raise NotAskedError("its Python functions do not take weights without a default index")
        axis = given.pop("axis", None)
        opset = _OPSETS.get(case.op, row.version)
        nodes = [
            f'ops.parameter({list(array.shape)}, ov.Type.{_type(array)}, "{name}")' for name, array in given.items()
        ]
        listed = ",\n         ".join(nodes)
        last = ", ops.constant(axis)" if axis is not None else ""
        inputs = "*nodes"
        if any(array is None for array in case.inputs):
            inputs = ", ".join(f"{name}=nodes[{n}]" for n, name in enumerate(given))
        return f"""\
import openvino.opset{opset} as ops
nodes = [{listed}]
layer = ops.{_snake(row.op_type)}({inputs}{last}{arguments(case.attributes)})
{self.compute(given)}
{_write_numpy_conversion(next(iter(given.values())))}"""

    def compute(self, given: dict[str, np.ndarray]) -> str:
        """Lines that compute ``got`` from ``nodes``, ``layer`` and the arrays."""
        return f"""\
compiled = core.compile_model(ov.Model([layer], nodes), "CPU", {_CONFIG})
got = compiled([{", ".join(_tensor(name, array) for name, array in given.items())}])[0]"""


class OpenVinoEvaluate(OpenVino):
    """A model of one layer, evaluated by the reference implementations in OpenVINO's core, without a plugin."""

    name: ClassVar[str] = "openvino-evaluate"
    title: ClassVar[str] = "OpenVINO Model.evaluate"
    setup: ClassVar[str] = "import openvino as ov"

    def compute(self, given: dict[str, np.ndarray]) -> str:
        """Return lines that make an output tensor, which ``evaluate`` fills."""
        tensors = ", ".join(
            f"ov.Tensor({_tensor(name, array)})" if element_type(array.dtype) not in _BITS else _tensor(name, array)
            for name, array in given.items()
        )
        return f"""\
output = ov.Tensor(layer.get_output_element_type(0), layer.get_output_partial_shape(0).get_min_shape())
ov.Model([layer], nodes).evaluate([output], [{tensors}])
got = output.str_data if output.element_type == ov.Type.string else output.data"""

    def run(self, case: Case, inputs: tuple[np.ndarray | None, ...]) -> Outputs:
        """Return the outputs. An operator or a type without a reference implementation is not asked."""
        try:
            return super().run(case, inputs)
        except RuntimeError as error:
            if _NOT_EVALUATED in str(error):
                raise NotAskedError("OpenVINO's core has no reference implementation of this") from None
            raise


class OpenVinoOnnx(Runtime):
    """ONNX models as OpenVINO reads them."""

    name: ClassVar[str] = "openvino-onnx"
    title: ClassVar[str] = "OpenVINO CPU, ONNX models through its frontend"
    package: ClassVar[str] = "openvino"
    modules: ClassVar[tuple[str, ...]] = ("openvino", "onnx")
    setup: ClassVar[str] = f"import io\n{_SETUP}\n{IMPORTS}"

    def source(self, case: Case) -> str:
        """A model of one node, read and compiled."""
        built = model_source(case)
        given = fed_inputs(case)
        for array in given.values():
            _type(array)
        typed = name_inputs(case, case.inputs)[row_of(case).typing_input.name]
        assert typed is not None  # it is required
        return f"""\
{built}compiled = core.compile_model(core.read_model(io.BytesIO(model.SerializeToString())), "CPU", {_CONFIG})
got = compiled([{", ".join(_tensor(name, array) for name, array in given.items())}])[0]
{_write_numpy_conversion(typed)}"""


def _snake(op_type: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", op_type).lower()


def _type(array: np.ndarray) -> str:
    name = element_type(array.dtype)
    if name in _TYPES:
        return _TYPES[name]
    if name.startswith("complex") or name in ("int4", "uint4", "float4_e2m1fn", "float8_e4m3fnuz", "float8_e5m2fnuz"):
        raise NotAskedError(f"its tensors have no {name}, or pack it")
    return re.sub(r"^([a-z])[a-z]*", r"\1", name)


def _tensor(variable: str, array: np.ndarray) -> str:
    name = element_type(array.dtype)
    if name == "string":
        return f"{variable}.astype(str)"
    if name in _BITS:
        return f"ov.Tensor({variable}.view(np.uint{8 * array.dtype.itemsize}), {variable}.shape, ov.Type.{_BITS[name]})"
    return variable


def _write_numpy_conversion(data: np.ndarray) -> str:
    name = element_type(data.dtype)
    if name == "string":
        return "got = got.astype(object)\n"
    return f"import ml_dtypes\ngot = got.view(ml_dtypes.{name})\n" if name in _BITS else ""
