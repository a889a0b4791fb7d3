"""Names of a package that are imported when they are first used.

Their modules need other libraries, or take long to import.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from gatherscatter.messages.suggestions import name_location, suggest_name
from gatherscatter.system.extras import find_missing, install_command


@dataclass(frozen=True)
class LazyNames:
    """The names of a package that are imported when they are first used.

    Attributes
    ----------
    locations : ``.module`` or ``.module:attribute`` below the package, by name
    needs : the modules of other libraries without which a name can't be imported
    moved : the locations of names that are in another distribution now
    """

    locations: Mapping[str, str] = field(default_factory=dict)
    needs: Mapping[str, Iterable[str]] = field(default_factory=dict)
    moved: Mapping[str, str] = field(default_factory=dict)


ATTACHED: dict[str, LazyNames] = {}
"""The lazy names of each package."""


def attach(
    package: str,
    locations: Mapping[str, str] | None = None,
    *,
    needs: Mapping[str, Iterable[str]] | None = None,
    moved: Mapping[str, str] | None = None,
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return ``__getattr__`` and ``__dir__`` for a package. The parameters are the attributes of `LazyNames`.

    ``__dir__`` leaves out names that need a library which is not installed. Tools such as `help` read each name that it
    lists, and an ImportError would end them.
    """
    ATTACHED[package] = LazyNames(locations or {}, needs or {}, moved or {})

    def load(name: str) -> Any:
        return load_name(package, name)

    def list_names() -> list[str]:
        needed = ATTACHED[package].needs
        return [name for name in public_names(package) if not find_missing(list(needed.get(name, ())))]

    return load, list_names


def load_name(package: str, name: str) -> Any:
    """Import the object that a package calls ``name``.

    Raises
    ------
    AttributeError
        The package has no such name. The error suggests a name, or the call that replaces one of another library.
    ImportError
        A library that the module needs is not installed, or the name is in another distribution now.
    """
    lazy = ATTACHED[package]
    if name in lazy.locations:
        return load_place(lazy.locations[name], package)
    if name in lazy.moved:
        raise moved_error(f"{package}.{name}", lazy.moved[name])
    text = f"module {package!r} has no attribute {name!r}"
    if not name.startswith("_"):  # tools look up names with underscores
        text += _find_location(name) or suggest_name(name, public_names(package))
    raise AttributeError(text, name=name)


def moved_error(old: str, new: str) -> ImportError:
    """Return the error about a name that is in another distribution now."""
    distribution = new.partition(".")[0].replace("_", "-")
    return ImportError(f"{old} is now {new}, in the package {distribution}: {install_command(distribution)}", name=old)


def _find_location(name: str) -> str:
    """Return the end of an error about a name that another package of this library has."""
    for package in ("gatherscatter", "gatherscatter.onnx", "gatherscatter.openvino"):
        if name in public_names(package):
            return name_location(f"{package}.{name}")
    return ""


def public_names(package: str) -> list[str]:
    """Return the public names of a package: those of ``__all__``, and its lazy imports."""
    module = sys.modules[package]
    lazy = ATTACHED[package].locations if package in ATTACHED else {}
    return sorted({*getattr(module, "__all__", ()), *lazy, *filter(module.__dict__.__contains__, ("__version__",))})


def load_place(location: str, package: str | None = None) -> Any:
    """Import ``module`` or ``module:attribute``.

    >>> load_place("math:prod")([2, 3])
    6
    """
    module, _, attribute = location.partition(":")
    found = import_module(module, package)
    return getattr(found, attribute) if attribute else found
