"""The operators in ONNX Runtime against the oracle: random calls of all versions, and of this package's operators."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gatherscatter as gs
from gatherscatter import oracle
from gatherscatter.operation import SCATTERS, Form, Kernel
from gatherscatter_conformance import random_calls
from gatherscatter_conformance.random_calls import RandomCall, Traits
from gatherscatter_conformance.random_source import ByteChoices, Choices
from models.tests.onnx.native.sessions import has_type, plain, run_node
from tests.support import quantized
from tests.support.judge import check_error, outcome, run_version

ROWS = [row for row in oracle.ROWS.values() if row.domain == "onnx"]
SHAPES = ("known", "ranks", "unknown")
OP_TYPES = {
    "gather": "Gather",
    "gather_elements": "GatherElements",
    "gather_nd": "GatherND",
    "scatter_elements": "ScatterElements",
    "scatter_nd": "ScatterND",
}
KNOWN = ("axis", "batch_dims", "reduction", "mode")  # the library cannot list the names of other attributes


def choices(seed: int) -> Choices:
    """Make random decisions."""
    return ByteChoices(np.random.default_rng(seed).bytes(4000))


def make_plain(call: RandomCall) -> RandomCall:
    """Return the call with arrays in ONNX's form."""
    return RandomCall([array if array is None else plain(array) for array in call.inputs], call.attributes)


def compare(result: Any, expected: Any, like: Any, name: str, attributes: dict[str, Any]) -> None:
    if isinstance(expected, Exception):
        check_error(result, name, expected)
    elif isinstance(result, Exception):
        raise AssertionError(f"expected\n{expected}") from result
    else:
        oracle.assert_same(result, expected, like, attributes.get("reduction") not in ("min", "max"))


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_random_calls_of_a_version(row: oracle.OracleRow) -> None:
    asked = 0
    for seed in range(60):
        c = choices(seed)
        inputs, attributes = make_plain(random_calls.version_call(c, row))
        if not all(map(has_type, inputs)) or not attributes.keys() <= set(KNOWN):
            continue
        expected = outcome(oracle.call, row.name, *inputs, **attributes)
        result = outcome(run_node, row.op_type, inputs, {**attributes, "opset": row.version}, c.pick(SHAPES))
        compare(result, expected, inputs[0], row.name, attributes)
        if isinstance(expected, ValueError | IndexError):
            assert str(result) == str(outcome(run_version, row.name, *inputs, **attributes))
        asked += 1
    assert asked > 25


@pytest.mark.parametrize("kernel", OP_TYPES)
def test_random_calls_of_this_package(kernel: str) -> None:
    for seed in range(120):
        c = choices(seed)
        inputs, keywords = make_plain(random_calls.array_call(c, kernel))
        if not all(map(has_type, inputs)):
            continue
        check_own(kernel, OP_TYPES[kernel], RandomCall(inputs, keywords), c)


@pytest.mark.parametrize("kernel", OP_TYPES)
def test_calls_with_many_indices(kernel: str) -> None:
    for seed in range(40):
        c = choices(seed)
        inputs, keywords = make_plain(random_calls.array_call(c, kernel, random_calls.FIXED, many=True))
        if all(map(has_type, inputs)):
            check_own(kernel, OP_TYPES[kernel], RandomCall(inputs, keywords), c)


def check_own(kernel: str, op_type: str, call: RandomCall, c: Choices) -> None:
    inputs, keywords = call
    expected = outcome(oracle.array_call, kernel, *inputs, **keywords)
    attributes = {key: int(value) if isinstance(value, bool) else value for key, value in keywords.items()}
    if kernel == "gather_elements" or kernel in SCATTERS:
        attributes.pop("batch_dims", None)
    if Kernel(kernel).form == Form.TUPLES:
        attributes.pop("axis", None)
    result = outcome(run_node, op_type, inputs, attributes, c.pick(SHAPES))
    compare(result, expected, inputs[0], f"gatherscatter.{op_type}", keywords)


@pytest.mark.parametrize("mode", ["linear", "circular"])
def test_random_caches(mode: str) -> None:
    for seed in range(60):
        c = choices(seed)
        element = c.pick(random_calls.representations((*oracle.T16, "uint4", "int4", "float4_e2m1fn")))
        traits = Traits("tensor_scatter", element, c.pick(oracle.INTEGERS), mode=mode)
        inputs, keywords = make_plain(random_calls.kernel_call(c, traits))
        if not all(map(has_type, inputs)):
            continue
        write = inputs[2] if len(inputs) > 2 else None
        expected = outcome(oracle.tensor_scatter, *inputs[:2], write, keywords["axis"], mode)
        absent = c.pick(([], [None])) if write is None else []
        result = outcome(run_node, "TensorScatter", [*inputs, *absent], {**keywords, "mode": mode}, c.pick(SHAPES))
        compare(result, expected, inputs[0], "gatherscatter.TensorScatter", keywords)


def test_random_bags() -> None:
    for seed in range(150):
        c = choices(seed)
        (data, indices), keywords = make_plain(random_calls.bags_call(c, many=seed % 3 == 0))
        if not has_type(data) or keywords.pop("default", 0) != 0:
            continue
        named = [keywords.pop(name, None) for name in ("offsets", "segment_ids", "weights")]
        expected = outcome(
            gs.gather_reduce, data, indices, offsets=named[0], segment_ids=named[1], weights=named[2], **keywords
        )
        result = outcome(run_node, "GatherReduce", [data, indices, *named], keywords, c.pick(SHAPES))
        compare(result, expected, data, "gatherscatter.GatherReduce", keywords)
        if isinstance(expected, ValueError | IndexError):
            assert str(result) == str(expected).replace("gather_reduce:", "gatherscatter.GatherReduce:")


@pytest.mark.parametrize("scale_type", quantized.SCALES)
@pytest.mark.parametrize("kind", [*quantized.INTEGERS, *quantized.FLOATS])
def test_random_quantized_tables(kind: str, scale_type: str) -> None:
    rng = np.random.default_rng([3, *kind.encode()])
    raised = 0
    for i in range(30):
        call = quantized.draw_call(rng, kind, scale_type=scale_type, bad=True)
        if not has_type(call.data):
            pytest.skip("this ONNX Runtime does not have the type")
        options = {**call.options, "mode": ("raise", "wrap", "raise", "clip", "raise", "fill")[i % 6]}
        expected = outcome(gs.gather_quantized, *call.inputs, **options)
        result = outcome(run_node, "GatherQuantized", call.inputs, options, SHAPES[i % 3])
        if isinstance(expected, Exception):
            check_error(result, "gatherscatter.GatherQuantized", expected)
            assert str(result) == str(expected).replace("gather_quantized:", "gatherscatter.GatherQuantized:")
            raised += 1
        else:
            assert not isinstance(result, Exception), result
            assert (result.dtype, result.shape) == (expected.dtype, expected.shape)
            assert result.tobytes() == expected.tobytes()
    assert raised, "some indices are bad"
