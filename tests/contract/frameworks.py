"""The adapters of PyTorch and JAX."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from functools import cache, partial
from multiprocessing import get_context
from typing import Any, ClassVar

import numpy as np

from tests.contract.adapter import FOUR_BITS, NO_TEXT, TABLES, Adapter, disguise_array
from tests.contract.adjoints import list_differentiable
from tests.contract.calls import Call

_COMPOSED = "statistics are made of other functions"
_PREPARED = "prepared indices are of the package itself"


class Torch(Adapter):
    """The functions of the package, for tensors."""

    name = "tensors"
    library = "torch"
    lacks: ClassVar = {
        **NO_TEXT,
        **dict.fromkeys(FOUR_BITS, "PyTorch has no numbers of 4 bits"),
        "gradients": "the array functions refuse tensors with gradients",
        **dict.fromkeys(("aggregate.func=len", "aggregate.func=nanlen"), "the counts are read-only: see test_sums.py"),
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
        "aggregate.num_threads": _COMPOSED,
        **dict.fromkeys(("gather_quantized", *TABLES), "quantized tables are read by the array functions"),
        "prepare": _PREPARED,
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


class TorchDevice(GatherscatterTorch):
    """The kernels for other devices. A process runs them on the CPU."""

    name = "torch device"
    lacks: ClassVar = GatherscatterTorch.lacks | {
        "accumulate=exact": "devices have no exact sums of floats",
        "objects": "another process runs the calls",
        "gather_tree": "GatherTree runs on the CPU only",
        **dict.fromkeys(("prepare.gather.out", "prepare.num_threads"), "for tensors on devices, it has no effect"),
    }
    del lacks["prepare"]

    def find(self, function: str) -> Any:
        return Torch().find(function) if function.startswith("prepare.") else super().find(function)

    def rounds(self, call: Call) -> bool:
        return True

    def run(self, call: Call) -> np.ndarray:
        return self.on_device(Adapter.run, self, call)

    def run_all(self, calls: Sequence[Call]) -> list[Any]:
        return self.on_device(Adapter.run_all, self, calls)

    def call_into(self, call: Call, out: np.ndarray | None) -> tuple[Exception | None, np.ndarray]:
        made: tuple[Exception | None, np.ndarray] = self.on_device(Adapter.call_into, self, call, out)
        return made

    def differentiate(self, calls: Sequence[Call], cotangents: Sequence[np.ndarray]) -> list[dict[str, np.ndarray]]:
        made: list[dict[str, np.ndarray]] = self.on_device(GatherscatterTorch.differentiate, self, calls, cotangents)
        return made

    @staticmethod
    def on_device(function: Any, *arguments: Any) -> Any:
        """Call a function in the process."""
        return _device_process().submit(_check_and_call, function, *arguments).result()


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


class JaxArrays(Adapter):
    """The functions of the package, for arrays of JAX."""

    name = "JAX arrays"
    library = "jax"
    step = 5
    lacks: ClassVar = {**NO_TEXT, "out": "arrays of JAX never change", "gradients": "the array functions have none",
                       "objects": "arrays of JAX have no subclasses"}  # fmt: skip

    @contextmanager
    def context(self) -> Iterator[None]:
        import jax

        jax.config.update("jax_enable_x64", True)
        try:
            yield
        finally:
            jax.config.update("jax_enable_x64", False)

    def give(self, array: np.ndarray) -> Any:
        import jax.numpy as jnp

        return jnp.asarray(np.array(array, array.dtype.newbyteorder("=")))

    def take(self, result: Any) -> np.ndarray:
        import jax

        assert isinstance(result, jax.Array)
        return np.asarray(result)


class Jax(JaxArrays):
    name = "JAX"
    step = 5
    module = "gatherscatter.jax"
    lacks: ClassVar = {
        **{name: why for name, why in JaxArrays.lacks.items() if name != "gradients"},
        **dict.fromkeys(("gather_tree", "tensor_scatter"), "gatherscatter.jax does not have it"),
        "aggregate.num_threads": _COMPOSED,
        "casts": "jnp.promote_types decides which types updates can have",
        **dict.fromkeys(("gather_quantized", *TABLES), "quantized tables are read by the array functions"),
        "prepare": _PREPARED,
    }
    del lacks["objects"]

    def disguise(self, kind: str, array: np.ndarray) -> Any:
        return disguise_array(kind, array)

    def differentiate(self, calls: Sequence[Call], cotangents: Sequence[np.ndarray]) -> list[dict[str, np.ndarray]]:
        import jax

        found = []
        with self.context():
            for call, cotangent in zip(calls, cotangents, strict=True):
                inputs = {name: self.give(value) for name, value in call.inputs.items()}
                chosen = {name: inputs.pop(name) for name in list_differentiable(call)}
                function = partial(self.find(call.function), **inputs, **call.options)
                _, pull = jax.vjp(lambda chosen, function=function: function(**chosen), chosen)
                (gradients,) = pull(self.give(cotangent))
                found.append({name: self.take(gradient) for name, gradient in gradients.items()})
        return found


class JaxCompiled(Jax):
    name = "JAX jit"
    errors = (RuntimeError, ValueError)  # JAX decides which one is raised
    step = 3
    lacks: ClassVar = Jax.lacks | {
        **dict.fromkeys(FOUR_BITS, "types of 4 bits are not compiled"),
        "objects": "programs are compiled for arrays",
        "layouts": "programs have their own layouts",
    }

    def call(self, call: Call, **objects: Any) -> Any:
        return self._call_all([call])[0]

    def run_all(self, calls: Sequence[Call]) -> list[Any]:
        with self.context():
            return [self.take(made) for made in self._call_all(calls)]

    def differentiate(self, calls: Sequence[Call], cotangents: Sequence[np.ndarray]) -> list[dict[str, np.ndarray]]:
        import jax

        with self.context():
            inputs = [{name: self.give(value) for name, value in call.inputs.items()} for call in calls]
            chosen = [
                {name: one.pop(name) for name in list_differentiable(call)}
                for one, call in zip(inputs, calls, strict=True)
            ]

            def pull_all(chosen: Any, inputs: Any, cotangents: Any) -> list[Any]:
                made = []
                for call, named, others, cotangent in zip(calls, chosen, inputs, cotangents, strict=True):
                    function = partial(self.find(call.function), **others, **call.options)
                    _, pull = jax.vjp(lambda named, function=function: function(**named), named)
                    made.append(pull(cotangent)[0])
                return made

            found = jax.jit(pull_all)(chosen, inputs, [self.give(each) for each in cotangents])
            return [{name: self.take(gradient) for name, gradient in each.items()} for each in found]

    def _call_all(self, calls: Sequence[Call]) -> list[Any]:
        """Compile one program of all calls."""
        import jax

        functions = [partial(self.find(call.function), **call.options) for call in calls]
        given = [{name: self.give(value) for name, value in call.inputs.items()} for call in calls]
        program = jax.jit(lambda all: [function(**one) for function, one in zip(functions, all, strict=True)])
        made: list[Any] = jax.block_until_ready(program(given))
        return made
