"""gatherscatter's operators as operations of OpenVINO: one class for each op version of the table.

OpenVINO's CPU plugin passes data to extensions in other types: 16-bit floats and float64 as float32, integers of 16 and
64 bits as int32, and booleans as bytes. So an operation keeps the types of its graph and computes in them. It
returns results in the types that the plugin expects. Values that the plugin changed before can't be restored. For
64-bit data, a warning says so.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from typing import Any

import numpy as np

from gatherscatter.errors import OpValueError
from gatherscatter.operation import REQUIRED
from gatherscatter.specs import table
from gatherscatter.specs.table import Dims, OpVersion, result_shape
from gatherscatter_models.openvino import element_types
from gatherscatter_models.openvino.dropped_errors import note_error, raise_dropped_errors
from gatherscatter_models.openvino.element_types import BFLOAT16
from gatherscatter_models.openvino.package import openvino

# The types in which the CPU plugin passes data of a type to extensions.
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
        self.attributes = {a.name: a.default for a in self.row.attributes if a.default is not REQUIRED}
        self.attributes |= {"element_types": "", **attributes}
        if inputs is not None:
            self.set_arguments(list(inputs))
            self.constructor_validate_and_infer_types()

    def validate_and_infer_types(self) -> None:
        """Set the type and shape of the output. Called after every change of the graph, and for dynamic shapes."""
        try:
            shape = self._infer()
        except Exception as error:
            if not note_error(error):
                raise
            shape = None
        self.set_output_type(0, self.get_input_element_type(0), _partial_shape(shape))

    def _infer(self) -> Dims | None:
        """Remember the types of the graph. Return the shape of the output."""
        count = self.get_input_size()
        names = [self.get_input_element_type(i).get_type_name() for i in range(count)]
        self._remember(names)
        shapes = [_dims(self.get_input_partial_shape(i)) for i in range(count)]
        values = {name: value for name, value in self.attributes.items() if name != "element_types"}
        return result_shape(self.row, shapes, values, self._axis())

    def clone_with_new_inputs(self, inputs: Sequence[Any]) -> ExtensionOp:
        """Return the same operation on other inputs."""
        return type(self)(inputs, **self.attributes)

    def visit_attributes(self, visitor: Any) -> bool:
        """Read or write the attributes, for files and comparisons."""
        visitor.on_attributes(self.attributes)
        return True

    def has_evaluate(self) -> bool:
        """Return True: every input can be evaluated."""
        return True

    def evaluate(self, outputs: Sequence[Any], inputs: Sequence[Any]) -> bool:
        """Run the kernel. An error passes through OpenVINO, or `note_error` keeps it."""
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
            if isinstance(error, Exception):  # a call that does not use `infer` may drop it
                warnings.warn(f"{error}; the output is filled with NaN or zeros", RuntimeWarning, stacklevel=2)
            raise
        return True

    def _invalidate(self, output: Any, arrays: Sequence[np.ndarray], values: dict[str, Any]) -> None:
        """Fill an output that was not computed with NaN or zeros, because its memory is uninitialised."""
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
        """Remember the types of the graph. A type that is only the plugin's replacement is ignored."""
        known = self.attributes["element_types"].split(",") if self.attributes["element_types"] else names
        kept = [old if PLUGIN_TYPES.get(old) == now else now for old, now in zip(known, names, strict=True)]
        fresh = ",".join(kept) != self.attributes["element_types"]
        self.attributes["element_types"] = ",".join(kept)
        if fresh and kept[0] in LOSSY:
            warnings.warn(
                f"{self.row.name}: OpenVINO's CPU plugin passes {kept[0]} data to extensions in 32 bits; "
                "it has already changed values that do not fit",
                RuntimeWarning,
                stacklevel=2,
            )

    def _axis(self) -> int | None:
        """Return the axis, from the attribute or from the constant that feeds the input."""
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
    """Return the class of the OpenVINO operation that runs an op version.

    Parameters
    ----------
    name : str
        An op version, such as ``"openvino.GatherND-5"``. Without a number, it is the newest version.

    Returns
    -------
    subclass of openvino.Op
        Call it with a list of inputs, and with the attributes by name. In files, the type of the operation is the name
        of the op version, in the version set "extension".

    Raises
    ------
    LookupError
        There is no such op version.

    Source: the specification of the op version.

    >>> import numpy as np, openvino, gatherscatter_models as gm
    >>> import openvino.opset8 as ops
    >>> data, indices = ops.parameter([2, 2], np.float32), ops.parameter([2, 1], np.int32)
    >>> rows = gm.openvino.op_class("openvino.GatherND-8")([data, indices])
    >>> compiled = openvino.compile_model(openvino.Model([rows], [data, indices]), "CPU")
    >>> compiled([np.float32([[1, 2], [3, 4]]), np.int32([[1], [0]])])[0]
    array([[3., 4.],
           [1., 2.]], dtype=float32)
    """
    raise_dropped_errors()
    row = table.op(name)
    return type(row.name, (ExtensionOp,), {"row": row})  # OpenVINO takes the type's name from the class


def _dims(shape: Any) -> Dims | None:
    """Return known sizes as numbers. Open dims stay objects of OpenVINO."""
    return None if shape.rank.is_dynamic else [dim.get_length() if dim.is_static else dim for dim in shape]


def _partial_shape(dims: Dims | None) -> Any:
    if dims is None:
        return openvino.PartialShape.dynamic()
    return openvino.PartialShape([openvino.Dimension.dynamic() if dim is None else dim for dim in dims])


def _array(tensor: Any, name: str) -> np.ndarray:
    """Return a tensor of the plugin as an array in the type of the graph."""
    array: np.ndarray = tensor.data
    if tensor.element_type.get_type_name() == "bf16":
        array = array.view(BFLOAT16)
    return array.astype(element_types.from_name(name).dtype, copy=False)


def _fill(output: Any, result: np.ndarray, op: str) -> None:
    """Write the result in the plugin's type. Raise OverflowError for an integer that does not fit."""
    if output.element_type.get_type_name() == "bf16":
        output.data.view(np.uint16)[...] = result.astype(BFLOAT16).view(np.uint16)
        return
    narrow = result.astype(output.data.dtype)
    if result.dtype.kind in "iu" and result.dtype != narrow.dtype and not np.array_equal(narrow, result):
        raise OverflowError(f"{op}: the result holds {result.dtype} values that do not fit OpenVINO's {narrow.dtype}")
    output.data[...] = narrow
