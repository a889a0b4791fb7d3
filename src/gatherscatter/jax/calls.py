"""Call the kernels, on concrete arrays or on arrays of a program that JAX is tracing."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from gatherscatter import _core, errors
from gatherscatter.arrays.jax_arrays import JAX
from gatherscatter.errors import OpTypeError
from gatherscatter.jax import ffi
from gatherscatter.operation import Form, Operation

Shape = tuple[int, ...]


@dataclass(frozen=True)
class MoveCall:
    """A gather or scatter as a function of NumPy arrays. It is static: JAX uses it as a key of compiled programs."""

    operation: Operation

    def on_numpy(self, data: np.ndarray, indices: np.ndarray, updates: np.ndarray | None = None) -> np.ndarray:
        return _core.run(self.operation, {"data": data, "indices": indices, "updates": updates})


def find_slots(operation: Operation, data: Shape, indices: Shape, updates: Shape | None = None) -> Shape:
    """Return the shape of a gather's result or a scatter's updates. Raise the ValueError of the array function."""
    shapes = errors.Shapes(data, indices, updates)
    try:
        slots: Shape = _core.plan(operation.kernel, data, indices, operation.axis, operation.batch_dims)["slots"]
    except ValueError as fault:
        errors.shape_fault(operation, str(fault), shapes)
    if updates is not None and updates != slots:
        errors.shape_fault(operation, "updates_shape", shapes._replace(slots=slots))
    return slots


def is_traced(*arrays: Any) -> bool:
    """Whether some of the arrays are traced and have no values yet."""
    return any(isinstance(array, jax.core.Tracer) for array in arrays)


def normalise_call(operation: Operation, data: Any, indices: Any, updates: Any = None) -> Operation:
    """Return the operation with axis and batch dims counted from the front. Raise the errors of the array function."""
    axis, batch_dims = (_as_integer(operation, name) for name in ("axis", "batch_dims"))
    operation = operation._replace(axis=axis, batch_dims=batch_dims)
    check_types(operation, data.dtype)
    find_slots(operation, data.shape, indices.shape, None if updates is None else updates.shape)
    return operation._replace(
        axis=axis + (len(data.shape) if axis < 0 else 0),
        batch_dims=batch_dims + (len(indices.shape) if batch_dims < 0 else 0),
        include_self=bool(operation.include_self),
        num_threads=None if operation.num_threads is None else int(operation.num_threads),
    )


def _as_integer(operation: Operation, name: str) -> int:
    try:
        return operator.index(getattr(operation, name))
    except TypeError:
        errors.integer_fault(operation.op, name, getattr(operation, name))


def check_types(operation: Operation, dtype: Any) -> None:
    """Check that the call exists for the type of data, by calling the core with empty arrays."""
    if jnp.issubdtype(dtype, jax.dtypes.extended) or dtype.name.endswith(("int2", "int4", "e2m1fn")):
        text = f"{operation.op}: data of type {dtype} can't be used in traced programs; convert it first"
        raise OpTypeError(text, op=operation.op, input="data")
    data = np.empty(0, dtype)
    indices = np.empty((0, 1) if operation.kernel.form == Form.TUPLES else 0, np.int32)
    updates = data if operation.kernel.is_scatter else None
    MoveCall(operation._replace(axis=0, batch_dims=0)).on_numpy(data, indices, updates)


def execute(operation: Operation, data: Any, indices: Any, *updates: Any) -> Any:
    """Return the result, or its tracer in a program that is being traced. It has no gradients and no batching rule."""
    arrays = (data, indices, *updates)
    if not is_traced(*arrays):
        return run_immediately(operation.op, MoveCall(operation).on_numpy, _name_inputs(arrays))
    check_types(operation, data.dtype)
    slots = find_slots(operation, *(array.shape for array in arrays))
    result = jax.ShapeDtypeStruct(data.shape if updates else slots, data.dtype)  # type: ignore[no-untyped-call]
    if ffi.is_available():
        return varying_like(arrays, _by_ffi(operation, result, arrays))
    return call_back(MoveCall(operation), result, _name_inputs(arrays))


def _by_ffi(operation: Operation, result: Any, arrays: tuple[Any, ...]) -> Any:
    # A scatter writes to the memory of data. XLA copies it first, unless data is not used any more.
    aliases = {0: 0} if len(arrays) == 3 else None
    target: Any = jax.ffi.ffi_call(ffi.TARGET, result, input_output_aliases=aliases)
    return target(
        *arrays,
        kernel=str(operation.kernel),
        axis=np.int64(operation.axis),
        batch_dims=np.int64(operation.batch_dims),
        include_self=operation.include_self,
        **ffi.attributes(operation),
    )


def varying_like(arrays: tuple[Any, ...], result: Any) -> Any:
    """Mark the result as varying over the mesh axes over which any array varies, within `jax.shard_map`."""
    axes = frozenset[str]().union(*map(_find_varying_axes, arrays)) - _find_varying_axes(result)
    return jax.lax.pcast(result, tuple(axes), to="varying") if axes else result


def _find_varying_axes(array: Any) -> frozenset[str]:
    """Return the mesh axes along which an array varies. Older versions of JAX do not track them."""
    of = getattr(jax.typeof(array), "manual_axis_type", None) if hasattr(jax, "typeof") else None
    found: frozenset[str] = getattr(of, "varying", frozenset())
    return found


def _name_inputs(arrays: tuple[Any, ...]) -> dict[str, Any]:
    return dict(zip(("data", "indices", "updates"), arrays, strict=False))


def run_immediately(op: str, on_numpy: Callable[..., np.ndarray], arrays: dict[str, Any]) -> jax.Array:
    """Return the result of a function that takes NumPy arrays by name."""
    plain = {
        name: JAX.take(op, name, array) if isinstance(array, jax.Array) else np.asarray(array)
        for name, array in arrays.items()
    }
    return JAX.give(on_numpy(**plain))  # type: ignore[no-any-return]


def call_back(call: Any, result: Any, arrays: dict[str, Any]) -> Any:
    """Return the result of ``call.on_numpy`` in a traced program, which will call back into Python."""
    return varying_like(tuple(arrays.values()), jax.pure_callback(_Callback(call), result, arrays))


@dataclass(frozen=True)
class _Callback:
    """The callback of a call. Callbacks of equal calls are equal, so JAX reuses compiled programs."""

    call: Any

    def __call__(self, arrays: dict[str, Any]) -> np.ndarray:
        result: np.ndarray = self.call.on_numpy(**{name: np.asarray(array) for name, array in arrays.items()})
        return result
