"""NumPy: the expressions that people write for these operators."""

from __future__ import annotations

from typing import ClassVar

from gatherscatter.explaining.library_code.by_numpy import plain_code
from gatherscatter.explaining.library_code.call import LibraryCall
from gatherscatter.specs import NARROW, ONNX_24
from gatherscatter_conformance.runtimes.recipe import Recipe


class Numpy(Recipe):
    """take, take_along_axis, put_along_axis, indexing, and ``at`` of ufuncs."""

    name: ClassVar[str] = "numpy"
    title: ClassVar[str] = "NumPy recipes"
    package: ClassVar[str] = "numpy"
    modules: ClassVar[tuple[str, ...]] = ("numpy",)
    setup: ClassVar[str] = ""
    types: ClassVar[tuple[str, ...]] = (*ONNX_24, *NARROW)

    def write_body(self, call: LibraryCall) -> list[str]:
        """NumPy's function."""
        return plain_code(call)
