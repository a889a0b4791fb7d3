"""The adapter for PyTorch. It is imported with the first tensor.

Tensors in the memory of the CPU are read without copying. `gatherscatter.torch.device` runs calls on other devices.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from typing import Any

import numpy as np

from gatherscatter.system.extras import require

with require("torch", text="tensors need PyTorch", install="gatherscatter[torch]"):
    import torch
from torch import Tensor

from gatherscatter import _core
from gatherscatter._core import tensor_array
from gatherscatter.arrays.adapters import ADAPTERS, Adapter
from gatherscatter.errors import OpTypeError, OpValueError, make_error, storage_fault
from gatherscatter.system.lazy_modules import load_place

USES_TORCH_OPERATORS = os.environ.get("GATHERSCATTER_TORCH_OPERATORS") == "1"
"""Whether tensors on the CPU are treated as those on other devices. Tests of that code use it."""

REVERSE = "torch.func.vjp, torch.func.grad or torch.func.jacrev, or backward()"
"""Reverse mode in PyTorch."""

_UNTRACED = ("tensor_scatter", "gather_tree", "inspect", "plan")
"""Functions without a counterpart that PyTorch can trace and differentiate."""


@cache
def _torch_types() -> dict[Any, np.dtype[Any]]:
    """Types that are not in NumPy but in ml_dtypes. PyTorch does not convert them itself."""
    import ml_dtypes

    names = ("bfloat16", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu")
    return {getattr(torch, name): np.dtype(getattr(ml_dtypes, name)) for name in names if hasattr(torch, name)}


def is_transformed() -> bool:
    """Whether the compiler of PyTorch or a transformation of `torch.func` is active."""
    return torch.compiler.is_compiling() or torch._C._are_functorch_transforms_active()


def is_intercepted() -> bool:
    """Whether a mode of the dispatcher or torch.jit.trace intercepts the calls of operators."""
    return torch._C._len_torch_dispatch_stack() > 0 or torch._C._get_tracing_state() is not None


def is_observed() -> bool:
    """Whether the compiler, a trace, a transformation, forward mode, a mode of the dispatcher or a test is active."""
    return USES_TORCH_OPERATORS or is_transformed() or is_intercepted() or torch.autograd.forward_ad._current_level >= 0


def _is_recorded() -> bool:
    """Whether torch.jit.trace or make_fx records calls of operators. They do not see what NumPy's arrays do."""
    if not is_intercepted():
        return False
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
    if tensor.is_nested:
        text = (
            f"{name} is a nested tensor; use torch.cat({name}.unbind()), and for bags "
            f"indptr=torch.tensor([0, *map(len, {name}.unbind())]).cumsum(0)"
        )
    elif tensor.layout is torch._mkldnn:  # type: ignore[attr-defined]
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


def is_plain_tensor(tensor: Any) -> bool:
    """Whether a tensor of PyTorch is dense and in the memory of the CPU."""
    return tensor.is_cpu and tensor.layout is torch.strided and not (tensor.is_quantized or tensor.is_nested)


def _repeats(tensor: Any) -> bool:
    return any(size > 1 and stride == 0 for size, stride in zip(tensor.shape, tensor.stride(), strict=True))


def _take_unusual_tensor(op: str, name: str, tensor: Any) -> np.ndarray:
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
    if tensor.requires_grad and torch.is_grad_enabled():
        other = f", or {call}" if (call := _torch_call(op)) else ""
        text = f"{op}: {name} has a gradient, which would be lost; use {name}.detach(){other}"
        raise OpTypeError(text, op=op, input=name)
    if torch._C._is_fwd_grad_enabled() and torch.autograd.forward_ad.unpack_dual(tensor).tangent is not None:  # type: ignore[no-untyped-call]
        other = f" with {call}" if (call := _torch_call(op)) else ""
        raise make_error("forward_mode", op, input=name, reverse=f"{REVERSE}{other}")


def _advise_in_traced_code(op: str) -> str:
    other = _torch_call(op)
    return f"; use {other}" if other else "; call this outside of transformed and traced code"


def _torch_call(op: str) -> str:
    """Say which function of gatherscatter.torch replaces this one in differentiated and traced code, or return ""."""
    if op in _UNTRACED:
        return ""
    if op == "prepare" or op.startswith("Prepared."):
        return "the functions of gatherscatter.torch with the indices themselves"
    if op == "aggregate" or not op.isidentifier():  # operators, and methods of `at`
        return f"gatherscatter.torch{'.aggregate' if op == 'aggregate' else ''}"
    return f"gatherscatter.torch.{op} without out="


def _bits(dtype: np.dtype[Any]) -> Any:
    return torch.uint8 if dtype.itemsize == 1 else torch.uint16


@cache
def _torch_types_of() -> dict[np.dtype[Any], Any]:
    return {dtype: own for own, dtype in _torch_types().items()}


class TorchAdapter(Adapter):
    """Tensors of PyTorch in the memory of the CPU."""

    name = "a PyTorch tensor"
    converter = "torch.as_tensor"

    def accepts(self, value: Any) -> bool:
        return isinstance(value, Tensor)

    def select(self, arrays: Iterable[Any]) -> Adapter:
        """Return the adapter for other devices if a tensor is there. Tensors on the meta device are refused here."""
        tensors = (each for each in arrays if isinstance(each, Tensor))
        if any((USES_TORCH_OPERATORS or not each.is_cpu) and not each.is_meta for each in tensors):
            return load_place(ADAPTERS["torch device"])  # type: ignore[no-any-return]
        return self

    def take(self, op: str, name: str, value: Any) -> np.ndarray:
        if torch.autograd.forward_ad._current_level >= 0:
            refuse_gradient(op, name, value)
        if _is_recorded():
            text = f"{op}: {name} is being traced by PyTorch, which would record the result as a constant"
            raise OpTypeError(f"{text}{_advise_in_traced_code(op)}", op=op, input=name)
        array = None
        with suppress(TypeError, RuntimeError):  # PyTorch refuses every tensor that is not plain
            array = tensor_array(op, name, value)
        if array is not None:
            if array.itemsize == 1:
                _refuse_parts_of_bytes(op, name, value)
            if name == "out" and 0 in array.strides:
                _refuse_special_view(op, value)
            return array
        if name == "out":
            check_tensor(op, name, value)
            _refuse_special_view(op, value)
        return _take_unusual_tensor(op, name, value)

    def give(self, result: np.ndarray, like: Any = None) -> Tensor:
        own = _torch_types_of().get(result.dtype)
        if own is None:
            return torch.from_numpy(result)
        return torch.from_numpy(result.view(f"u{result.itemsize}")).view(own)

    def finish(self, out: Any) -> Any:
        """Tell autograd that values that it may have saved are overwritten."""
        if not out.is_inference():
            torch.autograd.graph.increment_version(out)
        return out


TORCH = TorchAdapter()
# The core runs calls on plain tensors without NumPy's arrays.
_core.register_tensors(Tensor, torch.nn.Parameter, is_observed, torch.is_grad_enabled)
