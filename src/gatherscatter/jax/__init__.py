"""The array functions for JAX: under ``jit``, ``vmap`` and ``grad``, with the same arguments, results and errors.

Needs the ``jax`` extra. Compiled programs call the kernels by ``jax.ffi``; see ``docs/jax.md``.
"""

from __future__ import annotations

from gatherscatter.extras import require

with require("jax", text="gatherscatter.jax needs the 'jax' extra", install="gatherscatter[jax]"):
    import jax as _jax  # noqa: F401

from gatherscatter.jax.functions import (
    gather,
    gather_elements,
    gather_nd,
    gather_reduce,
    scatter_elements,
    scatter_nd,
    scatter_update,
)

__all__ = [
    "gather",
    "gather_elements",
    "gather_nd",
    "gather_reduce",
    "scatter_elements",
    "scatter_nd",
    "scatter_update",
]
