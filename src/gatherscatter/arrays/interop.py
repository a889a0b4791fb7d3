"""Arrays of other libraries: they are read without copying, and results are returned as arrays of the same library.

A kind is NumPy's arrays, PyTorch's tensors, the arrays of JAX or of Dask, or other objects with ``__dlpack__``. Lists,
numbers and other objects that NumPy accepts (buffers, ``__array__``) have no kind. They can be mixed with all kinds.
NumPy's arrays can be mixed with those of Dask. All other kinds can't be mixed. Objects that are not read as arrays are
in `gatherscatter.arrays.kinds`.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import cache, wraps
from typing import Any, NamedTuple, NoReturn

import numpy as np

from gatherscatter import _core
from gatherscatter._core import tensor_array
from gatherscatter.arrays.kinds import check_kind, is_read_by_numpy
from gatherscatter.errors import OpTypeError, OpValueError, make_error, storage_fault
from gatherscatter.system.lazy_modules import load_place


class Kind(NamedTuple):
    """A library's arrays."""

    name: str  # of one array, as in messages
    take: Callable[[str, str, Any], np.ndarray]  # (op, input, value): the same memory as a NumPy array
    give: Callable[[np.ndarray, Any], Any]  # (result, input): the same memory in the kind of the input
    convert: str = ""  # the function that makes one from an array of another kind
    written: Callable[[Any], Any] = lambda out: out  # called with an ``out`` after it was written


class NumpyArguments(NamedTuple):
    """Arguments as NumPy arrays, and a function that converts results to the caller's kind."""

    values: dict[str, Any]
    to_caller: Callable[[Any], Any]


def accept_any_array(call: Callable[..., np.ndarray]) -> Callable[..., Any]:
    """Decorate an array function: it accepts arrays of other libraries, and returns the same kind."""
    op = call.__name__
    names = call.__code__.co_varnames

    @wraps(call)
    def with_any_kind(*inputs: Any, **options: Any) -> Any:
        given = {**dict(zip(names, inputs, strict=False)), **options}
        if lazy := lazy_function(op, given):
            return lazy(**given)
        if on_device := device_function(op, given):
            return on_device(op, given)
        converted = to_numpy_arguments(op, given)
        return converted.to_caller(getattr(_core, op)(**converted.values)) if converted else call(*inputs, **options)

    return with_any_kind


def to_numpy_arguments(op: str, given: dict[str, Any]) -> NumpyArguments | None:
    """Return the arguments as NumPy arrays without copying, or None if no argument has another kind.

    Raises
    ------
    TypeError
        Kinds are mixed, or an array is not in the memory of the CPU, is sparse, or has a gradient that would be lost.
    """
    kinds = _find_kinds(op, given)
    first = next((name for name, kind in kinds.items() if kind is not NUMPY), None)
    if first is None:
        return None
    kind = kinds[first]
    for name, other in kinds.items():
        if other is DASK or (other is JAX and _is_traced(given[name])):  # refused, whatever the others are
            other.take(op, name, given[name])
    for name, other in kinds.items():
        if other is not kind:
            _refuse_mixture(op, first, kind, name, other)
    arrays = {id(given[name]): kind.take(op, name, given[name]) for name in kinds}  # by identity: out may be data
    values = {name: arrays.get(id(value), value) for name, value in given.items()}
    out = given.get("out")
    if out is not None:
        return NumpyArguments(values, lambda result: kind.written(out))
    return NumpyArguments(values, lambda result: kind.give(result, given[first]))


def _find_kinds(op: str, given: dict[str, Any]) -> dict[str, Kind]:
    """Find the kinds of the arguments that have one. `convert.as_array` checks the others."""
    kinds: dict[str, Kind] = {}
    for name, value in given.items():
        if (kind := kind_of(value)) is not None:
            kinds[name] = kind
        if kind is DLPACK:
            check_kind(op, name, value)
    return kinds


def _refuse_mixture(op: str, first: str, kind: Kind, name: str, other: Kind) -> NoReturn:
    """Raise the error about arrays of two kinds. It converts to the kind of data."""
    converted, to = (first, other) if name == "data" else (name, kind)
    how = f", for example with {to.convert}({converted})" if to.convert else ""
    text = f"{op}: {first} is {kind.name}, but {name} is {other.name}; convert one of them{how}"
    raise OpTypeError(text, op=op, input=name)


_WITHOUT_KIND = (int, float, complex, str, bytes, list, tuple, np.generic, type(None))


def kind_of(value: Any) -> Kind | None:
    """Return the kind of an array, or None for values without a kind."""
    if isinstance(value, np.ndarray):
        return NUMPY
    if isinstance(value, _WITHOUT_KIND):
        return None
    torch, jax, dask = sys.modules.get("torch"), sys.modules.get("jax"), sys.modules.get("dask.array")
    if torch is not None and isinstance(value, torch.Tensor):
        return TORCH
    if jax is not None and isinstance(value, jax.Array):
        return JAX
    if dask is not None and isinstance(value, dask.Array):
        return DASK
    return DLPACK if hasattr(type(value), "__dlpack__") and not is_read_by_numpy(value) else None


# ------------------------------------------------------------------------------------------------------------ NumPy

NUMPY = Kind("a NumPy array", lambda op, name, value: value, lambda result, like: result, "np.asarray")

# ---------------------------------------------------------------------------------------------------------- PyTorch


@cache
def _torch_types() -> dict[Any, np.dtype[Any]]:
    """Types that are not in NumPy but in ml_dtypes. PyTorch does not convert them itself."""
    import ml_dtypes

    torch: Any = sys.modules["torch"]
    names = ("bfloat16", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu")
    return {getattr(torch, name): np.dtype(getattr(ml_dtypes, name)) for name in names if hasattr(torch, name)}


def is_transformed() -> bool:
    """Whether the compiler of PyTorch or a transformation of `torch.func` is active."""
    torch: Any = sys.modules["torch"]
    return torch.compiler.is_compiling() or torch._C._are_functorch_transforms_active()  # type: ignore[no-any-return]


def is_intercepted() -> bool:
    """Whether a mode of the dispatcher or torch.jit.trace sees the calls of operators."""
    torch: Any = sys.modules["torch"]
    return torch._C._len_torch_dispatch_stack() > 0 or torch._C._get_tracing_state() is not None


def is_observed() -> bool:
    """Whether the compiler, a trace, a transformation, forward mode, a mode of the dispatcher or a test is active."""
    torch: Any = sys.modules["torch"]
    return USES_TORCH_OPERATORS or is_transformed() or is_intercepted() or torch.autograd.forward_ad._current_level >= 0


@cache
def register_tensors() -> None:
    """Let the core run calls on plain tensors of PyTorch without NumPy's arrays."""
    torch: Any = sys.modules["torch"]
    _core.register_tensors(torch.Tensor, torch.nn.Parameter, is_observed, torch.is_grad_enabled)


def _take_tensor(op: str, name: str, tensor: Any) -> np.ndarray:
    register_tensors()
    torch: Any = sys.modules["torch"]
    if torch.autograd.forward_ad._current_level >= 0:
        refuse_gradient(op, name, tensor)
    if _is_recorded():
        text = f"{op}: {name} is being traced by PyTorch, which would record the result as a constant"
        raise OpTypeError(f"{text}{_advise_in_traced_code(op)}", op=op, input=name)
    array = None
    with suppress(TypeError, RuntimeError):  # PyTorch refuses every tensor that is not plain
        array = tensor_array(op, name, tensor)
    if array is not None:
        if array.itemsize == 1:
            _refuse_parts_of_bytes(op, name, tensor)
        if name == "out" and 0 in array.strides:
            _refuse_special_view(op, tensor)
        return array
    if name == "out":
        check_tensor(op, name, tensor)
        _refuse_special_view(op, tensor)
    return _take_unusual_tensor(op, name, tensor)


def _is_recorded() -> bool:
    """Whether torch.jit.trace or make_fx records calls of operators. They do not see what NumPy's arrays do."""
    if not is_intercepted():
        return False
    torch: Any = sys.modules["torch"]
    return torch._C._get_tracing_state() is not None or torch.fx.experimental.proxy_tensor.get_proxy_mode() is not None


def _refuse_parts_of_bytes(op: str, name: str, tensor: Any) -> None:
    """Raise TypeError for the types of 1 to 7 bits, which PyTorch gives to NumPy as bytes."""
    dtype = str(tensor.dtype).removeprefix("torch.")
    if re.fullmatch(r"u?int[1-7]", dtype):
        text = f"{op}: {name} has type {dtype}, which is not supported; use {name}.view(torch.uint8)"
        raise OpTypeError(text, op=op, input=name)


def _refuse_special_view(op: str, out: Any) -> None:
    if out.is_conj() or out.is_neg() or _repeats(out):
        text = f"{op}: out is a view with shared or conjugated elements; use a separate tensor"
        raise OpValueError(text, op=op, input="out")


def check_storage(op: str, name: str, tensor: Any) -> None:
    """Raise ValueError for a tensor whose storage was freed, or is too small. PyTorch can crash when it reads one."""
    torch: Any = sys.modules["torch"]
    if not tensor.numel() or torch._C._functorch.is_functorch_wrapped_tensor(tensor):
        return
    last = sum((size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride(), strict=True))
    needed, there = (tensor.storage_offset() + last + 1) * tensor.itemsize, tensor.untyped_storage().nbytes()
    if needed > there:
        storage_fault(op, name, needed, there)


def check_out_tensor(op: str, out: Any, result: Any) -> None:
    """Check that a result on another device than the CPU can be written to ``out``."""
    check_layout(op, "out", out)
    check_storage(op, "out", out)
    refuse_gradient(op, "out", out)
    _refuse_special_view(op, out)
    if out.device != result.device:
        raise OpTypeError(f"{op}: out is on {out.device}, but data is on {result.device}", op=op, input="out")
    for has, of, error in (("type", "dtype", OpTypeError), ("shape", "shape", OpValueError)):
        own, made = (getattr(tensor, of) for tensor in (out, result))
        if own != made:
            own, made = (str(each).removeprefix("torch.") if has == "type" else tuple(each) for each in (own, made))
            raise error(f"{op}: out has {has} {own}, but the result has {made}", op=op, input="out")


def check_tensor(op: str, name: str, tensor: Any) -> None:
    """Raise TypeError unless a tensor of PyTorch is dense and in the memory of the CPU."""
    if is_plain_tensor(tensor):
        return
    check_layout(op, name, tensor)
    text = f"{name} is on {tensor.device}, but this runs on the CPU; use {name}.cpu()"
    raise OpTypeError(f"{op}: {text}", op=op, input=name)


def check_layout(op: str, name: str, tensor: Any) -> None:
    """Raise TypeError unless a tensor of PyTorch is dense and has values, on any device."""
    torch: Any = sys.modules["torch"]
    if tensor.is_nested:
        text = (
            f"{name} is a nested tensor; use torch.cat({name}.unbind()), and for bags "
            f"indptr=torch.tensor([0, *map(len, {name}.unbind())]).cumsum(0)"
        )
    elif tensor.layout is torch._mkldnn:
        text = f"{name} is an MKL-DNN tensor; use {name}.to_dense()"
    elif tensor.layout is not torch.strided:
        text = f"{name} is a sparse tensor; use {name}.to_dense()"
    elif tensor.is_quantized:
        text = f"{name} is a quantized tensor; use {name}.dequantize()"
    elif tensor.is_meta:
        text = f"{name} is on the meta device and has no values; give a tensor on the CPU"
    else:
        return
    raise OpTypeError(f"{op}: {text}", op=op, input=name)


FALLBACKS: dict[str, str] = {}
"""The functions that run a call lazily or on another device, as ``module:function``. The root package fills it."""

USES_TORCH_OPERATORS = os.environ.get("GATHERSCATTER_TORCH_OPERATORS") == "1"
"""Whether tensors on the CPU are treated as those on other devices. Tests of that code use it."""


def device_function(op: str, given: dict[str, Any], name: str = "on device") -> Callable[..., Any] | None:
    """Return the function that runs a call on the device of its tensors, if one is not on the CPU; else None.

    Values without a kind can be mixed with tensors. ``name`` is the function's name in `FALLBACKS`.

    Raises
    ------
    TypeError
        Kinds are mixed.
    """
    torch = sys.modules.get("torch")
    if torch is None:
        return None
    tensors = [value for value in given.values() if isinstance(value, torch.Tensor)]
    if not any((USES_TORCH_OPERATORS or not each.is_cpu) and not each.is_meta for each in tensors):
        return None
    kinds = _find_kinds(op, given)
    first = next(iter(kinds))
    for other, kind in kinds.items():
        if kind is not kinds[first]:
            _refuse_mixture(op, first, kinds[first], other, kind)
    function: Callable[..., Any] = load_place(FALLBACKS[name])
    return function


def is_plain_tensor(tensor: Any) -> bool:
    """Whether a tensor of PyTorch is dense and in the memory of the CPU."""
    torch: Any = sys.modules["torch"]
    return tensor.is_cpu and tensor.layout is torch.strided and not (tensor.is_quantized or tensor.is_nested)


def _repeats(tensor: Any) -> bool:
    return any(size > 1 and stride == 0 for size, stride in zip(tensor.shape, tensor.stride(), strict=True))


def _take_unusual_tensor(op: str, name: str, tensor: Any) -> np.ndarray:
    torch: Any = sys.modules["torch"]
    check_tensor(op, name, tensor)
    refuse_gradient(op, name, tensor)
    try:
        plain = tensor.detach()
        conjugated, negated = plain.is_conj(), plain.is_neg()
        plain = plain.conj() if conjugated else plain  # the memory without conjugation, which may have been freed
        plain = torch._neg_view(plain) if negated else plain
        dtype = _torch_types().get(plain.dtype)
        array = tensor_array(op, name, plain if dtype is None else plain.view(_bits(dtype)))
        array = array if dtype is None else array.view(dtype)
        array = np.conjugate(array) if conjugated else array
        return np.negative(array) if negated else array
    except (TypeError, RuntimeError) as error:
        is_wrapped = (
            torch._C._functorch.is_functorch_wrapped_tensor(tensor)
            or torch._is_functional_tensor(tensor)
            or type(tensor).__name__ == "FakeTensor"
            or torch._C._len_torch_dispatch_stack() > 0
        )
        advice = _advise_in_traced_code(op) if is_wrapped else ""
        text = f"{op}: {name} can't be taken from PyTorch: {str(error).splitlines()[0]}{advice}"
        raise OpTypeError(text, op=op, input=name) from None


def refuse_gradient(op: str, name: str, tensor: Any) -> None:
    """Raise TypeError for a tensor that has a gradient, in functions that have none."""
    torch: Any = sys.modules["torch"]
    if tensor.requires_grad and torch.is_grad_enabled():
        other = f", or {call}" if (call := _torch_call(op)) else ""
        text = f"{op}: {name} has a gradient, which would be lost; use {name}.detach(){other}"
        raise OpTypeError(text, op=op, input=name)
    if torch._C._is_fwd_grad_enabled() and torch.autograd.forward_ad.unpack_dual(tensor).tangent is not None:
        other = f" with {call}" if (call := _torch_call(op)) else ""
        raise make_error("forward_mode", op, input=name, reverse=f"{REVERSE}{other}")


REVERSE = "torch.func.vjp, torch.func.grad or torch.func.jacrev, or backward()"
"""Reverse mode in PyTorch."""

# Functions without a counterpart that PyTorch and JAX can trace and differentiate.
_UNTRACED = ("tensor_scatter", "gather_tree", "inspect", "plan")


def _advise_in_traced_code(op: str) -> str:
    other = _torch_call(op)
    return f"; use {other}" if other else "; call this outside of transformed and traced code"


def _torch_call(op: str) -> str:
    """Say which function of gatherscatter.torch replaces this one in differentiated and traced code, or return ""."""
    if op in _UNTRACED:
        return ""
    if op == "prepare":
        return "the functions of gatherscatter.torch with the indices themselves"
    if op == "aggregate" or not op.isidentifier():  # operators, and methods of `at`
        return f"gatherscatter.torch{'.aggregate' if op == 'aggregate' else ''}"
    return f"gatherscatter.torch.{op} without out="


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


def mark_tensor_written(out: Any) -> Any:
    """Tell autograd that values that it may have saved are overwritten."""
    torch: Any = sys.modules["torch"]
    if not out.is_inference():
        torch.autograd.graph.increment_version(out)
    return out


TORCH = Kind("a PyTorch tensor", _take_tensor, _give_tensor, "torch.as_tensor", mark_tensor_written)

# -------------------------------------------------------------------------------------------------------------- JAX


def _is_traced(array: Any) -> bool:
    jax: Any = sys.modules["jax"]
    return isinstance(array, jax.core.Tracer)


def _take_jax(op: str, name: str, array: Any) -> np.ndarray:
    if _is_traced(array):
        other = "" if op in (*_UNTRACED, "prepare") else "use gatherscatter.jax, or "
        text = f"{op}: {name} is being traced by JAX; {other}call this outside of traced functions"
        raise OpTypeError(text, op=op, input=name)
    if name == "out":
        raise OpTypeError(f"{op}: out is a JAX array, which can't be changed", op=op, input=name)
    platforms = {device.platform for device in array.devices()}
    if platforms != {"cpu"}:
        raise OpTypeError(
            f"{op}: {name} is on {' and '.join(platforms)}; use jax.device_get() and compute here", op=op, input=name
        )
    return np.asarray(array)


def _give_jax(result: np.ndarray, like: Any) -> Any:
    jax: Any = sys.modules["jax"]
    # device_put takes over the memory without a copy. For small arrays, a copy is faster.
    return jax.device_put(result) if result.nbytes > 1 << 16 else jax.numpy.asarray(result)


JAX = Kind("a JAX array", _take_jax, _give_jax, "jnp.asarray")

# ------------------------------------------------------------------------------------------------------------- Dask


def lazy_function(op: str, given: dict[str, Any], name: str | None = None) -> Callable[..., Any] | None:
    """Return the function that runs a call lazily, if an argument is a Dask array; else None.

    NumPy's arrays and values without a kind can be mixed with Dask's. ``name`` is the function's name, if not ``op``.

    Raises
    ------
    TypeError
        Kinds are mixed.
    """
    if "dask.array" not in sys.modules:
        return None
    kinds = {name: kind for name, kind in _find_kinds(op, given).items() if kind is not NUMPY}
    lazy = next((given_as for given_as, kind in kinds.items() if kind is DASK), None)
    if lazy is None:
        return None
    for other, kind in kinds.items():
        if kind is not DASK:
            _refuse_mixture(op, lazy, DASK, other, kind)
    function: Callable[..., Any] = load_place(FALLBACKS[name or op])
    return function


def _take_dask(op: str, name: str, array: Any) -> np.ndarray:
    """Refuse a Dask array. Functions that are not lazy do not compute it, because it may not fit in memory."""
    raise OpTypeError(f"{op}: {name} is a Dask array, and this is not lazy; use .compute()", op=op, input=name)


DASK = Kind("a Dask array", _take_dask, lambda result, like: result, "np.asarray")

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
    """Return an array of the input's namespace (array API standard) if it has one; else a NumPy array."""
    if not hasattr(like, "__array_namespace__"):
        return result
    return like.__array_namespace__().from_dlpack(result)


DLPACK = Kind("an array with __dlpack__", _take_dlpack, _give_dlpack)
