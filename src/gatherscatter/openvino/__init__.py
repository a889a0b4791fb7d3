"""The operators of OpenVINO, as their specification has them: ``GatherND(data, indices, batch_dims=1, opset=8)``.

Needs nothing but NumPy. Models in OpenVINO's own format are read without the ``openvino`` package, too. Loaded when
first used: `convert`, between ONNX and that format; `extensions` and `op_class`, our operators in OpenVINO itself.
"""

from typing import Any

from gatherscatter.lazy_modules import load
from gatherscatter.specs.calls import make_domain_functions

_functions = make_domain_functions("openvino")
globals().update(_functions)
__all__ = list(_functions)


def __getattr__(name: str) -> Any:
    return load(__name__, name)
