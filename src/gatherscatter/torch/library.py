"""The movements as operators of ``torch.library``: ``torch.ops.gatherscatter.gather(data, indices, axis)`` and so on.

The kernel for the CPU is the array function of the same name. A fake kernel tells shapes to the compiler. Gradients are
in `functions`, what `torch.vmap` does in `batching`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from gatherscatter import _core
from gatherscatter._core import tensor_array
from gatherscatter.errors import OpTypeError
from gatherscatter.specs.table import slots_shape
from gatherscatter.torch import batching

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
    """The operator with the name of an array function."""
    return getattr(torch.ops.gatherscatter, name).default


def _fake(name: str) -> Callable[..., Tensor]:
    """What stands for the operator where there are shapes, but no values."""

    def check_devices(data: Tensor, *others: Tensor) -> None:
        for other in others:
            if other.device != data.device:
                text = f"{name}: data is on {data.device}, but another input on {other.device}"
                raise OpTypeError(text, op=name, input="data")

    def gather(data: Tensor, indices: Tensor, axis: int = 0, *, batch_dims: int = 0, **_: Any) -> Tensor:
        check_devices(data, indices)
        return data.new_empty(slots_shape(name, data.shape, indices.shape, axis, batch_dims))

    def scatter(data: Tensor, indices: Tensor, updates: Tensor, *_: Any, **__: Any) -> Tensor:
        check_devices(data, indices, updates)
        return data.new_empty(data.shape)

    return scatter if name in SCATTERS else gather


def _kernel(name: str) -> Callable[..., Tensor]:
    """The array function, without a look at what its inputs are; whatever is unusual goes the long way."""
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


KERNELS: dict[str, Callable[..., Tensor]] = {}

for _name, _signature in _SIGNATURES.items():
    _qualified = f"gatherscatter::{_name}"
    torch.library.define(_qualified, _signature, tags=(torch.Tag.pt2_compliant_tag,))
    KERNELS[_name] = _kernel(_name)
    torch.library.impl(_qualified, "CPU", KERNELS[_name])
    torch.library.register_fake(_qualified, _fake(_name))
    torch.library.register_vmap(_qualified, batching.RULES[_name])
