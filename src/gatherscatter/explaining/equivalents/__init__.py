"""A call in the words of other libraries: code that runs, on variables named as the inputs; it makes ``output``."""

from __future__ import annotations

from dataclasses import dataclass

from gatherscatter.explaining.call import Call
from gatherscatter.explaining.equivalents import by_einx, by_jax, by_numpy, by_tensorflow, by_torch
from gatherscatter.explaining.equivalents.facts import Facts, NoneSuchError

LIBRARIES = {
    "numpy": ("NumPy", by_numpy.code),
    "pytorch": ("PyTorch", by_torch.code),
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
    code : a script whose variables are the inputs and ``output``; None where there is nothing like it
    reason : why there is not
    """

    library: str
    code: str | None
    reason: str = ""


def equivalents(call: Call) -> dict[str, Equivalent]:
    """The call in every library, by the names that its packages have."""
    why = "the call fails" if call.error is not None else ""
    facts = Facts(call)
    return {key: _equivalent(facts, key, why) for key in LIBRARIES}


def _equivalent(facts: Facts, key: str, why: str) -> Equivalent:
    title, code = LIBRARIES[key]
    try:
        return Equivalent(title, None if why else code(facts), why)
    except NoneSuchError as error:
        return Equivalent(title, None, str(error))
