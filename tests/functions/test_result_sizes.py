"""Results with a size that a value decides: errors and warnings name the value. All memory errors name the operator."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gatherscatter as gs
from gatherscatter import errors
from tests.support.byte_order import swapped

FAR = 10**12
DATA, IDS = np.ones((4, 2)), np.array([0, 3, FAR, 1])
HUGE = np.broadcast_to(np.ones(1), (10**6, 10**6))  # 7.3 TiB, without memory

BY_A_VALUE: dict[str, tuple[Callable[[], Any], str]] = {
    "gather_reduce": (lambda: gs.gather_reduce(DATA, segment_ids=IDS), "segment_ids[2] = 1000000000000"),
    "gather_reduce of lists": (
        lambda: gs.gather_reduce(DATA.tolist(), segment_ids=IDS.tolist()),
        "segment_ids[2] = 1000000000000",
    ),
    "gather_reduce of swapped bytes": (
        lambda: gs.gather_reduce(DATA.astype(swapped("f8")), segment_ids=IDS.astype(swapped("i8"))),
        "segment_ids[2] = 1000000000000",
    ),
    "more than 64 bits count": (
        lambda: gs.gather_reduce(DATA, segment_ids=[0, 2**62, 1, 1]),
        "segment_ids[1] = 4611686018427387904",
    ),
    "num_segments": (
        lambda: gs.gather_reduce(DATA, segment_ids=IDS, num_segments=10**13),
        "num_segments = 10000000000000",
    ),
    "EmbeddingSegmentsSum": (
        lambda: gs.openvino.EmbeddingSegmentsSum(DATA, np.array([0, 1]), np.array([0, 1]), np.array(FAR)),
        "num_segments = 1000000000000",
    ),
    "SegmentMax": (
        lambda: gs.openvino.SegmentMax(DATA, np.array([0, 1, 2, FAR]), fill_mode="ZERO"),
        "segment_ids[3] = 1000000000000",
    ),
}


@pytest.mark.parametrize("name", BY_A_VALUE)
def test_an_error_names_the_value_that_decides_the_size(name: str) -> None:
    call, value = BY_A_VALUE[name]
    with pytest.raises(gs.OpMemoryError) as caught:
        call()
    text = str(caught.value)
    assert f"; {value} decides its size" in text
    assert re.search(r"the result of shape \(\d+, 2\) and type float64, which takes [\d.]+ [TPE]iB", text)
    assert ("with num_segments, larger values are an error" in text) == ("segment_ids" in value)


@pytest.mark.full
def test_a_very_large_result_is_a_warning() -> None:
    ids = np.array([0, 3, 10**8, 1])
    with pytest.warns(RuntimeWarning, match=r"takes 1.5 GiB; segment_ids\[2\] = 100000000 decides") as caught:
        assert gs.gather_reduce(DATA, segment_ids=ids)[10**8].tolist() == [1, 1]
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(RuntimeWarning, match="decides its size"):
            gs.gather_reduce(DATA, segment_ids=ids)
    gs.gather_reduce(DATA, segment_ids=ids, num_segments=10**8 + 1)  # a size that the caller gives needs no warning
    given = {"shape": (10**8, 2), "dtype": np.dtype(np.float64), "name": "i", "values": ids, "parameter": "n"}
    errors.check_size("op", **given, input_bytes=2 << 20)  # less than 1000 times the inputs
    with pytest.warns(RuntimeWarning, match="op: the result is very large for these inputs"):
        errors.check_size("op", **given, input_bytes=1 << 20)


OTHERS: dict[str, tuple[Callable[[], Any], str]] = {
    "gather": (lambda: gs.gather(HUGE, np.broadcast_to(0, (10**6,))), r"\(1000000, 1000000\)"),
    "gather_nd": (lambda: gs.gather_nd(HUGE, np.zeros((10**6, 1), int)), r"\(1000000, 1000000\)"),
    "gather_elements": (
        lambda: gs.gather_elements(HUGE, np.broadcast_to(0, (10**6, 10**6))),
        r"\(1000000, 1000000\)",
    ),
    "scatter_update": (lambda: gs.scatter_update(HUGE, [0], HUGE[:1]), r"\(1000000, 1000000\)"),
    "scatter_nd": (lambda: gs.scatter_nd(HUGE, [[0, 0]], [1.0]), r"\(1000000, 1000000\)"),
    "gather_reduce": (
        lambda: gs.gather_reduce(HUGE, np.zeros(10**6, int), offsets=np.arange(10**6)),
        r"\(1000000, 1000000\)",
    ),
    "tensor_scatter": (lambda: gs.tensor_scatter(HUGE[None], HUGE[None, :1]), r"\(1, 1000000, 1000000\)"),
    "at.set": (lambda: gs.at(HUGE)[0].set(1.0), r"\(1000000, 1000000\)"),
    "prepare": (lambda: gs.prepare([0], FAR).counts, r"\(1000000000001,\)"),
    "Prepared.sum": (lambda: gs.prepare([0], FAR).sum(np.ones((1, 3)), accumulate="wide"), r"\(1000000000000, 3\)"),
    "gather_tree": (
        lambda: gs.gather_tree(HUGE.reshape(10**6, 10**3, 10**3), HUGE.reshape(10**6, 10**3, 10**3), [1.0] * 10**3, 0),
        r"\(1000000, 1000, 1000\)",
    ),
    "onnx.ScatterND-18": (
        lambda: gs.onnx.ScatterND(HUGE, np.array([[0, 0]]), np.array([1.0])),
        r"\(1000000, 1000000\)",
    ),
}


@pytest.mark.parametrize("op", OTHERS)
def test_a_memory_error_names_the_operator_the_shape_and_the_bytes(op: str) -> None:
    call, shape = OTHERS[op]
    with pytest.raises(MemoryError, match=rf"^({op}|prepare): .*shape {shape}") as caught:
        call()
    assert isinstance(caught.value, gs.OpMemoryError)
    assert re.search(r"[\d.]+ TiB", str(caught.value))
