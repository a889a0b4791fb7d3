"""The call of an explanation as code in other libraries. The variables are the inputs and ``output``."""

from __future__ import annotations

from dataclasses import dataclass

from gatherscatter.explaining.call import ExplainedCall
from gatherscatter.explaining.library_code import by_einx, by_jax, by_numpy, by_pytorch, by_tensorflow
from gatherscatter.explaining.library_code.call import NoCodeError
from gatherscatter.explaining.library_code.quantized_tables import number_lines

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
        lines = code(call)
        if call.table is not None:
            _, arrays, attributes = call.table
            lines = [lines[0], *number_lines(arrays, attributes), *lines[1:]]
        return Equivalent(title, "\n".join(lines))
    except NoCodeError as error:
        return Equivalent(title, None, str(error))
