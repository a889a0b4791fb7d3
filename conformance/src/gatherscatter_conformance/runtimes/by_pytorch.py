"""PyTorch: the functions that people use, and that its exporters map to these operators."""

from __future__ import annotations

from typing import ClassVar

from gatherscatter.explaining.library_code.by_pytorch import WIDEN, plain_code
from gatherscatter.explaining.library_code.call import LibraryCall
from gatherscatter.specs import FLOATS, INTEGERS
from gatherscatter_conformance.runtimes.recipe import Recipe

_NARROW = ("float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu")


class PyTorch(Recipe):
    """Indexing, gather, scatter, scatter_reduce, index_put."""

    name: ClassVar[str] = "pytorch"
    title: ClassVar[str] = "PyTorch recipes"
    package: ClassVar[str] = "torch"
    modules: ClassVar[tuple[str, ...]] = ("torch",)
    setup: ClassVar[str] = "import torch"
    types: ClassVar[tuple[str, ...]] = ("bool", *INTEGERS, *FLOATS, "bfloat16", "complex64", "complex128", *_NARROW)
    widen: ClassVar[str] = WIDEN

    def convert_inputs(self, call: LibraryCall) -> list[str]:
        """Lines that make tensors over the arrays' memory."""
        lines = []
        for name, array in call.arrays.items():
            view = name
            if _is_ours(array.dtype.name):
                view = f"{name}.view(np.uint{8 * array.dtype.itemsize})).view(torch.{array.dtype.name}"
            lines.append(f"{name} = torch.from_numpy({view})")
        return lines

    def write_body(self, call: LibraryCall) -> list[str]:
        """PyTorch's function."""
        return plain_code(call)

    def convert_result(self, call: LibraryCall) -> list[str]:
        """Lines that make ``got`` an array of NumPy."""
        if not _is_ours(call.type):
            return ["got = got.numpy()"]
        bits = f"torch.uint{8 * call.data.dtype.itemsize}"
        return ["import ml_dtypes", f"got = got.contiguous().view({bits}).numpy().view(ml_dtypes.{call.type})"]


def _is_ours(name: str) -> bool:
    """Whether PyTorch has the type, but NumPy does not."""
    return name in ("bfloat16", *_NARROW)
