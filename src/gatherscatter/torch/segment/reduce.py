"""The operator that reduces rows by target, with several reductions in one pass, and its gradients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function

from gatherscatter.arrays.torch_tensors import USES_TORCH_OPERATORS
from gatherscatter.errors import OpValueError, make_choice_error
from gatherscatter.functions.group_reductions import ONE_PASS
from gatherscatter.functions.prepare import prepare_indices
from gatherscatter.operation import Kernel
from gatherscatter.torch import functions
from gatherscatter.torch.device import kernels
from gatherscatter.torch.gradients import divide_by_counts

_NAME = "gatherscatter::reduce"
_OP = "scatter"
_EXTREMA = ("min", "max")


def check_names(names: Sequence[str]) -> None:
    """Raise ValueError or TypeError unless all names are reductions of one pass."""
    known = [name for name in ONE_PASS if name != "mul"]  # its gradient takes more than one pass
    if not names:
        raise OpValueError(f"{_OP}: reduce is empty; give at least one name", op=_OP, input="reduce")
    for name in names:
        if name not in known:
            raise make_choice_error(_OP, "reduce", name, known)
        if list(names).count(name) > 1:
            raise OpValueError(f"{_OP}: reduce has {name!r} twice", op=_OP, input="reduce")


def reduce(updates: Tensor, rows: Tensor, size: int, names: Sequence[str]) -> tuple[Tensor, ...]:
    """Reduce ``updates[i]`` to row ``rows[i]`` of ``size`` rows, as `Prepared.reduce` does.

    The gradient of a minimum or maximum belongs to the one update that has this value.
    """
    asked = tuple(names)
    if functions.is_differentiated(updates):
        # The position of a minimum or maximum is needed for its gradient.
        asked = tuple(dict.fromkeys((*names, *(f"arg{name}" for name in names if name in _EXTREMA))))
        results = functions.apply(_OP, _Reduce, updates, rows, size, asked)
    else:
        results = torch.ops.gatherscatter.reduce(updates, rows, size, list(asked))
    return tuple(results[asked.index(name)] for name in names)


def _reduce(updates: Tensor, rows: Tensor, size: int, names: list[str]) -> list[Tensor]:
    with torch.no_grad():
        return list(prepare_indices(_OP, rows, size).reduce(updates, names))  # type: ignore[arg-type]


def _shapes(updates: Tensor, rows: Tensor, size: int, names: list[str]) -> list[Tensor]:
    full = (size, *updates.shape[1:])
    return [
        updates.new_empty((size,) if name == "count" else full, dtype=updates.dtype if _is_value(name) else torch.int64)
        for name in names
    ]


def _reduce_batch(info: Any, in_dims: Any, updates: Tensor, rows: Tensor, size: int, names: list[str]) -> Any:
    """Make one call in which each entry of the batch has separate targets."""
    batch, count = info.batch_size, rows.shape[-1 if in_dims[1] is None else 1 - in_dims[1]]
    updates = updates.expand(batch, *updates.shape) if in_dims[0] is None else updates.movedim(in_dims[0], 0)
    rows = rows.expand(batch, count) if in_dims[1] is None else rows.movedim(in_dims[1], 0)
    first = torch.arange(batch, device=rows.device).reshape(-1, 1)
    own = torch.where(rows < 0, rows + size, rows)
    # An index that is out of range in its entry must also be out of range in the batch.
    own = torch.where((own < 0) | (own >= size), batch * size, own + first * size)
    flat = torch.ops.gatherscatter.reduce(updates.flatten(0, 1), own.flatten(), batch * size, names)
    results = [result.reshape(batch, size, *result.shape[1:]) for result in flat]
    for i, name in enumerate(names):
        if name.startswith("arg"):
            numbers = results[i] - first.reshape(-1, *(1,) * (results[i].ndim - 1)) * count
            results[i] = torch.where(results[i] == batch * count, count, numbers)
    return results, [0] * len(results)


def _is_value(name: str) -> bool:
    return name != "count" and not name.startswith("arg")


@functions.with_plain
class _Reduce(Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(updates: Tensor, rows: Tensor, size: int, names: tuple[str, ...]) -> tuple[Tensor, ...]:
        return tuple(torch.ops.gatherscatter.reduce(updates, rows, size, list(names)))

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.mark_non_differentiable(*(each for each in output if each.dtype == torch.int64))
        _save_for_backward(ctx, inputs, output)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return _compute_updates_gradient(ctx, grads), None, None, None


def _save_for_backward(ctx: Any, inputs: Any, output: Any) -> None:
    updates, rows, _, ctx.names = inputs
    ctx.shape = updates.shape
    ctx.save_for_backward(rows, *(each for name, each in zip(ctx.names, output, strict=True) if name.startswith("arg")))


def _compute_updates_gradient(ctx: Any, grads: Sequence[Any]) -> Any:
    rows, *members = ctx.saved_tensors
    members_of = dict(zip((name for name in ctx.names if name.startswith("arg")), members, strict=True))
    parts = []
    for name, grad in zip(ctx.names, grads, strict=True):
        if grad is None or not _is_value(name):
            continue
        if name in _EXTREMA:
            zeros = grad.new_zeros(ctx.shape)
            where = members_of[f"arg{name}"]
            parts.append(functions.scatter(Kernel.SCATTER_ELEMENTS, zeros, where, grad, axis=0, mode="drop"))
        else:
            shares = _divide_among_members(grad, rows) if name == "mean" else grad
            parts.append(functions.gather(Kernel.GATHER, shares, rows, axis=0))
    return sum(parts[1:], parts[0])


def _divide_among_members(grad: Tensor, rows: Tensor) -> Tensor:
    """Return the gradient of each member of a mean."""
    counts = torch.zeros(grad.shape[0], dtype=torch.int64, device=rows.device)
    counts = functions.scatter(Kernel.SCATTER_UPDATE, counts, rows, torch.ones_like(rows), axis=0, reduction="add")
    return divide_by_counts(grad, counts.clamp(min=1).reshape(-1, *(1,) * (grad.ndim - 1)))


torch.library.define(
    _NAME,
    "(Tensor updates, Tensor rows, SymInt size, str[] reductions) -> Tensor[]",
    tags=(torch.Tag.pt2_compliant_tag,),
)
torch.library.impl(_NAME, "CPU", kernels.reduce if USES_TORCH_OPERATORS else _reduce)
torch.library.impl(_NAME, "CompositeExplicitAutograd", kernels.reduce)
torch.library.register_fake(_NAME, _shapes)
torch.library.register_vmap(_NAME, _reduce_batch)
torch.library.register_autograd(
    _NAME,
    lambda ctx, grads: (_compute_updates_gradient(ctx, grads), None, None, None),
    setup_context=lambda ctx, inputs, output: _save_for_backward(ctx, inputs, output),
)
