"""Call the operators, with gradients of any order in reverse mode, and with `torch.func`."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.autograd import Function, forward_ad

from gatherscatter import _core
from gatherscatter.arrays import convert
from gatherscatter.arrays.kinds import check_kind, describe_object
from gatherscatter.arrays.torch_tensors import (
    REVERSE,
    TORCH,
    check_layout,
    is_intercepted,
    is_plain_tensor,
    is_transformed,
)
from gatherscatter.errors import OpTypeError, check_effects, make_error
from gatherscatter.messages.choices import WITHOUT_ACCUMULATE
from gatherscatter.operation import BY_INDEX, Form, Kernel, Operation, make_operation
from gatherscatter.torch.batching import with_batch_columns
from gatherscatter.torch.gradients import FORMULAS, HALVES, GradientInputs, Movement
from gatherscatter.torch.library import CPU_KERNELS, find_options, operator


def run(operation: Operation, inputs: dict[str, Any], out: Tensor | None = None) -> Tensor:
    """Run a gather or scatter on tensors, and on values that are made tensors."""
    if out is not None:
        return run_any(operation, inputs, out)
    if (made := call_directly(operation, inputs)) is not None:
        return made
    op = operation.op
    check_effects(op, operation.reduction, operation.include_self, operation.accumulate)
    data = as_tensor(operation, "data", inputs["data"])
    others = (as_tensor(operation, name, value, data) for name, value in inputs.items() if name != "data")
    return move(operation, data, *others)


def move(operation: Operation, data: Tensor, indices: Tensor, updates: Tensor | None = None) -> Tensor:
    """Run a gather or scatter on tensors, with gradients."""
    inputs = {"data": data, "indices": indices} | ({} if updates is None else {"updates": updates})
    if (made := call_directly(operation, inputs)) is not None:
        return made
    function = _Gather if updates is None else _Scatter
    return call_operator(function, operation.kernel, inputs, operation, find_options(operation))


def gather(kernel: Kernel, data: Tensor, indices: Tensor, **fields: Any) -> Tensor:
    """Run a gather. ``fields`` are those of its `Operation`."""
    return move(Operation(str(kernel), kernel, **fields), data, indices)


def scatter(kernel: Kernel, data: Tensor, indices: Tensor, updates: Tensor, **fields: Any) -> Tensor:
    """Run a scatter. ``fields`` are those of its `Operation`."""
    return move(Operation(str(kernel), kernel, **fields), data, indices, updates)


def call_directly(operation: Operation, inputs: dict[str, Any]) -> Tensor | None:
    """Run a call on plain tensors that nothing observes or differentiates. None: use the general path."""
    if torch.compiler.is_compiling():  # it does not trace calls of the core
        return None
    made = _core.run_on_tensors(operation, inputs)
    return None if made is NotImplemented else made


def run_any(operation: Operation, inputs: dict[str, Any], out: Tensor) -> Tensor:
    """Run the array function of `gatherscatter`, which writes to ``out``."""
    return getattr(_core, operation.kernel)(**inputs, out=out, **find_options(operation))  # type: ignore[no-any-return]


_INTEGERS = ("indices", "offsets", "segment_ids", "indptr")


def as_tensor(operation: Operation, name: str, value: Any, data: Tensor | None = None) -> Tensor:
    """Return the value as a tensor, on the device of data.

    Lists, numbers and NumPy arrays are copied: a backward pass may need them later.
    """
    if isinstance(value, Tensor):
        return value
    made = _make_tensor(operation, name, value)
    return made if data is None or data.is_cpu else made.to(data.device)


def _make_tensor(operation: Operation, name: str, value: Any) -> Tensor:
    op = operation.op
    if torch.compiler.is_compiling():  # the compiler can't trace the checks
        array = np.array(value)
        return torch.from_numpy(array.astype(np.int64) if array.size == 0 and name in _INTEGERS else array)
    if name in _INTEGERS:
        array = np.array(convert.as_indices(op, name, value, lists=operation.kernel.form == Form.TUPLES))
    else:
        array = np.array(convert.as_array(op, name, value))
    try:
        return torch.from_numpy(array)
    except (TypeError, ValueError) as error:
        raise OpTypeError(f"{op}: {name} can't be made a tensor: {error}", op=op, input=name) from None


def call_operator(
    function: Any, name: str, inputs: Mapping[str, Tensor | None], static: Any, options: dict[str, Any]
) -> Tensor:
    """Call an operator by name. ``function`` defines its gradients: a Function of the inputs and ``static``."""
    tensors = [tensor for tensor in inputs.values() if tensor is not None]
    try:
        if is_differentiated(*tensors):
            return apply(name, function, *inputs.values(), static)  # type: ignore[no-any-return]
        if _is_unobserved(tensors):
            return CPU_KERNELS[name](*inputs.values(), **options)
        return operator(name)(*inputs.values(), **options)  # type: ignore[no-any-return]
    except NotImplementedError:  # there are only kernels for dense tensors
        for each, tensor in inputs.items():
            if tensor is not None:
                check_layout(name, each, tensor)
        raise


def apply(op: str, function: Any, *inputs: Any) -> Any:
    """Apply a Function. Without transformations, use its plain form: PyTorch does not inspect its signature."""
    try:
        return (function if is_transformed() else function.plain).apply(*inputs)
    except NotImplementedError as error:  # a Function with a jvp could not be traced by PyTorch's compiler
        if "jvp" in str(error):
            raise make_error("forward_mode", op, input="data", reverse=REVERSE) from None
        raise


def check_tensors(op: str, out: Any = None, **tensors: Any) -> None:
    """Raise TypeError unless all are dense tensors on one device."""
    if out is not None:
        tensors["out"] = out
    for name, tensor in tensors.items():
        if not isinstance(tensor, Tensor):
            check_kind(op, name, tensor)
            is_list = isinstance(tensor, list | tuple | int | float | complex | np.ndarray)
            array = name if is_list else f"np.asarray({name})" if hasattr(tensor, "__array__") else ""
            advice = f"; use torch.as_tensor({array})" if array else ""
            text = f"{op}: {name} must be a tensor, not {describe_object(tensor)}{advice}"
            raise OpTypeError(text, op=op, input=name)
        if not is_plain_tensor(tensor) and not all(getattr(each, "is_meta", False) for each in tensors.values()):
            check_layout(op, name, tensor)
    first, *others = tensors.items()
    for name, tensor in others:
        if tensor.device != first[1].device:
            text = f"{op}: {first[0]} is on {first[1].device}, but {name} on {tensor.device}"
            raise OpTypeError(f"{text}; use {name}.to({first[0]}.device)", op=op, input=name)


def check_memory(op: str, **tensors: Tensor | None) -> None:
    """Raise ValueError for a tensor whose storage was freed. PyTorch can crash when it reads such a tensor."""
    if is_transformed() or is_intercepted():
        return
    for name, tensor in tensors.items():
        if tensor is None or not tensor.is_cpu or torch._is_functional_tensor(tensor):
            continue
        if type(tensor) in (Tensor, torch.nn.Parameter):
            TORCH.take(op, name, tensor.detach())


def _is_unobserved(tensors: Sequence[Tensor]) -> bool:
    """Whether nothing observes or intercepts the call. A direct call then saves 6 microseconds of dispatch."""
    return not is_intercepted() and all(
        type(each) is Tensor and each.is_cpu and not torch._is_functional_tensor(each) for each in tensors
    )


def with_plain(function: Any) -> Any:
    """Add ``plain``: a Function that does the same in one step, which transformations can't analyse."""

    def forward(ctx: Any, *inputs: Any) -> Any:
        output = function.forward(*inputs)
        function.setup_context(ctx, inputs, output)
        return output

    methods = {"forward": staticmethod(forward), "backward": staticmethod(function.backward)}
    function.plain = type(function.__name__, (Function,), methods)
    return function


def is_differentiated(*tensors: Tensor) -> bool:
    """Whether the call has to pass through autograd, the compiler or a transformation of `torch.func`."""
    if is_transformed():
        return True
    if torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors):
        return True
    # In forward mode a Function raises an error. An operator would silently give no derivative.
    return any(forward_ad.unpack_dual(tensor).tangent is not None for tensor in tensors)  # type: ignore[no-untyped-call]


@with_plain
class _Gather(Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(data: Tensor, indices: Tensor, operation: Operation) -> Tensor:
        made = call_directly(operation, {"data": data, "indices": indices})
        return operator(operation.kernel)(data, indices, **find_options(operation)) if made is None else made

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Tensor) -> None:
        data, indices, ctx.operation = inputs
        ctx.shape = data.shape
        ctx.save_for_backward(indices)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        (indices,) = ctx.saved_tensors
        return _compute_gather_gradient(ctx.operation, ctx.shape, indices, grad), None, None


@with_plain
class _Scatter(Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(data: Tensor, indices: Tensor, updates: Tensor, operation: Operation) -> Tensor:
        made = call_directly(operation, {"data": data, "indices": indices, "updates": updates})
        return operator(operation.kernel)(data, indices, updates, **find_options(operation)) if made is None else made

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Tensor) -> None:
        data, indices, updates, ctx.operation = inputs
        ctx.data_shape, ctx.updates_shape, ctx.updates_type = data.shape, updates.shape, updates.dtype
        nonlinear = ctx.operation.reduction in ("mul", "min", "max")
        ctx.save_for_backward(indices, *((data, updates, output) if nonlinear else ()))

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        indices, *saved = ctx.saved_tensors
        movement = make_movement(ctx.operation, ctx.data_shape, indices, ctx.updates_shape)
        formula = FORMULAS[ctx.operation.reduction]
        of_data, of_updates = formula(movement, GradientInputs(*saved) if saved else None, grad)
        return of_data, None, of_updates.to(ctx.updates_type), None


def _compute_gather_gradient(operation: Operation, shape: Sequence[int], indices: Tensor, grad: Tensor) -> Tensor:
    """Return the gradient of data. An element that was read more than once gets the sum of the gradients."""
    form, axis, batch_dims = operation.kernel.form, operation.axis, operation.batch_dims
    add = operation.make_counterpart(reduction="add", accumulate=choose_accumulate(grad), batch_dims=0)
    zeros = grad.new_zeros(shape)
    if form == Form.TUPLES:
        return move(add, zeros, with_batch_columns(indices, batch_dims), grad)
    if batch_dims == 0:
        return move(add, zeros, indices, grad)
    # Scatters have no batch dims, so index tuples name them. The axes between them and the indexed axis move behind it.
    axis, batch_dims = axis % len(shape), batch_dims + (indices.ndim if batch_dims < 0 else 0)
    axes = range(axis, axis + indices.ndim - batch_dims), range(batch_dims, indices.ndim)
    tuples = with_batch_columns(indices.unsqueeze(-1), batch_dims)
    add = add._replace(kernel=Kernel.SCATTER_ND, axis=0)
    rows = move(add, zeros.movedim(axis, batch_dims), tuples, grad.movedim(*map(tuple, axes)))
    return rows.movedim(batch_dims, axis)


def make_movement(
    operation: Operation, data_shape: Sequence[int], indices: Tensor, updates_shape: Sequence[int]
) -> Movement:
    """Return the scatter of a call, and the matching gather, for other values."""

    def put(data: Tensor, updates: Tensor, reduction: str = "none", include_self: bool = True) -> Tensor:
        accumulate = "step" if reduction in WITHOUT_ACCUMULATE else choose_accumulate(data)
        how: dict[str, Any] = {"reduction": reduction, "include_self": include_self, "accumulate": accumulate}
        return move(operation._replace(**how), data, indices, updates)

    def take(data: Tensor) -> Tensor:
        return move(operation.make_counterpart(), data, indices)

    def at_end(which: str) -> Tensor:
        return _find_first_or_last(which, operation, data_shape, indices, len(updates_shape))

    return Movement(put, take, at_end, updates_shape, operation.include_self)


def _find_first_or_last(
    which: str, operation: Operation, data_shape: Sequence[int], indices: Tensor, rank: int
) -> Tensor:
    """Find the updates that are the first ("min") or last ("max") of their target, by scattering their numbers."""
    dims, count = tuple(data_shape), tuple(indices.shape)
    behind = 0  # trailing axes of updates, along which the result is constant
    if operation.kernel.form == Form.TUPLES:
        dims, count = (*dims[: count[-1]], 1), (*count[:-1], 1)  # data must have at least one axis
        behind = rank - len(count)
    elif operation.kernel.form == Form.ROWS:
        axis = operation.axis % len(dims)
        dims, operation = (dims[axis],), operation._replace(axis=0)
        behind = len(data_shape) - axis - 1
    numbers = torch.arange(1, math.prod(count) + 1, device=indices.device).reshape(count)
    operation = operation._replace(reduction=which, include_self=False, accumulate="step")
    ends = move(operation, numbers.new_zeros(dims), indices, numbers)
    found = move(operation.make_counterpart(), ends, indices) == numbers
    return found[(..., *(None,) * behind)] if behind >= 0 else found.squeeze(-1)


def choose_accumulate(values: Tensor) -> str:
    """Choose a wider type for sums of 16-bit gradients. Rounded after each step, a sum would soon stop growing."""
    return "wide" if values.dtype in HALVES else "step"


def register_gradients(name: str, function: Any, tensors: int, make_static: Callable[[dict[str, Any]], Any]) -> None:
    """Register the gradients of an operator for direct calls, as in programs of `torch.export`.

    ``function`` is the Function that `call_operator` uses. The first ``tensors`` inputs of the operator are tensors.
    ``make_static`` makes the last argument of the Function from the options of the operator.
    """

    def setup_context(ctx: Any, inputs: Any, keyword_only_inputs: Any, output: Tensor) -> None:
        ctx.attributes = len(inputs) - tensors
        axis = {"axis": inputs[tensors]} if ctx.attributes else {}
        static = make_static({**axis, **keyword_only_inputs})
        function.setup_context(ctx, (*inputs[:tensors], static), output)

    def backward(ctx: Any, grad: Tensor) -> Any:
        return (*function.backward(ctx, grad)[:-1], *(None,) * ctx.attributes)

    torch.library.register_autograd(f"gatherscatter::{name}", backward, setup_context=setup_context)


for _kernel in BY_INDEX:
    _function, _tensors = (_Scatter, 3) if _kernel.is_scatter else (_Gather, 2)
    register_gradients(_kernel, _function, _tensors, partial(make_operation, _kernel))
