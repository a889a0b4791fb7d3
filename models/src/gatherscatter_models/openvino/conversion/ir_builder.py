"""Build an IR, with methods for the layers that conversions often insert."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from gatherscatter_models.openvino import element_types
from gatherscatter_models.openvino.ir_write import IRWriter, Output

Operand = Output | ArrayLike


class IrBuilder(IRWriter):
    """An `IRWriter` with methods for the layers around gathers and scatters."""

    def elementwise(self, kind: str, *inputs: Operand, like: int = 0) -> Output:
        """Add a layer whose result has the type of one of its inputs."""
        feeding = [one if isinstance(one, Output) else self.constant(one) for one in inputs]
        return self.layer(kind, "opset1", feeding, outputs=[feeding[like].element_type.name])

    def compare(self, kind: str, *inputs: Operand) -> Output:
        """Add a layer with a boolean result."""
        return self.layer(kind, "opset1", inputs, outputs=["boolean"])

    def convert(self, data: Output, dtype: np.dtype) -> Output:
        """Convert to another type."""
        kind = element_types.from_dtype(dtype)
        if kind == data.element_type:
            return data
        return self.layer("Convert", "opset1", [data], attributes={"destination_type": kind.name}, outputs=[kind.name])

    def shape(self, data: Output, axes: int | Sequence[int] | None = None, kind: str = "i64") -> Output:
        """Return the sizes of all axes or of some; a scalar for one axis."""
        whole = self.layer("ShapeOf", "opset3", [data], attributes={"output_type": kind}, outputs=[kind])
        if axes is None:
            return whole
        return self.layer("Gather", "opset8", [whole, np.array(axes, np.int64), np.int64(0)])

    def concat(self, *inputs: Operand) -> Output:
        """Concatenate vectors."""
        return self.layer("Concat", "opset1", inputs, attributes={"axis": 0})

    def reshape(self, data: Output, shape: Operand) -> Output:
        """Reshape the data. No size in ``shape`` has a special meaning."""
        return self.layer("Reshape", "opset1", [data, shape], attributes={"special_zero": False})
