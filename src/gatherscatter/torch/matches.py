"""Sums of matches: an operator with gradients, for the gradients of minima and maxima of bags."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function

from gatherscatter.functions import bag_gradients
from gatherscatter.torch import batching, functions
from gatherscatter.torch.device import kernels
from gatherscatter.torch.gradients import divide_by_counts
from gatherscatter.torch.library import Implementation, check_devices, define, operator

_OP = "sum_matches"


def sum_matches(
    values: Tensor | None, keys: Tensor, targets: Tensor, rows: Tensor, bags: Tensor, num_threads: int | None = None
) -> Tensor:
    """Call the operator of `bag_gradients.sum_matches`."""
    inputs = {"values": values, "keys": keys, "targets": targets, "rows": rows, "bags": bags}
    return functions.call_operator(_SumMatches, _OP, inputs, num_threads, {"num_threads": num_threads})


def differentiate_extremum_of_bags(
    data: Tensor, out: Tensor, grad: Tensor, rows: Tensor, bags: Tensor, num_threads: int | None
) -> Tensor:
    """Return the gradient of data. Member m of bag ``bags[m]`` is row ``rows[m]`` of data.

    Members that are equal to the extremum share its gradient in equal parts.
    """
    ties = sum_matches(None, data, out, rows, bags, num_threads)
    return sum_matches(divide_by_counts(grad, ties.clamp(min=1)), out, data, bags, rows, num_threads)


def _on_cpu(values: Tensor | None, keys: Tensor, *others: Any, **options: Any) -> Tensor:
    return bag_gradients.sum_matches(values, keys, *others, **options)  # type: ignore[return-value]


def _on_shapes(
    values: Tensor | None, keys: Tensor, targets: Tensor, rows: Tensor, bags: Tensor, num_threads: int | None = None
) -> Tensor:
    check_devices(_OP, keys, values, targets, rows, bags)
    return targets.new_empty(targets.shape, dtype=torch.int64 if values is None else values.dtype)


def _sum_batch(info: Any, in_dims: Any, *tensors: Tensor | None, **options: Any) -> tuple[Tensor, int]:
    """Make one call for a batch of values, or one call for each entry if their members differ."""
    if in_dims[3] is None and in_dims[4] is None:
        columns = [
            each if each is None else batching.move_batch_first(info, each, dim).movedim(0, 1)
            for each, dim in zip(tensors[:3], in_dims, strict=False)
        ]
        return operator(_OP)(*columns, *tensors[3:], **options), 1
    return batching.call_for_each(info, in_dims, operator(_OP), tensors, options), 0


@functions.with_plain
class _SumMatches(Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(
        values: Tensor | None,
        keys: Tensor,
        targets: Tensor,
        rows: Tensor,
        bags: Tensor,
        num_threads: int | None,
    ) -> Tensor:
        return operator(_OP)(values, keys, targets, rows, bags, num_threads=num_threads)  # type: ignore[no-any-return]

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Tensor) -> None:
        _, keys, targets, rows, bags, ctx.num_threads = inputs
        ctx.save_for_backward(keys, targets, rows, bags)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        keys, targets, rows, bags = ctx.saved_tensors
        of_values = sum_matches(grad, targets, keys, bags, rows, num_threads=ctx.num_threads)
        return of_values, None, None, None, None, None


_SCHEMA = "(Tensor? values, Tensor keys, Tensor targets, Tensor rows, Tensor bags, *, int? num_threads=None) -> Tensor"
define(_OP, _SCHEMA, Implementation(_on_cpu, kernels.sum_matches, _on_shapes, _sum_batch))
functions.register_gradients(_OP, _SumMatches, 5, lambda options: options.get("num_threads"))
