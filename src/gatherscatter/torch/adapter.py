"""The adapter for tensors of PyTorch on other devices than the CPU. The functions have no gradients."""

from __future__ import annotations

from typing import Any, ClassVar

import torch
from torch import Tensor

from gatherscatter.arrays import convert
from gatherscatter.arrays.torch_tensors import TorchAdapter, check_out_tensor, refuse_gradient
from gatherscatter.functions import tensor_scatter as windows
from gatherscatter.functions.at import read_key
from gatherscatter.functions.index_keys import select
from gatherscatter.messages.choices import BAG_STATISTICS
from gatherscatter.operation import BY_INDEX, Form, Kernel, Operation, make_operation
from gatherscatter.torch.device import kernels, tensors
from gatherscatter.torch.prepared import prepare

_INTEGERS = ("offsets", "segment_ids", "indptr")
_BY_TUPLES = tuple(kernel for kernel in BY_INDEX if kernel.form == Form.TUPLES)


def _move(op: str, arrays: dict[str, Any], options: dict[str, Any]) -> Tensor:
    """Run a gather or scatter."""
    data = _as_tensors(op, arrays, "data", "updates", "indices", out=arrays.get("out"))
    inputs = {name: arrays[name] for name in ("indices", "updates") if name in arrays}
    return kernels.run(Operation(op, Kernel(op), **options), data, **inputs)


def _gather_reduce(op: str, arrays: dict[str, Any], options: dict[str, Any]) -> Tensor:
    data = _as_tensors(op, arrays, "data", "weights", "indices", *_INTEGERS, out=arrays.get("out"))
    names = ("weights", "indices", *_INTEGERS)
    inputs = {name: arrays.get(name) for name in names}
    operation = make_operation(Kernel.GATHER_REDUCE, options, op)
    return kernels.gather_reduce(operation, data, **inputs, default=options.get("default", 0))


def _needs_cpu(arrays: dict[str, Any], options: dict[str, Any]) -> bool:
    """Whether a call of gather_reduce reads a quantized table or computes a statistic."""
    return arrays.get("scales") is not None or options.get("reduction", "add") in BAG_STATISTICS


def _as_tensors(op: str, given: dict[str, Any], *names: str, out: Any = None) -> Tensor:
    """Replace these arguments by tensors on the device of the others, and return the first one, without its name."""
    found = {name: given[name] for name in names if isinstance(given.get(name), Tensor)}
    device = next(iter(found.values())).device if found else out.device
    for name, tensor in found.items():
        refuse_gradient(op, name, tensor)
    for name in names:
        value = given.get(name)
        if value is None and name in (names[0], "indices", "updates") and name in given and op != "gather_reduce":
            convert.as_array(op, name, None)  # raises the error
        if value is None or isinstance(value, Tensor):
            continue
        if name in ("indices", *_INTEGERS):
            array = convert.as_indices(op, name, value, lists=op in _BY_TUPLES)
        elif name == names[0]:
            array = convert.as_array(op, name, value)
        else:
            like = tensors.make_placeholder(op, names[0], given[names[0]])
            array = convert.cast(op, name, value, names[0], like)
        given[name] = tensors.as_tensor(array, device)
    first: Tensor = given.pop(names[0])
    return first


def _tensor_scatter(op: str, arrays: dict[str, Any], options: dict[str, Any]) -> Tensor:
    """Write windows into a cache."""
    past, window = _as_tensors(op, arrays, "past_cache", "update", out=arrays.get("out")), arrays.get("write_indices")
    new = arrays["update"]
    if isinstance(window, Tensor):
        tensors.check_inputs(op, past_cache=past, write_indices=window)
        window = tensors.copy_to_cpu(op, "write_indices", window)
    if window is not None:
        window = convert.as_indices(op, "write_indices", window)
    tensors.check_inputs(op, past_cache=past, update=new)
    new = tensors.cast(op, "update", new, "past_cache", past)
    axis = windows.normalise_cache_axis(op, options["axis"], past.ndim)
    windows.check_shapes(op, tuple(past.shape), tuple(new.shape), axis, None if window is None else window.shape)
    found = windows.positions_of(op, window, len(past), past.shape[axis], new.shape[axis], options["mode"])
    positions = tensors.as_tensor(found, past.device)
    operation = Operation(
        op, Kernel.SCATTER_UPDATE, axis, batch_dims=1, mode="drop", num_threads=options["num_threads"]
    )
    return kernels.run(operation, past, positions, new)


def _at(op: str, arrays: dict[str, Any], options: dict[str, Any]) -> Tensor:
    """Read or write the elements that a key names. The key is copied to the CPU, where it is checked."""
    key = read_key(arrays)
    parts = {f"key[{n}]": part for n, part in enumerate(key) if isinstance(part, Tensor)}
    own = _as_tensors(op, arrays, "data", "values", out=next(iter(parts.values()), arrays.get("out")))
    values = arrays.get("values")
    tensors.check_inputs(op, data=own, values=values)
    for name, part in parts.items():
        tensors.check_inputs(op, **{name: part})
    on_cpu = (tensors.copy_to_cpu(op, "key", part) if isinstance(part, Tensor) else part for part in key)
    chosen = select(op, tensors.make_placeholder(op, "data", own), tuple(on_cpu))
    chosen.refuse(op, tuple(own.shape))
    view, reversed_axes = _without_negative_steps(chosen.view, own.shape)
    indices = tensors.as_tensor(chosen.indices, own.device)
    result = own if values is None else own.clone(memory_format=torch.contiguous_format)
    part = result[(*view, ...)]
    source = (part.flip(reversed_axes) if reversed_axes else part).movedim(*chosen.indexed_axes)
    if values is None:
        operation = Operation(op, chosen.gather, chosen.axis, mode="fill", **options)
        return kernels.run(operation, source, indices).movedim(*reversed(chosen.result_axes)).contiguous()
    new = tensors.cast(op, "values", values, "data", own)
    chosen.as_updates(op, tensors.make_placeholder(op, "values", new))  # raises the error about its shape
    new = new.expand(chosen.shape).movedim(*chosen.result_axes)
    operation = options["operation"]._replace(kernel=chosen.gather.counterpart, axis=chosen.axis, mode="drop")
    written = kernels.run(operation, source, indices, new).movedim(*reversed(chosen.indexed_axes))
    part.copy_(written.flip(reversed_axes) if reversed_axes else written)
    return result


def _without_negative_steps(view: tuple[Any, ...], shape: torch.Size) -> tuple[list[Any], list[int]]:
    """Return a view without negative steps, which PyTorch does not have, and the axes to reverse in its result."""
    plain: list[Any] = []
    reversed_axes, axis, dim = [], 0, 0
    for part in view:
        if isinstance(part, slice) and part.step is not None and part.step < 0:
            positions = range(shape[axis])[part][::-1]
            part = slice(positions.start, positions.stop, positions.step) if len(positions) else slice(0, 0)
            reversed_axes.append(dim)
        plain.append(part)
        axis += part is not None
        dim += not isinstance(part, int)
    return plain, reversed_axes


def _prepare(op: str, arrays: dict[str, Any], options: dict[str, Any]) -> Any:
    return prepare(arrays["indices"], **options)


class DeviceAdapter(TorchAdapter):
    """Tensors of PyTorch on another device than the CPU. Functions that do not run there refuse them."""

    functions: ClassVar = {
        **dict.fromkeys(BY_INDEX, _move),
        "gather_reduce": _gather_reduce,
        "tensor_scatter": _tensor_scatter,
        "at": _at,
        "prepare": _prepare,
    }

    def run(self, function: str, op: str, arrays: dict[str, Any], options: dict[str, Any], call: Any) -> Any:
        """Run a call. The result is a new tensor, or ``out``."""
        own, out = self.functions.get(function), arrays.get("out")
        if function == Kernel.GATHER_REDUCE and _needs_cpu(arrays, options):
            own = None
        if own is None:
            return self.run_on_numpy(op, arrays, options, call)
        result = own(op, {name: value for name, value in arrays.items() if name != "out"} | {"out": out}, dict(options))
        if out is None:
            return result
        check_out_tensor(op, out, result)
        out.detach().copy_(result)
        return self.finish(out)


DEVICE = DeviceAdapter()
