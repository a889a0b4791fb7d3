"""Arrays of other libraries: taken as they lie in memory, and results given back in the caller's kind.

A kind is PyTorch's tensors, the arrays of JAX or of Dask, or what else has ``__dlpack__``. Lists, numbers and whatever
NumPy itself takes (buffers, ``__array__``) are of no kind and go with all of them; NumPy's own arrays go with each
other, and with those of Dask.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache, wraps
from typing import Any, NamedTuple

import numpy as np

from gatherscatter import _core
from gatherscatter._core import tensor_array
from gatherscatter.errors import OpTypeError, OpValueError
from gatherscatter.lazy_modules import load


class Kind(NamedTuple):
    """A library's arrays."""

    name: str  # of one of them, as messages say it
    take: Callable[[str, str, Any], np.ndarray]  # op, input, value: the same memory as a NumPy array
    give: Callable[[np.ndarray, Any], Any]  # result, one of the inputs: the same memory in the kind of that
    written: Callable[[Any], Any] = lambda out: out  # an ``out`` that has been written to


class NumpyArguments(NamedTuple):
    """Arguments whose arrays are NumPy's, and what makes a result the caller's kind."""

    values: dict[str, Any]
    to_caller: Callable[[Any], Any]


def accept_any_array(call: Callable[..., np.ndarray]) -> Callable[..., Any]:
    """Let an array function take arrays of other libraries, and return their kind; the core then sees NumPy's."""
    op = call.__name__
    names = call.__code__.co_varnames

    @wraps(call)
    def with_any_kind(*inputs: Any, **options: Any) -> Any:
        given = {**dict(zip(names, inputs, strict=False)), **options}
        if lazy := lazy_function(op, given):
            return lazy(**given)
        converted = to_numpy_arguments(op, given)
        return converted.to_caller(getattr(_core, op)(**converted.values)) if converted else call(*inputs, **options)

    return with_any_kind


def to_numpy_arguments(op: str, given: dict[str, Any]) -> NumpyArguments | None:
    """The arguments as NumPy arrays that share their memory; None if they were that, or of no kind, all along.

    Raises
    ------
    TypeError
        Kinds are mixed, or an array is not in the memory of the CPU, is sparse, or has a gradient that would be lost.
    """
    kinds = {name: kind for name, value in given.items() if (kind := kind_of(value)) is not None}
    first = next((name for name, kind in kinds.items() if kind is not NUMPY), None)
    if first is None:
        return None
    kind = kinds[first]
    for name, other in kinds.items():
        if other is not kind:
            text = f"{op}: {first} is {kind.name}, but {name} is {other.name}; convert one of them"
            raise OpTypeError(text, op=op, input=name)
    arrays = {id(given[name]): kind.take(op, name, given[name]) for name in kinds}  # by identity: out may be data
    values = {name: arrays.get(id(value), value) for name, value in given.items()}
    out = given.get("out")
    if out is not None:
        return NumpyArguments(values, lambda result: kind.written(out))
    return NumpyArguments(values, lambda result: kind.give(result, given[first]))


def kind_of(value: Any) -> Kind | None:
    """The kind of an array; None for what belongs to none."""
    if isinstance(value, np.ndarray):
        return NUMPY
    if value is None or isinstance(value, int | float | complex | bool | str | bytes | list | tuple | np.generic):
        return None
    torch, jax, dask = sys.modules.get("torch"), sys.modules.get("jax"), sys.modules.get("dask.array")
    if torch is not None and isinstance(value, torch.Tensor):
        return TORCH
    if jax is not None and isinstance(value, jax.Array):
        return JAX
    if dask is not None and isinstance(value, dask.Array):
        return DASK
    return DLPACK if hasattr(value, "__dlpack__") else None


# ------------------------------------------------------------------------------------------------------------ NumPy

NUMPY = Kind("a NumPy array", lambda op, name, value: value, lambda result, like: result)

# ---------------------------------------------------------------------------------------------------------- PyTorch


@cache
def _torch_types() -> dict[Any, np.dtype[Any]]:
    """Types that NumPy has from ml_dtypes only, and that PyTorch therefore does not hand over itself."""
    import ml_dtypes

    torch: Any = sys.modules["torch"]
    names = ("bfloat16", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu")
    return {getattr(torch, name): np.dtype(getattr(ml_dtypes, name)) for name in names if hasattr(torch, name)}


def _take_tensor(op: str, name: str, tensor: Any) -> np.ndarray:
    if name == "out" and (tensor.is_conj() or tensor.is_neg() or _repeats(tensor)):
        text = f"{op}: out is a view in which elements share memory, or are conjugated; give a tensor of its own"
        raise OpValueError(text, op=op, input=name)
    try:
        return tensor_array(op, name, tensor)
    except (TypeError, RuntimeError):  # PyTorch says no to whatever is not plain, in many words
        return _take_unusual_tensor(op, name, tensor)


def check_tensor(op: str, name: str, tensor: Any, *, on_cpu: bool) -> None:
    """Raise TypeError unless a tensor of PyTorch is dense and in the memory of the CPU."""
    torch: Any = sys.modules["torch"]
    for fault, advice in (
        (tensor.layout is not torch.strided and "is sparse", "use .to_dense()"),
        (tensor.is_meta and "is on the meta device and has no values", "give a tensor with memory"),
        (not on_cpu and f"is on {tensor.device}, and the computing is done here", "use .cpu()"),
    ):
        if fault:
            raise OpTypeError(f"{op}: {name} {fault}; {advice}", op=op, input=name)


def _repeats(tensor: Any) -> bool:
    return any(size > 1 and stride == 0 for size, stride in zip(tensor.shape, tensor.stride(), strict=True))


def _take_unusual_tensor(op: str, name: str, tensor: Any) -> np.ndarray:
    torch: Any = sys.modules["torch"]
    check_tensor(op, name, tensor, on_cpu=tensor.device.type == "cpu")
    if tensor.requires_grad and torch.is_grad_enabled():
        text = (
            f"{op}: {name} has a gradient, which would be lost; use .detach(), or the functions of gatherscatter.torch"
        )
        raise OpTypeError(text, op=op, input=name)
    try:
        plain = tensor.detach()
        conjugated, negated = plain.is_conj(), plain.is_neg()
        plain = plain.conj() if conjugated else plain  # the memory as it is, which may not be there
        plain = torch._neg_view(plain) if negated else plain
        dtype = _torch_types().get(plain.dtype)
        array = tensor_array(op, name, plain if dtype is None else plain.view(_bits(dtype)))
        array = array if dtype is None else array.view(dtype)
        array = np.conjugate(array) if conjugated else array
        return np.negative(array) if negated else array
    except (TypeError, RuntimeError) as error:
        raise OpTypeError(f"{op}: {name} can't be taken from PyTorch: {error}", op=op, input=name) from None


def _bits(dtype: np.dtype[Any]) -> Any:
    torch: Any = sys.modules["torch"]
    return torch.uint8 if dtype.itemsize == 1 else torch.uint16


def _give_tensor(result: np.ndarray, like: Any) -> Any:
    torch: Any = sys.modules["torch"]
    own = _torch_types_of().get(result.dtype)
    return torch.from_numpy(result) if own is None else torch.from_numpy(result.view(f"u{result.itemsize}")).view(own)


@cache
def _torch_types_of() -> dict[np.dtype[Any], Any]:
    return {dtype: own for own, dtype in _torch_types().items()}


def _mark_tensor_written(out: Any) -> Any:
    """Autograd is to know that values it may have kept are gone."""
    torch: Any = sys.modules["torch"]
    if not out.is_inference():
        torch.autograd.graph.increment_version(out)
    return out


TORCH = Kind("a PyTorch tensor", _take_tensor, _give_tensor, _mark_tensor_written)

# -------------------------------------------------------------------------------------------------------------- JAX


def _take_jax(op: str, name: str, array: Any) -> np.ndarray:
    jax: Any = sys.modules["jax"]
    if isinstance(array, jax.core.Tracer):
        raise OpTypeError(f"{op}: {name} is being traced by JAX; call this outside of jit", op=op, input=name)
    if name == "out":
        raise OpTypeError(f"{op}: out is a JAX array, and those never change", op=op, input=name)
    platforms = {device.platform for device in array.devices()}
    if platforms != {"cpu"}:
        raise OpTypeError(
            f"{op}: {name} is on {' and '.join(platforms)}; use jax.device_get() and compute here", op=op, input=name
        )
    return np.asarray(array)


def _give_jax(result: np.ndarray, like: Any) -> Any:
    jax: Any = sys.modules["jax"]
    # The memory is taken over as it is; copying small arrays is faster.
    return jax.device_put(result) if result.nbytes > 1 << 16 else jax.numpy.asarray(result)


JAX = Kind("a JAX array", _take_jax, _give_jax)

# ------------------------------------------------------------------------------------------------------------- Dask


def lazy_function(op: str, given: dict[str, Any], name: str | None = None) -> Callable[..., Any] | None:
    """The function that does a call lazily, if an argument is a Dask array; else None.

    NumPy's arrays, and what has no kind, go with Dask's. ``name`` is that of the function, if it is not ``op``.

    Raises
    ------
    TypeError
        Kinds are mixed.
    """
    if "dask.array" not in sys.modules:
        return None
    kinds = {name: kind for name, value in given.items() if (kind := kind_of(value)) not in (None, NUMPY)}
    lazy = next((given_as for given_as, kind in kinds.items() if kind is DASK), None)
    if lazy is None:
        return None
    for other, kind in kinds.items():
        if kind is not DASK:
            text = f"{op}: {lazy} is {DASK.name}, but {other} is {kind.name}; convert one of them"
            raise OpTypeError(text, op=op, input=other)
    function: Callable[..., Any] = load(__name__, name or op)
    return function


def _take_dask(op: str, name: str, array: Any) -> np.ndarray:
    """Only the array functions are lazy; nothing else computes an array that may not fit in memory."""
    raise OpTypeError(f"{op}: {name} is a Dask array, and this is not lazy; use .compute()", op=op, input=name)


DASK = Kind("a Dask array", _take_dask, lambda result, like: result)

# ----------------------------------------------------------------------------------------------------------- DLPack


def _take_dlpack(op: str, name: str, value: Any) -> np.ndarray:
    on_cpu = value.__dlpack_device__()[0] == 1 if hasattr(value, "__dlpack_device__") else True
    if not on_cpu:
        raise OpTypeError(f"{op}: {name} is not in the memory of the CPU; copy it there", op=op, input=name)
    try:
        return np.from_dlpack(value)
    except (BufferError, RuntimeError, TypeError, ValueError) as error:
        raise OpTypeError(f"{op}: {name} can't be taken by DLPack: {error}", op=op, input=name) from None


def _give_dlpack(result: np.ndarray, like: Any) -> Any:
    """In the namespace of the input, if that says what it is (array API standard); else a NumPy array."""
    if not hasattr(like, "__array_namespace__"):
        return result
    return like.__array_namespace__().from_dlpack(result)


DLPACK = Kind("an array with __dlpack__", _take_dlpack, _give_dlpack)
