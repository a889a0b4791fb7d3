"""The gather and scatter operators of ONNX and OpenVINO: exact, deterministic, on arrays and on model files."""
# ruff: noqa: E402

import signal
import sys
from itertools import pairwise
from pathlib import Path

_SCRIPTS = ("gatherscatter", "gatherscatter.exe")

# In the command line, Ctrl-C ends the process without a traceback until a command runs (gatherscatter.cli.group). The
# imports below take the first part of that time.
_is_module = sys.argv[:1] == ["-m"] and ("-m", "gatherscatter") in pairwise(sys.orig_argv)
_is_script = sys.argv[:1] in [[word] for word in sys.orig_argv] and Path(sys.argv[0]).name in _SCRIPTS
if (_is_module or _is_script) and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, signal.SIG_DFL)

from typing import Any

from gatherscatter import _threadpoolctl, microsoft, onnx, openvino
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
from gatherscatter.errors import OpError, OpIndexError, OpMemoryError, OpTypeError, OpValueError
from gatherscatter.functions.at import at
from gatherscatter.functions.gather_tree import gather_tree
from gatherscatter.functions.inspect import IndexReport, inspect
from gatherscatter.functions.plan import CallPlan, plan
from gatherscatter.functions.prepare import Prepared, prepare
from gatherscatter.functions.statistics.aggregate import aggregate
from gatherscatter.functions.tensor_scatter import tensor_scatter
from gatherscatter.lazy_modules import installed_names, load
from gatherscatter.model_interface import ModelError
from gatherscatter.models import run
from gatherscatter.settings import num_threads, pool_limit, pool_size, set_num_threads, set_pool_limit
from gatherscatter.specs.table import OpVersion, op, ops

__version__ = "0.1.0"

_threadpoolctl.install()

__all__ = [
    "CallPlan",
    "IndexReport",
    "ModelError",
    "OpError",
    "OpIndexError",
    "OpMemoryError",
    "OpTypeError",
    "OpValueError",
    "OpVersion",
    "Prepared",
    "aggregate",
    "at",
    "explain",
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
    "run",
    "scatter_elements",
    "scatter_nd",
    "scatter_update",
    "set_num_threads",
    "set_pool_limit",
    "tensor_scatter",
]


def __getattr__(name: str) -> Any:
    return load(__name__, name)


def __dir__() -> list[str]:
    return installed_names(__name__)
