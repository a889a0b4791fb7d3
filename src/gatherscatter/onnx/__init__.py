"""The operators of ONNX, as its specification defines them: ``ScatterND(data, indices, updates, opset=18)``.

Models of ONNX are for ``gatherscatter_models.onnx``, in the package gatherscatter-models.

>>> import numpy as np, gatherscatter as gs
>>> gs.onnx.ScatterND(np.zeros(3), np.array([[1], [1]]), np.array([1.0, 2.0]), reduction="add", opset=18)
array([0., 3., 0.])
"""

from gatherscatter.specs.calls import make_domain_functions
from gatherscatter.system.lazy_modules import attach

_functions = make_domain_functions("onnx")
globals().update(_functions)
__all__ = list(_functions)

__getattr__, __dir__ = attach(
    __name__,
    moved={name: f"gatherscatter_models.onnx.{name}" for name in ("InferenceSession", "backend", "reference_ops")},
)
