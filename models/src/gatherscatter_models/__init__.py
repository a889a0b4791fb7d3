"""Run, convert, check and write model files with the gather and scatter operators: ONNX files and OpenVINO IR.

The operators themselves are in the package ``gatherscatter``.
"""

from typing import TYPE_CHECKING

from gatherscatter.system.lazy_modules import attach
from gatherscatter_models.interface import ModelError
from gatherscatter_models.loading import load, run

if TYPE_CHECKING:
    from gatherscatter_models import doctor as doctor
    from gatherscatter_models import findings as findings
    from gatherscatter_models import onnx as onnx
    from gatherscatter_models import openvino as openvino
    from gatherscatter_models import torch as torch

__version__ = "0.1.0"
__all__ = ["ModelError", "load", "run"]

__getattr__, __dir__ = attach(
    __name__,
    {name: f".{name}" for name in ("doctor", "findings", "onnx", "openvino", "torch")},
    needs={"openvino": ["openvino"], "torch": ["torch", "onnxscript"]},
)
