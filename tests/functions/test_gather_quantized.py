"""Gathers from block-quantized tables, against the oracle, ONNX's own operators, and ONNX Runtime."""

from __future__ import annotations

import re
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import gatherscatter as gs
from gatherscatter import oracle
from tests.support.byte_order import swapped
from tests.support.quantized import FLOATS, INTEGERS, SCALES, QuantizedCall, draw_call, draw_codes

MODES = ("raise", "wrap", "clip", "fill")
TABLE = np.array([[0x98, 0xBA], [0x08, 0x80]], np.uint8)
FACTORS = np.array([[1.0, 10.0], [0.5, 0.25]], np.float32)


def run(call: QuantizedCall, mode: str = "raise", **options: Any) -> np.ndarray:
    return gs.gather_quantized(*call.inputs, **call.options, mode=mode, **options)


def assert_same(actual: np.ndarray, wanted: np.ndarray) -> None:
    oracle.assert_same(actual, wanted, wanted)


def expected(call: QuantizedCall, mode: str) -> np.ndarray:
    with np.errstate(all="ignore"):
        return oracle.gather_quantized(*call.inputs, **call.options, rule=oracle.IndexRule(mode))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("scale_type", SCALES)
@pytest.mark.parametrize("kind", [*INTEGERS, *FLOATS])
def test_random_calls_have_the_bits_of_the_oracle(kind: str, scale_type: str, mode: str) -> None:
    generator = np.random.default_rng([len(kind), SCALES.index(scale_type), MODES.index(mode)])
    for _ in range(6):
        call = draw_call(generator, kind, scale_type=scale_type, bad=mode != "raise")
        assert_same(run(call, mode), expected(call, mode))


@pytest.mark.parametrize("kind", [*INTEGERS, *FLOATS])
def test_every_code_has_its_value(kind: str) -> None:
    codes = np.arange(256, dtype=np.uint8)
    if kind in ("int4", "uint4"):
        data: np.ndarray = (np.arange(16) - (8 if kind == "int4" else 0)).astype(kind)
    else:
        data = (codes % 16 if kind == "float4_e2m1fn" else codes).view(kind)
    result = gs.gather_quantized(data[:, np.newaxis], np.arange(len(data)), np.ones((len(data), 1), np.float32), bits=8)
    values = data.astype(np.float32)  # the conversions of ml_dtypes
    np.testing.assert_array_equal(result[:, 0], values - 128 if kind == "uint8" else values)


@pytest.mark.parametrize("kind", [*INTEGERS, *FLOATS])
def test_layouts_of_the_arguments_do_not_matter(kind: str) -> None:
    generator = np.random.default_rng(5)
    for _ in range(10):
        call = draw_call(generator, kind)
        wanted = run(call)
        for change in (
            lambda array: array.copy(order="F"),
            lambda array: np.repeat(array, 2, axis=-1)[..., ::2] if array.ndim else array,
            lambda array: np.flip(np.flip(array).copy()) if array.ndim else array,
            lambda array: array.astype(swapped(array.dtype)) if array.itemsize > 1 else array,
        ):
            changed = QuantizedCall(
                *(None if each is None else change(each) for each in call.inputs),  # type: ignore[arg-type]
                call.options,
            )
            result = run(changed)
            assert result.dtype == changed.scales.dtype
            assert_same(result.astype(wanted.dtype), wanted)


def test_the_number_of_threads_does_not_change_bits() -> None:
    generator = np.random.default_rng(7)
    data = generator.integers(0, 256, (500, 96), np.uint8)
    scales, zeros = (
        generator.standard_normal((500, 6)).astype(np.float16),
        generator.integers(0, 256, (500, 3), np.uint8),
    )
    indices = generator.integers(-510, 510, 4000)
    results = [
        gs.gather_quantized(data, indices, scales, zeros, block_size=32, mode="fill", num_threads=n).tobytes()
        for n in (1, 2, 3, 16)
    ]
    assert len(set(results)) == 1


def test_blocks_longer_than_what_is_computed_at_once() -> None:
    generator = np.random.default_rng(9)
    for size, block in ((5000, 0), (5000, 1024), (1537, 512), (2049, 700), (1030, 1)):
        data = generator.integers(0, 256, (3, size), np.uint8)
        blocks = 1 if block == 0 else -(-size // block)
        call = QuantizedCall(
            data,
            np.array([2, 0]),
            generator.standard_normal((3, blocks)).astype(np.float32),
            generator.integers(0, 256, (3, blocks), np.uint8),
            {"axis": 0, "quantize_axis": 1, "block_size": block, "bits": 8},
        )
        assert_same(run(call), expected(call, "raise"))


def test_the_steps_of_onnx_give_the_same_bits() -> None:
    """DequantizeLinear-21 and Gather of ONNX Runtime, on the unpacked table."""
    onnx, onnxruntime = pytest.importorskip("onnx"), pytest.importorskip("onnxruntime")
    generator = np.random.default_rng(11)
    helper, types = onnx.helper, onnx.TensorProto
    for scale_type, element in (("float32", types.FLOAT), ("float16", types.FLOAT16)):
        codes = generator.integers(0, 16, (7, 48), np.uint8)
        zeros = generator.integers(0, 16, (7, 3), np.uint8)
        scales = generator.standard_normal((7, 3)).astype(scale_type)
        indices = np.array([[6, 0], [-1, 3]])
        nodes = [
            helper.make_node("DequantizeLinear", ["codes", "scales", "zeros"], ["table"], axis=1, block_size=16),
            helper.make_node("Gather", ["table", "indices"], ["out"]),
        ]
        inputs = [
            helper.make_tensor_value_info("codes", types.UINT8, [7, 48]),
            helper.make_tensor_value_info("scales", element, [7, 3]),
            helper.make_tensor_value_info("zeros", types.UINT8, [7, 3]),
            helper.make_tensor_value_info("indices", types.INT64, [2, 2]),
        ]
        graph = helper.make_graph(nodes, "steps", inputs, [helper.make_tensor_value_info("out", element, None)])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
        session = onnxruntime.InferenceSession(model.SerializeToString())
        (steps,) = session.run(None, {"codes": codes, "scales": scales, "zeros": zeros, "indices": indices})
        packed = codes[:, ::2] | codes[:, 1::2] << 4
        zero_row = np.pad(zeros, ((0, 0), (0, 1)))
        packed_zeros = zero_row[:, ::2] | zero_row[:, 1::2] << 4
        result = gs.gather_quantized(packed, indices, scales, packed_zeros, quantize_axis=1, block_size=16)
        assert_same(result, steps)


@pytest.mark.parametrize("kind", [*INTEGERS[:1], *INTEGERS[2:], *FLOATS])
def test_random_nodes_have_the_bits_of_onnxruntime(kind: str) -> None:
    """Indices out of range give zeros there, as with ``mode="fill"``."""
    onnx, onnxruntime = pytest.importorskip("onnx"), pytest.importorskip("onnxruntime")
    generator = np.random.default_rng(len(kind))
    helper, attributes = onnx.helper, {"axis": "gather_axis"}
    for number in range(60):
        call = draw_call(
            generator, kind, scale_type=("float32", "float16")[number % 2], bad=True, like_onnxruntime=True
        )
        inputs = dict(zip(("data", "indices", "scales", "zero_points"), call.inputs, strict=True))
        tensors = [to_tensor(onnx, name, array) for name, array in inputs.items() if array is not None]
        node = helper.make_node(
            "GatherBlockQuantized",
            [tensor.name for tensor in tensors],
            ["out"],
            domain="com.microsoft",
            **{attributes.get(name, name): value for name, value in call.options.items()},
        )
        out = helper.make_tensor_value_info("out", helper.np_dtype_to_tensor_dtype(call.scales.dtype), None)
        graph = helper.make_graph([node], "one_node", [], [out], tensors)
        imports = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
        model = helper.make_model(graph, opset_imports=imports, ir_version=10)
        (theirs,) = onnxruntime.InferenceSession(model.SerializeToString()).run(None, {})
        assert_same(run(call, "fill"), theirs)


def to_tensor(onnx: Any, name: str, array: np.ndarray) -> Any:
    """Return a tensor of ONNX. Codes of 4 bits that have a byte each are packed."""
    element, content = onnx.helper.np_dtype_to_tensor_dtype(array.dtype), array
    if array.dtype.name in ("int4", "uint4", "float4_e2m1fn"):
        codes = array.view(np.uint8).reshape(-1) & 15
        codes = np.append(codes, np.zeros(codes.size % 2, np.uint8))
        content = codes[::2] | codes[1::2] << 4
    return onnx.helper.make_tensor(name, element, array.shape, content.tobytes(), raw=True)


def test_packed_bytes_and_int4_are_the_same_numbers() -> None:
    """Docs: a byte is code 2i in its low bits and code 2i + 1 in its high bits."""
    codes = np.random.default_rng(13).integers(0, 16, (5, 32), np.uint8)
    scales = np.linspace(0.5, 2, 10, dtype=np.float32).reshape(5, 2)
    packed = codes[:, ::2] | codes[:, 1::2] << 4
    zeros = np.full((5, 1), 0x88, np.uint8)
    with_bytes = gs.gather_quantized(packed, [4, 0], scales, zeros, block_size=16)
    with_codes = gs.gather_quantized(codes.astype("uint4"), [4, 0], scales, np.full((5, 2), 8, "uint4"), block_size=16)
    signed = gs.gather_quantized((codes.astype(np.int8) - 8).astype("int4"), [4, 0], scales, block_size=16)
    assert_same(with_bytes, with_codes)
    assert_same(with_bytes, signed)
    assert_same(with_bytes, gs.gather_quantized(packed, [4, 0], scales, block_size=16))


@pytest.mark.parametrize("mode", ["raise", "fill"])
def test_out_is_written_or_left_alone(mode: str) -> None:
    out = np.full((3, 4), 7, np.float32)
    assert gs.gather_quantized(TABLE, [0, 1, 0], FACTORS, block_size=2, mode=mode, out=out) is out
    assert_same(out, gs.gather_quantized(TABLE, [0, 1, 0], FACTORS, block_size=2))
    views = np.zeros((3, 8), np.float32)[:, ::2], np.zeros((4, 3), np.float32).T
    for view in views:
        gs.gather_quantized(TABLE, [0, 1, 0], FACTORS, block_size=2, mode=mode, out=view)
        np.testing.assert_array_equal(view, out)
    before = out.copy()
    for wrong in (lambda: gs.gather_quantized(TABLE, [0, 1, 2], FACTORS, block_size=2, out=out),
                  lambda: gs.gather_quantized(TABLE, [0, 1, 0], FACTORS, block_size=4, out=out)):  # fmt: skip
        with pytest.raises(gs.OpError):
            wrong()
        assert_same(out, before)
    shared = np.zeros(12, np.float32)
    factors = shared[:4].reshape(2, 2)
    factors[...] = FACTORS
    gs.gather_quantized(TABLE, [0, 1, 0], factors, block_size=2, out=shared.reshape(3, 4))
    np.testing.assert_array_equal(shared.reshape(3, 4), out)


def test_scales_can_be_lists() -> None:
    wanted = gs.gather_quantized(TABLE, [1, 0], FACTORS, block_size=2)
    assert_same(gs.gather_quantized(TABLE, [1, 0], FACTORS.tolist(), block_size=2), wanted)


WRONG: dict[str, tuple[dict[str, Any], type[Exception], str]] = {
    "data": (
        {"data": TABLE.astype(np.int64)},
        TypeError,
        "data must hold codes of one of the types uint8, .*, not int64",
    ),
    "scales": ({"scales": FACTORS.astype(np.float64)}, TypeError, "scales must be of .*bfloat16, not float64"),
    "zero points of another type": (
        {"zero_points": np.zeros((2, 1), np.int8)},
        TypeError,
        "zero_points must have the type of data, uint8, not int8",
    ),
    "indices": ({"indices": [0.5]}, TypeError, "indices must be integers"),
    "an index": ({"indices": [[0, 2]]}, IndexError, re.escape("indices[0, 1] = 2 is out of range")),
    "bits": ({"bits": 3}, ValueError, "bits must be 2, 4 or 8, not 3"),
    "block_size": ({"block_size": -1}, ValueError, "block_size must be the length of a block"),
    "axis": ({"axis": 2}, ValueError, "axis 2 is out of range for data of rank 2"),
    "quantize_axis": ({"quantize_axis": -3}, ValueError, "quantize_axis -3 is out of range"),
    "packed": ({"axis": 1}, ValueError, "the last axis, along which bytes hold several codes of 4 bits"),
    "shape of scales": ({"block_size": 4}, ValueError, re.escape("scales has shape (2, 2), but must have (2, 1)")),
    "rank of scales": ({"scales": FACTORS[0]}, ValueError, re.escape("scales has shape (2,), but must have (2, 2)")),
    "shape of zero points": (
        {"zero_points": np.zeros((2, 2), np.uint8)},
        ValueError,
        re.escape("zero_points has shape (2, 2), but must have (2, 1)"),
    ),
    "zero points of floats": (
        {"data": np.zeros((2, 4), "float8_e5m2"), "zero_points": np.zeros((2, 2), "float8_e5m2")},
        ValueError,
        "zero_points must not be given for data of floats",
    ),
    "mode": ({"mode": "drop"}, ValueError, "mode must be one of 'raise', 'wrap', 'clip', 'fill'"),
    "rank": ({"data": np.uint8(3)}, ValueError, "data must have at least one dimension"),
    "threads": ({"num_threads": 0}, ValueError, "num_threads"),
    "out": (
        {"out": np.zeros((2, 3), np.float32)},
        ValueError,
        re.escape("out has shape (2, 3), but the result has (2, 4)"),
    ),
    "type of out": ({"out": np.zeros((2, 4))}, TypeError, "out has type float64, but the result has float32"),
    "keyword": ({"zero_point": None}, TypeError, "zero_points"),
}


@pytest.mark.parametrize("name", WRONG)
def test_mistakes_are_explained(name: str) -> None:
    changes, error, text = WRONG[name]
    arguments: dict[str, Any] = {"data": TABLE, "indices": [0, 1], "scales": FACTORS, "block_size": 2} | changes
    with pytest.raises(error, match=text) as caught:
        gs.gather_quantized(**arguments)
    assert str(caught.value).startswith("gather_quantized")


def test_empty_tables_and_indices() -> None:
    scales = np.ones((3, 0), np.float32)
    assert gs.gather_quantized(np.zeros((3, 0), np.uint8), [2, 1], scales, block_size=16).shape == (2, 0)
    with pytest.raises(IndexError):
        gs.gather_quantized(np.zeros((3, 0), np.uint8), [3], scales, block_size=16)
    empty, none = np.zeros((0, 4), np.uint8), np.zeros((0, 1), np.float32)
    assert gs.gather_quantized(empty, np.zeros((2, 0), int), none, block_size=16).shape == (2, 0, 8)
    assert not gs.gather_quantized(empty, [0, 5], none, block_size=16, mode="fill").any()
    with pytest.raises(IndexError):
        gs.gather_quantized(empty, [0], none, block_size=16, mode="clip")


def test_bytes_of_ml_dtypes_with_other_bits_set() -> None:
    """ml_dtypes ignores the high bits of a byte that holds 4 bits."""
    codes = draw_codes(np.random.default_rng(1), "uint8", (4, 16))
    for kind in ("uint4", "int4", "float4_e2m1fn"):
        data = codes.view(kind)
        result = gs.gather_quantized(data, [0, 3], np.ones((4, 1), ml_dtypes.bfloat16), block_size=16)
        clean = gs.gather_quantized((codes & 15).view(kind), [0, 3], np.ones((4, 1), ml_dtypes.bfloat16), block_size=16)
        assert_same(result, clean)


# ---------------------------------------------------------------------------------------- bags of quantized tables

BAG_REDUCTIONS = ("add", "mul", "min", "max", "mean")


@pytest.mark.parametrize("reduction", BAG_REDUCTIONS)
@pytest.mark.parametrize("scale_type", SCALES)
@pytest.mark.parametrize("kind", ["uint8", "int4", "float8_e4m3fn"])
def test_bags_have_the_bits_of_two_steps(kind: str, scale_type: str, reduction: str) -> None:
    generator = np.random.default_rng([len(kind), SCALES.index(scale_type), BAG_REDUCTIONS.index(reduction)])
    for _ in range(8):
        call = draw_call(generator, kind, scale_type=scale_type)
        axes = {name: call.options[name] for name in ("quantize_axis", "block_size", "bits")}
        table = {"scales": call.scales, "zero_points": call.zero_points, **axes}
        rows = call.data.shape[0]
        if kind == "uint8" and call.data.ndim == 1 and axes["bits"] < 8:
            continue
        numbers = gs.gather_quantized(*call.inputs[:1], np.arange(rows), *call.inputs[2:], **axes)
        members = generator.integers(-rows - 1, rows + 1, int(generator.integers(1, 40)))
        weights = generator.standard_normal(members.shape).astype(scale_type) if generator.random() < 0.5 else None
        options: dict[str, Any] = {"weights": weights, "reduction": reduction, "mode": "fill"}
        if reduction in ("add", "mean"):
            options["accumulate"] = str(generator.choice(["step", "exact", "wide"]))
        offsets = np.sort(generator.integers(0, len(members) + 1, 6))
        offsets[0] = 0
        ids = generator.integers(0, 5, len(members))
        for bags in ({"offsets": offsets}, {"segment_ids": ids, "num_segments": 5}):
            default = numbers[0] if generator.random() < 0.5 else np.asarray(2, scale_type)
            wanted = gs.gather_reduce(numbers, members, **bags, **options, default=default)
            result = gs.gather_reduce(call.data, members, **bags, **options, **table, default=default)
            assert_same(result, wanted)
            out = np.empty_like(wanted)
            gs.gather_reduce(call.data, members, **bags, **options, **table, default=default, out=out, num_threads=3)
            assert_same(out, wanted)


@pytest.mark.parametrize("scale_type", SCALES)
@pytest.mark.parametrize(("kind", "bits"), [("uint8", 8), ("uint8", 4), ("uint8", 2), ("int8", 8), ("float8_e5m2", 8)])
def test_bags_of_many_widths_and_blocks(kind: str, bits: int, scale_type: str) -> None:
    """Loops over 256, 128, ..., 1 columns decode rows whose blocks are multiples of 16, or whole rows."""
    generator = np.random.default_rng([len(kind), bits, SCALES.index(scale_type)])
    count = 8 // bits
    for width in (*range(1, 20), 31, 48, 64, 100, 255, 256, 300, 447, 600):
        for block in (16, 48, 96, 0):
            data = draw_codes(generator, kind, (9, width))
            numbers = width * count
            blocks = 1 if block == 0 else -(-numbers // block)
            scales = generator.standard_normal((9, blocks)).astype(scale_type)
            zeros = None if kind in FLOATS else draw_codes(generator, kind, (9, -(-blocks // count)))
            table = {"scales": scales, "zero_points": zeros, "quantize_axis": 1, "block_size": block, "bits": bits}
            rows = gs.gather_quantized(data, range(9), **table)
            members = generator.integers(-10, 10, 40)
            offsets = [0, 0, 1, 2, 20, 40]
            weights = generator.standard_normal(40).astype(scale_type) if generator.random() < 0.5 else None
            options: dict[str, Any] = {"weights": weights, "mode": "fill", "offsets": offsets}
            options |= {"accumulate": str(generator.choice(["step", "wide"]))}
            options |= {"reduction": str(generator.choice(["add", "mean"]))}
            wanted = gs.gather_reduce(rows, members, **options)
            assert_same(gs.gather_reduce(data, members, **options, **table), wanted)


def test_bags_that_threads_divide_by_columns() -> None:
    generator = np.random.default_rng(21)
    data = generator.integers(0, 256, (3000, 512), np.uint8)  # rows are prefetched
    table = {"scales": generator.standard_normal((3000, 8)).astype(np.float32), "block_size": 64, "bits": 8}
    members = generator.integers(0, 3000, 30_000)
    wanted = gs.gather_reduce(data, members, offsets=[0, 20, 29_000], num_threads=1, **table)
    assert_same(gs.gather_reduce(data, members, offsets=[0, 20, 29_000], num_threads=4, **table), wanted)
    assert gs.plan("gather_reduce", data, members, offsets=[0, 20, 29_000], num_threads=4, **table).threads > 1


def test_a_bad_member_of_a_bag_is_named() -> None:
    data, scales = np.zeros((4, 64), np.uint8), np.ones((4, 2), np.float32)
    for members in ([[0, 4]], [[-5, 1]]):
        with pytest.raises(IndexError, match="gather_reduce"):
            gs.gather_reduce(data, members, scales=scales, block_size=32, bits=8)


def test_bags_of_other_layouts() -> None:
    scales = np.asfortranarray(FACTORS).astype(swapped("f4"))
    table = {"scales": scales, "block_size": 2}
    wanted = gs.gather_reduce(gs.gather_quantized(TABLE, [0, 1], FACTORS, block_size=2), [[0, 1], [1, 1]])
    result = gs.gather_reduce(TABLE[:, ::-1][:, ::-1], [[0, 1], [1, 1]], **table)
    assert result.dtype == scales.dtype
    assert_same(result.astype(np.float32), wanted)


@pytest.mark.parametrize(
    ("changes", "error", "text"),
    [
        (
            {"scales": None, "zero_points": np.zeros((2, 1), np.uint8)},
            ValueError,
            "zero_points are given without scales",
        ),
        ({"default": np.zeros(3, np.float32)}, ValueError, r"shape of a row of data, \(4,\), not \(3,\)"),
        ({"scales": FACTORS.astype(np.float64)}, TypeError, "scales must be of"),
        ({"data": TABLE.astype(np.int32)}, TypeError, "data must hold codes"),
        ({"block_size": 4}, ValueError, "scales has shape"),
        ({"indices": [[0, 2]]}, IndexError, r"indices\[0, 1\] = 2"),
    ],
)
def test_mistakes_with_bags(changes: dict[str, Any], error: type[Exception], text: str) -> None:
    arguments: dict[str, Any] = {"data": TABLE, "indices": [[0, 1]], "scales": FACTORS, "block_size": 2} | changes
    with pytest.raises(error, match=text) as caught:
        gs.gather_reduce(**arguments)
    assert str(caught.value).startswith("gather_reduce")


# -------------------------------------------------------------------------------------------------------------- plans


def test_a_plan_counts_copies_only() -> None:
    plan = gs.plan("gather_quantized", TABLE, np.array([1, 0]), FACTORS, block_size=2)
    assert (plan.scratch_bytes, plan.copies, plan.threads) == (0, (), 1)
    assert "2 rows of 4 numbers are computed from the codes of the table" in str(plan)
    plan = gs.plan(gs.gather_quantized, np.asfortranarray(TABLE), np.array([1, 0]), FACTORS, block_size=2)
    assert (plan.scratch_bytes, plan.copies) == (TABLE.nbytes, ("data",))
    large = np.zeros((1000, 2048), np.uint8)
    plan = gs.plan("gather_quantized", large, np.arange(1000), np.ones((1000, 32), np.float32), num_threads=2)
    assert (plan.scratch_bytes, plan.threads) == (0, 2)
    with pytest.raises(ValueError, match="scales has shape"):
        gs.plan("gather_quantized", TABLE, [1], FACTORS, block_size=16)
    bags = gs.plan("gather_reduce", TABLE, np.array([[0, 1]]), scales=FACTORS, block_size=2)
    assert "a few at a time are computed from the codes of the table and combined" in str(bags)
    assert bags.scratch_bytes < 20_000
