"""The gather and scatter operators of ONNX and OpenVINO: exact, deterministic and fast."""

import sys

from gatherscatter import _core, errors, microsoft, onnx, openvino
from gatherscatter._core import (
    gather,
    gather_elements,
    gather_nd,
    gather_quantized,
    gather_reduce,
    scatter_elements,
    scatter_nd,
    scatter_update,
)
from gatherscatter.arrays import adapters
from gatherscatter.errors import OpError, OpIndexError, OpMemoryError, OpTypeError, OpValueError
from gatherscatter.functions import array_functions
from gatherscatter.functions.at import at
from gatherscatter.functions.gather_tree import gather_tree
from gatherscatter.functions.inspect import IndexReport, inspect
from gatherscatter.functions.plan import CallPlan, plan
from gatherscatter.functions.prepare import Prepared, prepare
from gatherscatter.functions.settings import (
    num_threads,
    pool_limit,
    pool_size,
    register_threadpoolctl,
    set_num_threads,
    set_pool_limit,
)
from gatherscatter.functions.statistics.aggregate import aggregate
from gatherscatter.functions.tensor_scatter import tensor_scatter
from gatherscatter.specs.table import OpVersion, op, ops
from gatherscatter.system.lazy_modules import attach

__version__ = "0.1.0"

if "threadpoolctl" in sys.modules:
    register_threadpoolctl()

__all__ = [
    "CallPlan",
    "IndexReport",
    "OpError",
    "OpIndexError",
    "OpMemoryError",
    "OpTypeError",
    "OpValueError",
    "OpVersion",
    "Prepared",
    "aggregate",
    "at",
    "explain",  # noqa: F822
    "gather",
    "gather_elements",
    "gather_nd",
    "gather_quantized",
    "gather_reduce",
    "gather_tree",
    "inspect",
    "microsoft",
    "num_threads",
    "onnx",
    "op",
    "openvino",
    "ops",
    "plan",
    "pool_limit",
    "pool_size",
    "prepare",
    "register_threadpoolctl",
    "scatter_elements",
    "scatter_nd",
    "scatter_update",
    "set_num_threads",
    "set_pool_limit",
    "tensor_scatter",
]

__getattr__, __dir__ = attach(
    __name__,
    {name: f".{name}" for name in ("dask", "jax", "torch", "xarray", "zarr")} | {"explain": ".explaining:explain"},
    needs={"zarr": ("zarr", "filelock")} | {name: (name,) for name in ("dask", "jax", "torch", "xarray")},
    moved={name: f"gatherscatter_models.{name}" for name in ("ModelError", "doctor", "findings", "run")}
    | {"models": "gatherscatter_models"},
)
# The adapters of other libraries, by the packages that define their arrays.
adapters.ADAPTERS |= {
    "torch": "gatherscatter.arrays.torch_tensors:TORCH",
    "torch device": "gatherscatter.torch.adapter:DEVICE",
    "jax": "gatherscatter.arrays.jax_arrays:JAX",
    "jaxlib": "gatherscatter.arrays.jax_arrays:JAX",
    "dask": "gatherscatter.dask.adapter:DASK",
}
_core.connect(array_functions.run, errors.report)
