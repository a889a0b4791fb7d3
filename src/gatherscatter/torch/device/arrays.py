"""The array functions, `tensor_scatter` and `gs.at` on tensors of other devices. They have no gradients."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from gatherscatter.arrays import convert
from gatherscatter.arrays.interop import check_out_tensor, mark_tensor_written, refuse_gradient
from gatherscatter.functions import tensor_scatter as windows
from gatherscatter.functions.index_keys import select
from gatherscatter.torch.device import kernels, tensors

_GATHERS, _INTEGERS = ("gather", "gather_elements", "gather_nd"), ("offsets", "segment_ids", "indptr")


def call(op: str, given: dict[str, Any]) -> Any:
    """Run a function with these arguments. The result is a new tensor, or ``out``."""
    options = dict(given)
    out = options.pop("out", None)
    if op.startswith("at."):
        result = _at(op, options.pop("key"), options, out)
    elif "past_cache" in given:
        result = _tensor_scatter(op, options, out)
    else:
        data = _as_tensors(op, options, "data", "updates", "weights", "indices", *_INTEGERS, out=out)
        if op == "gather_reduce":
            result = kernels.gather_reduce(data, **options)
        else:
            result = (kernels.gather if op in _GATHERS else kernels.scatter)(op, data, **options)
    if out is None:
        return result
    check_out_tensor(op, out, result)
    out.detach().copy_(result)
    return mark_tensor_written(out)


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
            array = convert.as_indices(op, name, value, lists=op.endswith("nd"))
        elif name == names[0]:
            array = convert.as_array(op, name, value)
        else:
            like = tensors.make_placeholder(op, names[0], given[names[0]])
            array = convert.cast(op, name, value, names[0], like)
        given[name] = tensors.as_tensor(array, device)
    first: Tensor = given.pop(names[0])
    return first


def _tensor_scatter(op: str, given: dict[str, Any], out: Any) -> Tensor:
    """Write windows into a cache."""
    past, window = _as_tensors(op, given, "past_cache", "update", out=out), given["write_indices"]
    new = given["update"]
    if isinstance(window, Tensor):
        tensors.check_inputs(op, past_cache=past, write_indices=window)
        window = tensors.copy_to_cpu(op, "write_indices", window)
    if window is not None:
        window = convert.as_indices(op, "write_indices", window)
    tensors.check_inputs(op, past_cache=past, update=new)
    new = tensors.cast(op, "update", new, "past_cache", past)
    axis = windows.normalise_cache_axis(op, given["axis"], past.ndim)
    windows.check_shapes(op, tuple(past.shape), tuple(new.shape), axis, None if window is None else window.shape)
    found = windows.positions_of(op, window, len(past), past.shape[axis], new.shape[axis], given["mode"])
    positions = tensors.as_tensor(found, past.device)
    options = {"batch_dims": 1, "num_threads": given["num_threads"]}
    return kernels.scatter("scatter_update", past, positions, new, axis, mode="drop", op=op, **options)


def _at(op: str, key: tuple[Any, ...], given: dict[str, Any], out: Any) -> Tensor:
    """Read or write the elements that a key names. The key is copied to the CPU, where it is checked."""
    parts = {f"key[{n}]": part for n, part in enumerate(key) if isinstance(part, Tensor)}
    own = _as_tensors(op, given, "data", "values", out=next(iter(parts.values()), out))
    values = given.pop("values", None)
    tensors.check_inputs(op, data=own, values=values)
    for name, part in parts.items():
        tensors.check_inputs(op, **{name: part})
    on_cpu = (tensors.copy_to_cpu(op, "key", part) if isinstance(part, Tensor) else part for part in key)
    chosen = select(op, tensors.make_placeholder(op, "data", own), tuple(on_cpu))
    chosen.refuse(op, tuple(own.shape))
    view, reversed_axes = _without_negative_steps(chosen.view, own.shape)
    indices, places = tensors.as_tensor(chosen.indices, own.device), {"axis": chosen.axis, **given}
    result = own if values is None else own.clone(memory_format=torch.contiguous_format)
    part = result[(*view, ...)]
    source = (part.flip(reversed_axes) if reversed_axes else part).movedim(*chosen.indexed_axes)
    if values is None:
        taken = kernels.gather(chosen.gather, source, indices, mode="fill", **places)
        return taken.movedim(*reversed(chosen.result_axes)).contiguous()
    new = tensors.cast(op, "values", values, "data", own)
    chosen.as_updates(op, tensors.make_placeholder(op, "values", new))  # raises the error about its shape
    new = new.expand(chosen.shape).movedim(*chosen.result_axes)
    written = kernels.scatter(chosen.scatter, source, indices, new, mode="drop", op=op, **places)
    written = written.movedim(*reversed(chosen.indexed_axes))
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
