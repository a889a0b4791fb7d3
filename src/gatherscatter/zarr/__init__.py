"""Gathers and scatters on Zarr arrays that are larger than memory: chunk by chunk, in place, and safe against crashes.

The functions have the names of the array functions, and their results are bit-for-bit identical. Scatters change the
array. Indices and updates are in memory, or mapped into memory.
"""

from __future__ import annotations

from gatherscatter.system.extras import require
from gatherscatter.system.lazy_modules import attach

with require("zarr", "filelock", text="gatherscatter.zarr needs Zarr and filelock", install="gatherscatter[zarr]"):
    import filelock  # noqa: F401
    import zarr  # noqa: F401

from gatherscatter.zarr.array_functions import (
    gather,
    gather_elements,
    gather_nd,
    scatter_elements,
    scatter_nd,
    scatter_update,
)
from gatherscatter.zarr.call import Report
from gatherscatter.zarr.journal import JobError

__all__ = [
    "JobError",
    "Report",
    "gather",
    "gather_elements",
    "gather_nd",
    "scatter_elements",
    "scatter_nd",
    "scatter_update",
]
__getattr__, __dir__ = attach(__name__)
