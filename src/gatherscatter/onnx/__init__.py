"""The operators of ONNX, as their specification has them: ``ScatterND(data, indices, updates, opset=18)``.

Needs nothing but NumPy. The modules that work on model files are beside it and need the ``onnx`` extra. Loaded when
first used: `reference_ops`, our operators in ONNX's reference evaluator, and `InferenceSession`, ONNX Runtime with our
kernels.
"""

from typing import Any

from gatherscatter.lazy_modules import load
from gatherscatter.specs.calls import make_domain_functions

_functions = make_domain_functions("onnx")
globals().update(_functions)
__all__ = list(_functions)


def __getattr__(name: str) -> Any:
    return load(__name__, name)
