"""The array functions for JAX.

Their arguments, results and errors are those of the functions of `gatherscatter`, but they have no ``out``. They work
with ``jit``, ``vmap`` and ``grad``, and need the ``jax`` extra. Compiled programs call the kernels through ``jax.ffi``
(docs/jax.md).
"""

from __future__ import annotations

from gatherscatter.system.extras import require
from gatherscatter.system.lazy_modules import attach

with require("jax", text="gatherscatter.jax needs JAX", install="gatherscatter[jax]"):
    import jax as _jax  # noqa: F401

from gatherscatter.jax.array_functions import (
    gather,
    gather_elements,
    gather_nd,
    gather_reduce,
    scatter_elements,
    scatter_nd,
    scatter_update,
)
from gatherscatter.jax.statistics import aggregate

__all__ = [
    "aggregate",
    "gather",
    "gather_elements",
    "gather_nd",
    "gather_reduce",
    "scatter_elements",
    "scatter_nd",
    "scatter_update",
]

__getattr__, __dir__ = attach(__name__)
