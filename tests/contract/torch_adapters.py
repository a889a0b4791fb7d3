"""The adapters of PyTorch."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from multiprocessing import get_context
from typing import Any, ClassVar

import numpy as np

from tests.contract.adapter import COMPOSED, FOUR_BITS, NO_PREPARED, NO_TEXT, TABLES, Adapter, disguise_array
from tests.contract.adjoints import list_differentiable
from tests.contract.calls import Call


class Torch(Adapter):
    """The functions of the package, for tensors."""

    name = "tensors"
    library = "torch"
    lacks: ClassVar = {
        **NO_TEXT,
        **dict.fromkeys(FOUR_BITS, "PyTorch has no numbers of 4 bits"),
        "gradients": "the array functions refuse tensors with gradients",
    }

    def give(self, array: np.ndarray) -> Any:
        import torch

        if any(stride < 0 for stride in array.strides) or not array.dtype.isnative or not array.flags.aligned:
            array = np.array(array, array.dtype.newbyteorder("="))
        array = array if array.flags.writeable and 0 not in array.strides else array.copy()
        own = getattr(torch, array.dtype.name) if array.dtype.isbuiltin == 2 else None
        return torch.from_numpy(array) if own is None else torch.from_numpy(array.view(f"u{array.itemsize}")).view(own)

    def take(self, result: Any) -> np.ndarray:
        import torch

        assert isinstance(result, torch.Tensor)
        name = str(result.dtype).removeprefix("torch.")
        if name == "bfloat16" or name.startswith("float8"):
            made = result.detach().view(torch.uint8 if name.startswith("float8") else torch.uint16).numpy()
            return made.view(name)
        return result.detach().numpy()

    def disguise(self, kind: str, array: np.ndarray) -> Any:
        import torch

        if kind == "a parameter":
            return torch.nn.Parameter(self.give(array), requires_grad=False)
        return self.give(array).as_subclass(_make_subclass()) if kind == "a subclass" else None


@cache
def _make_subclass() -> Any:
    import torch

    return type("Named", (torch.Tensor,), {})


class GatherscatterTorch(Torch):
    name = "torch"
    module = "gatherscatter.torch"
    lacks: ClassVar = {name: why for name, why in Torch.lacks.items() if name != "gradients" and "func" not in name} | {
        "aggregate.num_threads": COMPOSED,
        **dict.fromkeys(("gather_quantized", *TABLES), "quantized tables are read by the array functions"),
        "prepare": NO_PREPARED,
        "gather_reduce.out": "gather_reduce has no out here",
    }

    def differentiate(self, calls: Sequence[Call], cotangents: Sequence[np.ndarray]) -> list[dict[str, np.ndarray]]:
        import torch

        found = []
        for call, cotangent in zip(calls, cotangents, strict=True):
            inputs = {name: self.give(value) for name, value in call.inputs.items()}
            chosen = {name: inputs[name].requires_grad_() for name in list_differentiable(call)}
            made = self.find(call.function)(**inputs, **call.options)
            gradients = torch.autograd.grad(made, list(chosen.values()), self.give(cotangent))
            found.append({name: self.take(gradient) for name, gradient in zip(chosen, gradients, strict=True)})
        return found

    def disguise(self, kind: str, array: np.ndarray) -> Any:
        own = super().disguise(kind, array)
        return disguise_array(kind, array) if own is None else own


class _OnDevice(Torch):
    """Runs calls on the kernels for other devices. A process runs them on the CPU."""

    step = 2
    lacks: ClassVar = {
        "accumulate=exact": "devices have no exact sums of floats",
        "objects": "another process runs the calls",
        **dict.fromkeys(("prepare.gather.out", "prepare.num_threads"), "for tensors on devices, it has no effect"),
    }

    def rounds(self, call: Call) -> bool:
        return True

    def run(self, call: Call, **objects: Any) -> np.ndarray:
        made: np.ndarray = self.on_device(Adapter.run, self, call)
        return made

    def run_all(self, calls: Sequence[Call]) -> list[Any]:
        made: list[Any] = self.on_device(Adapter.run_all, self, calls)
        return made

    def call_into(self, call: Call, out: np.ndarray | None) -> tuple[Exception | None, np.ndarray]:
        made: tuple[Exception | None, np.ndarray] = self.on_device(Adapter.call_into, self, call, out)
        return made

    @staticmethod
    def on_device(function: Any, *arguments: Any) -> Any:
        """Call a function in the process."""
        return _device_process().submit(_check_and_call, function, *arguments).result()


class DeviceTensors(_OnDevice):
    """The functions of the package, for tensors on a device."""

    name = "device tensors"
    lacks: ClassVar = Torch.lacks | _OnDevice.lacks


class TorchDevice(_OnDevice, GatherscatterTorch):
    name = "torch device"
    lacks: ClassVar = GatherscatterTorch.lacks | _OnDevice.lacks
    del lacks["prepare"]

    def find(self, function: str) -> Any:
        return Torch().find(function) if function.startswith("prepare.") else super().find(function)

    def differentiate(self, calls: Sequence[Call], cotangents: Sequence[np.ndarray]) -> list[dict[str, np.ndarray]]:
        made: list[dict[str, np.ndarray]] = self.on_device(GatherscatterTorch.differentiate, self, calls, cotangents)
        return made


def _check_and_call(function: Any, *arguments: Any) -> Any:
    from gatherscatter.arrays.torch_tensors import USES_TORCH_OPERATORS

    assert USES_TORCH_OPERATORS
    return function(*arguments)


@cache
def _device_process() -> ProcessPoolExecutor:
    """Return a process in which tensors on the CPU are processed as those on other devices."""
    pool = ProcessPoolExecutor(1, get_context("spawn"))
    os.environ["GATHERSCATTER_TORCH_OPERATORS"] = "1"
    try:
        pool.submit(int).result()
    finally:
        del os.environ["GATHERSCATTER_TORCH_OPERATORS"]
    return pool
