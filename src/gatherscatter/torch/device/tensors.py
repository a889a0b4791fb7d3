"""Check the tensors of a call, and convert their element types to those that PyTorch's operators support."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from gatherscatter.arrays import convert
from gatherscatter.arrays.interop import TORCH, check_layout, check_storage
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


def as_movable(tensor: Tensor) -> Tensor:
    """Return a tensor that PyTorch's operators can move: types that they do not support become integers."""
    plain = tensor.resolve_conj().resolve_neg()
    return plain if plain.dtype in _NATIVE else plain.view(_INTEGERS[plain.itemsize])


def encode(tensor: Tensor, reduction: str, accumulate: str = "step") -> Tensor:
    """Return values that PyTorch's operators can combine. `decode` is the reverse.

    Unsigned integers become signed ones, which have the same sums and products. For minima and maxima, the highest bit
    is inverted, which keeps the order. With ``accumulate="wide"``, halves become float32.
    """
    plain = as_movable(tensor)
    if accumulate == "wide" and plain.dtype in _FLOATS[:2]:
        return plain.to(torch.float32)
    return plain ^ torch.iinfo(plain.dtype).min if _is_inverted(tensor.dtype, reduction) else plain


def decode(tensor: Tensor, dtype: torch.dtype, reduction: str) -> Tensor:
    """Convert the result of a reduction to the type of data."""
    if _is_inverted(dtype, reduction):
        tensor = tensor ^ torch.iinfo(tensor.dtype).min
    return tensor.to(dtype) if dtype in _NATIVE else tensor.view(dtype)


def _is_inverted(dtype: torch.dtype, reduction: str) -> bool:
    return reduction in ("min", "max") and dtype in (torch.uint16, torch.uint32, torch.uint64)


def encode_order(values: Tensor, reduction: str) -> Tensor:
    """Return integers in the order of the values. NaN is the least value of a minimum, and the greatest of a maximum.

    The bits of floats are integers in this order, except that those of negative floats descend.
    """
    if not values.is_floating_point():
        return values.to(torch.uint8) if values.dtype == torch.bool else values
    bits = values.contiguous().view(_INTEGERS[values.itemsize])
    limits = torch.iinfo(bits.dtype)
    keys = torch.where(bits < 0, bits ^ limits.max, bits)
    return keys.masked_fill_(values != values, limits.min if reduction == "min" else limits.max)


def decode_order(keys: Tensor, dtype: torch.dtype) -> Tensor:
    """Return the values of integers that `encode_order` has made."""
    if not dtype.is_floating_point:
        return keys.to(dtype)
    return torch.where(keys < 0, keys ^ torch.iinfo(keys.dtype).max, keys).view(dtype)


def refuse_exact(op: str, accumulate: str, data: Tensor) -> None:
    """Raise TypeError for exact sums of floats. Sums of integers are always exact."""
    if accumulate == "exact" and (data.is_floating_point() or data.is_complex()):
        text = f"{op}: accumulate='exact' runs only on the CPU, but data is on {data.device}; "
        text += "use accumulate='wide', or data.cpu()"
        raise OpTypeError(text, op=op, input="accumulate")
