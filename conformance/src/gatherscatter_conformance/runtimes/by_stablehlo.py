"""StableHLO: the programs that JAX makes of its recipes, in StableHLO's reference interpreter instead of XLA."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from gatherscatter.explaining.library_code.call import LibraryCall
from gatherscatter_conformance.runtimes.by_jax import Jax, Jax64

# Unused arguments are kept, since the interpreter gets a value for each.
_SETUP = f"""{Jax64.setup}
from jax._src.interpreters import mlir
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo
def interpret(function, *arrays):
    program = str(jax.jit(function, keep_unused=True).lower(*arrays).compiler_ir("stablehlo"))
    with mlir.make_ir_context(), ir.Location.unknown():
        inputs = [ir.DenseElementsAttr.get(array, shape=array.shape) for array in arrays]
        return np.array(stablehlo.eval_module(ir.Module.parse(program), inputs)[0])"""

# JAX can't trace inputs that decide a shape. They are constants of the program.
_CONSTANTS = ("segment_ids", "num_segments")
# The types that the interpreter exchanges with NumPy. Others are exchanged as bits, 4-bit types as float32.
_EXCHANGED = ("bool", "int8", "int16", "int32", "int64", "float16", "float32", "float64")
_SMALL = ("int4", "uint4", "float4_e2m1fn")


class StableHlo(Jax):
    """The program of each recipe, with 64 bits enabled, in ``stablehlo.eval_module``."""

    name: ClassVar[str] = "stablehlo"
    title: ClassVar[str] = "StableHLO's reference interpreter, JAX recipes"
    setup: ClassVar[str] = _SETUP

    def convert_inputs(self, call: LibraryCall) -> list[str]:
        """The head of a function, and a line that restores the types of its arguments."""
        arguments = _arguments(call)
        decoded = [(name, _decode(name, array, "jax.lax")) for name, array in arguments.items()]
        changed = [(name, code) for name, code in decoded if code != name]
        line = f"    {', '.join(name for name, _ in changed)} = {', '.join(code for _, code in changed)}"
        return [f"def call({', '.join(arguments)}):", *([line] if changed else [])]

    def write_body(self, call: LibraryCall) -> list[str]:
        """JAX's function, in the function."""
        return [f"    {line}" for line in super().write_body(call)]

    def convert_result(self, call: LibraryCall) -> list[str]:
        """The end of the function, and its call."""
        arguments = ", ".join(_encode(name, array, "np") for name, array in _arguments(call).items())
        result = _decode(f"interpret(call, {arguments})", call.data, "np")
        return [f"    return {_encode('got', call.data, 'jnp')}", f"got = {result}"]


def _arguments(call: LibraryCall) -> dict[str, np.ndarray]:
    return {name: array for name, array in call.arrays.items() if name not in _CONSTANTS}


def _encode(code: str, array: np.ndarray, library: str) -> str:
    """Return source that converts ``code``, with the type of ``array``, to a type that the interpreter takes."""
    name = array.dtype.name
    if name in _EXCHANGED:
        return code
    if name.startswith("complex"):
        return f"{library}.stack([{code}.real, {code}.imag], -1)"
    return f'{code}.astype("float32")' if name in _SMALL else f'{code}.view("int{8 * array.dtype.itemsize}")'


def _decode(code: str, array: np.ndarray, library: str) -> str:
    """The inverse; JAX's ``view`` as a complex type loses infinities."""
    name = array.dtype.name
    if name in _EXCHANGED:
        return code
    if name.startswith("complex") and library == "jax.lax":
        return f"jax.lax.complex({code}[..., 0], {code}[..., 1])"
    if name.startswith("complex"):
        return f'{code}.view("{name}")[..., 0]'
    return f'{code}.{"astype" if name in _SMALL else "view"}("{name}")'
