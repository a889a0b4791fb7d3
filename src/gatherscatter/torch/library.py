"""The array functions as operators of ``torch.library``, such as ``torch.ops.gatherscatter.gather``.

The CPU kernel is the array function of the same name. Other devices have kernels in `device`. A fake kernel gives the
compiler the shapes. The gradients are in `functions`, the rules for `torch.vmap` in `batching`. `bags` has the operator
that gathers and reduces.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor

from gatherscatter import _core
from gatherscatter._core import tensor_array
from gatherscatter.arrays.interop import USES_TORCH_OPERATORS, register_tensors
from gatherscatter.errors import OpTypeError
from gatherscatter.specs.table import slots_shape
from gatherscatter.torch import batching
from gatherscatter.torch.device import kernels

register_tensors()

Kernel = Callable[..., Tensor]
KERNELS: dict[str, Kernel] = {}
"""The CPU kernels of the operators, by name."""

_OF_GATHERS = "str mode='raise', int? num_threads=None) -> Tensor"
_OF_SCATTERS = "str reduction='none', bool include_self=True, str accumulate='step', " + _OF_GATHERS

_SIGNATURES = {
    "gather": "(Tensor data, Tensor indices, int axis=0, *, int batch_dims=0, " + _OF_GATHERS,
    "gather_elements": "(Tensor data, Tensor indices, int axis=0, *, " + _OF_GATHERS,
    "gather_nd": "(Tensor data, Tensor indices, *, int batch_dims=0, " + _OF_GATHERS,
    "scatter_update": "(Tensor data, Tensor indices, Tensor updates, int axis=0, *, " + _OF_SCATTERS,
    "scatter_elements": "(Tensor data, Tensor indices, Tensor updates, int axis=0, *, " + _OF_SCATTERS,
    "scatter_nd": "(Tensor data, Tensor indices, Tensor updates, *, " + _OF_SCATTERS,
}
GATHERS, SCATTERS = tuple(_SIGNATURES)[:3], tuple(_SIGNATURES)[3:]


def operator(name: str) -> Any:
    """Return the operator with the name of an array function."""
    return getattr(torch.ops.gatherscatter, name).default


def define(
    name: str, signature: str, kernel: Kernel, on_device: Kernel, fake: Kernel, vmap_rule: Callable[..., Any]
) -> None:
    """Define an operator. Its tensor inputs are positional. ``on_device`` is the kernel for other devices."""
    qualified = f"gatherscatter::{name}"
    torch.library.define(qualified, signature, tags=(torch.Tag.pt2_compliant_tag,))
    KERNELS[name] = on_device if USES_TORCH_OPERATORS else kernel
    torch.library.impl(qualified, "CPU", KERNELS[name])
    torch.library.impl(qualified, "CompositeExplicitAutograd", on_device)
    torch.library.register_fake(qualified, fake)
    torch.library.register_vmap(qualified, vmap_rule)


def check_devices(op: str, data: Tensor, *others: Tensor | None) -> None:
    """Raise TypeError for an input that is not on the device of data."""
    for other in others:
        if other is not None and other.device != data.device:
            text = f"{op}: data is on {data.device}, but another input on {other.device}"
            raise OpTypeError(text, op=op, input="data")


def _fake(name: str) -> Kernel:
    """Return the fake kernel of an operator, for tensors that have shapes but no values."""

    def gather(data: Tensor, indices: Tensor, axis: int = 0, *, batch_dims: int = 0, **_: Any) -> Tensor:
        check_devices(name, data, indices)
        return data.new_empty(slots_shape(name, data.shape, indices.shape, axis, batch_dims))

    def scatter(data: Tensor, indices: Tensor, updates: Tensor, *_: Any, **__: Any) -> Tensor:
        check_devices(name, data, indices, updates)
        return data.new_empty(data.shape)

    return scatter if name in SCATTERS else gather


def _kernel(name: str) -> Kernel:
    """Return the CPU kernel. It skips the conversion of inputs, and falls back to the array function if it has to."""
    call = getattr(_core, name)
    is_scatter = name in SCATTERS

    def kernel(data: Tensor, indices: Tensor, *others: Any, **options: Any) -> Tensor:
        try:
            arrays = [tensor_array(name, "data", data), tensor_array(name, "indices", indices)]
            if is_scatter:
                arrays.append(tensor_array(name, "updates", others[0]))
        except (RuntimeError, TypeError):
            return call(data, indices, *others, **options)  # type: ignore[no-any-return]
        return torch.from_numpy(call(*arrays, *others[is_scatter:], **options))

    return kernel


for _name, _signature in _SIGNATURES.items():
    _on_device = partial(kernels.scatter if _name in SCATTERS else kernels.gather, _name)
    define(_name, _signature, _kernel(_name), _on_device, _fake(_name), batching.RULES[_name])
