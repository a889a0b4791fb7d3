"""The adapters of JAX."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, ClassVar

import numpy as np

from tests.contract.adapter import COMPOSED, FOUR_BITS, NO_PREPARED, NO_TEXT, TABLES, Adapter, disguise_array
from tests.contract.adjoints import list_differentiable
from tests.contract.calls import Call


class JaxArrays(Adapter):
    """The functions of the package, for arrays of JAX."""

    name = "JAX arrays"
    library = "jax"
    step = 5
    lacks: ClassVar = {**NO_TEXT, "out": "arrays of JAX never change", "gradients": "the array functions have none",
                       "objects": "arrays of JAX have no subclasses"}  # fmt: skip

    @contextmanager
    def context(self) -> Iterator[None]:
        config: Any = importlib.import_module("jax").config
        config.update("jax_enable_x64", True)
        try:
            yield
        finally:
            config.update("jax_enable_x64", False)

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
        "aggregate.num_threads": COMPOSED,
        "casts": "jnp.promote_types decides which types updates can have",
        **dict.fromkeys(("gather_quantized", *TABLES), "quantized tables are read by the array functions"),
        "prepare": NO_PREPARED,
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
        made: list[Any] = jax.block_until_ready(program(given))  # type: ignore[no-untyped-call]
        return made
