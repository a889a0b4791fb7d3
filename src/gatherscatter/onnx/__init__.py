"""The operators of ONNX, as its specification defines them: ``ScatterND(data, indices, updates, opset=18)``.

The operators need NumPy only. `reference_ops` is for ONNX's reference evaluator, and `InferenceSession` for ONNX
Runtime: both run models with gatherscatter's kernels. They are loaded when first used. They and the modules for model
files need the ``onnx`` extra.

>>> import numpy as np, gatherscatter as gs
>>> gs.onnx.ScatterND(np.zeros(3), np.array([[1], [1]]), np.array([1.0, 2.0]), reduction="add", opset=18)
array([0., 3., 0.])
"""

from typing import Any

from gatherscatter.lazy_modules import installed_names, load
from gatherscatter.specs.calls import make_domain_functions

_functions = make_domain_functions("onnx")
globals().update(_functions)
__all__ = list(_functions)


def __getattr__(name: str) -> Any:
    return load(__name__, name)


def __dir__() -> list[str]:
    return installed_names(__name__)
