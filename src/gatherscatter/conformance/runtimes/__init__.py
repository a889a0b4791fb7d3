"""The runtimes that can be asked: one file per library."""

from __future__ import annotations

from gatherscatter.conformance.runtimes.runtime import NotAskedError, Runtime
from gatherscatter.lazy_modules import MODULES, load, load_place

__all__ = ["NAMES", "NotAskedError", "Runtime", "find", "installed"]

NAMES = tuple(MODULES[__name__])
"""The runtimes that this package knows."""


def find(name: str) -> Runtime:
    """The runtime of a name, or the class ``module:Class`` of somebody's own.

    >>> from gatherscatter.conformance import runtimes
    >>> runtimes.find("numpy").title
    'NumPy recipes'

    Raises
    ------
    LookupError
        There is none of that name.
    ImportError
        There is no such module.
    """
    if name not in NAMES and not name.partition(":")[2]:
        raise LookupError(f"there is no runtime {name!r}; there are {', '.join(NAMES)}, and module:Class of your own")
    module, _, attribute = name.partition(":")
    made = load(__name__, name) if name in NAMES else getattr(load_place(module), attribute, None)
    if not (isinstance(made, type) and issubclass(made, Runtime)):
        raise LookupError(f"{name!r} is no subclass of gatherscatter.conformance.runtimes.Runtime")
    return made()


def installed() -> list[str]:
    """The names of those whose packages are there."""
    return [name for name in NAMES if not find(name).missing()]
