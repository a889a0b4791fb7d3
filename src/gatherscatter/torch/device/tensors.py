"""Check the tensors of a call, and convert their element types to those that PyTorch's operators support."""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor

from gatherscatter.arrays import convert
from gatherscatter.arrays.torch_tensors import TORCH, check_layout, check_storage
from gatherscatter.errors import OpTypeError

_FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
_INTEGERS = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
_NATIVE = (*_FLOATS, *_INTEGERS.values(), torch.uint8, torch.bool, torch.complex64, torch.complex128)


def check_inputs(op: str, **inputs: Tensor | None) -> None:
    """Raise TypeError or ValueError unless all tensors are dense, in their memory, and on the same device."""
    given = {name: tensor for name, tensor in inputs.items() if tensor is not None}
    first, data = next(iter(given.items()))
    for name, tensor in given.items():
        check_layout(op, name, tensor)
        if tensor.device != data.device:
            text = f"{op}: {first} is on {data.device}, but {name} on {tensor.device}; use {name}.to({first}.device)"
            raise OpTypeError(text, op=op, input=name)
        check_storage(op, name, tensor)


def make_placeholder(op: str, name: str, tensor: Tensor) -> np.ndarray:
    """Return an array of zeros with the shape and type of a tensor. It needs no memory."""
    element = torch.zeros(tensor.itemsize, dtype=torch.uint8, device="cpu").view(tensor.dtype)
    return np.broadcast_to(TORCH.take(op, name, element)[0], tensor.shape)


def copy_to_cpu(op: str, name: str, tensor: Tensor) -> np.ndarray:
    """Return the values as an array of NumPy."""
    return TORCH.take(op, name, tensor.detach().cpu())


def as_tensor(array: np.ndarray, device: torch.device) -> Tensor:
    """Copy an array of NumPy to a device."""
    tensor: Tensor = TORCH.give(np.array(array, order="C"), None)
    return tensor.to(device)


def cast(op: str, name: str, tensor: Tensor, target: str, data: Tensor) -> Tensor:
    """Convert a tensor to the type of ``data``, by the rule of `gatherscatter.arrays.casts`.

    Conversions that cannot fail run on the device. All others run on the CPU, which names a value that does not fit.
    """
    source, dtype = tensor.dtype, data.dtype
    if source == dtype or (source in _FLOATS and dtype in _FLOATS) or _is_contained(source, dtype):
        return tensor.to(dtype)
    array = convert.cast(op, name, copy_to_cpu(op, name, tensor), target, make_placeholder(op, target, data))
    return as_tensor(array, data.device)


def _is_contained(source: torch.dtype, dtype: torch.dtype) -> bool:
    """Whether a type has all values of another one."""
    if source not in _NATIVE or dtype not in _NATIVE or torch.promote_types(source, dtype) != dtype:
        return False
    is_integer = source in (*_INTEGERS.values(), torch.uint8)
    return not (is_integer and (dtype.is_floating_point or dtype.is_complex))


def as_rows(tensor: Tensor) -> Tensor:
    """Return a view of shape (len(tensor), W)."""
    return tensor.reshape(len(tensor), math.prod(tensor.shape[1:]))


def as_movable(tensor: Tensor) -> Tensor:
    """Return a tensor that PyTorch's operators can move: types that they do not support become integers."""
    plain = tensor.resolve_conj().resolve_neg()
    return plain if plain.dtype in _NATIVE else plain.view(_INTEGERS[plain.itemsize])


def encode(tensor: Tensor, reduction: str, accumulate: str = "step") -> Tensor:
    """Return values that PyTorch's operators can combine. `decode` is the reverse.

    Unsigned integers become signed ones, which have the same sums and products. The difference of truth values is the
    lowest bit of a difference of integers. For minima and maxima, all values become integers in the same order, with
    NaN as the least or the greatest: the bits of floats are such integers, except that those of negative floats
    descend. With ``accumulate="wide"``, halves become float32.
    """
    plain = as_movable(tensor)
    if plain.dtype == torch.bool and reduction in ("sub", "min", "max"):
        return plain.to(torch.uint8)
    if reduction not in ("min", "max"):
        return plain.to(torch.float32) if accumulate == "wide" and plain.dtype in _FLOATS[:2] else plain
    if not plain.is_floating_point():
        return plain if tensor.dtype in _NATIVE else plain ^ torch.iinfo(plain.dtype).min
    bits = plain.contiguous().view(_INTEGERS[plain.itemsize])
    limits = torch.iinfo(bits.dtype)
    keys = torch.where(bits < 0, bits ^ limits.max, bits)
    return keys.masked_fill_(plain != plain, limits.min if reduction == "min" else limits.max)


def decode(tensor: Tensor, dtype: torch.dtype, reduction: str) -> Tensor:
    """Convert the result of a reduction to the type of data."""
    if reduction in ("min", "max"):
        limits = torch.iinfo(tensor.dtype)
        if dtype.is_floating_point:
            return torch.where(tensor < 0, tensor ^ limits.max, tensor).view(dtype)
        if dtype not in _NATIVE:
            tensor = tensor ^ limits.min
    if reduction == "sub" and dtype == torch.bool:
        tensor = tensor & 1
    return tensor.to(dtype) if dtype in _NATIVE else tensor.view(dtype)


def refuse_exact(op: str, accumulate: str, data: Tensor) -> None:
    """Raise TypeError for exact sums of floats. Sums of integers are always exact."""
    if accumulate == "exact" and (data.is_floating_point() or data.is_complex()):
        text = f"{op}: accumulate='exact' runs only on the CPU, but data is on {data.device}; "
        text += "use accumulate='wide', or data.cpu()"
        raise OpTypeError(text, op=op, input="accumulate")
