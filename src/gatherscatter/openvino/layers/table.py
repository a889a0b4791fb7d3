"""The table: layer type to function. Inputs are positional, attributes keyword-only (see `attributes`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np

from . import elementwise as ew
from . import generate, reductions, shapes, slices
from .operands import Array

Function = Callable[..., Array | tuple[Array, ...]]

LAYERS: Mapping[str, Function] = MappingProxyType(
    {
        "Abs": ew.unary(np.abs),
        "Add": ew.binary(np.add),
        "Broadcast": shapes.broadcast,
        "Ceiling": ew.whole(np.ceil),
        "Clamp": ew.clamp,
        "Concat": slices.concat,
        "Convert": generate.convert,
        "ConvertLike": generate.convert_like,
        "CumSum": reductions.cum_sum,
        "Divide": ew.divide,
        "Equal": ew.comparison(np.equal),
        "Exp": ew.rounded(np.exp),
        "Floor": ew.whole(np.floor),
        "FloorMod": ew.binary(ew.floor_mod),
        "Greater": ew.comparison(np.greater),
        "GreaterEqual": ew.comparison(np.greater_equal),
        "Identity": generate.identity,
        "Less": ew.comparison(np.less),
        "LessEqual": ew.comparison(np.less_equal),
        "Log": ew.rounded(np.log),
        "LogicalAnd": ew.logical(np.logical_and),
        "LogicalNot": ew.logical_not,
        "LogicalOr": ew.logical(np.logical_or),
        "LogicalXor": ew.logical(np.logical_xor),
        "MatMul": reductions.mat_mul,
        "Maximum": ew.binary(np.maximum),
        "Minimum": ew.binary(np.minimum),
        "Mod": ew.binary(ew.mod),
        "Multiply": ew.binary(np.multiply),
        "Negative": ew.unary(np.negative),
        "NonZero": generate.non_zero,
        "NotEqual": ew.comparison(np.not_equal),
        "Pad": slices.pad,
        "Power": ew.binary(np.power),
        "Range": generate.range_4,
        "ReLU": ew.relu,
        "ReduceMax": reductions.reduction(np.max),
        "ReduceMean": reductions.reduction(reductions.mean),
        "ReduceMin": reductions.reduction(np.min),
        "ReduceProd": reductions.reduction(np.prod),
        "ReduceSum": reductions.reduction(np.sum),
        "Reshape": shapes.reshape,
        "Select": ew.select,
        "ShapeOf": shapes.shape_of,
        "Sigmoid": ew.rounded(ew.sigmoid),
        "Sign": ew.unary(np.sign),
        "Slice": slices.slice_8,
        "SoftMax": reductions.softmax,
        "Split": slices.split,
        "Sqrt": ew.rounded(np.sqrt),
        "Squeeze": shapes.squeeze,
        "StridedSlice": slices.strided_slice,
        "Subtract": ew.binary(np.subtract),
        "Tanh": ew.rounded(np.tanh),
        "Tile": shapes.tile,
        "TopK": generate.top_k,
        "Transpose": shapes.transpose,
        "Unsqueeze": shapes.unsqueeze,
        "VariadicSplit": slices.variadic_split,
    }
)

# Spellings of other OpenVINO releases.
ALIASES: Mapping[str, str] = MappingProxyType({"Relu": "ReLU", "Softmax": "SoftMax", "Neg": "Negative"})
