"""The operators of OpenVINO, as its specification defines them: ``GatherND(data, indices, batch_dims=1, opset=8)``.

The operators need NumPy only. Models in OpenVINO's own format (IR) are read by the ``openvino`` package.
`convert` converts models between ONNX and IR. `extensions` and `op_class` add gatherscatter's operators to OpenVINO.
These three are loaded when first used.

>>> import numpy as np, gatherscatter as gs
>>> gs.openvino.GatherND(np.array([[10, 11], [20, 21]]), np.array([[1], [0]]), batch_dims=1, opset=8)
array([11, 20])
"""

from typing import Any

from gatherscatter.lazy_modules import installed_names, load
from gatherscatter.specs.calls import make_domain_functions

_functions = make_domain_functions("openvino")
globals().update(_functions)
__all__ = list(_functions)


def __getattr__(name: str) -> Any:
    return load(__name__, name)


def __dir__() -> list[str]:
    return installed_names(__name__)
