"""The table of functions by layer type. Inputs are positional, attributes keyword-only (see `attributes`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np

from gatherscatter_models.openvino.layers import elementwise as ew
from gatherscatter_models.openvino.layers import generate, reductions, shapes, slices
from gatherscatter_models.openvino.layers.operands import Array

Function = Callable[..., Array | tuple[Array, ...]]

LAYERS: Mapping[str, Function] = MappingProxyType(
    {
        "Abs": ew.make_unary(np.abs),
        "Add": ew.make_binary(np.add),
        "Broadcast": shapes.broadcast,
        "Ceiling": ew.make_whole(np.ceil),
        "Clamp": ew.clamp,
        "Concat": slices.concat,
        "Convert": generate.convert,
        "ConvertLike": generate.convert_like,
        "CumSum": reductions.cum_sum,
        "Divide": ew.divide,
        "Equal": ew.make_comparison(np.equal),
        "Exp": ew.make_rounded(np.exp),
        "Floor": ew.make_whole(np.floor),
        "FloorMod": ew.make_binary(ew.floor_mod),
        "Greater": ew.make_comparison(np.greater),
        "GreaterEqual": ew.make_comparison(np.greater_equal),
        "Identity": generate.identity,
        "Less": ew.make_comparison(np.less),
        "LessEqual": ew.make_comparison(np.less_equal),
        "Log": ew.make_rounded(np.log),
        "LogicalAnd": ew.make_logical(np.logical_and),
        "LogicalNot": ew.logical_not,
        "LogicalOr": ew.make_logical(np.logical_or),
        "LogicalXor": ew.make_logical(np.logical_xor),
        "MatMul": reductions.mat_mul,
        "Maximum": ew.make_binary(np.maximum),
        "Minimum": ew.make_binary(np.minimum),
        "Mod": ew.make_binary(ew.mod),
        "Multiply": ew.make_binary(np.multiply),
        "Negative": ew.make_unary(np.negative),
        "NonZero": generate.non_zero,
        "NotEqual": ew.make_comparison(np.not_equal),
        "Pad": slices.pad,
        "Power": ew.make_binary(np.power),
        "Range": generate.range_4,
        "ReLU": ew.relu,
        "ReduceMax": reductions.make_reduction(np.max),
        "ReduceMean": reductions.make_reduction(reductions.mean),
        "ReduceMin": reductions.make_reduction(np.min),
        "ReduceProd": reductions.make_reduction(np.prod),
        "ReduceSum": reductions.make_reduction(np.sum),
        "Reshape": shapes.reshape,
        "Select": ew.select,
        "ShapeOf": shapes.shape_of,
        "Sigmoid": ew.make_rounded(ew.sigmoid),
        "Sign": ew.make_unary(np.sign),
        "Slice": slices.slice_8,
        "SoftMax": reductions.softmax,
        "Split": slices.split,
        "Sqrt": ew.make_rounded(np.sqrt),
        "Squeeze": shapes.squeeze,
        "StridedSlice": slices.strided_slice,
        "Subtract": ew.make_binary(np.subtract),
        "Tanh": ew.make_rounded(np.tanh),
        "Tile": shapes.tile,
        "TopK": generate.top_k,
        "Transpose": shapes.transpose,
        "Unsqueeze": shapes.unsqueeze,
        "VariadicSplit": slices.variadic_split,
    }
)

# The names of other OpenVINO releases.
ALIASES: Mapping[str, str] = MappingProxyType({"Relu": "ReLU", "Softmax": "SoftMax", "Neg": "Negative"})
