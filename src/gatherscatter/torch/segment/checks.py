"""Check arguments that have the names of torch_scatter: ``src``, ``index``, ``dim``, ``dim_size`` and ``out``."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, NoReturn

import numpy as np
import torch
from torch import Tensor

from gatherscatter import errors
from gatherscatter.arrays.torch_tensors import TORCH
from gatherscatter.errors import OpIndexError, OpValueError, integer_fault, make_error, raise_index_error
from gatherscatter.messages.hints import find_hint
from gatherscatter.messages.sentences import format_sentence
from gatherscatter.torch.functions import check_memory

_INTEGERS = frozenset(
    (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint64, torch.uint32, torch.uint16, torch.uint8)
)


def check_integers(op: str, name: str, tensor: Tensor) -> None:
    """Raise TypeError for an index, or for pointers, that are not integers."""
    if tensor.dtype not in _INTEGERS:
        advice = format_sentence("parts", "convert_tensor", input=name)
        raise make_error("not_integers", op, input=name, type=f"{tensor.dtype}{advice}")


def check_first_dims(op: str, name: str, tensor: Tensor, src: Tensor, count: int) -> None:
    """Raise ValueError unless the first ``count`` dimensions of a tensor are those of ``src``, or 1."""
    if any(size not in (1, wanted) for size, wanted in zip(tensor.shape[:count], src.shape[:count], strict=True)):
        text = f"{op}: {name} must have the first {count} dimensions of src, or 1 instead of them"
        raise OpValueError(f"{text} {_list_shapes(name, tensor, src)}", op=op, input=name)


def check_rank(op: str, name: str, tensor: Tensor, src: Tensor, least: int = 1) -> None:
    """Raise ValueError for a tensor with fewer dimensions than ``least``, or more than ``src``."""
    text = ""
    if tensor.ndim < least:
        text = f"{op}: {name} must have at least one dimension"
    elif tensor.ndim > src.ndim:
        text = f"{op}: {name} must not have more dimensions than src"
    if text:
        raise OpValueError(f"{text} {_list_shapes(name, tensor, src)}", op=op, input=name)


def check_index(op: str, index: Tensor, src: Tensor, dim: int, takes_dim: bool) -> None:
    """Raise TypeError or ValueError unless ``index`` can be broadcast to ``src`` by the rules of torch_scatter.

    ``takes_dim``: the function has the parameter ``dim``, so the error can suggest a value.
    """
    check_integers(op, "index", index)
    if index.ndim != 1:
        check_rank(op, "index", index, src, least=0)
        check_first_dims(op, "index", index, src, index.ndim)
        return
    count, wanted = index.shape[0], src.shape[dim]
    if count not in (1, wanted):
        fitting = [d for d, size in enumerate(src.shape) if size == count]
        advice = f"; did you mean dim={fitting[0]}?" if takes_dim and len(fitting) == 1 else ""
        text = f"{op}: index has {count} entries, but src has {wanted} along dim {dim}{advice}"
        raise OpValueError(f"{text} {_list_shapes('index', index, src)}", op=op, input="index")


def normalise_dim(op: str, dim: Any, src: Tensor) -> int:
    """Return a dimension of ``src``, counted from the front."""
    rank = src.ndim
    if not isinstance(dim, (int, np.integer)):
        integer_fault(op, "dim", dim)
    if rank == 0:
        raise OpValueError(f"{op}: src must have at least one dimension", op=op, input="src")
    if not -rank <= dim < rank:
        text = f"{op}: dim {dim} is out of range for src with {rank} dimensions (valid: {-rank}..{rank - 1})"
        raise OpIndexError(text, op=op, input="dim")
    return int(dim) % rank


def check_size(op: str, size: Any) -> int:
    """Return ``dim_size`` as an integer of at least 0. The value can be unknown while a program is compiled."""
    if not isinstance(size, (int, torch.SymInt)):
        with suppress(TypeError):
            size = operator.index(size)
        if not isinstance(size, int):
            integer_fault(op, "dim_size", size)
    if not torch.compiler.is_compiling() and size < 0:
        raise OpValueError(f"{op}: dim_size must be at least 0, not {size}", op=op, input="dim_size")
    return size  # type: ignore[no-any-return]


def find_size(op: str, index: Tensor) -> int:
    """Return the largest index plus one."""
    check_memory(op, index=index)
    if not index.numel():
        return 0
    try:
        largest = int((index if index.dtype == torch.int64 else index.to(torch.int64)).max())
    except RuntimeError:  # on the meta device, or batched by vmap
        text = f"{op}: dim_size is missing, and index has no values here from which it could be computed; give dim_size"
        raise OpValueError(text, op=op, input="dim_size") from None
    if not torch.compiler.is_compiling() and largest < 0:
        text = f"{op}: dim_size is missing, and all indices are negative (the largest is {largest}); give dim_size"
        raise OpValueError(text, op=op, input="dim_size")
    return largest + 1


def check_result(op: str, shape: Sequence[int], src: Tensor, name: str, values: Tensor, parameter: str) -> None:
    """Check the size of a result that the largest of ``values`` decides, as `gatherscatter.errors.check_size` does."""
    if not torch.compiler.is_compiling():
        given = src.nbytes + values.nbytes
        errors.check_size(op, tuple(shape), src.dtype, name, values, parameter, input_bytes=given)


def check_out(op: str, out: Tensor, shape: Sequence[int], dtype: torch.dtype) -> None:
    """Raise TypeError or ValueError unless a result of this shape and type can be written to ``out``."""
    if out.shape != torch.Size(shape):
        raise make_error("result_shape", op, out=tuple(out.shape), result=tuple(shape))
    if out.dtype != dtype:
        raise make_error("mixed_types", op, input="out", type=out.dtype, first="the result", first_type=dtype)
    if torch.is_grad_enabled() and out.requires_grad and out.is_leaf:
        text = f"{op}: out is a leaf tensor with requires_grad, which can't be written to; use out.clone()"
        raise OpValueError(text, op=op, input="out")
    check_memory(op, out=out)


def raise_bad_index(op: str, index: Tensor, size: int, dim: int, sized: str) -> NoReturn:
    """Raise the error for values of ``index`` that are out of range. ``size`` and ``sized`` are those of `Targets`.

    Under vmap, positions are those in the whole batch.
    """
    with torch._C._DisableFuncTorch():
        while torch._C._functorch.is_functorch_wrapped_tensor(index):
            index = torch._C._functorch.get_unwrapped(index)
        array = TORCH.take(op, "index", index.detach().cpu())
    found = np.flatnonzero((array < -size) | (array >= size))
    if not found.size:
        raise make_error("changed_indices", op)
    raise_index_error(
        op,
        "index",
        array,
        found,
        subject=f"dim_size {size}" if sized == "dim_size" else f"dim {dim} of {sized} with size {size}",
        axis=dim,
        allowed=(-size, size - 1),
        plural="values of index",
        hint=find_hint(array.reshape(-1, 1), 0, (size,), negative=True),
    )


def _list_shapes(name: str, tensor: Tensor, src: Tensor) -> str:
    return f"({name} {tuple(tensor.shape)}, src {tuple(src.shape)})"
