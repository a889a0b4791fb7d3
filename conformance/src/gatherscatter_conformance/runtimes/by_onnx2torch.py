"""onnx2torch: ONNX models as PyTorch modules."""

from __future__ import annotations

from typing import ClassVar

from gatherscatter.specs import FLOATS, INTEGERS
from gatherscatter_conformance.case import Case
from gatherscatter_conformance.runtimes.onnx_model import IMPORTS, model_source
from gatherscatter_conformance.runtimes.runtime import NotAskedError, Runtime, names_of, row_of

_TYPES = ("bool", *INTEGERS, *FLOATS, "complex64", "complex128")


class Onnx2Torch(Runtime):
    """A converted model, run by PyTorch."""

    name: ClassVar[str] = "onnx2torch"
    title: ClassVar[str] = "onnx2torch, run by PyTorch"
    package: ClassVar[str] = "onnx2torch"
    modules: ClassVar[tuple[str, ...]] = ("onnx2torch", "onnx", "torch")
    setup: ClassVar[str] = f"import onnx2torch, torch\n{IMPORTS}"

    def source(self, case: Case) -> str:
        """A model of one node."""
        if row_of(case).domain != "onnx":
            raise NotAskedError("it converts operators of ONNX only")
        built = model_source(case)
        for array in case.inputs:
            if array is not None and array.dtype.name not in _TYPES:
                raise NotAskedError(f"NumPy and PyTorch exchange no {case.type}")
        given = [name for name, array in zip(names_of(case), case.inputs, strict=False) if array is not None]
        tensors = ", ".join(f"torch.from_numpy({name})" for name in given)
        return f"{built}got = onnx2torch.convert(model)({tensors}).numpy()\n"
