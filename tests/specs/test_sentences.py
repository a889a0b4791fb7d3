"""The advice of sentences.toml, followed to the letter on cases at the edge."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import gatherscatter as gs
from gatherscatter.messages.sentences import read_sentences

X = np.arange(12.0).reshape(3, 4)
V = np.array([1.0, 10.0, 100.0])
RECORDS = np.array([(0, 3), (2, 1)], [("row", "i8"), ("column", "i8")])


class Advice(NamedTuple):
    """A call that raises an error with a piece of advice, a call that follows the advice, and its result.

    ``text`` is the advice as the error words it.
    """

    wrong: Callable[[], Any]
    text: str
    right: Callable[[], Any]
    expected: Any


ADVICE: dict[str, Advice] = {
    "errors.tuple_of_arrays": Advice(
        lambda: gs.gather_nd(X, ([0, 2], [3, -1])),
        "use np.stack(indices, -1) with gather_nd",
        lambda: gs.gather_nd(X, np.stack(([0, 2], [3, -1]), -1)),
        [3, 11],
    ),
    "errors.tuple_of_one": Advice(
        lambda: gs.gather_nd(X, (np.array([[0, 1]]),)), "as in indices[0]", lambda: gs.gather_nd(X, [[0, 1]]), [1]
    ),
    "errors.no_tuples": Advice(
        lambda: gs.scatter_nd(X, [], []),
        "for no index tuples of length k, use np.empty((0, k), int)",
        lambda: gs.scatter_nd(X, np.empty((0, 2), int), []),
        X,
    ),
    "errors.no_effect": Advice(
        lambda: gs.scatter_update(V, [0], [5.0], include_self=False),
        "include_self has no effect with reduction 'none'; leave it out",
        lambda: gs.scatter_update(V, [0], [5.0]),
        [5, 10, 100],
    ),
    "errors.indptr_end": Advice(
        lambda: gs.gather_reduce(V, indptr=[0, 0, 1]),
        "without this last number, pass the others as offsets",
        lambda: gs.gather_reduce(V, offsets=[0, 0, 1]),
        [0, 1, 110],
    ),
    "errors.no_indptr": Advice(
        lambda: gs.gather_reduce(V[:0], indptr=[]),
        "it needs one number more than there are bags, and begins with 0",
        lambda: gs.gather_reduce(V[:0], indptr=[0]),
        np.zeros(0),
    ),
    "errors.labels_rank": Advice(
        lambda: gs.aggregate(0, [1.0]), "it needs a label for each value", lambda: gs.aggregate([0], [1.0]), [1]
    ),
    "errors.labels_shape": Advice(
        lambda: gs.aggregate([0, 1], V),
        "it needs one label for each value, or with axis= for each position",
        lambda: gs.aggregate([0, 1, 0], V),
        [101, 10],
    ),
    "errors.values_rank": Advice(
        lambda: gs.aggregate([[0] * 4, [1] * 4, [1] * 4], X),
        "flatten both with ravel()",
        lambda: gs.aggregate(np.array([[0] * 4, [1] * 4, [1] * 4]).ravel(), X.ravel()),
        [6, 60],
    ),
    "errors.fill_value": Advice(
        lambda: gs.aggregate([1], [True], "any", fill_value=np.nan),
        "give another value, or a dtype that has it",
        lambda: gs.aggregate([1], [True], "any", fill_value=np.nan, dtype=float),
        [np.nan, 1],
    ),
    "errors.result_value": Advice(
        lambda: gs.aggregate(np.zeros(300, int), 1, "len", dtype=np.uint8),
        "leave dtype out",
        lambda: gs.aggregate(np.zeros(300, int), 1, "len"),
        [300],
    ),
    "errors.fill_type": Advice(
        lambda: gs.aggregate([1], [1.0], fill_value=None),
        "leave it out to get the default",
        lambda: gs.aggregate([1], [1.0]),
        [0, 1],
    ),
    "errors.func_option": Advice(
        lambda: gs.aggregate([0], [1.0], "mean", ddof=1),
        "ddof has no effect with func='mean'; leave it out",
        lambda: gs.aggregate([0], [1.0], "mean"),
        [1],
    ),
    "errors.propagate_pairs": Advice(
        lambda: gs.prepare([[0]], (3,)).propagate(X),
        "propagate needs pairs of indices",
        lambda: gs.prepare([[0, 2], [0, 2]], (3, 3)).propagate(V),
        [200, 0, 0],
    ),
    "parts.convert_indices": Advice(
        lambda: gs.onnx.Gather(V, np.array([2], np.int8)),
        "convert indices to int64, or use gatherscatter.gather",
        lambda: gs.onnx.Gather(V, np.array([2], np.int8).astype(np.int64)) + gs.gather(V, np.array([2], np.int8)),
        [200],
    ),
    "parts.inputs_by_position": Advice(
        lambda: gs.op("onnx.Gather")(data=V, indices=[0]),
        "pass inputs by position",
        lambda: gs.op("onnx.Gather")(V, [0]),
        [1],
    ),
    "parts.attributes_by_name": Advice(
        lambda: gs.onnx.Gather(X, [0], 1),
        "pass attributes by name: axis",
        lambda: gs.onnx.Gather(X, [0], axis=1),
        [[0], [4], [8]],
    ),
    "parts.by_name": Advice(
        lambda: gs.prepare([0], 3, True),
        "pass by name: axis",
        lambda: gs.prepare([0], 3, axis=0).counts,
        [1, 0, 0],
    ),
    "parts.only_moved": Advice(
        lambda: gs.scatter_update(V.astype(np.longdouble), [0], V[:1].astype(np.longdouble), reduction="add"),
        "convert data and updates to float64",
        lambda: gs.scatter_update(V, [0], V[:1], reduction="add"),
        [2, 10, 100],
    ),
    "parts.key_in_brackets": Advice(
        lambda: gs.at(V, [2, 0]), "write at(data)[key]", lambda: gs.at(V)[[2, 0]].get(), [100, 1]
    ),
    "parts.truth_values": Advice(
        lambda: gs.scatter_update(V > 5, [0, 1], [1, 0]),
        "pass them as bool",
        lambda: gs.scatter_update(V > 5, [0, 1], np.array([1, 0], bool)),
        [True, False, True],
    ),
    "parts.truth_value": Advice(
        lambda: gs.at(V > 5)[-1].set(0), "pass False", lambda: gs.at(V > 5)[-1].set(False), [False, True, False]
    ),
    "parts.broadcast": Advice(
        lambda: gs.scatter_update(X, [2, 0, 2], [[1.0], [2.0], [4.0]], reduction="add"),
        "pass broadcast_to(updates, (3, 4)) of NumPy",
        lambda: gs.scatter_update(X, [2, 0, 2], np.broadcast_to([[1.0], [2.0], [4.0]], (3, 4)), reduction="add"),
        X + np.array([[2], [0], [5]]),
    ),
    "parts.transposed": Advice(
        lambda: gs.gather_nd(X, np.array([[0, 2, 2], [3, 1, 0]])),
        "if each row holds the indices of one axis, pass indices.T",
        lambda: gs.gather_nd(X, np.array([[0, 2, 2], [3, 1, 0]]).T),
        [3, 9, 8],
    ),
    "parts.one_tuple": Advice(
        lambda: gs.gather_nd(V, [2, 0, -1]),
        "for 3 separate indices, pass indices[:, None]",
        lambda: gs.gather_nd(V, np.array([2, 0, -1])[:, None]),
        [100, 1, 100],
    ),
    "parts.records": Advice(
        lambda: gs.gather_nd(X, RECORDS),
        "use np.stack([indices[name] for name in indices.dtype.names], axis=-1)",
        lambda: gs.gather_nd(X, np.stack([RECORDS[name] for name in RECORDS.dtype.names], axis=-1)),
        [3, 9],
    ),
    "parts.mask": Advice(
        lambda: gs.gather(V, V > 5),
        "a mask selects with gatherscatter.at(data)[mask]",
        lambda: gs.at(V)[V > 5].get(),
        [10, 100],
    ),
    "parts.whole_numbers": Advice(
        lambda: gs.gather(V, [-1.0, 2.0]),
        "convert indices to int64",
        lambda: gs.gather(V, np.array([-1.0, 2.0]).astype(np.int64)),
        [100, 100],
    ),
    "parts.whole_or_swapped": Advice(
        lambda: gs.gather(np.array([5, 6, 7]), np.array([2.0, -3.0])),
        "convert indices to int64",
        lambda: gs.gather(np.array([5, 6, 7]), np.array([2.0, -3.0]).astype(np.int64)),
        [7, 5],
    ),
    "parts.convert_either": Advice(
        lambda: gs.scatter_update(np.array([5, 6]), [0], [0.5]),
        "convert data to float64",
        lambda: gs.scatter_update(np.array([5, 6]).astype(np.float64), [0], [0.5]),
        [0.5, 6],
    ),
    "parts.convert_one": Advice(
        lambda: gs.scatter_update(np.array(["a", "b"]), [0], [1]),
        "convert one of them",
        lambda: gs.scatter_update(np.array(["a", "b"]), [0], np.array([1]).astype(str)),
        ["1", "b"],
    ),
    "parts.flat_axis": Advice(
        lambda: gs.gather(X.T, [1, -1], None),
        "pass data.ravel()",
        lambda: gs.gather(X.T.ravel(), [1, -1]),
        [4, 11],
    ),
    "parts.whole_number": Advice(
        lambda: gs.gather(X, [0], 1.0), "write axis=1", lambda: gs.gather(X, [0], axis=1), [[0], [4], [8]]
    ),
    "hints.refused_negatives": Advice(
        lambda: gs.openvino.GatherElements(X, [[-1, -3, 0, 1]], axis=0),
        "add the size (3) to them",
        lambda: gs.openvino.GatherElements(X, [[-1 + 3, -3 + 3, 0, 1]], axis=0),
        [X[[-1, -3, 0, 1], range(4)]],
    ),
    "hints.counted_from_one": Advice(
        lambda: gs.gather(V, [1, 3, 3]),
        "if they count from one, subtract 1",
        lambda: gs.gather(V, np.array([1, 3, 3]) - 1),
        [1, 100, 100],
    ),
    "hints.unsigned": Advice(
        lambda: gs.gather(V, np.array([-1, 0]).astype(np.uint64)),
        "use a signed type",
        lambda: gs.gather(V, np.array([-1, 0]).astype(np.uint64).astype(np.int64)),
        [100, 1],
    ),
    "hints.forgotten_batch_dims": Advice(
        lambda: gs.gather_nd(X.reshape(2, 6), [[[5]], [[-1]]]),
        "did you forget batch_dims=1?",
        lambda: gs.gather_nd(X.reshape(2, 6), [[[5]], [[-1]]], batch_dims=1),
        [[5], [11]],
    ),
    "hints.wrong_axis": Advice(
        lambda: gs.gather(X, [3, 0]),
        "did you mean that axis?",
        lambda: gs.gather(X, [3, 0], 1),
        X[:, [3, 0]],
    ),
}
# Advice with other tests, and sentences that hold the advice of others.
ELSEWHERE = {
    "errors.missing_attribute", "errors.unused_option", "errors.storage", "errors.forward_mode",
    "parts.broadcast_indices", "parts.broadcast_data", "parts.dropped_axis", "parts.ragged", "parts.number_labels",
    "parts.missing_labels",
    "parts.no_common_dimension", "parts.convert_lazy", "parts.convert_tensor", "parts.use_instead",
    "parts.deprecated", "parts.did_you_mean", "parts.instead_of", "parts.arrays_of_groups", "parts.axis_last",
}  # fmt: skip
WORDS = r"\b(use|pass|write|give|convert|leave|add|subtract|needs a|flatten|did you)\b"


def test_every_sentence_with_advice_has_a_case() -> None:
    sentences = read_sentences()
    texts = {f"errors.{name}": row["text"] for name, row in sentences["errors"].items()}
    texts |= {f"{part}.{name}": text for part in ("parts", "hints") for name, text in sentences[part].items()}
    advice = {
        name for name, text in texts.items() if re.search(WORDS, re.sub(r"\{.*?\}", "", text).partition(";")[2] or text)
    }
    assert advice - ADVICE.keys() - ELSEWHERE == set()


@pytest.mark.parametrize("name", ADVICE)
def test_the_advice_gives_the_right_result(name: str) -> None:
    advice = ADVICE[name]
    with pytest.raises(gs.OpError) as caught:
        advice.wrong()
    assert advice.text in str(caught.value)
    np.testing.assert_array_equal(advice.right(), advice.expected)


INSTEAD: dict[str, tuple[Callable[[], Any], Any]] = {
    "include_last_offset": (lambda: gs.gather_reduce(V, indptr=[0, 1, 1, 3]), [1, 0, 110]),
    "fill_value": (lambda: gs.gather(V, [2, 9], mode="fill"), [100, 0]),
    "padding_idx": (lambda: gs.gather_reduce(V, [[0, 2]], weights=[[1.0, 0.0]]), [1]),
    "dtype": (lambda: gs.gather(V.astype(np.int8), [2]), [100]),
    "alpha": (lambda: gs.scatter_update(V, [0, 0], np.array([1.0, 2.0]) * 3, reduction="add"), [10, 10, 100]),
    "inplace": (lambda: gs.scatter_update(data := V.copy(), [0], [5.0], out=data) is data, True),
    "copy": (lambda: gs.scatter_update(V, [0], [5.0]), [5, 10, 100]),
    "lengths": (
        lambda: gs.gather_reduce(V, offsets=np.cumsum(lengths := np.array([0, 2, 1, 0])) - lengths),
        [0, 11, 100, 0],
    ),
    "gather_reduce.skipna": (lambda: gs.aggregate([0, 0], [1.0, np.nan], "nansum"), [1]),
    "aggregate.skipna": (lambda: gs.aggregate([0, 0, 1], [1.0, np.nan, np.nan], "nanmean"), [1, np.nan]),
    "aggregate.nan_policy": (lambda: gs.aggregate([0, 0], [1.0, np.nan], "nanmax"), [1]),
    "aggregate.min_count": (
        lambda: np.where(gs.aggregate([0, 1, 1], V, "nanlen") >= 2, gs.aggregate([0, 1, 1], V), np.nan),
        [np.nan, 110],
    ),
    "aggregate.weights": (
        lambda: gs.aggregate([0, 0, 1], V * (w := np.array([2, 1, 4]))) / gs.aggregate([0, 0, 1], w),
        [np.average([1, 10], weights=[2, 1]), 100],
    ),
    "aggregate.keepdims": (lambda: gs.aggregate([0, 1, 0], X, axis=0).ndim, 2),
    "aggregate.alpha": (lambda: gs.aggregate([0, 0, 1], V * 2), [22, 200]),
    "aggregate.where": (lambda: gs.aggregate(np.array([0, 0, 1])[V > 5], V[V > 5]), [10, 100]),
    "where": (lambda: gs.scatter_update(V, np.array([0, 2])[[False, True]], [5.0]), [1, 10, 5]),
    "allow_fill": (lambda: gs.gather(V, [-4, 3, 1], mode="fill"), [0, 0, 10]),
    "keepdims": (lambda: gs.gather_elements(X, X.argmax(1)[:, None], 1), [[3], [7], [11]]),
    "max_norm": (lambda: gs.gather_reduce(V / np.maximum(V / 10, 1), [[0, 2]]), [11]),
}
# There is nothing to follow: the call without the parameter does what it asks for, or there is no such result here.
NOTHING = {
    "skipna", "min_count", "unique_indices", "indices_are_sorted", "sparse_grad", "wrap_negative_indices",
    "aggregate.dropna", "aggregate.sort", "aggregate.out", "xarray.out", "xarray.inplace", "xarray.copy",
}  # fmt: skip


def test_every_parameter_of_other_libraries_has_a_case() -> None:
    assert INSTEAD.keys() | NOTHING == read_sentences()["other_parameters"].keys()


@pytest.mark.parametrize("name", INSTEAD)
def test_what_replaces_a_parameter_gives_its_result(name: str) -> None:
    follow, expected = INSTEAD[name]
    np.testing.assert_array_equal(follow(), expected)


@pytest.mark.parametrize("value", [2.0**63, -1e30, np.inf, np.nan])
def test_floats_beyond_64_bits_are_no_whole_numbers(value: float) -> None:
    for call in (lambda: gs.gather(V, [0.0, value]), lambda: gs.aggregate([0.0, value], [1.0, 2.0])):
        with pytest.raises(gs.OpTypeError) as caught:
            call()
        assert "convert" not in str(caught.value)
