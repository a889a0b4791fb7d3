"""Register the kernels as a target of ``jax.ffi``, if the core was built with it."""

from __future__ import annotations

import ctypes
import os
import warnings
from functools import cache

import jax

from gatherscatter import _core

TARGET = "gatherscatter"


@cache
def is_available() -> bool:
    """Return whether compiled programs can call the kernels. Warn once if they can't."""
    fault = _register()
    if fault:
        warnings.warn(
            f"{fault}: every call in a compiled JAX program goes through Python (jax.pure_callback), which is slow. "
            "Build gatherscatter in the environment of this JAX: pip install --no-build-isolation, or with "
            "GATHERSCATTER_JAX=1 set",
            RuntimeWarning,
            stacklevel=2,
        )
    return not fault


def _register() -> str:
    """Register the kernels with JAX. Return the reason if that is not possible."""
    handler = getattr(ctypes.CDLL(_core.__file__), "gatherscatter_jax", None)
    if handler is None:
        return "gatherscatter was built without jax.ffi"
    if os.environ.get("GATHERSCATTER_JAX_FFI") == "0":
        return "GATHERSCATTER_JAX_FFI=0 switches jax.ffi off for gatherscatter"
    try:
        capsule = jax.ffi.pycapsule(handler)  # type: ignore[no-untyped-call]
        jax.ffi.register_ffi_target(TARGET, capsule, platform="cpu")
    except RuntimeError as error:
        return f"gatherscatter was built for a newer JAX ({error})"
    return ""
