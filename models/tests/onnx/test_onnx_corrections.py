"""Operators that the reference evaluator gets wrong and this package gets right, compared with ONNX Runtime."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest

import gatherscatter_models as gm
from tests.support.onnx_graphs import function, model, node

F32, I64 = np.float32, np.int64
RNG = np.random.default_rng(8)
FOUR, THREE = (2, 3, 4, 5), (2, 3, 8)


def floats(*shape: int) -> np.ndarray:
    return RNG.normal(size=shape).astype(F32)


def one_node(made: onnx.NodeProto, x: np.ndarray, constants: Mapping[str, Any], opset: int) -> onnx.ModelProto:
    whole = model([made], {"x": (x.dtype, x.shape)}, dict.fromkeys(made.output, (F32, None)), constants, opset=opset)
    for output in whole.graph.output:
        output.ClearField("type")
    return whole


def check(made: onnx.NodeProto, x: np.ndarray, opset: int, **constants: Any) -> None:
    whole = one_node(made, x, constants, opset)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    expected = onnxruntime.InferenceSession(whole.SerializeToString(), options).run(None, {"x": x})
    for result, array in zip(gm.run(whole, {"x": x}).values(), expected, strict=True):
        assert result.dtype == array.dtype
        np.testing.assert_allclose(result, array, rtol=1e-5, atol=1e-5, strict=True)


STATISTICS = {name: RNG.uniform(0.5, 2, 3).astype(F32) for name in ("scale", "bias", "mean", "variance")}


@pytest.mark.parametrize("rank", [2, 3, 4, 5])
@pytest.mark.parametrize("opset", [7, 9, 13, 14, 18])
@pytest.mark.parametrize("attributes", [{}, {"epsilon": 0.1, "momentum": 0.2}])
def test_batch_normalization(opset: int, rank: int, attributes: dict[str, Any]) -> None:
    x = 3 + 4 * floats(*(2, 3, 4, 5, 6)[:rank])
    check(node("BatchNormalization", "x scale bias mean variance", "y", **attributes), x, opset, **STATISTICS)


@pytest.mark.parametrize("rank", [3, 4, 5])
def test_global_max_pool(rank: int) -> None:
    check(node("GlobalMaxPool", "x", "y"), floats(*(2, 3, 4, 5, 6)[:rank]), 18)


@pytest.mark.parametrize("size", [1, 3, 5])
def test_lrn(size: int) -> None:
    check(node("LRN", "x", "y", size=size, alpha=0.5, beta=0.6, bias=2.0), floats(2, 6, 3, 4), 13)


@pytest.mark.parametrize("p", [1, 2])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_lp_normalization(axis: int, p: int) -> None:
    check(node("LpNormalization", "x", "y", axis=axis, p=p), floats(*FOUR), 18)
    assert not gm.run(one_node(node("LpNormalization", "x", "y"), np.zeros((2, 3), F32), {}, 18), [[[0.0] * 3] * 2])[
        "y"
    ].any()


@pytest.mark.parametrize("op_type", ["Softmax", "LogSoftmax", "Hardmax"])
@pytest.mark.parametrize("opset", [7, 11, 12, 13])
@pytest.mark.parametrize("attributes", [{}, {"axis": 0}, {"axis": 1}, {"axis": 2}, {"axis": -1}])
def test_softmax_and_its_kin(op_type: str, opset: int, attributes: dict[str, int]) -> None:
    if attributes.get("axis", 0) < 0 and opset < 11:
        pytest.skip("negative axes came later")
    check(node(op_type, "x", "y", **attributes), floats(*FOUR), opset)


def test_an_attribute_may_come_from_a_function() -> None:
    body = node("Softmax", "a", "b")
    body.attribute.add(name="axis", ref_attr_name="first", type=onnx.AttributeProto.INT)
    rows = function("own", "Rows", "a", "b", [body], opset=11, attributes=["first"])
    call = node("Rows", "x", "y", first=1)
    call.domain = "own"
    x = floats(*FOUR)
    made = model([call], {"x": (F32, FOUR)}, {"y": (F32, None)}, functions=[rows], domains={"own": 1})
    np.testing.assert_allclose(gm.run(made, [x])["y"].sum(axis=(1, 2, 3)), [1, 1], rtol=1e-6)


@pytest.mark.parametrize("opset", [10, 13, 18, 19])
@pytest.mark.parametrize("dtype", [np.int8, np.uint8])
def test_dequantize_linear(opset: int, dtype: type[np.generic]) -> None:
    x = RNG.integers(0, 100, (2, 3, 4)).astype(dtype)
    check(node("DequantizeLinear", "x scale zero", "y"), x, opset, scale=F32(0.7), zero=dtype(3))
    check(node("DequantizeLinear", "x scale", "y"), x, opset, scale=F32(0.7))
    if opset > 10:
        scale, zero = np.array([0.1, 2, 30], F32), np.arange(3).astype(dtype)
        check(node("DequantizeLinear", "x scale zero", "y", axis=1), x, opset, scale=scale, zero=zero)


@pytest.mark.parametrize(("op_type", "opset"), [("Resize", 10), ("Upsample", 9)])
@pytest.mark.parametrize(
    ("mode", "scales"), [("nearest", [1, 1, 2, 3]), ("linear", [1, 1, 2, 2]), ("linear", [1, 1, 1.5, 3])]
)
def test_resize_before_it_had_regions(op_type: str, opset: int, mode: str, scales: list[float]) -> None:
    check(node(op_type, "x scales", "y", mode=mode), floats(*FOUR), opset, scales=np.array(scales, F32))


def test_upsample_with_an_attribute() -> None:
    x = floats(*FOUR)  # ONNX Runtime does not have any of these
    made = one_node(node("Upsample", "x", "y", scales=[1.0, 1.0, 2.0, 3.0]), x, {}, 8)
    np.testing.assert_array_equal(gm.run(made, [x])["y"], x.repeat(2, axis=2).repeat(3, axis=3))


@pytest.mark.parametrize("opset", [10, 15, 16])
def test_roi_align(opset: int) -> None:
    regions = {"regions": np.array([[0, 0, 4, 4], [1, 1, 6, 7]], F32), "batch": np.zeros(2, I64)}
    sizes = {"output_height": 2, "output_width": 3, "sampling_ratio": 2, "spatial_scale": 0.75}
    check(node("RoiAlign", "x regions batch", "y", **sizes), floats(1, 2, 8, 8), opset, **regions)


@pytest.mark.parametrize(("mode", "opset"), [("bilinear", 16), ("nearest", 16), ("bicubic", 16), ("linear", 20)])
def test_grid_sample(mode: str, opset: int) -> None:
    grid = RNG.uniform(-0.9, 0.9, (1, 4, 3, 2)).astype(F32)
    check(node("GridSample", "x grid", "y", mode=mode), floats(1, 2, 5, 6), opset, grid=grid)


@pytest.mark.parametrize("depth", [4, [4]])
def test_one_hot(depth: Any) -> None:
    x = np.array([[0, -1], [2, 7]])
    check(node("OneHot", "x depth values", "y", axis=1), x, 11, depth=np.array(depth), values=np.array([1, 5], F32))


@pytest.mark.parametrize("mode", ["constant", "edge", "reflect"])
@pytest.mark.parametrize("pads", [[0, 0, 2, 1], [-1, 0, 2, -2], [0, -2, 0, -1]])
def test_pad(mode: str, pads: list[int]) -> None:
    if mode == "reflect" and min(pads) < 0:
        pytest.skip("what is reflected is not defined where something is cut")
    x = floats(4, 6)
    check(node("Pad", "x pads", "y", mode=mode), x, 13, pads=np.array(pads))
    axes = np.array([-1, 0])
    check(node("Pad", "x pads value axes", "y", mode=mode), x, 18, pads=np.array(pads), value=F32(2.5), axes=axes)


KERNELS_1 = [{"kernel_shape": [3]}, {"kernel_shape": [2], "strides": [2]}, {"kernel_shape": [3], "dilations": [2]}]
BOUNDS_1 = [
    {},
    {"pads": [1, 1]},
    {"pads": [0, 1], "ceil_mode": 1},
    {"auto_pad": "SAME_UPPER"},
    {"auto_pad": "SAME_LOWER"},
]
KERNELS_2 = [
    {"kernel_shape": [3, 2]},
    {"kernel_shape": [2, 3], "strides": [2, 3]},
    {"kernel_shape": [2, 2], "strides": [3, 1], "dilations": [1, 2]},
]
BOUNDS_2 = [
    *({}, {"ceil_mode": 1}, {"pads": [0, 1, 0, 1]}, {"pads": [1, 0, 0, 0]}, {"pads": [1, 1, 1, 1], "ceil_mode": 1}),
    *({"auto_pad": "SAME_UPPER"}, {"auto_pad": "SAME_LOWER"}, {"auto_pad": "VALID"}, {"storage_order": 1}),
]


@pytest.mark.parametrize(
    ("shape", "attributes"),
    [
        *((THREE, {**kernel, **bounds}) for kernel in KERNELS_1 for bounds in BOUNDS_1),
        *(((2, 3, 7, 9), {**kernel, **bounds}) for kernel in KERNELS_2 for bounds in BOUNDS_2),
        ((1, 2, 5, 6, 7), {"kernel_shape": [2, 3, 2], "pads": [1, 0, 0, 0, 1, 1], "strides": [1, 2, 1]}),
    ],
)
def test_max_pool(shape: tuple[int, ...], attributes: dict[str, Any]) -> None:
    if "dilations" in attributes and attributes.get("auto_pad", "VALID") != "VALID":
        pytest.skip("ONNX Runtime's output has not the size that the specification says")
    check(node("MaxPool", "x", "y places", **attributes), floats(*shape), 12)
    check(node("MaxPool", "x", "y", **attributes), RNG.integers(-90, -5, shape).astype(np.int8), 12)


@pytest.mark.parametrize("shape", [(2, 6, 5), (2, 6, 5, 4)])
@pytest.mark.parametrize(
    "attributes",
    [
        *({}, {"group": 2}, {"group": 6, "strides": 2}, {"strides": 2, "output_shape": 9}),
        *({"strides": 2, "output_shape": 9, "auto_pad": "SAME_UPPER"}, {"strides": 3, "auto_pad": "SAME_LOWER"}),
        *({"dilations": 2, "pads": 1}, {"strides": 2, "output_padding": 1, "group": 3}),
    ],
)
def test_conv_transpose(shape: tuple[int, ...], attributes: dict[str, Any]) -> None:
    dims, group = len(shape) - 2, attributes.get("group", 1)
    of_dims = {"strides": dims, "dilations": dims, "output_shape": dims, "output_padding": dims, "pads": 2 * dims}
    made = {name: [value] * of_dims[name] if name in of_dims else value for name, value in attributes.items()}
    weight, bias = floats(6, 2, *[3] * dims), floats(2 * group)
    check(node("ConvTranspose", "x weight bias", "y", **made), floats(*shape), 11, weight=weight, bias=bias)
    check(node("ConvTranspose", "x weight", "y", **made), floats(*shape), 11, weight=weight)


GATES, OUTPUTS = {"LSTM": 4, "GRU": 3, "RNN": 1}, {"LSTM": "y last cell", "GRU": "y last", "RNN": "y last"}
STEPS, BATCH, WIDTH, HIDDEN = 6, 3, 4, 5


def recurrent(op_type: str, directions: int) -> dict[str, np.ndarray]:
    gates = GATES[op_type] * HIDDEN
    return {
        "weight": floats(directions, gates, WIDTH),
        "recurrence": floats(directions, gates, HIDDEN),
        "bias": floats(directions, 2 * gates),
    }


@pytest.mark.parametrize("op_type", GATES)
@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize("lengths", [[6, 6, 6], [6, 1, 4]])
@pytest.mark.parametrize("starts", [False, True])
def test_recurrent_operators(op_type: str, direction: str, lengths: list[int], starts: bool) -> None:
    directions = 2 if direction == "bidirectional" else 1
    constants = {**recurrent(op_type, directions), "lengths": np.array(lengths, np.int32)}
    inputs = "x weight recurrence bias lengths"
    if starts:
        constants["start"] = floats(directions, BATCH, HIDDEN)
        inputs += " start"
        if op_type == "LSTM":
            constants |= {"cell_start": floats(directions, BATCH, HIDDEN), "peepholes": floats(directions, 3 * HIDDEN)}
            inputs += " cell_start peepholes"
    made = node(op_type, inputs, OUTPUTS[op_type], hidden_size=HIDDEN, direction=direction)
    check(made, floats(STEPS, BATCH, WIDTH), 11, **constants)


@pytest.mark.parametrize("op_type", GATES)
def test_recurrent_operators_with_the_batch_first(op_type: str) -> None:
    """ONNX Runtime lacks this layout, so the results are compared with the transposed other layout."""
    lengths, x = np.array([2, 6, 3], np.int32), floats(STEPS, BATCH, WIDTH)
    constants = {**recurrent(op_type, 2), "lengths": lengths}
    results = []
    for layout in (0, 1):
        attributes = {"hidden_size": HIDDEN, "direction": "bidirectional", "layout": layout}
        made = node(op_type, "x weight recurrence bias lengths", "y last", **attributes)
        given = x.swapaxes(0, 1) if layout else x
        results.append(gm.run(one_node(made, given, constants, 14), [given]))
    np.testing.assert_array_equal(results[0]["y"].transpose(2, 0, 1, 3), results[1]["y"])
    np.testing.assert_array_equal(results[0]["last"].swapaxes(0, 1), results[1]["last"])


NORMALIZATION = "x scale bias mean variance"


@pytest.mark.parametrize(
    ("made", "opset", "constants", "reason"),
    [
        (node("BatchNormalization", NORMALIZATION, "y a b c d"), 8, STATISTICS, "more than one output isn't supported"),
        (node("BatchNormalization", NORMALIZATION, "y", spatial=0), 8, STATISTICS, "spatial=0 isn't supported"),
        *(
            (node(op_type, "x weight recurrence", "y", **attributes), 11, recurrent(op_type, 1), reason)
            for op_type, attributes, reason in (
                ("LSTM", {"activations": ["Relu", "Tanh", "Tanh"]}, "activations relu, tanh, tanh isn't supported"),
                ("GRU", {"clip": 2.0}, "clip isn't supported"),
                ("LSTM", {"input_forget": 1}, "input_forget isn't supported"),
            )
        ),
    ],
)
def test_what_would_come_out_wrong_is_refused(
    made: onnx.NodeProto, opset: int, constants: dict[str, np.ndarray], reason: str
) -> None:
    x = floats(STEPS, BATCH, WIDTH)
    with pytest.raises(gm.ModelError, match=reason):
        gm.run(one_node(made, x, constants, opset), [x])


def test_batch_normalization_trains_where_an_attribute_says_so() -> None:
    x = floats(5, 3, 7)
    made = node("BatchNormalization", NORMALIZATION, "y new_mean new_variance", training_mode=1, momentum=0.75)
    results = gm.run(one_node(made, x, STATISTICS, 18), [x])
    np.testing.assert_allclose(results["new_mean"], 0.75 * STATISTICS["mean"] + 0.25 * x.mean(axis=(0, 2)), rtol=1e-5)
