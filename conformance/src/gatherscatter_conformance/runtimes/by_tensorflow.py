"""TensorFlow: its operations for gathers and scatters."""

from __future__ import annotations

from typing import ClassVar

from gatherscatter.explaining.library_code.by_tensorflow import TYPES, WIDEN, plain_code
from gatherscatter.explaining.library_code.call import LibraryCall
from gatherscatter_conformance.runtimes.recipe import Recipe


class TensorFlow(Recipe):
    """gather, gather_nd, the tensor_scatter_nd functions, and take_along_axis."""

    name: ClassVar[str] = "tensorflow"
    title: ClassVar[str] = "TensorFlow recipes"
    package: ClassVar[str] = "tensorflow"
    modules: ClassVar[tuple[str, ...]] = ("tensorflow",)
    setup: ClassVar[str] = "import tensorflow as tf"
    types: ClassVar[tuple[str, ...]] = TYPES
    widen: ClassVar[str] = WIDEN

    def convert_inputs(self, call: LibraryCall) -> list[str]:
        """Lines that make constants."""
        return [f"{name} = tf.constant({name})" for name in call.arrays]

    def write_body(self, call: LibraryCall) -> list[str]:
        """TensorFlow's function."""
        return plain_code(call)

    def convert_result(self, call: LibraryCall) -> list[str]:
        """Lines that make ``got`` an array of NumPy; TensorFlow holds text as bytes."""
        if call.type != "string":
            return ["got = got.numpy()"]
        return [
            "got = np.array(got.numpy(), object)",
            "got = np.array([text.decode() for text in got.reshape(-1)], object).reshape(got.shape)",
        ]
