"""The call of an explanation as code in other libraries. The variables are the inputs and ``output``."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from gatherscatter.explaining.call import ExplainedCall
from gatherscatter.explaining.library_code import by_einx, by_jax, by_numpy, by_pytorch, by_tensorflow
from gatherscatter.explaining.library_code.call import NoCodeError
from gatherscatter.explaining.library_code.quantized_tables import number_lines
from gatherscatter.messages.choices import MODES

LIBRARIES = {
    "numpy": ("NumPy", by_numpy.code),
    "pytorch": ("PyTorch", by_pytorch.code),
    "jax": ("JAX", by_jax.code),
    "tensorflow": ("TensorFlow", by_tensorflow.code),
    "einx": ("einx", by_einx.code),
}


@dataclass(frozen=True)
class Equivalent:
    """The same in another library.

    Attributes
    ----------
    library : its name
    code : a script whose variables are the inputs and ``output``; None if the library has no such function
    reason : why there is no code
    """

    library: str
    code: str | None
    reason: str = ""


def equivalents(call: ExplainedCall) -> dict[str, Equivalent]:
    """The call in every library, by the name of its package."""
    return {key: _equivalent(call, key) for key in LIBRARIES}


def _equivalent(call: ExplainedCall, key: str) -> Equivalent:
    title, code = LIBRARIES[key]
    if call.error is not None:
        return Equivalent(title, None, "the call fails")
    if call.table is not None and key != "numpy":
        return Equivalent(title, None, "it has no quantized tables; the arithmetic is that of the NumPy code")
    try:
        call, skipping = _replace_skipped(call, key)
        lines = code(call)
        lines = [lines[0], *skipping, *lines[1:]]
        if call.table is not None:
            _, arrays, attributes = call.table
            lines = [lines[0], *number_lines(arrays, attributes), *lines[1:]]
        return Equivalent(title, "\n".join(lines))
    except NoCodeError as error:
        return Equivalent(title, None, str(error))


_PREFIXES = {"numpy": "np.{}", "pytorch": "torch.{}", "jax": "jnp.{}", "tensorflow": "tf.{}", "einx": "np.{}"}


def _replace_skipped(call: ExplainedCall, key: str) -> tuple[ExplainedCall, list[str]]:
    """Return the call with indices that are out of range in place of those that are skipped, and the line for that."""
    if call.operation.negative != "skip":
        return call, []
    numbers = [array for array in (call.indices, call.arrays.get("segment_ids")) if array is not None]
    operation = call.operation._replace(negative="end")
    if not any((array < 0).any() for array in numbers):
        return replace(call, operation=operation), []
    call.require(not call.reduces_bags, "members that are skipped have to be removed with a mask first")
    call.require(call.mode not in ("wrap", "clip"), "no library skips some indices and moves others")
    assert call.indices is not None
    sizes, dtype = call.sizes, call.indices.dtype
    call.require(max(sizes) <= np.iinfo(dtype).max, f"the size is no number of {dtype}")
    arrays = call.arrays | {call.name("indices"): np.where(call.indices < 0, sizes, call.indices).astype(dtype)}
    prefix = _PREFIXES[key].format
    array = prefix("array" if key in ("numpy", "jax", "einx") else "tensor" if key == "pytorch" else "constant")
    size = f"{array}({list(sizes)}, indices.dtype)" if call.by_tuple else str(sizes[0])
    size = size.replace(", indices", ", dtype=indices")
    line = f"indices = {prefix('where')}(indices < 0, {size}, indices)"
    return replace(call, operation=operation._replace(mode=MODES[call.is_scatter][-1]), arrays=arrays), [line]
