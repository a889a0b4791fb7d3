"""Register the kernels as targets of ``jax.ffi``."""

from __future__ import annotations

import ctypes
import os
import warnings
from functools import cache
from typing import Any

import jax
import numpy as np

from gatherscatter import _core
from gatherscatter.operation import Operation

TARGET, BAG_TARGET = "gatherscatter", "gatherscatter_bags"
"""The targets: gathers and scatters, and gather_reduce."""

_SYMBOLS = {TARGET: "gatherscatter_jax", BAG_TARGET: "gatherscatter_jax_bags"}  # of jax_ffi.cpp


@cache
def is_available() -> bool:
    """Return whether compiled programs can call the kernels. Warn once if they can't."""
    fault = _register()
    if fault:
        warnings.warn(
            f"{fault}: every call in a compiled JAX program calls Python (jax.pure_callback), which is slow",
            RuntimeWarning,
            stacklevel=2,
        )
    return not fault


def attributes(operation: Operation) -> dict[str, Any]:
    """Return the attributes that both targets have."""
    mode, negative = operation.rule
    return {
        "op": operation.op,
        "reduction": operation.reduction,
        "accumulate": operation.accumulate,
        "mode": mode,
        "negative": negative,
        "num_threads": np.int64(operation.num_threads or 0),
    }


def _register() -> str:
    """Register the kernels with JAX. Return the reason if that is not possible."""
    if os.environ.get("GATHERSCATTER_JAX_FFI") == "0":
        return "GATHERSCATTER_JAX_FFI=0 switches jax.ffi off for gatherscatter"
    library = ctypes.CDLL(_core.__file__)
    jax.local_devices(backend="cpu")  # a backend that starts later would fail, if it refused a target
    try:
        for target, symbol in _SYMBOLS.items():
            capsule = jax.ffi.pycapsule(getattr(library, symbol))  # type: ignore[no-untyped-call]
            jax.ffi.register_ffi_target(target, capsule, platform="cpu")
    except RuntimeError as error:
        return f"this version of JAX refuses the kernels of gatherscatter ({error})"
    return ""
