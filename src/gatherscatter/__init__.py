"""The gather and scatter operators of ONNX and OpenVINO: exact, deterministic, on arrays and on model files."""

from importlib import import_module
from typing import Any

from gatherscatter import _threadpoolctl, onnx, openvino
from gatherscatter._core import gather, gather_elements, gather_nd, scatter_elements, scatter_nd, scatter_update
from gatherscatter.cache import tensor_scatter
from gatherscatter.errors import OpError, OpIndexError, OpTypeError, OpValueError
from gatherscatter.indexing import at
from gatherscatter.inspection import IndexReport, inspect
from gatherscatter.model_interface import ModelError
from gatherscatter.models import run
from gatherscatter.plans import CallPlan, plan
from gatherscatter.prepared import Prepared, prepare
from gatherscatter.settings import num_threads, pool_limit, pool_size, set_num_threads, set_pool_limit
from gatherscatter.tree import gather_tree
from gatherscatter.versions import OpVersion, op, ops

__version__ = "0.1.0"

_threadpoolctl.install()

__all__ = [
    "CallPlan",
    "IndexReport",
    "ModelError",
    "OpError",
    "OpIndexError",
    "OpTypeError",
    "OpValueError",
    "OpVersion",
    "Prepared",
    "at",
    "explain",
    "gather",
    "gather_elements",
    "gather_nd",
    "gather_tree",
    "inspect",
    "num_threads",
    "onnx",
    "op",
    "openvino",
    "ops",
    "plan",
    "pool_limit",
    "pool_size",
    "prepare",
    "run",
    "scatter_elements",
    "scatter_nd",
    "scatter_update",
    "set_num_threads",
    "set_pool_limit",
    "tensor_scatter",
]

_LATER = ("dask", "jax", "torch", "xarray", "zarr")  # imported when first used, with the frameworks that they are for


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return import_module(f"{__name__}.{name}")
    if name == "explain":  # with all that it draws by
        return import_module(f"{__name__}.explaining").explain
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
