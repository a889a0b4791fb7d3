"""The operators of OpenVINO, as its specification defines them: ``GatherND(data, indices, batch_dims=1, opset=8)``.

Models of OpenVINO are for ``gatherscatter_models.openvino``, in the package gatherscatter-models.

>>> import numpy as np, gatherscatter as gs
>>> gs.openvino.GatherND(np.array([[10, 11], [20, 21]]), np.array([[1], [0]]), batch_dims=1, opset=8)
array([11, 20])
"""

from gatherscatter.specs.calls import make_domain_functions
from gatherscatter.system.lazy_modules import attach

_functions = make_domain_functions("openvino")
globals().update(_functions)
__all__ = list(_functions)

__getattr__, __dir__ = attach(
    __name__,
    moved={name: f"gatherscatter_models.openvino.{name}" for name in ("convert", "extensions", "op_class")},
)
