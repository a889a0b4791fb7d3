"""Call the kernels, on concrete arrays or on arrays of a program that JAX is tracing."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from gatherscatter import _core, errors
from gatherscatter.arrays import interop
from gatherscatter.errors import OpTypeError
from gatherscatter.jax import ffi

Shape = tuple[int, ...]


@dataclass(frozen=True)
class TracedCall:
    """The static values of a call, without its arrays. JAX uses them as a key to find compiled programs."""

    kernel: str
    axis: int = 0
    batch_dims: int = 0
    reduction: str = "none"
    include_self: bool = True
    accumulate: str = "step"
    mode: str = "raise"
    num_threads: int | None = None
    of: str = ""

    @property
    def op(self) -> str:
        """The name in messages: the function itself, or the function whose gradient this call computes."""
        return self.of or self.kernel

    @property
    def by_tuples(self) -> bool:
        return self.kernel.endswith("_nd")

    @property
    def by_elements(self) -> bool:
        return self.kernel.endswith("_elements")

    def on_numpy(self, data: np.ndarray, indices: np.ndarray, updates: np.ndarray | None = None) -> np.ndarray:
        return _core.apply(
            self.op, self.kernel, data, indices, updates, self.axis, self.batch_dims, self.reduction,
            self.include_self, self.accumulate, self.mode, True, None, self.num_threads,
        )  # fmt: skip

    def slots(self, data: Shape, indices: Shape, updates: Shape | None = None) -> Shape:
        """Return the shape of a gather's result or a scatter's updates. Raise the ValueError of the array function."""
        shape_fault = partial(errors.shape_fault, self.op, self.kernel)
        try:
            slots: Shape = _core.plan(self.kernel, data, indices, self.axis, self.batch_dims)["slots"]
        except ValueError as fault:
            shape_fault(str(fault), data, indices, updates, None, (), self.axis, self.batch_dims)
        if updates is not None and updates != slots:
            shape_fault("updates_shape", data, indices, updates, None, slots, self.axis, self.batch_dims)
        return slots


def is_traced(*arrays: Any) -> bool:
    """Whether some of the arrays are traced and have no values yet."""
    return any(isinstance(array, jax.core.Tracer) for array in arrays)


def normalise_call(call: TracedCall, data: Any, indices: Any, updates: Any = None) -> TracedCall:
    """Return the call with axis and batch dims counted from the front. Raise the errors of the array function."""
    call = replace(call, axis=_integer(call, "axis"), batch_dims=_integer(call, "batch_dims"))
    check_types(call, data.dtype)
    call.slots(data.shape, indices.shape, None if updates is None else updates.shape)
    return replace(
        call,
        axis=call.axis + (len(data.shape) if call.axis < 0 else 0),
        batch_dims=call.batch_dims + (len(indices.shape) if call.batch_dims < 0 else 0),
        include_self=bool(call.include_self),
        num_threads=None if call.num_threads is None else int(call.num_threads),
    )


def _integer(call: TracedCall, name: str) -> int:
    try:
        return operator.index(getattr(call, name))
    except TypeError:
        errors.integer_fault(call.op, name, getattr(call, name))


def check_types(call: TracedCall, dtype: Any) -> None:
    """Check that the call exists for the type of data, by calling the core with empty arrays."""
    if jnp.issubdtype(dtype, jax.dtypes.extended) or dtype.name.endswith(("int2", "int4", "e2m1fn")):
        text = f"{call.op}: data of type {dtype} can't be used in traced programs; convert it first"
        raise OpTypeError(text, op=call.op, input="data")
    data, indices = np.empty(0, dtype), np.empty((0, 1) if call.by_tuples else 0, np.int32)
    updates = data if call.kernel.startswith("scatter") else None
    replace(call, axis=0, batch_dims=0).on_numpy(data, indices, updates)


def execute(call: TracedCall, data: Any, indices: Any, *updates: Any) -> Any:
    """Return the result, or its tracer in a program that is being traced. It has no gradients and no batching rule."""
    arrays = (data, indices, *updates)
    if not is_traced(*arrays):
        return run_immediately(call.op, call.on_numpy, _name_inputs(arrays))
    check_types(call, data.dtype)
    slots = call.slots(*(array.shape for array in arrays))
    traced = jax.ShapeDtypeStruct(data.shape if updates else slots, data.dtype)  # type: ignore[no-untyped-call]
    if ffi.is_available():
        return varying_like(arrays, _by_ffi(call, traced, arrays))
    return call_back(call, traced, _name_inputs(arrays))


def _by_ffi(call: TracedCall, result: Any, arrays: tuple[Any, ...]) -> Any:
    skips = call.mode in ("fill", "drop")
    # A scatter writes to the memory of data. XLA copies it first, unless data is not used any more.
    aliases = {0: 0} if len(arrays) == 3 else None
    target: Any = jax.ffi.ffi_call(ffi.TARGET, result, input_output_aliases=aliases)
    return target(
        *arrays,
        op=call.op,
        kernel=call.kernel,
        axis=np.int64(call.axis),
        batch_dims=np.int64(call.batch_dims),
        reduction=call.reduction,
        include_self=call.include_self,
        accumulate=call.accumulate,
        mode="skip" if skips else call.mode,
        num_threads=np.int64(call.num_threads or 0),
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
        name: interop.JAX.take(op, name, array) if isinstance(array, jax.Array) else np.asarray(array)
        for name, array in arrays.items()
    }
    result = on_numpy(**plain)
    # device_put takes over the memory without a copy. For small arrays a copy is faster.
    return jax.device_put(result) if result.nbytes > 1 << 16 else jnp.asarray(result)


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
