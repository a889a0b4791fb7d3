"""The reference evaluator of the onnx package."""

from __future__ import annotations

from typing import ClassVar

from gatherscatter_conformance.case import Case
from gatherscatter_conformance.runtimes.onnx_model import IMPORTS, model_source
from gatherscatter_conformance.runtimes.runtime import NotAskedError, Runtime, row_of


class OnnxReference(Runtime):
    """``onnx.reference.ReferenceEvaluator``."""

    name: ClassVar[str] = "onnx-reference"
    title: ClassVar[str] = "ONNX reference evaluator"
    package: ClassVar[str] = "onnx"
    modules: ClassVar[tuple[str, ...]] = ("onnx",)
    setup: ClassVar[str] = f"{IMPORTS}\nfrom onnx.reference import ReferenceEvaluator"

    def source(self, case: Case) -> str:
        """A model of one node."""
        if row_of(case).domain != "onnx":
            raise NotAskedError("it has operators of ONNX only")
        return model_source(case) + "got = ReferenceEvaluator(model).run(None, feeds)[0]\n"
