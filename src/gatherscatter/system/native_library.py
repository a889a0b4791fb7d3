"""The paths of the native library: the operators for ONNX Runtime, the C interface, and its CMake package."""

from __future__ import annotations

import sys
from pathlib import Path

from gatherscatter import _core

_NAMES = {"darwin": "libgatherscatter.dylib", "win32": "gatherscatter.dll"}


def library_path() -> Path:
    """Return the path of the library, for ``SessionOptions.register_custom_ops_library`` among others.

    >>> library_path().stem.removeprefix("lib")
    'gatherscatter'

    Raises
    ------
    FileNotFoundError
        This installation has no library.
    """
    return _find("lib", _NAMES.get(sys.platform, "libgatherscatter.so"))


def include_folder() -> Path:
    """Return the folder of ``gatherscatter.h``, the C interface.

    >>> (include_folder() / "gatherscatter.h").exists()
    True

    Raises
    ------
    FileNotFoundError
        This installation has no such folder.
    """
    return _find("include")


def cmake_folder() -> Path:
    """The folder of the package file for CMake, for ``gatherscatter_DIR``.

    >>> (cmake_folder() / "gatherscatter-config.cmake").exists()
    True

    Raises
    ------
    FileNotFoundError
        This installation has no such folder.
    """
    return _find("lib", "cmake", "gatherscatter")


def _find(*parts: str) -> Path:
    """A file or folder next to the compiled core. The Python files lie elsewhere in an editable installation."""
    path = Path(_core.__file__).parent.joinpath(*parts)
    if not path.exists():
        raise FileNotFoundError(f"{path} is not installed: build and install gatherscatter again")
    return path
