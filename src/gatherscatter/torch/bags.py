"""The operator that gathers the rows of bags and reduces them in one pass, with its gradients.

The gradient of data is the same operator with the bags transposed: each row of data is a bag, and its members are the
bags that contain the row. The gradient of weights multiplies pairs of rows (`dot_rows`). The gradient of a minimum or
maximum adds up matches (`matches`). None of these stores a row for each member. Only products, and weighted minima and
maxima, gather the rows of all members.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.autograd import Function

from gatherscatter import _core
from gatherscatter.arrays.torch_tensors import is_transformed
from gatherscatter.errors import make_error
from gatherscatter.functions import bag_gradients
from gatherscatter.operation import Bags, Kernel, Operation, make_operation
from gatherscatter.torch import batching, functions
from gatherscatter.torch.device import kernels
from gatherscatter.torch.device.runs import is_checked
from gatherscatter.torch.gradients import FORMULAS, GradientInputs, divide_by_counts
from gatherscatter.torch.library import Implementation, check_devices, define, find_options, operator
from gatherscatter.torch.matches import differentiate_extremum_of_bags
from gatherscatter.torch.schemas import SCHEMAS

_OP = "gather_reduce"
_DOT = "dot_rows"
_NONLINEAR = ("mul", "min", "max")


def reduce(operation: Operation, inputs: dict[str, Any]) -> Tensor:
    """Run `gatherscatter.gather_reduce` on tensors, and on values that are made tensors."""
    if (made := functions.call_directly(operation, inputs)) is not None:
        return made
    default = inputs["default"]
    default = default.item() if isinstance(default, np.generic) else default
    if not isinstance(default, int | float | complex):
        raise make_error("default_number", operation.op, value=default)
    data = functions.as_tensor(operation, "data", inputs["data"])
    tensors: dict[str, Tensor | None] = {
        name: None if inputs[name] is None else functions.as_tensor(operation, name, inputs[name], data)
        for name in _TENSORS[1:]
    }
    return _call_operator(operation, {"data": data, **tensors}, default)


_TENSORS = ("data", "indices", "offsets", "segment_ids", "indptr", "weights")


def gather_reduce(
    data: Tensor,
    indices: Tensor | None = None,
    *,
    offsets: Tensor | None = None,
    segment_ids: Tensor | None = None,
    indptr: Tensor | None = None,
    num_segments: int | None = None,
    weights: Tensor | None = None,
    default: complex = 0,
    **fields: Any,
) -> Tensor:
    """Call the operator. ``fields`` are those of its `Operation`."""
    operation = Operation(_OP, Kernel.GATHER_REDUCE, **{"reduction": "add", "bags": Bags(num_segments)} | fields)
    inputs = dict(zip(_TENSORS, (data, indices, offsets, segment_ids, indptr, weights), strict=True))
    made = functions.call_directly(operation, inputs | {"default": default})
    return _call_operator(operation, inputs, default) if made is None else made


def _call_operator(operation: Operation, tensors: dict[str, Tensor | None], default: complex) -> Tensor:
    options = find_options(operation) | {"default": default}
    return functions.call_operator(_GatherReduce, _OP, tensors, (operation, default), options)


def find_member_bags(
    indices: Tensor | None, offsets: Tensor | None, segment_ids: Tensor | None, indptr: Tensor | None, count: int
) -> Tensor:
    """Return the bag of each of ``count`` members. Invalid offsets raise the errors of `gather_reduce`."""
    if segment_ids is not None:
        return segment_ids
    if indptr is not None:
        offsets = indptr[:-1]
    if offsets is not None:
        sizes = gather_reduce(torch.ones(count, dtype=torch.int64, device=offsets.device), offsets=offsets)
        ends = sizes.cumsum(0)
        ended = functions.scatter(
            Kernel.SCATTER_UPDATE, ends.new_zeros(count + 1), ends, torch.ones_like(ends), reduction="add"
        )
        return ended[:-1].cumsum(0)  # the number of bags that end before each member
    assert indices is not None
    *bags, size = indices.shape
    numbers = torch.arange(math.prod(bags), device=indices.device)
    return numbers.unsqueeze(-1).expand(-1, size).flatten()


def _on_cpu(*tensors: Tensor | None, **options: Any) -> Tensor:
    return _core.gather_reduce(**dict(zip(_TENSORS, tensors, strict=False)), **options)  # type: ignore[arg-type, return-value]


def _on_device(*tensors: Tensor | None, default: complex = 0, **options: Any) -> Tensor:
    inputs: dict[str, Any] = dict(zip(_TENSORS, tensors, strict=False))
    return kernels.gather_reduce(make_operation(_OP, options), **inputs, default=default)


def _on_shapes(
    data: Tensor,
    indices: Tensor | None = None,
    offsets: Tensor | None = None,
    segment_ids: Tensor | None = None,
    indptr: Tensor | None = None,
    weights: Tensor | None = None,
    *,
    num_segments: int | None = None,
    **_: Any,
) -> Tensor:
    check_devices(_OP, data, indices, offsets, segment_ids, indptr, weights)
    bags: tuple[int, ...] = () if indices is None else indices.shape[:-1]
    if offsets is not None:
        bags = offsets.shape
    elif indptr is not None:
        bags = (indptr.shape[0] - 1,)
    elif segment_ids is not None:
        bags = (_require_num_segments(num_segments),)
    return data.new_empty((*bags, *data.shape[1:]))


def _reduce_batch(info: Any, in_dims: Any, data: Tensor, *members: Tensor | None, **options: Any) -> tuple[Tensor, int]:
    """Make one call for a batch of data, or one call for each entry if their members differ."""
    if all(dim is None for dim in in_dims[1:]):
        packed = members[0].ndim - 1 if members and members[0] is not None else 0
        return operator(_OP)(data.movedim(in_dims[0], 1), *members, **options), max(packed, 1)
    if len(in_dims) > 3 and in_dims[3] is not None:
        _require_num_segments(options.get("num_segments"))
    return batching.call_for_each(info, in_dims, operator(_OP), (data, *members), options), 0


def _require_num_segments(num_segments: int | None) -> int:
    if num_segments is None:
        raise make_error("num_segments_needed", _OP)
    return num_segments


@functions.with_plain
class _GatherReduce(Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(  # noqa: PLR0917
        data: Tensor,
        indices: Tensor | None,
        offsets: Tensor | None,
        segment_ids: Tensor | None,
        indptr: Tensor | None,
        weights: Tensor | None,
        static: tuple[Operation, complex],
    ) -> Tensor:
        operation, default = static
        tensors = (data, indices, offsets, segment_ids, indptr, weights)
        made = functions.call_directly(operation, dict(zip(_TENSORS, tensors, strict=True)) | {"default": default})
        return operator(_OP)(*tensors, **find_options(operation), default=default) if made is None else made

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Tensor) -> None:
        data, indices, offsets, segment_ids, indptr, weights, (ctx.operation, _) = inputs
        ctx.shape, ctx.bag_rank = data.shape, output.ndim - data.ndim + 1
        nonlinear = ctx.operation.reduction in _NONLINEAR
        kept = data if nonlinear or _needs_weights(ctx, weights) else None
        ctx.save_for_backward(indices, offsets, segment_ids, weights, indptr, kept, output if nonlinear else None)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        indices, offsets, segment_ids, weights, indptr, data, out = ctx.saved_tensors
        reduction, mode, negative = ctx.operation.reduction, ctx.operation.mode, ctx.operation.negative
        skipped = kernels.find_skipped_members(ctx.operation, indices, segment_ids)
        threads = {"num_threads": ctx.operation.num_threads}
        count = ctx.shape[0] if indices is None else indices.numel()
        bags = find_member_bags(indices, offsets, segment_ids, indptr, count)
        named = None if indices is None else indices.flatten()
        factors = None if weights is None else weights.flatten().to(grad.dtype)
        grad = grad.flatten(0, ctx.bag_rank - 1)
        if out is not None:
            out = out.flatten(0, ctx.bag_rank - 1)
        if skipped is not None:  # their bag is one more
            bags = kernels.to_int64(bags).masked_fill(skipped, len(grad))
            grad = torch.cat([grad, grad.new_zeros(1, *grad.shape[1:])])
            out = None if out is None else torch.cat([out, out.new_zeros(1, *out.shape[1:])])
        # Row 0 holds zeros, for members that are skipped, or whose index is out of range with mode="fill".
        extra = int(mode == "fill" or skipped is not None)
        count = ctx.shape[0] + extra
        if named is not None and not extra and not is_transformed() and is_checked(named, count):
            rows = named
        else:
            rows = _take(torch.arange(extra, count, device=grad.device), named, mode=mode, negative=negative, **threads)
        if skipped is not None:
            rows = rows.masked_fill(skipped, 0)
        if data is not None and extra:
            data = torch.cat([data.new_zeros(1, *data.shape[1:]), data])
        if factors is None and reduction in ("min", "max"):
            return differentiate_extremum_of_bags(data, out, grad, rows, bags, **threads)[extra:], *(None,) * 6

        # source[which[m]] is the gradient of the contribution of member m to its bag.
        source, which = grad, bags
        if reduction == "mean":
            source = _divide_by_sizes(grad, bags, threads)
        elif reduction in _NONLINEAR:
            members = _take(data, rows, **threads)
            products = members if factors is None else members * _as_column(factors, members)
            source = _differentiate_scatter(reduction, products, bags, out, grad, threads)
            which = torch.arange(len(source), device=grad.device)

        of_data = of_weights = None
        if ctx.needs_input_grad[0]:
            of_data = gather_reduce(
                source,
                which,
                segment_ids=rows,
                num_segments=count,
                weights=None if factors is None else factors.conj(),
                accumulate=functions.choose_accumulate(grad),
                **threads,
            )[extra:]
        if _needs_weights(ctx, weights):
            sums = dot_rows(source, data.conj(), which, rows, **threads).reshape(weights.shape)
            of_weights = (sums.real if sums.is_complex() and not weights.is_complex() else sums).to(weights.dtype)
        return of_data, None, None, None, None, of_weights, None


def _divide_by_sizes(grad: Tensor, bags: Tensor, threads: dict[str, Any]) -> Tensor:
    """Return the gradient of each member of a mean."""
    ones = torch.ones(bags.shape, dtype=torch.int64, device=grad.device)
    sizes = gather_reduce(ones, segment_ids=bags, num_segments=grad.shape[0], **threads)
    return divide_by_counts(grad, _as_column(sizes.clamp(min=1), grad))


def _differentiate_scatter(
    reduction: str, products: Tensor, bags: Tensor, out: Tensor, grad: Tensor, threads: dict[str, Any]
) -> Tensor:
    """Return the gradient of each member's product. The products go into bags as the updates of a scatter do."""
    # Data must not take part: it is the factor 1, or a value that differs from the extremum.
    data = torch.ones_like(out) if reduction == "mul" else (out == 0).to(out.dtype)
    move = functions.make_movement(Operation(_OP, Kernel.SCATTER_UPDATE, **threads), out.shape, bags, products.shape)
    return FORMULAS[reduction](move, GradientInputs(data, products, out), grad)[1]


def _needs_weights(ctx: Any, weights: Tensor | None) -> bool:
    return weights is not None and ctx.needs_input_grad[5]  # the dispatcher omits inputs that are None


def _take(values: Tensor, rows: Tensor | None, **options: Any) -> Tensor:
    """Return the rows with these numbers, or all rows for None."""
    return values if rows is None else functions.gather(Kernel.GATHER, values, rows, **options)


def _as_column(values: Tensor, like: Tensor) -> Tensor:
    return values.reshape(-1, *(1,) * (like.ndim - 1))


define(_OP, SCHEMAS[_OP], Implementation(_on_cpu, _on_device, _on_shapes, _reduce_batch))


def _make_static(options: dict[str, Any]) -> tuple[Operation, complex]:
    return make_operation(_OP, options), options.get("default", 0)


functions.register_gradients(_OP, _GatherReduce, len(_TENSORS), _make_static)

# ---------------------------------------------------------------------------------------------------- pairs of rows


def dot_rows(a: Tensor, b: Tensor, rows_of_a: Tensor, rows_of_b: Tensor, num_threads: int | None = None) -> Tensor:
    """Call the operator of `bag_gradients.dot_rows`."""
    inputs = {"a": a, "b": b, "rows_of_a": rows_of_a, "rows_of_b": rows_of_b}
    return functions.call_operator(_DotRows, _DOT, inputs, num_threads, {"num_threads": num_threads})


def _dot_on_cpu(a: Tensor, b: Tensor, *rows: Tensor, **options: Any) -> Tensor:
    return bag_gradients.dot_rows(a, b, *rows, **options)  # type: ignore[return-value]


def _dot_on_shapes(
    a: Tensor, b: Tensor, rows_of_a: Tensor, rows_of_b: Tensor, num_threads: int | None = None
) -> Tensor:
    check_devices(_DOT, a, b, rows_of_a, rows_of_b)
    return a.new_empty(rows_of_a.shape)


def _dot_batch(info: Any, in_dims: Any, *tensors: Tensor, **options: Any) -> tuple[Tensor, int]:
    """Make one call for each entry of a batch."""
    return batching.call_for_each(info, in_dims, operator(_DOT), tensors, options), 0


@functions.with_plain
class _DotRows(Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(a: Tensor, b: Tensor, rows_of_a: Tensor, rows_of_b: Tensor, num_threads: int | None) -> Tensor:
        return operator(_DOT)(a, b, rows_of_a, rows_of_b, num_threads=num_threads)  # type: ignore[no-any-return]

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Tensor) -> None:
        *tensors, ctx.num_threads = inputs
        ctx.save_for_backward(*tensors)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        a, b, rows_of_a, rows_of_b = ctx.saved_tensors
        options: dict[str, Any] = {"num_threads": ctx.num_threads}

        def add_up(like: Tensor, rows: Tensor, others: Tensor, which: Tensor) -> Tensor:
            """Add up the rows that each row of ``like`` was multiplied by, times the gradients of the products."""
            accumulate = functions.choose_accumulate(grad)
            bags: dict[str, Any] = {"segment_ids": rows, "num_segments": like.shape[0]}
            return gather_reduce(others.conj(), which, weights=grad, accumulate=accumulate, **bags, **options)

        of_a = add_up(a, rows_of_a, b, rows_of_b) if ctx.needs_input_grad[0] else None
        of_b = add_up(b, rows_of_b, a, rows_of_a) if ctx.needs_input_grad[1] else None
        return of_a, of_b, None, None, None


_DOT_SCHEMA = "(Tensor a, Tensor b, Tensor rows_of_a, Tensor rows_of_b, *, int? num_threads=None) -> Tensor"
define(_DOT, _DOT_SCHEMA, Implementation(_dot_on_cpu, kernels.dot_rows, _dot_on_shapes, _dot_batch))
functions.register_gradients(_DOT, _DotRows, 4, lambda options: options.get("num_threads"))
