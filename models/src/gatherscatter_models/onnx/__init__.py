"""Models of ONNX, with gatherscatter's kernels.

`InferenceSession` runs them in ONNX Runtime, and `reference_ops` in ONNX's reference evaluator. `backend` is for ONNX's
own tests.
"""

from typing import TYPE_CHECKING

from gatherscatter.system.lazy_modules import attach

if TYPE_CHECKING:
    from gatherscatter_models.onnx import backend as backend
    from gatherscatter_models.onnx.evaluator import reference_ops as reference_ops
    from gatherscatter_models.onnx.session import InferenceSession as InferenceSession

__getattr__, __dir__ = attach(
    __name__,
    {
        "InferenceSession": ".session:InferenceSession",
        "backend": ".backend",
        "reference_ops": ".evaluator:reference_ops",
    },
)
