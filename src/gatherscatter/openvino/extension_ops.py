"""Our operators as operations of OpenVINO: one class for each op version of the table, made from its row.

OpenVINO's CPU plugin hands extensions 16-bit floats as float32, float64 as float32, integers of 16 and 64 bits as
int32, and booleans as bytes. So an operation remembers the types that its graph had: it computes in these, and gives
the plugin what it asks for. What the plugin lost before is lost: of 64-bit data a warning tells.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from typing import Any

import numpy as np

from gatherscatter.errors import OpValueError
from gatherscatter.openvino import element_types
from gatherscatter.openvino.dropped_errors import note_error, raise_dropped_errors
from gatherscatter.openvino.element_types import BFLOAT16
from gatherscatter.openvino.package import openvino
from gatherscatter.specs import table
from gatherscatter.specs.table import Dims, OpVersion, result_shape

# What the CPU plugin makes of a type before an extension sees it.
PLUGIN_TYPES = {
    **dict.fromkeys(("i16", "u16", "u32", "i64", "u64"), "i32"),
    **dict.fromkeys(("f16", "bf16", "f64"), "f32"),
    "boolean": "u8",
}
LOSSY = ("u32", "i64", "u64", "f64")


class ExtensionOp(openvino.Op):  # type: ignore[misc]
    """An op version in a graph: ``op_class("onnx.ScatterND-18")([data, indices, updates], reduction="add")``."""

    row: OpVersion

    def __init__(self, inputs: Sequence[Any] | None = None, **attributes: Any) -> None:
        super().__init__(self)
        self.attributes = {a.name: a.default for a in self.row.attributes if a.default is not table.REQUIRED}
        self.attributes |= {"element_types": "", **attributes}
        if inputs is not None:
            self.set_arguments(list(inputs))
            self.constructor_validate_and_infer_types()

    def validate_and_infer_types(self) -> None:
        """Set the type and shape of the output: at every change of the graph, and in every call with dynamic shapes."""
        try:
            shape = self._infer()
        except Exception as error:
            if not note_error(error):
                raise
            shape = None
        self.set_output_type(0, self.get_input_element_type(0), _partial_shape(shape))

    def _infer(self) -> Dims | None:
        """Remember the types of the graph; the shape of the output."""
        count = self.get_input_size()
        names = [self.get_input_element_type(i).get_type_name() for i in range(count)]
        self._remember(names)
        shapes = [_dims(self.get_input_partial_shape(i)) for i in range(count)]
        values = {name: value for name, value in self.attributes.items() if name != "element_types"}
        return result_shape(self.row, shapes, values, self._axis())

    def clone_with_new_inputs(self, inputs: Sequence[Any]) -> ExtensionOp:
        """The same operation on other inputs."""
        return type(self)(inputs, **self.attributes)

    def visit_attributes(self, visitor: Any) -> bool:
        """Read or write the attributes, for files and comparisons."""
        visitor.on_attributes(self.attributes)
        return True

    def has_evaluate(self) -> bool:
        """Yes, on every input."""
        return True

    def evaluate(self, outputs: Sequence[Any], inputs: Sequence[Any]) -> bool:
        """Run the kernel. Its error passes through OpenVINO, or `note_error` takes it."""
        names = self.attributes["element_types"].split(",")
        values = {name: value for name, value in self.attributes.items() if name != "element_types"}
        arrays: list[np.ndarray] = []
        try:
            arrays += [_array(tensor, name) for tensor, name in zip(inputs, names, strict=True)]
            with np.errstate(all="ignore"):  # infinities and NaN are results like any other
                result = self.row(*arrays, **values)
            outputs[0].shape = openvino.Shape(result.shape)
            _fill(outputs[0], result, self.row.name)
        except BaseException as error:
            self._invalidate(outputs[0], arrays, values)
            if note_error(error):
                return True
            if isinstance(error, Exception):  # a call that does not go through `infer` may drop it
                warnings.warn(f"{error}; the output is filled with NaN or zeros", RuntimeWarning, stacklevel=2)
            raise
        return True

    def _invalidate(self, output: Any, arrays: Sequence[np.ndarray], values: dict[str, Any]) -> None:
        """Fill an output that is not computed with NaN or zeros, as its memory may hold anything."""
        kinds = [known.kind for known in self.row.inputs]
        with suppress(ValueError, TypeError, RuntimeError, IndexError):  # the arguments have no result of any shape
            axis = arrays[kinds.index("axis")] if "axis" in kinds else values.get("axis", 0)
            shape = result_shape(self.row, [array.shape for array in arrays], values, int(np.reshape(axis, ())))
            if shape is not None:
                output.shape = openvino.Shape(list(shape))
            bfloat16 = output.element_type.get_type_name() == "bf16"
            data = output.data.view(BFLOAT16) if bfloat16 else output.data
            data[...] = 0 if data.dtype.kind in "iub" else np.nan

    def _remember(self, names: list[str]) -> None:
        """Keep the types of the graph where what stands there now is only what the plugin made of them."""
        known = self.attributes["element_types"].split(",") if self.attributes["element_types"] else names
        kept = [old if PLUGIN_TYPES.get(old) == now else now for old, now in zip(known, names, strict=True)]
        fresh = ",".join(kept) != self.attributes["element_types"]
        self.attributes["element_types"] = ",".join(kept)
        if fresh and kept[0] in LOSSY:
            warnings.warn(
                f"{self.row.name}: OpenVINO's CPU plugin hands {kept[0]} data to extensions in 32 bits; "
                "what does not fit is changed before it gets here",
                RuntimeWarning,
                stacklevel=2,
            )

    def _axis(self) -> int | None:
        """The attribute, or the constant that feeds the input."""
        kinds = [known.kind for known in self.row.inputs]
        if "axis" not in kinds:
            return int(self.attributes.get("axis", 0))
        source = self.input_value(kinds.index("axis")).get_node()
        if source.get_type_name() != "Constant":
            return None
        data = source.data
        if data.size != 1:
            raise OpValueError(f"{self.row.name}: axis must hold one number, not {data.size}", op=self.row.name)
        return int(data.reshape(()))


@cache
def op_class(name: str) -> type[ExtensionOp]:
    """The operation of an op version, such as ``"openvino.GatherND-5"``; without a number, of the newest.

    Its type in files is the name of the version, of the version set "extension".
    """
    raise_dropped_errors()
    row = table.op(name)
    return type(row.name, (ExtensionOp,), {"row": row})  # OpenVINO takes the type's name from the class


def _dims(shape: Any) -> Dims | None:
    """Known sizes as numbers; what is open stays what it is to OpenVINO."""
    return None if shape.rank.is_dynamic else [dim.get_length() if dim.is_static else dim for dim in shape]


def _partial_shape(dims: Dims | None) -> Any:
    if dims is None:
        return openvino.PartialShape.dynamic()
    return openvino.PartialShape([openvino.Dimension.dynamic() if dim is None else dim for dim in dims])


def _array(tensor: Any, name: str) -> np.ndarray:
    """A tensor of the plugin in the type that the graph has there."""
    array: np.ndarray = tensor.data
    if tensor.element_type.get_type_name() == "bf16":
        array = array.view(BFLOAT16)
    return array.astype(element_types.from_name(name).dtype, copy=False)


def _fill(output: Any, result: np.ndarray, op: str) -> None:
    """Give the result in the plugin's type; an integer that does not fit would be another one there."""
    if output.element_type.get_type_name() == "bf16":
        output.data.view(np.uint16)[...] = result.astype(BFLOAT16).view(np.uint16)
        return
    narrow = result.astype(output.data.dtype)
    if result.dtype.kind in "iu" and result.dtype != narrow.dtype and not np.array_equal(narrow, result):
        raise OverflowError(f"{op}: the result holds {result.dtype} values that OpenVINO would keep in {narrow.dtype}")
    output.data[...] = narrow
