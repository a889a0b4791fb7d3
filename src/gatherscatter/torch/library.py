"""The array functions as operators of ``torch.library``, such as ``torch.ops.gatherscatter.gather``.

The CPU kernel is the array function of the same name. Other devices have kernels in `device`. A fake kernel gives the
compiler the shapes. The gradients are in `functions`, the rules for `torch.vmap` in `batching`. `bags` has the operator
that gathers and reduces.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor

from gatherscatter import _core
from gatherscatter._core import tensor_array
from gatherscatter.arrays.torch_tensors import USES_TORCH_OPERATORS
from gatherscatter.errors import OpTypeError
from gatherscatter.operation import BY_INDEX, FUNCTIONS, Kernel, Operation, make_operation
from gatherscatter.specs.table import slots_shape
from gatherscatter.torch import batching
from gatherscatter.torch.device import kernels
from gatherscatter.torch.schemas import SCHEMAS

CpuKernel = Callable[..., Tensor]
CPU_KERNELS: dict[str, CpuKernel] = {}
"""The CPU kernels of the operators, by name."""


def operator(name: str) -> Any:
    """Return the operator with the name of an array function."""
    return getattr(torch.ops.gatherscatter, str(name)).default


def find_options(operation: Operation) -> dict[str, Any]:
    """Return the arguments of an operator of PyTorch that are not tensors."""
    options = {name: getattr(operation, name) for name in _OPTIONS[operation.kernel]}
    if operation.bags is not None:
        options["num_segments"] = operation.bags.num_segments
    return options


_OPTIONS = {
    kernel: tuple(each.name for each in FUNCTIONS[kernel].parameters if each.name in Operation._fields)
    for kernel in map(Kernel, SCHEMAS)
}


class Implementation(NamedTuple):
    """The functions that run an operator. Its tensors are positional."""

    on_cpu: CpuKernel
    on_device: CpuKernel  # other devices
    on_shapes: CpuKernel  # fake tensors
    on_batch: Callable[..., Any]  # the rule for `torch.vmap`


def define(name: str, signature: str, implementation: Implementation) -> None:
    """Define an operator."""
    qualified, on_device = f"gatherscatter::{name}", implementation.on_device
    torch.library.define(qualified, signature, tags=(torch.Tag.pt2_compliant_tag,))
    CPU_KERNELS[name] = on_device if USES_TORCH_OPERATORS else implementation.on_cpu
    torch.library.impl(qualified, "CPU", CPU_KERNELS[name])
    torch.library.impl(qualified, "CompositeExplicitAutograd", on_device)
    torch.library.register_fake(qualified, implementation.on_shapes)
    torch.library.register_vmap(qualified, implementation.on_batch)


def check_devices(op: str, data: Tensor, *others: Tensor | None) -> None:
    """Raise TypeError for an input that is not on the device of data."""
    for other in others:
        if other is not None and other.device != data.device:
            text = f"{op}: data is on {data.device}, but another input on {other.device}"
            raise OpTypeError(text, op=op, input="data")


def _on_shapes(kernel: Kernel) -> CpuKernel:
    """Return the fake kernel of an operator, for tensors that have shapes but no values."""

    def gather(data: Tensor, indices: Tensor, axis: int = 0, *, batch_dims: int = 0, **_: Any) -> Tensor:
        check_devices(kernel, data, indices)
        return data.new_empty(slots_shape(kernel, data.shape, indices.shape, axis, batch_dims))

    def scatter(data: Tensor, indices: Tensor, updates: Tensor, *_: Any, **__: Any) -> Tensor:
        check_devices(kernel, data, indices, updates)
        return data.new_empty(data.shape)

    return scatter if kernel.is_scatter else gather


def _on_cpu(kernel: Kernel) -> CpuKernel:
    """Return the CPU kernel. It skips the conversion of inputs, and falls back to the array function if it has to."""
    call = getattr(_core, kernel)

    def run(data: Tensor, indices: Tensor, *others: Any, **options: Any) -> Tensor:
        try:
            arrays = [tensor_array(kernel, "data", data), tensor_array(kernel, "indices", indices)]
            if kernel.is_scatter:
                arrays.append(tensor_array(kernel, "updates", others[0]))
        except (RuntimeError, TypeError):
            return call(data, indices, *others, **options)  # type: ignore[no-any-return]
        return torch.from_numpy(call(*arrays, *others[kernel.is_scatter :], **options))

    return run


def _on_device(kernel: Kernel) -> CpuKernel:
    """Return the kernel for other devices."""

    def run(*given: Any, **options: Any) -> Tensor:
        tensors, axis = given[: 2 + kernel.is_scatter], given[2 + kernel.is_scatter :]
        return kernels.run(make_operation(kernel, options | {"axis": axis[0]} if axis else options), *tensors)

    return run


for _kernel in BY_INDEX:
    _implementation = Implementation(
        _on_cpu(_kernel), _on_device(_kernel), _on_shapes(_kernel), batching.RULES[_kernel]
    )
    define(_kernel, SCHEMAS[_kernel], _implementation)
