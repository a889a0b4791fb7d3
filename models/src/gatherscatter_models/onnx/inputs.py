"""Check and convert the inputs of an ONNX model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import ml_dtypes  # noqa: F401  (gives NumPy the names of bfloat16, float8 and int4)
import numpy as np

from gatherscatter.arrays.convert import element_type
from gatherscatter_models.interface import ModelError, TensorInfo, read_model_input
from gatherscatter_models.onnx.graph import one_line

NOT_TENSORS = ("sequence", "optional", "map", "sparse_tensor", "undefined")
_KINDS = "bifc"  # the kinds of Python's numbers; each can represent those before it


def check_inputs(
    expected: Sequence[TensorInfo], given: Mapping[str, Any], optional: Sequence[TensorInfo] = ()
) -> dict[str, Any]:
    """Return the given inputs as arrays of the declared types; ``optional`` ones may be absent."""
    known = {info.name: info for info in (*expected, *optional)}
    unknown = [name for name in given if name not in known]
    if unknown:
        raise ModelError(f"the model has no input {_quote_names(unknown)}; its inputs are {_quote_names(known)}")
    missing = [info.name for info in expected if info.name not in given]
    if missing:
        raise ModelError(f"{'inputs' if len(missing) > 1 else 'input'} without an array: {_quote_names(missing)}")
    return {name: check_input(known[name], value) for name, value in given.items()}


def check_input(info: TensorInfo, value: Any) -> Any:
    """Return ``value`` as an array of the declared element type and shape, or raise `ModelError`."""
    if info.element_type in NOT_TENSORS:
        return value
    value = read_model_input(info.name, value)
    array = _to_strings(info, value) if info.element_type == "string" else _to_numbers(info, value)
    if info.shape is not None and not _shape_fits(array.shape, info.shape):
        raise ModelError(
            f"input {_quote_name(info.name)} must have shape {_dims(info.shape)}; got {_dims(array.shape)}"
        )
    return array


def _to_numbers(info: TensorInfo, value: Any) -> np.ndarray:
    dtype = np.dtype(info.element_type)
    if not hasattr(value, "dtype"):
        return _from_lists(info, value, dtype)
    array = np.asarray(value)
    if array.dtype == np.dtype(f"V{dtype.itemsize}") and dtype.isbuiltin == 2:
        array = array.view(dtype)  # np.load returns bfloat16, float8 and int4 as raw bytes
    if _type_name(array.dtype) != info.element_type:
        raise _wrong_type_error(info, _type_name(array.dtype))
    return array if array.dtype.isnative else array.astype(dtype)


def _from_lists(info: TensorInfo, value: Any, dtype: np.dtype[Any]) -> np.ndarray:
    """Convert Python numbers to the declared element type, unless that would change their kind."""
    try:
        natural = np.asarray(value)
        array = np.asarray(value, dtype=dtype)
    except (ValueError, TypeError, OverflowError) as error:
        raise ModelError(
            f"input {_quote_name(info.name)} can't become an array of {info.element_type}: {error}"
        ) from None
    if natural.size and _KINDS.find(natural.dtype.kind) > _kind(info.element_type):
        raise _wrong_type_error(info, _type_name(natural.dtype))
    return array


def _kind(element_type: str) -> int:
    """Return the position of an element type in `_KINDS`."""
    if element_type == "bool":
        return 0
    if element_type.startswith(("int", "uint")):
        return 1
    return 3 if element_type.startswith("complex") else 2


def _to_strings(info: TensorInfo, value: Any) -> np.ndarray:
    array = np.asarray(value)
    if array.dtype.kind == "S":
        array = np.char.decode(array, "utf-8")
    if array.dtype.kind not in "UTO":
        raise _wrong_type_error(info, _type_name(array.dtype))
    array = array.astype(object)
    if not all(isinstance(element, str) for element in array.flat):
        raise _wrong_type_error(info, "objects that aren't str")
    return array


def _type_name(dtype: np.dtype[Any]) -> str:
    try:
        return element_type(dtype)
    except (TypeError, LookupError):
        return str(dtype)


def _wrong_type_error(info: TensorInfo, found: str) -> ModelError:
    return ModelError(f"input {_quote_name(info.name)} must be {info.element_type}; got {found}")


def _shape_fits(shape: tuple[int, ...], declared: tuple[int | str | None, ...]) -> bool:
    return len(shape) == len(declared) and all(
        not isinstance(dim, int) or dim == size for size, dim in zip(shape, declared, strict=True)
    )


def _dims(shape: Iterable[int | str | None]) -> str:
    return one_line("[" + ", ".join("?" if dim is None else str(dim) for dim in shape) + "]")


def _quote_names(names: Iterable[str]) -> str:
    return one_line(", ".join(_quote_name(name) for name in names)) or "(none)"


def _quote_name(name: str) -> str:
    return repr(name if len(name) <= 80 else f"{name[:77]}...")
