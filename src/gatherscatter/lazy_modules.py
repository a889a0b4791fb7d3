"""Modules of this package that are imported by name, when they are first needed.

They need other libraries, or take long to import. Modules that are chosen by name are only in this table. A module must
use it to import a module of a higher layer.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

from gatherscatter.extras import find_missing
from gatherscatter.suggestions import name_place, suggest_name

# importing package: {name: module, or module:attribute}; a leading dot means a module below that package
MODULES: dict[str, dict[str, str]] = {
    "gatherscatter": {
        "dask": ".dask",
        "explain": ".explaining:explain",
        "jax": ".jax",
        "torch": ".torch",
        "xarray": ".xarray",
        "zarr": ".zarr",
    },
    # Array functions and op versions for lazy arrays, and for tensors on other devices than the CPU.
    "gatherscatter.arrays.interop": {
        "aggregate": "gatherscatter.dask:aggregate",
        "gather": "gatherscatter.dask:gather",
        "gather_elements": "gatherscatter.dask:gather_elements",
        "gather_nd": "gatherscatter.dask:gather_nd",
        "gather_reduce": "gatherscatter.dask:gather_reduce",
        "scatter_elements": "gatherscatter.dask:scatter_elements",
        "scatter_nd": "gatherscatter.dask:scatter_nd",
        "scatter_update": "gatherscatter.dask:scatter_update",
        "tensor_scatter": "gatherscatter.dask:tensor_scatter",
        "op version": "gatherscatter.dask.versions:call",
        "prepare on device": "gatherscatter.torch.prepared:prepare",
        "on device": "gatherscatter.torch.device.arrays:call",
    },
    "gatherscatter.specs.table": {"call": "gatherscatter.specs.calls:call"},
    # Objects with methods that write them: the modules that write them import their classes.
    "gatherscatter.doctor.examine": {"page": "gatherscatter.doctor.page:page"},
    "gatherscatter.explaining": {"fragment": ".page:fragment", "page": ".page:page", "text": ".text:text"},
    "gatherscatter.onnx": {
        "InferenceSession": ".session:InferenceSession",
        "backend": ".backend",
        "reference_ops": ".evaluator:reference_ops",
    },
    "gatherscatter.torch": {
        "check_export": ".onnx_export.checking:check_export",
        "onnx_translations": ".onnx_export:onnx_translations",
        "segment": ".segment",
    },
    "gatherscatter.openvino": {
        "convert": ".conversion:convert",
        "extensions": ".core_extensions:extensions",
        "op_class": ".extension_ops:op_class",
    },
}

# The libraries without which a name can't be imported.
_NEEDED: dict[str, dict[str, tuple[str, ...]]] = {
    "gatherscatter": {
        "dask": ("dask",),
        "jax": ("jax",),
        "torch": ("torch",),
        "xarray": ("xarray",),
        "zarr": ("zarr", "filelock"),
    },
    "gatherscatter.onnx": dict.fromkeys(("InferenceSession", "backend", "reference_ops"), ("onnx",)),
    "gatherscatter.torch": dict.fromkeys(("check_export", "onnx_translations"), ("onnx", "onnxscript")),
    "gatherscatter.openvino": {"convert": ("onnx",), "extensions": ("openvino",), "op_class": ("openvino",)},
}


def load(package: str, name: str) -> Any:
    """Import the object that a package calls ``name``.

    Raises
    ------
    AttributeError
        The table has no such name. The error suggests a name, or the call that replaces a function of another library.
    ImportError
        A library that the module needs is not installed.
    """
    known = MODULES.get(package, {})
    if name not in known:
        text = f"module {package!r} has no attribute {name!r}"
        if not name.startswith("_"):  # tools look up names with underscores
            text += _find_place(name) or suggest_name(name, public_names(package))
        raise AttributeError(text, name=name)
    return load_place(known[name], package)


def _find_place(name: str) -> str:
    """Return the end of an error about a name that is an operator, or a lazy import of another package."""
    for place in ("gatherscatter", "gatherscatter.onnx", "gatherscatter.openvino"):
        if name in public_names(place):
            return name_place(f"{place}.{name}")
    return ""


def public_names(package: str) -> list[str]:
    """Return the public names of a package: those of ``__all__``, and its lazy imports."""
    module = sys.modules[package]
    lazy = MODULES.get(package, {}) if hasattr(module, "__getattr__") else {}
    return sorted({*getattr(module, "__all__", ()), *lazy, *filter(module.__dict__.__contains__, ("__version__",))})


def installed_names(package: str) -> list[str]:
    """Return the public names of a package without those that need a library which is not installed.

    It is for ``__dir__``. Tools such as `help` read each name that it lists, and an ImportError would end them.
    """
    needed = _NEEDED.get(package, {})
    return [name for name in public_names(package) if not find_missing(needed.get(name, ()))]


def load_place(place: str, package: str | None = None) -> Any:
    """Import ``module`` or ``module:attribute``.

    >>> load_place("math:prod")([2, 3])
    6
    """
    module, _, attribute = place.partition(":")
    found = import_module(module, package)
    return getattr(found, attribute) if attribute else found
