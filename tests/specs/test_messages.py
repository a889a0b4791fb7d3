"""Call -> text: each message names the fault, the position, the allowed values and the way out, if there is one."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

import gatherscatter as gs
from gatherscatter.messages.sentences import read_sentences
from tests.support.paths import ROOT

F8, F85 = np.zeros(8), np.zeros((8, 5))
MILLION = np.zeros((1_000_000, 1), np.int64)
MILLION[[3, 500, 999_999], 0] = 12, 8, 9

MESSAGES: list[tuple[Callable[[], object], type[Exception], str]] = [
    # indices
    (
        lambda: gs.onnx.ScatterND(F8, MILLION, np.zeros(1_000_000), reduction="add", opset=18),
        IndexError,
        "onnx.ScatterND-18: indices[3, 0] = 12 is out of range for axis 0 of data with size 8 (valid: -8..7); "
        "3 of 1000000 indices are out of range, all in 8..12",
    ),
    (
        lambda: gs.gather(F8, 12),
        IndexError,
        "gather: indices = 12 is out of range for axis 0 of data with size 8 (valid: -8..7)",
    ),
    (
        lambda: gs.gather(F85, [[0, 4], [-6, -7]], axis=-1),
        IndexError,
        "gather: indices[1, 0] = -6 is out of range for axis 1 of data with size 5 (valid: -5..4); "
        "2 of 4 indices are out of range, all in -7..-6",
    ),
    (
        lambda: gs.gather(F8, [1, 9, 9]),
        IndexError,
        "gather: indices[1] = 9 is out of range for axis 0 of data with size 8 (valid: -8..7); "
        "2 of 3 indices are out of range, all 9",
    ),
    (
        lambda: gs.gather(np.zeros((3, 0)), [[0]], axis=1, mode="clip"),
        IndexError,
        "gather: indices[0, 0] = 0 is out of range for axis 1 of data with size 0 (no index is valid)",
    ),
    (
        lambda: gs.gather_nd(np.zeros((2, 3, 4)), [[[1]], [[5]]], batch_dims=1),
        IndexError,
        "gather_nd: indices[1, 0, 0] = 5 is out of range for axis 1 of data with size 3 (valid: -3..2)",
    ),
    # indices, with a hint
    (
        lambda: gs.gather(F8, [1, 2, 8]),
        IndexError,
        "gather: indices[2] = 8 is out of range for axis 0 of data with size 8 (valid: -8..7); "
        "all values lie in 1..8: if they count from one, subtract 1",
    ),
    (
        lambda: gs.openvino.ScatterUpdate(F8, [0, -1], np.zeros(2), 0),
        IndexError,
        "openvino.ScatterUpdate-3: indices[1] = -1 is out of range for axis 0 of data with size 8 (valid: 0..7); "
        "negative indices do not count from the end here: add the size (8) to them",
    ),
    (
        lambda: gs.scatter_nd(F85, [[0, 7], [4, 2]], np.zeros(2)),
        IndexError,
        "scatter_nd: indices[0, 1] = 7 is out of range for axis 1 of data with size 5 (valid: -5..4); "
        "all would be in range with columns 0 and 1 swapped: are the axes in the right order?",
    ),
    (
        lambda: gs.gather(F85, [0, 7], axis=1),
        IndexError,
        "gather: indices[1] = 7 is out of range for axis 1 of data with size 5 (valid: -5..4); "
        "the largest index is the last valid index of axis 0: did you mean that axis?",
    ),
    (
        lambda: gs.gather(F8, np.array([0, 2**64 - 1], np.uint64)),
        IndexError,
        "gather: indices[1] = 18446744073709551615 is out of range for axis 0 of data with size 8 (valid: -8..7); "
        "18446744073709551615 is -1 stored as uint64: use a signed type",
    ),
    (
        lambda: gs.gather(F8, [0, 2**32 + 3]),
        IndexError,
        "gather: indices[1] = 4294967299 is out of range for axis 0 of data with size 8 (valid: -8..7); "
        "4294967299 is 2^32 +3: did a 32-bit value overflow?",
    ),
    # windows and beams
    (
        lambda: gs.onnx.TensorScatter(np.zeros((2, 5, 3)), np.zeros((2, 2, 3)), [0, 4]),
        IndexError,
        "onnx.TensorScatter-24: write_indices[1] = 4 is out of range for a window of 2 positions in a cache of size 5 "
        "(valid: 0..3)",
    ),
    (
        lambda: gs.gather_tree(np.ones((2, 1, 2), int), np.array([[[0, 0]], [[0, 3]]]), [2], 9),
        IndexError,
        "gather_tree: parent_ids[1, 0, 1] = 3 is out of range for 2 beams (valid: 0..1)",
    ),
    # shapes
    (
        lambda: gs.scatter_nd(F85, [[3], [1]], np.zeros((2, 4))),
        ValueError,
        "scatter_nd: updates has shape (2, 4), but must have (2, 5) = indices.shape[:-1] + data.shape[1:]; "
        "nothing is broadcast (data (8, 5), indices (2, 1), updates (2, 4))",
    ),
    (
        lambda: gs.scatter_update(F85, [3, 1], 1.0, reduction="add"),
        ValueError,
        "scatter_update: updates has shape (), but must have (2, 5) = data.shape[:axis] + indices.shape + "
        "data.shape[axis+1:]; nothing is broadcast: pass broadcast_to(updates, (2, 5)) of NumPy, PyTorch or JAX "
        "(data (8, 5), indices (2,), updates ())",
    ),
    (
        lambda: gs.onnx.ScatterElements(F85, [[3]], np.zeros((1, 2)), axis=1),
        ValueError,
        "onnx.ScatterElements-18: updates has shape (1, 2), but must have (1, 1) = indices.shape; "
        "nothing is broadcast (data (8, 5), indices (1, 1), updates (1, 2))",
    ),
    (
        lambda: gs.gather(F85, [0], axis=2),
        ValueError,
        "gather: axis 2 is out of range for data of rank 2 (valid: -2..1) (data (8, 5), indices (1,))",
    ),
    (
        lambda: gs.gather_nd(F85, [[0, 0, 0]]),
        ValueError,
        "gather_nd: index tuples of length 3 are too long: data has rank 2, and batch_dims is 0 "
        "(data (8, 5), indices (1, 3))",
    ),
    (
        lambda: gs.scatter_nd(F8, [1, 3, 1], [1.0, 2.0, 3.0]),
        ValueError,
        "scatter_nd: index tuples of length 3 are too long: data has rank 1, and batch_dims is 0; one-dimensional "
        "indices are one tuple: for 3 separate indices, pass indices[:, None] (data (8,), indices (3,), updates (3,))",
    ),
    (
        lambda: gs.scatter_nd(F85, [1, 3], np.zeros((2, 5))),
        ValueError,
        "scatter_nd: updates has shape (2, 5), but must have () = indices.shape[:-1] + data.shape[2:]; nothing is "
        "broadcast; one-dimensional indices are one tuple: for 2 separate indices, pass indices[:, None] (data (8, 5), "
        "indices (2,), updates (2, 5))",
    ),
    (
        lambda: gs.gather_nd(np.zeros((2, 3, 4)), [[0], [1], [2]], batch_dims=1),
        ValueError,
        "gather_nd: data and indices must have equal batch dimensions; with batch_dims=1, data has (2,) and "
        "indices has (3,) (data (2, 3, 4), indices (3, 1))",
    ),
    (
        lambda: gs.gather_nd(np.zeros((2, 3, 4)), [[1], [2]]),
        IndexError,
        "gather_nd: indices[1, 0] = 2 is out of range for axis 0 of data with size 2 (valid: -2..1); data and indices "
        "both begin with 2: did you forget batch_dims=1?",
    ),
    (
        lambda: gs.gather_elements(F85, [0]),
        ValueError,
        "gather_elements: indices must have the same rank as data (2), not rank 1; nothing is broadcast: pass "
        "broadcast_to(indices, (1, 5)) of NumPy, PyTorch or JAX (data (8, 5), indices (1,))",
    ),
    (
        lambda: gs.gather(F8, [0], out=np.zeros(2)),
        ValueError,
        "gather: out has shape (2,), but the result has (1,) (data (8,), indices (1,))",
    ),
    # types and attributes
    (
        lambda: gs.gather(F8, [0.5]),
        TypeError,
        "gather: indices must be integers, not float64; indices[0] is 0.5",
    ),
    (lambda: gs.gather(F8, ["a"]), TypeError, "gather: indices must be integers, not text; indices[0] is 'a'"),
    (
        lambda: gs.gather(F8, [[1], [1, 2]]),
        ValueError,
        "gather: indices can't be made an array: its nested lists have different lengths",
    ),
    (
        lambda: gs.scatter_nd(np.zeros(3, np.int32), [[0]], np.array([1.5])),
        TypeError,
        "scatter_nd: updates of type float64 can't be stored in data of type int32; convert data to float64, or "
        "updates to int32",
    ),
    (
        lambda: gs.scatter_nd(np.zeros(3, np.int8), [[0]], [300]),
        ValueError,
        "scatter_nd: updates[0] = 300 does not fit in data of type int8",
    ),
    (
        lambda: gs.scatter_nd(np.zeros(3, np.complex64), [[0]], np.zeros(1, np.complex64), reduction="max"),
        TypeError,
        "scatter_nd: reduction 'max' is not defined for elements of type complex64",
    ),
    (
        lambda: gs.scatter_nd(F8, [[0]], np.zeros(1), reduction="plus"),
        ValueError,
        "scatter_nd: reduction must be one of 'none', 'add', 'sub', 'mul', 'min', 'max', 'mean', not 'plus'; "
        "did you mean 'add'?",
    ),
    (
        lambda: gs.gather(F8, [0], mode="drop"),
        ValueError,
        "gather: mode must be one of 'raise', 'wrap', 'clip', 'fill', not 'drop'; did you mean 'fill'?",
    ),
    (
        lambda: gs.scatter_update(F8, [0], [1.0], mode="ignore"),
        ValueError,
        "scatter_update: mode must be one of 'raise', 'wrap', 'clip', 'drop', not 'ignore'; did you mean 'drop'?",
    ),
    (
        lambda: gs.openvino.ScatterElementsUpdate(F8, [0], [1.0], 0, reduction="add"),
        ValueError,
        "openvino.ScatterElementsUpdate-12: reduction must be one of 'none', 'sum', 'prod', 'min', 'max', 'mean', "
        "not 'add'; did you mean 'sum'?",
    ),
    (
        lambda: gs.gather(F8, [0], dim=0),  # type: ignore[call-arg]
        TypeError,
        "gather() got an unexpected keyword argument 'dim'; did you mean 'axis'?",
    ),
    (
        lambda: gs.tensor_scatter(F85[None], F85[None], dim=1),  # type: ignore[call-arg]
        TypeError,
        "tensor_scatter() got an unexpected keyword argument 'dim'; did you mean 'axis'?",
    ),
    (
        lambda: gs.onnx.Gather(F8, [0], dim=0),
        TypeError,
        "onnx.Gather-13 has no attribute 'dim' (attributes: axis); did you mean 'axis'?",
    ),
    (
        lambda: gs.openvino.GatherElements(F8, [0], 0),
        TypeError,
        "openvino.GatherElements-6 takes the inputs data, indices, but got 3; pass attributes by name: axis=...",
    ),
    (
        lambda: gs.scatter_nd(F8, [[0]], [1.0], include_self=False),
        ValueError,
        "scatter_nd: include_self has no effect with reduction 'none'; leave it out",
    ),
    (
        lambda: gs.scatter_nd(F8, [[0]], [1.0], reduction="max", accumulate="exact"),
        ValueError,
        "scatter_nd: accumulate has no effect with reduction 'max'; leave it out",
    ),
    (
        lambda: gs.onnx.ScatterND(F8, [[0]], [1.0], reduction="max", accumulate="exact"),
        ValueError,
        "onnx.ScatterND-18: accumulate has no effect with reduction 'max'; leave it out",
    ),
    (
        lambda: gs.gather_reduce(F85, [[0]], reduction="max", accumulate="exact"),
        ValueError,
        "gather_reduce: accumulate has no effect with reduction 'max'; leave it out",
    ),
    (
        lambda: gs.set_num_threads("2"),  # type: ignore[arg-type]
        TypeError,
        "set_num_threads: n must be an integer, not '2'",
    ),
    (
        lambda: gs.scatter_nd(F8, [1, 3], 1.0),
        ValueError,
        "scatter_nd: index tuples of length 2 are too long: data has rank 1, and batch_dims is 0; one-dimensional "
        f"indices are one tuple: for 2 separate indices, pass "
        f"indices[:, None] (data {F8.shape}, indices (2,), updates ())",
    ),
    (
        lambda: gs.prepare([0, 1], 3).reduce(np.ones(2), "product"),
        ValueError,
        "prepare: reductions must be one of 'sum', 'mul', 'mean', 'min', 'max', 'argmin', 'argmax', 'count', 'var', "
        "'std', 'first', 'last', 'any', 'all', not 'product'; did you mean 'mul'?",
    ),
    (lambda: gs.set_num_threads(0), ValueError, "set_num_threads: n must be at least 1, not 0"),
    (lambda: gs.set_pool_limit(-1), ValueError, "set_pool_limit: bytes must be at least 0, not -1"),
    (
        lambda: gs.onnx.ScatterND(F8, [[0]], np.zeros(1), reduction="max", opset=16),
        ValueError,
        "onnx.ScatterND-16: reduction must be one of 'none', 'add', 'mul', not 'max'",
    ),
    (
        lambda: gs.onnx.ScatterND(F8, [[0]], np.zeros(1), reduction="add", opset=13),
        ValueError,
        "onnx.ScatterND-13 has no attribute 'reduction'; it was added in version 16",
    ),
    (
        lambda: gs.onnx.ScatterND(F8, [[0]], np.zeros(1), axis=1),
        TypeError,
        "onnx.ScatterND-18 has no attribute 'axis' (attributes: reduction)",
    ),
    (
        lambda: gs.onnx.ScatterND(F8, [[0]], np.zeros(1), opset=10),
        ValueError,
        "onnx.ScatterND does not exist in opset 10; opset 11 introduced it",
    ),
    (
        lambda: gs.onnx.GatherND(F8, np.array([[0]], np.int32)),
        TypeError,
        "onnx.GatherND-13: indices can't be of type int32; allowed: int64; convert indices to int64, or use "
        "gatherscatter.gather_nd, which accepts all integer types",
    ),
    (
        lambda: gs.openvino.ScatterUpdate(F8, [0], np.zeros(1, np.float32), 0),
        TypeError,
        "openvino.ScatterUpdate-3: updates must have the same type as data (float64), not float32",
    ),
    (
        lambda: gs.openvino.Gather(F8, [0], [0, 0]),
        ValueError,
        "openvino.Gather-8: axis must be a scalar or have one element, not shape (2,)",
    ),
    (
        lambda: gs.scatter_nd(np.zeros(3, ml_dtypes.int4), [[0]], [100]),
        ValueError,
        "scatter_nd: updates[0] = 100 does not fit in data of type int4",
    ),
    (
        lambda: gs.scatter_nd(F8, [[0]], None),
        TypeError,
        "scatter_nd: updates is missing",
    ),
    (
        lambda: gs.gather(F8, [0], axis=1.5),
        TypeError,
        "gather: axis must be an integer, not 1.5",
    ),
    (
        lambda: gs.scatter_nd(F8, [[0]], np.zeros(1), include_self="no"),
        TypeError,
        "scatter_nd: include_self must be True or False, not 'no'",
    ),
    (
        lambda: gs.tensor_scatter(np.zeros((1, 2, 3)), np.zeros((1, 1, 3)), axis=1.5),
        TypeError,
        "tensor_scatter: axis must be an integer, not 1.5",
    ),
    (
        lambda: gs.onnx.ScatterND(F8, [[0]], np.zeros(1), opset="18"),
        TypeError,
        "onnx.ScatterND: opset must be an integer, not '18'",
    ),
    (
        lambda: gs.scatter_nd(np.array(["a"], object), [[0]], np.array([b"b"], object), reduction="add"),
        TypeError,
        "scatter_nd: not all elements are text that can be concatenated",
    ),
    (
        lambda: gs.scatter_nd(np.array(["a"]), [[0]], np.array([b"b"])),
        TypeError,
        f"scatter_nd: updates of type |S1 can't be stored in data of type {np.dtype('U1')}; convert one of them",
    ),
    (
        lambda: gs.gather_tree(np.ones((2, 1, 2)), np.full((2, 1, 2), np.nan), [2], 9),
        IndexError,
        "gather_tree: parent_ids[1, 0, 0] = nan is out of range for 2 beams (valid: 0..1)",
    ),
    (
        lambda: gs.gather_tree(np.ones((2, 1, 2), np.int8), np.zeros((2, 1, 2), np.int8), [2], 300),
        ValueError,
        "gather_tree: end_token = 300 does not fit in step_ids of type int8",
    ),
    (lambda: gs.gather(F8), TypeError, "gather() missing required argument 'indices'"),
    (
        lambda: gs.gather(F8, [0], axes=1),
        TypeError,
        "gather() got an unexpected keyword argument 'axes'; did you mean 'axis'?",
    ),
    (lambda: gs.gather(F8, [0], indices=[0]), TypeError, "gather() got multiple values for argument 'indices'"),
    (
        lambda: gs.gather_nd(F8, [[0]], 1),
        TypeError,
        "gather_nd() takes at most 2 positional arguments (3 given); pass by name: batch_dims, mode, "
        "negative, out, num_threads",
    ),
]


@pytest.mark.parametrize(("call", "error", "text"), MESSAGES, ids=[text.split("=")[0][:60] for _, _, text in MESSAGES])
def test_message(call: Callable[[], object], error: type[Exception], text: str) -> None:
    with pytest.raises(error) as caught:
        call()
    assert str(caught.value) == text


def test_an_index_error_carries_the_facts_and_pickles() -> None:
    with pytest.raises(gs.OpIndexError) as caught:
        gs.onnx.ScatterND(F8, MILLION, np.zeros(1_000_000), reduction="add", opset=18)
    for error in (caught.value, pickle.loads(pickle.dumps(caught.value))):
        assert isinstance(error, IndexError)
        assert isinstance(error, gs.OpError)
        assert (error.op, error.input, error.count) == ("onnx.ScatterND-18", "indices", 3)
        assert error.positions == ((3, 0), (500, 0), (999_999, 0))
        assert error.values == (12, 8, 9)
        assert (error.axis, error.allowed) == (0, (-8, 7))
        assert str(error) == str(caught.value)


def test_at_most_ten_positions_are_listed() -> None:
    with pytest.raises(gs.OpIndexError) as caught:
        gs.gather(F8, np.full(1000, 99))
    assert caught.value.count == 1000
    assert caught.value.positions == tuple((i,) for i in range(10))


@pytest.mark.parametrize("call", [call for call, _, _ in MESSAGES[:14]])
def test_no_hint_is_given_that_is_not_certain(call: Callable[[], object]) -> None:
    with pytest.raises(gs.OpIndexError) as caught:
        call()
    assert str(caught.value).count(";") <= 2


def test_a_lookup_lists_what_there_is() -> None:
    with pytest.raises(LookupError, match=r"no version '17'; it has 11, 13, 16, 18; opset 17 uses version 16$"):
        gs.op("onnx.ScatterND-17")
    with pytest.raises(LookupError, match=r"no version '7'; it has 11, 13, 16, 18$"):
        gs.op("onnx.ScatterND-7")
    with pytest.raises(LookupError, match=r"there are onnx.Gather, .*openvino.ScatterNDUpdate"):
        gs.op("Conv")


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("ScatterND", "onnx.ScatterND or openvino.ScatterNDUpdate"),
        ("onnx.scatternd", "onnx.ScatterND"),
        ("openvino.ScatterND", "openvino.ScatterNDUpdate"),
        ("gather_elements", "onnx.GatherElements or openvino.GatherElements"),
    ],
)
def test_a_lookup_suggests_operators(name: str, meant: str) -> None:
    with pytest.raises(LookupError) as caught:
        gs.op(name)
    assert str(caught.value.args[0]) == f"there is no operator {name!r}; did you mean {meant}?"


@pytest.mark.parametrize("scatter", [lambda *a: gs.onnx.Scatter(*a, opset=11), lambda *a: gs.op("onnx.Scatter-11")(*a)])
def test_a_deprecation_is_shown_where_the_call_stands(scatter: Callable[..., object]) -> None:
    with pytest.warns(DeprecationWarning, match="is deprecated") as caught:
        scatter(np.zeros(3), [0], [1.0])
    assert caught[0].filename == __file__


def test_an_op_version_is_plain_data() -> None:
    for row in gs.ops():
        assert pickle.loads(pickle.dumps(row)) == row


def test_a_narrow_unsigned_value_is_no_proof_of_a_negative_one() -> None:
    with pytest.raises(IndexError) as caught:
        gs.gather(np.zeros(60), np.array([200], np.uint8))
    assert "stored as" not in str(caught.value)


def test_every_sentence_is_used_and_complete() -> None:
    root = Path(gs.__file__).parent
    python = "".join(path.read_text(encoding="utf-8") for path in root.rglob("*.py"))
    core = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "cpp").rglob("*.cpp"))
    for section, sentences in read_sentences().items():
        for name, sentence in sentences.items():
            if section != "other_parameters":  # names of other libraries
                assert f'"{name}"' in python + core, (section, name)
            if section == "errors":
                assert sentence.keys() == {"raises", "input", "text"}, name
