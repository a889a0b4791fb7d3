"""Call the operators, with gradients of any order in reverse mode, and with `torch.func`."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.autograd import Function, forward_ad

from gatherscatter import _core
from gatherscatter.arrays.interop import (
    REVERSE,
    TORCH,
    check_layout,
    is_intercepted,
    is_plain_tensor,
    is_transformed,
)
from gatherscatter.arrays.kinds import check_kind, describe_object
from gatherscatter.errors import OpTypeError, make_error
from gatherscatter.messages.choices import WITHOUT_ACCUMULATE
from gatherscatter.torch.batching import with_batch_columns
from gatherscatter.torch.gradients import FORMULAS, HALVES, GradientInputs, Movement
from gatherscatter.torch.library import GATHERS, KERNELS, SCATTERS, operator

Options = tuple[tuple[str, Any], ...]

# The mode that skips indices out of range has different names in gathers and scatters.
_SCATTER_MODE = {"fill": "drop"}
_GATHER_MODE = {"drop": "fill"}
_GATHER_OF = dict(zip(SCATTERS, ("gather", "gather_elements", "gather_nd"), strict=True))


_GATHER_DEFAULTS = {"mode": "raise", "num_threads": None}
_SCATTER_DEFAULTS = {"reduction": "none", "include_self": True, "accumulate": "step", **_GATHER_DEFAULTS}


def gather(name: str, data: Tensor, indices: Tensor, **options: Any) -> Tensor:
    """Call a gather by name."""
    if (made := call_directly(name, data, indices, None, **options)) is not None:
        return made
    return call(_Gather, name, {"data": data, "indices": indices}, _GATHER_DEFAULTS | options)


def scatter(name: str, data: Tensor, indices: Tensor, updates: Tensor, **options: Any) -> Tensor:
    """Call a scatter by name."""
    if (made := call_directly(name, data, indices, updates, **options)) is not None:
        return made
    inputs = {"data": data, "indices": indices, "updates": updates}
    return call(_Scatter, name, inputs, _SCATTER_DEFAULTS | options)


def call_directly(
    name: str,
    data: Tensor,
    indices: Tensor,
    updates: Tensor | None,
    axis: int = 0,
    batch_dims: int = 0,
    reduction: str = "none",
    include_self: bool = True,
    accumulate: str = "step",
    mode: str = "raise",
    num_threads: int | None = None,
) -> Tensor | None:
    """Run a call on plain tensors that nothing observes or differentiates. None: it has to go another way."""
    if torch.compiler.is_compiling():  # it does not trace calls of the core
        return None
    made = _core.apply_to_tensors(
        name, name, data, indices, updates, axis, batch_dims, reduction, include_self, accumulate, mode, True, None,
        num_threads,
    )  # fmt: skip
    return None if made is NotImplemented else made


def call(function: Any, name: str, inputs: Mapping[str, Tensor | None], options: dict[str, Any]) -> Tensor:
    """Call an operator. ``function`` defines its gradients: a Function of the inputs, the name and the options."""
    tensors = [tensor for tensor in inputs.values() if tensor is not None]
    try:
        if is_differentiated(*tensors):
            return apply(name, function, *inputs.values(), name, tuple(options.items()))  # type: ignore[no-any-return]
        if _is_unobserved(tensors):
            return KERNELS[name](*inputs.values(), **options)
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
    def forward(data: Tensor, indices: Tensor, name: str, options: Options) -> Tensor:
        made = call_directly(name, data, indices, None, **dict(options))
        return operator(name)(data, indices, **dict(options)) if made is None else made

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Tensor) -> None:
        data, indices, ctx.name, ctx.options = inputs
        ctx.shape = data.shape
        ctx.save_for_backward(indices)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        (indices,) = ctx.saved_tensors
        return _compute_gather_gradient(ctx.name, ctx.shape, indices, grad, dict(ctx.options)), None, None, None


@with_plain
class _Scatter(Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(data: Tensor, indices: Tensor, updates: Tensor, name: str, options: Options) -> Tensor:
        made = call_directly(name, data, indices, updates, **dict(options))
        return operator(name)(data, indices, updates, **dict(options)) if made is None else made

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Tensor) -> None:
        data, indices, updates, ctx.name, ctx.options = inputs
        ctx.data_shape, ctx.updates_shape, ctx.updates_type = data.shape, updates.shape, updates.dtype
        nonlinear = dict(ctx.options)["reduction"] in ("mul", "min", "max")
        ctx.save_for_backward(indices, *((data, updates, output) if nonlinear else ()))

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        indices, *saved = ctx.saved_tensors
        options = dict(ctx.options)
        move = make_movement(ctx.name, ctx.data_shape, indices, ctx.updates_shape, options)
        formula = FORMULAS[options["reduction"]]
        of_data, of_updates = formula(move, GradientInputs(*saved) if saved else None, grad)
        return of_data, None, of_updates.to(ctx.updates_type), None, None


def _compute_gather_gradient(
    name: str, shape: Sequence[int], indices: Tensor, grad: Tensor, options: dict[str, Any]
) -> Tensor:
    """Return the gradient of data. An element that was read more than once gets the sum of the gradients."""
    axis, batch_dims, mode = options.get("axis", 0), options.get("batch_dims", 0), options["mode"]
    common = {
        "reduction": "add",
        "accumulate": choose_accumulate(grad),
        "mode": _SCATTER_MODE.get(mode, mode),
        "num_threads": options["num_threads"],
    }
    zeros = grad.new_zeros(shape)
    if name == "gather_elements":
        return scatter("scatter_elements", zeros, indices, grad, axis=axis, **common)
    if name == "gather_nd":
        return scatter("scatter_nd", zeros, with_batch_columns(indices, batch_dims), grad, **common)
    if batch_dims == 0:
        return scatter("scatter_update", zeros, indices, grad, axis=axis, **common)
    # Scatters have no batch dims, so index tuples name them. The axes between them and the indexed axis move behind it.
    axis, batch_dims = axis % len(shape), batch_dims + (indices.ndim if batch_dims < 0 else 0)
    places = range(axis, axis + indices.ndim - batch_dims), range(batch_dims, indices.ndim)
    tuples = with_batch_columns(indices.unsqueeze(-1), batch_dims)
    rows = scatter("scatter_nd", zeros.movedim(axis, batch_dims), tuples, grad.movedim(*map(tuple, places)), **common)
    return rows.movedim(batch_dims, axis)


def make_movement(
    name: str, data_shape: Sequence[int], indices: Tensor, updates_shape: Sequence[int], options: dict[str, Any]
) -> Movement:
    """Return the scatter of a call, and the matching gather, for other values."""
    place: dict[str, Any] = {key: options[key] for key in ("axis", "num_threads") if key in options}
    mode = options["mode"]

    def put(data: Tensor, updates: Tensor, reduction: str = "none", include_self: bool = True) -> Tensor:
        accumulate = "step" if reduction in WITHOUT_ACCUMULATE else choose_accumulate(data)
        how = {"reduction": reduction, "include_self": include_self, "accumulate": accumulate, "mode": mode}
        return scatter(name, data, indices, updates, **place, **how)

    def take(data: Tensor) -> Tensor:
        return gather(_GATHER_OF[name], data, indices, **place, mode=_GATHER_MODE.get(mode, mode))

    def at_end(which: str) -> Tensor:
        return _find_first_or_last(which, name, data_shape, indices, len(updates_shape), place, mode)

    return Movement(put, take, at_end, updates_shape, options["include_self"])


def _find_first_or_last(
    which: str, name: str, data_shape: Sequence[int], indices: Tensor, rank: int, place: dict[str, Any], mode: str
) -> Tensor:
    """Find the updates that are the first ("min") or last ("max") of their place, by scattering their numbers."""
    places, count = tuple(data_shape), tuple(indices.shape)
    behind = 0  # trailing axes of updates, along which the result is constant
    if name == "scatter_nd":
        places, count = (*places[: count[-1]], 1), (*count[:-1], 1)  # data must have at least one axis
        behind = rank - len(count)
    elif name == "scatter_update":
        axis = place["axis"] % len(places)
        places, place = (places[axis],), place | {"axis": 0}
        behind = len(data_shape) - axis - 1
    numbers = torch.arange(1, math.prod(count) + 1, device=indices.device).reshape(count)
    ends = scatter(
        name, numbers.new_zeros(places), indices, numbers, **place, reduction=which, include_self=False, mode=mode
    )
    found = gather(_GATHER_OF[name], ends, indices, **place, mode=_GATHER_MODE.get(mode, mode)) == numbers
    return found[(..., *(None,) * behind)] if behind >= 0 else found.squeeze(-1)


def choose_accumulate(values: Tensor) -> str:
    """Choose a wider type for sums of 16-bit gradients. Rounded after each step, a sum would soon stop growing."""
    return "wide" if values.dtype in HALVES else "step"


def register_gradients(name: str, function: Any, tensors: int) -> None:
    """Register the gradients of an operator for direct calls, as in programs of `torch.export`.

    ``function`` is the Function that `call` uses. The first ``tensors`` inputs of the operator are tensors.
    """

    def setup_context(ctx: Any, inputs: Any, keyword_only_inputs: Any, output: Tensor) -> None:
        ctx.attributes = len(inputs) - tensors
        axis = {"axis": inputs[tensors]} if ctx.attributes else {}
        options = tuple({**axis, **keyword_only_inputs}.items())
        function.setup_context(ctx, (*inputs[:tensors], name, options), output)

    def backward(ctx: Any, grad: Tensor) -> Any:
        return (*function.backward(ctx, grad)[:-2], *(None,) * ctx.attributes)

    torch.library.register_autograd(f"gatherscatter::{name}", backward, setup_context=setup_context)


for _name in GATHERS:
    register_gradients(_name, _Gather, 2)
for _name in SCATTERS:
    register_gradients(_name, _Scatter, 3)
