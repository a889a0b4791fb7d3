"""tract, an ONNX runtime in Rust."""

from __future__ import annotations

from typing import ClassVar

from gatherscatter_conformance.case import Case
from gatherscatter_conformance.runtimes.onnx_model import IMPORTS, fed_inputs, model_source
from gatherscatter_conformance.runtimes.runtime import NotAskedError, Runtime

_TYPES = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
_FLOATS = ("float16", "float32", "float64")


class Tract(Runtime):
    """A model file, loaded, optimised and run."""

    name: ClassVar[str] = "tract"
    title: ClassVar[str] = "tract"
    package: ClassVar[str] = "tract"
    modules: ClassVar[tuple[str, ...]] = ("tract", "onnx")
    setup: ClassVar[str] = f"import tempfile, tract\n{IMPORTS}"

    def source(self, case: Case) -> str:
        """A model of one node."""
        built = model_source(case)
        fed = fed_inputs(case)
        for array in (*fed.values(), *(case.expected or ())):
            if array.dtype.name not in (*_TYPES, *_FLOATS):
                raise NotAskedError(f"its Python API has no tensors of {case.type}")
        return f"""\
{built}with tempfile.NamedTemporaryFile(suffix=".onnx") as file:
    file.write(model.SerializeToString())
    file.flush()
    loaded = tract.onnx().load(file.name)
got = loaded.into_model().into_runnable().run([{", ".join(fed)}])[0].to_numpy()
"""
