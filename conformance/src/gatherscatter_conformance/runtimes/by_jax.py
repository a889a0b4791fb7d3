"""JAX: its versions of NumPy's functions, and ``.at``."""

from __future__ import annotations

from typing import ClassVar

from gatherscatter.explaining.library_code.by_jax import plain_code
from gatherscatter.explaining.library_code.call import LibraryCall
from gatherscatter.specs import ONNX_24
from gatherscatter_conformance.runtimes.recipe import Recipe


class Jax(Recipe):
    """take, take_along_axis, indexing, ``.at[]`` and dynamic_update_slice, in JAX's default of 32 bits."""

    name: ClassVar[str] = "jax"
    title: ClassVar[str] = "JAX recipes"
    package: ClassVar[str] = "jax"
    modules: ClassVar[tuple[str, ...]] = ("jax",)
    setup: ClassVar[str] = "import jax, jax.numpy as jnp"
    types: ClassVar[tuple[str, ...]] = tuple(name for name in ONNX_24 if name != "string")

    def convert_inputs(self, call: LibraryCall) -> list[str]:
        """Lines that make arrays of JAX."""
        return [f"{name} = jnp.asarray({name})" for name in call.arrays]

    def write_body(self, call: LibraryCall) -> list[str]:
        """JAX's function."""
        return plain_code(call)

    def convert_result(self, call: LibraryCall) -> list[str]:
        """The line that makes ``got`` an array of NumPy."""
        return ["got = np.asarray(got)"]


class Jax64(Jax):
    """The same with 64 bits enabled."""

    name: ClassVar[str] = "jax-x64"
    title: ClassVar[str] = "JAX recipes, jax_enable_x64"
    setup: ClassVar[str] = f"{Jax.setup}\njax.config.update('jax_enable_x64', True)"
