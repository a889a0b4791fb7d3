"""The array functions for JAX: under ``jit``, ``vmap`` and ``grad``, with the same arguments, results and errors.

Needs the ``jax`` extra. Compiled programs call the kernels by ``jax.ffi``; see ``docs/jax.md``.
"""

from __future__ import annotations

try:
    import jax as _jax  # noqa: F401
except ModuleNotFoundError as error:
    if error.name != "jax":
        raise
    raise ImportError("gatherscatter.jax needs the 'jax' extra: pip install 'gatherscatter[jax]'") from error

from gatherscatter.jax.functions import (
    gather,
    gather_elements,
    gather_nd,
    scatter_elements,
    scatter_nd,
    scatter_update,
)

__all__ = ["gather", "gather_elements", "gather_nd", "scatter_elements", "scatter_nd", "scatter_update"]
