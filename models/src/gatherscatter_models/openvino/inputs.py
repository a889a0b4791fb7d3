"""Parameters: the inputs of a model, and checks of the given arrays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gatherscatter.messages.text import one_line, quote
from gatherscatter_models.interface import ModelError, TensorInfo, read_model_input
from gatherscatter_models.openvino import element_types
from gatherscatter_models.openvino.element_types import ElementType
from gatherscatter_models.openvino.graph import type_of


class Range(NamedTuple):
    """The sizes that a dimension may have. ``high`` None means any size."""

    low: int
    high: int | None

    @property
    def shown(self) -> int | str | None:
        """5 for a fixed size, None for any size, and OpenVINO's ``2..8`` for a range."""
        if self.low == self.high:
            return self.low
        if self.low == 0 and self.high is None:
            return None
        return f"{self.low or ''}..{'' if self.high is None else self.high}"


class Parameter(NamedTuple):
    """A model input. ``dims`` None means any rank."""

    name: str
    tensor_names: tuple[str, ...]
    element_type: ElementType
    dims: tuple[Range, ...] | None

    @property
    def info(self) -> TensorInfo:
        """The input in the form of `Model.inputs`."""
        shape = None if self.dims is None else tuple(dim.shown for dim in self.dims)
        return TensorInfo(self.name, self.element_type.numpy_name, shape)


def read_parameter(port: Any) -> Parameter:
    """Describe the output of a Parameter, or an input of a compiled model."""
    shape = port.get_partial_shape()
    dims = None
    if not shape.rank.is_dynamic:
        dims = tuple(Range(max(dim.min_length, 0), None if dim.max_length < 0 else dim.max_length) for dim in shape)
    name = port.get_node().get_friendly_name()
    return Parameter(name, tuple(sorted(port.get_names())), type_of(port, f"input {quote(name)}"), dims)


def accept_inputs(parameters: tuple[Parameter, ...], inputs: Mapping[str, ArrayLike]) -> list[NDArray[Any]]:
    """Return the arrays in the order of the parameters. Keys may be names of parameters or of their tensors."""
    positions = {name: i for i, parameter in enumerate(parameters) for name in parameter.tensor_names}
    positions |= {parameter.name: i for i, parameter in enumerate(parameters)}
    given: dict[int, ArrayLike] = {}
    for key, value in inputs.items():
        if key not in positions:
            known = ", ".join(quote(parameter.name) for parameter in parameters) or "none"
            raise ModelError(f"the model has no input {quote(str(key))} (it has: {known})")
        if positions[key] in given:
            raise ModelError(f"input {quote(parameters[positions[key]].name)} is given twice, under two names")
        given[positions[key]] = value
    missing = [quote(parameter.name) for i, parameter in enumerate(parameters) if i not in given]
    if missing:
        raise ModelError(f"no value for input {', '.join(missing)}")
    return [accept_input(parameter, given[i]) for i, parameter in enumerate(parameters)]


def accept_input(parameter: Parameter, value: ArrayLike) -> NDArray[Any]:
    """Return the value as a native array with exactly the parameter's type and a shape that it allows."""
    array = _convert_type(parameter, value)
    dims = parameter.dims
    if dims is not None and not _allows(dims, array.shape):
        wanted = ", ".join("?" if dim.shown is None else str(dim.shown) for dim in dims)
        raise ModelError(f"input {quote(parameter.name)} has shape {array.shape}, the model takes [{wanted}]")
    return array


def _allows(dims: tuple[Range, ...], shape: tuple[int, ...]) -> bool:
    return len(dims) == len(shape) and all(
        dim.low <= size and (dim.high is None or size <= dim.high) for dim, size in zip(dims, shape, strict=True)
    )


def _convert_type(parameter: Parameter, value: ArrayLike) -> NDArray[Any]:
    wanted = parameter.element_type.dtype
    value = read_model_input(parameter.name, value)
    try:
        array: NDArray[Any] = np.asarray(value)
        if wanted == element_types.STRING:
            return _text(parameter, array)
        if isinstance(value, list | tuple | int | float) and _numbers_fit(array.dtype, wanted):
            return np.asarray(value, wanted)  # Python numbers have no width that could differ
    except (ValueError, TypeError, OverflowError) as error:
        raise ModelError(f"input {quote(parameter.name)}: {one_line(error)}") from None
    if array.dtype.newbyteorder("=") != wanted:
        raise ModelError(f"input {quote(parameter.name)} is {array.dtype}, the model takes {wanted}")
    return array.astype(wanted, copy=False)


def _numbers_fit(given: np.dtype[Any], wanted: np.dtype[Any]) -> bool:
    """Whether Python numbers may be converted: integers to any number, floats to any float."""
    if element_types.is_float(wanted):
        return given.kind in "iuf"
    return given.kind in "iu" and wanted.kind in "iu"


def _text(parameter: Parameter, array: NDArray[Any]) -> NDArray[Any]:
    if array.dtype.kind == "S":
        array = np.char.decode(array, "utf-8")
    if array.dtype.kind in "UT":
        array = array.astype(object)
    if array.dtype.kind != "O" or not all(isinstance(item, str) for item in array.flat):
        raise ModelError(f"input {quote(parameter.name)} is {array.dtype}, the model takes strings")
    return array
