"""Convert arguments to types that JAX has. A conversion that loses bits is an error."""

from __future__ import annotations

from typing import Any, NoReturn

import jax
import jax.numpy as jnp
import numpy as np

from gatherscatter.arrays import convert
from gatherscatter.arrays.adapters import adapter_of
from gatherscatter.errors import OpTypeError, OpValueError, make_error
from gatherscatter.operation import Form, Operation

_X64 = 'jax.config.update("jax_enable_x64", True)'


def as_data(op: str, value: Any) -> Any:
    """Return data as an array of JAX or NumPy, of a type that JAX has."""
    ready = _jax_array(value)
    if ready is not None:
        return ready
    array = convert.as_array(op, "data", value)
    if array.dtype.kind in "OSUTMm" or issubclass(array.dtype.type, np.void):
        raise OpTypeError(f"{op}: data of type {array.dtype} are unknown to JAX", op=op, input="data")
    own_type = isinstance(value, np.ndarray | np.generic) or adapter_of(value) is not None
    if array.dtype.kind in "fc" and not own_type:  # numbers of Python have no fixed precision
        return array.astype(_jax_type(array.dtype))
    return _convert_to_jax_type(op, "data", array)


def as_indices(operation: Operation, value: Any, traced: bool, name: str = "indices") -> Any:
    """Return indices as an array of integers. Without traced arrays it is a NumPy array, which keeps 64-bit values."""
    op, lists = operation.op, operation.kernel.form == Form.TUPLES
    if isinstance(value, tuple):
        convert.check_tuple(op, name, value, lists)
    indices = _jax_array(value)
    if indices is None:
        array = convert.as_indices(op, name, value, lists=lists)
        return _convert_to_jax_type(op, name, array) if traced else array
    if indices.dtype.kind in "iu":
        return indices
    if isinstance(indices, jax.core.Tracer):
        raise make_error("not_integers", op, input=name, type=indices.dtype)
    return convert.as_indices(op, name, np.asarray(indices))  # raises the error with the values


def as_updates(op: str, value: Any, data: Any, name: str = "updates") -> Any:
    """Return updates in the type of data. Raise an error if it can't hold them."""
    updates = _jax_array(value)
    if updates is None:
        return convert.cast(op, name, value, "data", np.empty(0, data.dtype))
    if updates.dtype == data.dtype:
        return updates
    if jnp.promote_types(updates.dtype, data.dtype) != data.dtype:
        convert.refuse_type(op, name, updates.dtype, "data", data.dtype)
    return updates.astype(data.dtype)


def _jax_array(value: Any) -> jax.Array | None:
    """Return the value as an array of JAX if it is one, concrete or traced, or a list of them; otherwise None."""
    if isinstance(value, list | tuple) and any(isinstance(leaf, jax.Array) for leaf in jax.tree.leaves(value)):
        return jnp.asarray(value)
    return value if isinstance(value, jax.Array) else None


def _convert_to_jax_type(op: str, name: str, array: np.ndarray) -> np.ndarray:
    """Return the array in the type that JAX gives it, which is narrower if 64-bit types are switched off."""
    dtype = _jax_type(array.dtype)
    if dtype == array.dtype:
        return array
    with np.errstate(over="ignore", invalid="ignore"):
        narrow = array.astype(dtype)
    same = narrow.astype(array.dtype) == array
    if not np.all(same | (array != array)):  # NaN stays NaN
        _raise_narrowing_error(op, name, array[~same].flat[0], array.dtype, dtype)
    return narrow


def _jax_type(dtype: np.dtype[Any]) -> np.dtype[Any]:
    return np.dtype(jax.dtypes.canonicalize_dtype(dtype.newbyteorder("=")))


def _raise_narrowing_error(op: str, name: str, value: Any, dtype: np.dtype[Any], narrow: np.dtype[Any]) -> NoReturn:
    convert = f", or convert {name} to {narrow}, which rounds" if dtype.kind in "fc" else ""
    raise OpValueError(
        f"{op}: {value} in {name} of type {dtype} does not fit in {narrow}, to which JAX would convert it; "
        f"switch 64-bit types on with {_X64}{convert}",
        op=op,
        input=name,
    )
