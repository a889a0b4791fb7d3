"""The array functions for Dask. They are lazy, work chunk by chunk, and match a call in memory bit for bit.

`gatherscatter.gather` and the other array functions call these functions if one of their arrays is a Dask array. The
functions here have one additional argument: ``plan``.
"""

from __future__ import annotations

from gatherscatter.system.extras import require
from gatherscatter.system.lazy_modules import attach

with require("dask", text="gatherscatter.dask needs Dask", install="gatherscatter[dask]"):
    import dask.array

from gatherscatter.dask.array_functions import (
    gather,
    gather_elements,
    gather_nd,
    gather_reduce,
    scatter_elements,
    scatter_nd,
    scatter_update,
)
from gatherscatter.dask.caches import tensor_scatter
from gatherscatter.dask.statistics import aggregate

__all__ = [
    "aggregate",
    "gather",
    "gather_elements",
    "gather_nd",
    "gather_reduce",
    "scatter_elements",
    "scatter_nd",
    "scatter_update",
    "tensor_scatter",
]

Array = dask.array.Array
__getattr__, __dir__ = attach(__name__)
