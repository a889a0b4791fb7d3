"""Corrected operators, for those of the reference evaluator (onnx 1.23) that depart from their specification.

Each class names the opsets at which it replaces the reference evaluator's operator. If that operator does most of the
work, the class calls it and corrects its inputs or outputs.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import onnx
from onnx.reference.op_run import OpRun
from onnx.reference.ops import load_op

from gatherscatter_models.onnx.corrections.loop import Loop
from gatherscatter_models.onnx.corrections.max_pool import MaxPool
from gatherscatter_models.onnx.corrections.recurrent import RECURRENT
from gatherscatter_models.onnx.corrections.regex import RegexFullMatch

EVERY_OPSET = range(1, 1000)


class Correction(OpRun):
    """An operator of the default domain, with the default attributes of the version that it implements."""

    op_domain = ""
    opsets = EVERY_OPSET

    def __init__(self, onnx_node: onnx.NodeProto, run_params: dict[str, Any], schema: Any = None) -> None:
        schema = onnx.defs.get_schema(onnx_node.op_type, run_params["opsets"][""], "")
        super().__init__(onnx_node, run_params, schema)


class BatchNormalization(Correction):
    """Normalizes by the mean and variance it is given; the reference evaluator mixes in those of x (onnx/onnx#8442)."""

    opsets = range(1, 14)

    def __init__(self, onnx_node: onnx.NodeProto, run_params: dict[str, Any], schema: Any = None) -> None:
        super().__init__(onnx_node, run_params, schema)
        if any(onnx_node.output[1:]):
            raise NotImplementedError("BatchNormalization with more than one output isn't supported before opset 14")
        if not getattr(self, "spatial", 1):
            raise NotImplementedError("BatchNormalization with spatial=0 isn't supported")

    def _run(self, x: np.ndarray, *parameters: np.ndarray, epsilon: float, **_: Any) -> tuple[np.ndarray]:
        scale, bias, mean, variance = (value.reshape(-1, *[1] * (x.ndim - 2)) for value in parameters)
        return ((scale * (x - mean) / np.sqrt(variance + epsilon) + bias).astype(x.dtype),)


class GlobalMaxPool(Correction):
    """Accepts any number of dimensions; the reference evaluator expects images (onnx/onnx#7682)."""

    def _run(self, x: np.ndarray) -> tuple[np.ndarray]:
        return (x.max(axis=tuple(range(2, x.ndim)), keepdims=True),)


class LRN(Correction):
    """Normalizes all channels; the reference evaluator normalizes as many channels as the batch has entries."""

    def _run(self, x: np.ndarray, *, alpha: float, beta: float, bias: float, size: int) -> tuple[np.ndarray]:
        squares = np.empty_like(x)
        for channel in range(x.shape[1]):
            near = slice(max(0, channel - (size - 1) // 2), channel + size // 2 + 1)
            squares[:, channel] = (x[:, near] ** 2).sum(axis=1)
        return ((x / (bias + alpha / size * squares) ** beta).astype(x.dtype),)


class LpNormalization(Correction):
    """Adds magnitudes where p is 1; the reference evaluator adds the values."""

    def _run(self, x: np.ndarray, *, axis: int, p: int) -> tuple[np.ndarray]:
        norm = np.linalg.norm(x, ord=p, axis=axis, keepdims=True)
        return (np.divide(x, norm, out=np.zeros_like(x), where=norm != 0),)


class PreparedCorrection(Correction):
    """Calls the reference evaluator's operator of some opset."""

    like: tuple[str, int] | None = None  # operator and opset; None: its own

    def __init__(self, onnx_node: onnx.NodeProto, run_params: dict[str, Any], schema: Any = None) -> None:
        super().__init__(onnx_node, run_params, schema)
        op_type, opset = self.like or (onnx_node.op_type, run_params["opsets"][""])
        self.reference: Any = load_op("", op_type, opset)(onnx_node, run_params)


class _RowwiseCorrection(PreparedCorrection):
    """Treats all dimensions from ``axis`` on as one row; the reference evaluator uses one axis, as in later opsets."""

    opsets = range(1, 13)

    def __init__(self, onnx_node: onnx.NodeProto, run_params: dict[str, Any], schema: Any = None) -> None:
        super().__init__(onnx_node, run_params, schema)
        self.reference.axis = -1

    def _run(self, x: np.ndarray, axis: int) -> tuple[np.ndarray]:
        rows = x.reshape(math.prod(x.shape[:axis]), math.prod(x.shape[axis:]))
        return (self.reference._run(rows)[0].reshape(x.shape),)


class DequantizeLinear(PreparedCorrection):
    """Implements opsets that the reference evaluator lacks."""

    opsets = range(10, 19)
    like = ("DequantizeLinear", 19)

    def _run(self, *inputs: Any, **attributes: Any) -> Any:
        return self.reference._run(*inputs, **attributes)


class Resize(PreparedCorrection):
    """Has scales only; the reference evaluator reads them as a region."""

    opsets = range(10, 11)
    like = ("Resize", 11)

    def _run(self, x: np.ndarray, scales: Any, mode: str) -> Any:
        how = {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor", "mode": mode}
        return self.reference._run(x, None, np.asarray(scales), **how)


class Upsample(Resize):
    """The predecessor of Resize; the reference evaluator ignores a scales attribute, and doesn't interpolate."""

    opsets = range(7, 10)


class RoiAlign(PreparedCorrection):
    """Does not shift regions by half a pixel; the reference evaluator does, as in later opsets."""

    opsets = range(10, 16)

    def _run(self, *inputs: np.ndarray, **attributes: Any) -> Any:
        return self.reference._run(*inputs, coordinate_transformation_mode="output_half_pixel", **attributes)


class GridSample(PreparedCorrection):
    """Accepts the old names of modes; the reference evaluator has those of later opsets only."""

    opsets = range(16, 20)

    def _run(self, *inputs: np.ndarray, mode: str, **attributes: Any) -> Any:
        mode = {"bilinear": "linear", "bicubic": "cubic"}.get(mode, mode)
        return self.reference._run(*inputs, mode=mode, **attributes)


class OneHot(PreparedCorrection):
    """Accepts an array of one element as the depth; the reference evaluator requires a scalar."""

    def _run(self, indices: np.ndarray, depth: Any, values: np.ndarray, axis: int) -> Any:
        return self.reference._run(indices, np.reshape(depth, ()), values, axis=axis)


class Pad(PreparedCorrection):
    """Cuts data at negative pads; the reference evaluator raises an error."""

    opsets = range(11, 1000)
    like = ("Pad", 18)

    def _run(self, x: np.ndarray, pads: Any, value: Any = None, axes: Any = None, *, mode: str) -> Any:
        kept = [slice(None)] * x.ndim
        axes = [*range(x.ndim)] if axes is None else np.asarray(axes).tolist()
        for axis, (before, after) in zip(axes, np.reshape(pads, (2, -1)).T.tolist(), strict=True):
            kept[axis] = slice(max(-before, 0), x.shape[axis] - max(-after, 0))
        return self.reference._run(x[tuple(kept)], np.maximum(pads, 0), value, axes, mode)


class ConvTranspose(PreparedCorrection):
    """Supports groups and an output shape; the reference evaluator fails on both."""

    def _run(
        self, x: np.ndarray, weight: np.ndarray, bias: np.ndarray | None = None, *, group: int, **attributes: Any
    ) -> tuple[np.ndarray]:
        if attributes["output_shape"] is not None:  # then pads are not given, but computed as for SAME_LOWER
            upper = attributes["auto_pad"] == "SAME_UPPER"
            attributes |= {"pads": None, "auto_pad": "SAME_UPPER" if upper else "SAME_LOWER"}
        biases = [None] * group if bias is None else np.split(bias, group)
        parts = [
            self.reference._run(*inputs, group=1, **attributes)[0]
            for inputs in zip(np.split(x, group, axis=1), np.split(weight, group), biases, strict=True)
        ]
        return (np.concatenate(parts, axis=1),)


_CORRECTIONS: list[type[Correction]] = [
    *(BatchNormalization, ConvTranspose, DequantizeLinear, GlobalMaxPool, GridSample, LpNormalization, LRN, OneHot),
    *(Pad, Resize, RoiAlign, Upsample),
    *(
        type(op_type, (_RowwiseCorrection,), {"__module__": __name__})
        for op_type in ("Softmax", "LogSoftmax", "Hardmax")
    ),
]


def corrected_ops(opset: int) -> list[type[OpRun]]:
    """Return the classes that replace those of the reference evaluator at an opset of the default domain."""
    return [Loop, MaxPool, RegexFullMatch, *RECURRENT, *(kind for kind in _CORRECTIONS if opset in kind.opsets)]
