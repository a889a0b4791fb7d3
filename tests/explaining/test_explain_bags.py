"""`gs.explain` for gather and reduce: members, bags, weights, empty bags, and the same call in other libraries."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import product
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

import gatherscatter as gs
from gatherscatter import oracle
from gatherscatter.explaining import Explanation
from gatherscatter.explaining.call import record_call
from gatherscatter.explaining.counts import Counts
from gatherscatter.explaining.moves import list_moves
from gatherscatter.explaining.trace import OutputState
from gatherscatter_conformance import corpus
from gatherscatter_conformance.run import conform
from tests.explaining.test_explain import SVG, _states
from tests.explaining.test_explain_equivalents import INTO, PACKAGES

TABLE = [[1.0, 2.0], [10.0, 20.0], [100.0, 200.0]]
BAGS = "openvino.EmbeddingBagOffsets"


def _steps(explanation: Explanation) -> list[str]:
    """Return the lines of the steps, without their numbers."""
    lines = str(explanation).partition("Step by step")[2].splitlines()[1:]
    return [re.sub(r"^ +\d+  ", "", line) for line in lines if line.startswith("  ")]


# ------------------------------------------------------------------------------------------------ what steps say


def test_steps_name_member_row_weight_and_bag() -> None:
    explanation = gs.explain(BAGS, TABLE, [0, 2, 1], [0, 2, 2], 1, [1.0, 0.5, 2.0])
    assert _steps(explanation) == [
        "indices[0] = 0: emb_table[0, :] \u00d7 1 → output[0, :]: [1, 2]",
        "indices[1] = 2: emb_table[2, :] \u00d7 0.5 → output[0, :]: [1, 2] + [50, 100] = [51, 102]",
        "default_index = 1: no members: emb_table[1, :] → output[1, :]: [10, 20]",
        "indices[2] = 1: emb_table[1, :] \u00d7 2 → output[2, :]: [20, 40]",
    ]


@pytest.mark.parametrize(
    ("call", "attributes", "words"),
    [
        ((BAGS, TABLE, [1], [0, 1]), {}, "no members: zeros → output[1, :]: [0, 0]"),
        ((BAGS, TABLE, [1], [0, 1], -1), {}, "no members: zeros → output[1, :]: [0, 0]"),
        (
            ("openvino.SegmentMax", np.array([5, 7], np.int8), [0, 2], 3),
            {"fill_mode": "LOWEST"},
            "no members: the lowest number → output[1]: -128",
        ),
        (("gather_reduce", TABLE, [1]), {"offsets": [0, 1], "default": 4.0}, "default → output[1, :]: [4, 4]"),
        (
            ("gather_reduce", TABLE, [1]),
            {"offsets": [0, 1], "default": [4.0, 5.0]},
            "default[:] → output[1, :]: [4, 5]",
        ),
        (("gather_reduce", TABLE, [[9]]), {"mode": "fill"}, "out of range: zeros → output[0, :]: [0, 0]"),
    ],
)
def test_what_an_empty_bag_and_a_missing_row_give(
    call: tuple[Any, ...], attributes: dict[str, Any], words: str
) -> None:
    explanation = gs.explain(*call, **attributes)
    assert explanation.error is None
    assert words in str(explanation)


def test_members_before_the_first_offset_are_in_no_bag() -> None:
    explanation = gs.explain(BAGS, TABLE, [2, 1], [1])
    assert _steps(explanation)[0] == "indices[0] = 2: in no bag"
    assert _states(explanation.svg(), "emb_table") == dict.fromkeys(
        ("0,0", "0,1", "2,0", "2,1"), "untouched"
    ) | dict.fromkeys(("1,0", "1,1"), "read")


@pytest.mark.parametrize(
    ("reduction", "words"),
    [
        ("add", "[1, 2] + [10, 20] = [11, 22]"),
        ("mul", "[1, 2] \u00d7 [10, 20] = [10, 40]"),
        ("min", "min([1, 2], [10, 20]) = [1, 2]"),
        ("max", "max([1, 2], [10, 20]) = [10, 20]"),
        ("mean", "mean of 2 contributions, the newest [10, 20]: [5.5, 11]"),
    ],
)
def test_how_the_rows_of_a_bag_are_combined(reduction: str, words: str) -> None:
    explanation = gs.explain(gs.gather_reduce, TABLE, [[0, 1]], reduction=reduction)
    assert words in _steps(explanation)[1]
    assert f"{reduction}: " in explanation.svg()


def test_rows_without_indices_are_members_in_their_order() -> None:
    assert _steps(gs.explain("openvino.SegmentMax", [3, 1, 2], [0, 0, 1], fill_mode="ZERO")) == [
        "segment_ids[0] = 0: data[0] → output[0]: 3",
        "segment_ids[1] = 0: data[1] → output[0]: max(3, 1) = 3",
        "segment_ids[2] = 1: data[2] → output[1]: 2",
    ]


@pytest.mark.parametrize(
    ("call", "attributes", "rule"),
    [
        ((BAGS, TABLE, [1], [0, 0]), {}, "offsets.shape + emb_table.shape[1:]"),
        (("openvino.EmbeddingBagPacked", TABLE, [[1], [0]]), {}, "indices.shape[:1] + emb_table.shape[1:]"),
        (("openvino.EmbeddingSegmentsSum", TABLE, [1], [0], 2), {}, "(num_segments,) + emb_table.shape[1:]"),
        (("gather_reduce", TABLE, [1]), {"offsets": [0, 0]}, "offsets.shape + data.shape[1:]"),
        (("gather_reduce", TABLE, [[1], [2]]), {}, "indices.shape[:-1] + data.shape[1:]"),
        (
            ("gather_reduce", TABLE, [1]),
            {"segment_ids": [1]},
            "(num_segments or max(segment_ids)+1,) + data.shape[1:]",
        ),
    ],
)
def test_the_shape_rule_is_that_of_the_bags(call: tuple[Any, ...], attributes: dict[str, Any], rule: str) -> None:
    assert gs.explain(*call, **attributes).shape_rules == (
        f"output.shape = {rule}\n             = (2,) + (2,) = (2, 2)",
    )


def test_an_optional_input_may_be_given_by_name() -> None:
    explanation = gs.explain(f"{BAGS}Sum", TABLE, [0, 1], [0], per_sample_weights=[2.0, 3.0])
    assert explanation.result.tolist() == [[32, 64]]
    assert "default_index" not in explanation.call.arrays


# ------------------------------------------------------------------------------------------------ pictures


@pytest.mark.parametrize(
    ("call", "array", "bad"),
    [
        ((BAGS, TABLE, [0, 3, 1], [0, 1]), "indices", "1"),
        ((BAGS, TABLE, [0, -1, 1], [0, 1]), "indices", "1"),
        ((BAGS, TABLE, [0, 2, 1], [0, 4]), "offsets", "1"),
        ((BAGS, TABLE, [0, 2, 1], [-1, 2]), "offsets", "0"),
        ((BAGS, TABLE, [0, 2, 1], [0, 2], 3), "default_index", ""),
        (("openvino.EmbeddingSegmentsSum", TABLE, [0, 2], [0, 2], 2), "segment_ids", "1"),
        (("openvino.EmbeddingBagPacked", TABLE, [[0, 5]]), "indices", "0,1"),
    ],
)
def test_a_bad_index_offset_or_segment_id_is_marked(call: tuple[Any, ...], array: str, bad: str) -> None:
    explanation = gs.explain(*call)
    assert isinstance(explanation.error, IndexError)
    states = _states(explanation.svg(), array)
    assert [at for at, state in states.items() if state == "bad"] == [bad]
    assert [other for other in ("indices", "offsets", "segment_ids", "default_index")
            if other != array and "bad" in _states(explanation.svg(), other).values()] == []  # fmt: skip
    assert sum(line.endswith("the call fails, and nothing is written") for line in _steps(explanation)) == 1
    assert "bad" not in [move.target for move in explanation.drawing.moves]


def test_segment_ids_in_the_wrong_order_are_crossed_out() -> None:
    explanation = gs.explain("openvino.EmbeddingSegmentsSum", TABLE, [0, 1], [1, 0], 2)
    names = [text for text in ElementTree.fromstring(explanation.svg()).iter(f"{SVG}text")
             if "name" in (text.get("class") or "") and "error" in text.get("class")]  # fmt: skip
    assert [text.text for text in names] == ["segment_ids"]


def test_cells_of_bags_have_their_states() -> None:
    picture = gs.explain(BAGS, TABLE, [0, 0, 1], [0, 2, 3], 2, [1.0, 1.0, 1.0]).svg()
    assert _states(picture, "output") == {"0,0": "written", "0,1": "written", "1,0": "written", "1,1": "written",
                                          "2,0": "filled", "2,1": "filled"}  # fmt: skip
    assert [_states(picture, "emb_table")[f"{row},0"] for row in range(3)] == ["again", "read", "read"]
    assert set(_states(picture, "per_sample_weights").values()) == {"read"}


def test_the_arrows_of_one_bag_have_one_colour() -> None:
    root = ElementTree.fromstring(gs.explain("openvino.EmbeddingBagPacked", TABLE, [[0, 1], [2, 1]]).svg())
    hues: dict[str, set[str]] = {}
    for group in root.iter(f"{SVG}g"):
        if "move" in (group.get("class") or "").split():
            arrows = [path.get("class") for path in group.iter(f"{SVG}path")]
            found = {re.sub(r"\D", "", name) for name in arrows if name.startswith("arrow")}
            hues.setdefault(group.get("data-move"), set()).update(found)
    assert hues["1"] == hues["2"] != hues["3"] == hues["4"]
    assert len(hues["1"] | hues["3"]) == 2


def test_many_members_are_summarised_and_all_counted() -> None:
    indices = np.random.default_rng(0).integers(0, 3, 500_000)
    explanation = gs.explain(BAGS, TABLE, indices, np.array([0, 0, 400_000]))
    assert explanation.drawing.total == 500_001
    assert len(explanation.svg()) < 400_000
    assert len(str(explanation)) < 20_000
    counts = Counts(explanation.call)
    assert [counts.of((row, 0)) for row in range(3)] == np.bincount(indices).tolist()


# ------------------------------------------------------------------------------------------------ the array function

FORMS: tuple[dict[str, Any], ...] = (
    {},
    {"offsets": [0, 2, 2, 5]},
    {"indptr": [0, 2, 2, 5, 6]},
    {"segment_ids": [3, 0, 3, 1, 0, 3], "num_segments": 5},
    {"segment_ids": np.array([0, 0, 2, 2, 2, 3], np.uint64)},
)


def _calls() -> Iterator[tuple[np.ndarray, np.ndarray, dict[str, Any]]]:
    """Return calls with every form of bags and every reduction. The other options alternate."""
    random = np.random.default_rng(3)
    options = product(FORMS, ("add", "mul", "min", "max", "mean"), ("float32", "float16", "int8", "int64"))
    for number, (form, reduction, dtype) in enumerate(options):
        data = (random.integers(-9, 9, (4, 2)) / np.dtype(dtype).type(3)).astype(dtype)
        indices = random.integers(-4, 4, 6 if form else (2, 1, 3))
        keywords = {"reduction": reduction, **form}
        if number % 3:
            keywords["weights"] = random.integers(-3, 3, indices.shape).astype(dtype)
        if number % 2:
            keywords["default"] = data[1] if number % 4 == 1 else data[1, 1]
        if number % 5 == 0:
            indices, keywords["mode"] = 3 * indices, ("wrap", "clip", "fill")[number % 3]
        yield data, indices, keywords


def _expected(data: np.ndarray, indices: np.ndarray, keywords: dict[str, Any]) -> np.ndarray:
    """Compute the result with the oracle, which takes a bag for each member."""
    count = indices.size
    if "offsets" in keywords or "indptr" in keywords:
        starts = keywords["offsets"] if "offsets" in keywords else keywords["indptr"][:-1]
        ends = [*starts[1:], count]
        bags = [b for b, (first, last) in enumerate(zip(starts, ends, strict=True)) for _ in range(first, last)]
        number = len(ends)
    elif "segment_ids" in keywords:
        bags = [int(b) for b in keywords["segment_ids"]]
        number = keywords.get("num_segments", max(bags) + 1)
    else:
        number = count // indices.shape[-1]
        bags = [b for b in range(number) for _ in range(indices.shape[-1])]
    weights = keywords["weights"].reshape(-1) if "weights" in keywords else None
    default, mode = keywords.get("default", 0), keywords.get("mode", "raise")
    arguments = (indices.reshape(-1).tolist(), bags, number, weights, keywords["reduction"])
    defaults = np.broadcast_to(default, 2)
    columns = [
        oracle.gather_reduce(data[:, n], *arguments, default=defaults[n], accumulate="step", mode=mode)
        for n in range(2)
    ]
    shape = indices.shape[:-1] if indices.ndim > 1 else (number,)
    return np.stack(columns, axis=-1).reshape(*shape, 2)


def test_the_last_state_of_the_steps_is_the_result_of_the_array_function() -> None:
    checked = 0
    for data, indices, keywords in _calls():
        call = record_call(gs.gather_reduce, (data, indices), keywords)
        assert call.error is None, keywords
        state, moves = OutputState(call), list(list_moves(call))
        for move in moves:
            state.add(move)
        np.testing.assert_array_equal(state.output(), _expected(data, indices, keywords), err_msg=str(keywords))
        assert Counts(call).total == len(moves)
        checked += 1
    assert checked == 100


@pytest.mark.filterwarnings("ignore:index_reduce")
@pytest.mark.parametrize("library", ["numpy", "pytorch", "jax"])
def test_code_for_a_library_does_what_the_array_function_does(library: str) -> None:
    pytest.importorskip(PACKAGES[library])
    checked = 0
    for data, indices, keywords in list(_calls())[:: 9 if library == "jax" else 1]:
        if library == "jax" and data.dtype == np.int64:
            continue  # JAX converts these to int32
        explanation = gs.explain("gather_reduce", data, indices, **keywords)
        other = explanation.equivalents[library]
        if other.code is None:
            assert keywords["mode"] == "fill", other.reason
            continue
        arrays = {name: array.astype(np.int64) if array.dtype == np.uint64 else array
                  for name, array in explanation.call.arrays.items()}  # fmt: skip
        names = {name: INTO[library](array) for name, array in arrays.items()}
        exec(other.code, names)
        expected = _expected(data, indices, keywords)
        close = 1e-6 if library == "jax" else 2e-3 if "rounds once" in other.code else 0
        np.testing.assert_allclose(
            np.asarray(names["output"]), expected, rtol=close, err_msg=f"{other.code}\n{keywords}"
        )
        assert np.asarray(names["output"]).dtype == data.dtype
        checked += 1
    assert checked >= 6


def test_errors_of_the_function_are_explained() -> None:
    for call in (([5.0], [0]), (TABLE, [0], [0]), (5, [[0]]), (TABLE, [[0.5]]), (TABLE, "x")):
        explanation = gs.explain("gather_reduce", *call)
        assert explanation.error is not None
        assert type(explanation.error).__name__ in str(explanation)
        ElementTree.fromstring(explanation.svg())
    assert "offsets must begin with 0" in str(gs.explain("gather_reduce", TABLE, [0, 1], offsets=[1]).error)


# ------------------------------------------------------------------------------------------------ other libraries


@pytest.mark.parametrize(
    ("library", "code"),
    [
        (
            "numpy",
            "import numpy as np\n"
            "# NumPy would take negative indices from the end; openvino.EmbeddingBagOffsets-15 refuses them\n"
            "rows = emb_table[indices]\n"
            "bags = np.repeat(np.arange(len(offsets)), np.diff(offsets, append=len(indices)))\n"
            "output = np.full((len(offsets), *emb_table.shape[1:]), -0.0, emb_table.dtype)\n"
            "np.add.at(output, bags, rows)",
        ),
        (
            "pytorch",
            "import torch\n"
            "# PyTorch would take negative indices from the end; openvino.EmbeddingBagOffsets-15 refuses them\n"
            "rows = emb_table[indices]\n"
            "bags = torch.repeat_interleave(torch.diff(offsets, append=offsets.new_tensor([len(indices)])))\n"
            "output = torch.full((len(offsets), *emb_table.shape[1:]), -0.0, dtype=emb_table.dtype)"
            ".index_add(0, bags, rows)",
        ),
    ],
)
def test_code_of_bags_by_offsets(library: str, code: str) -> None:
    assert gs.explain(BAGS, TABLE, [0, 1, 2], [0, 2]).equivalents[library].code == code


def test_einx_says_that_it_has_no_bags() -> None:
    other = gs.explain(BAGS, TABLE, [0], [0]).equivalents["einx"]
    assert (other.code, other.reason) == (None, "einx has no reduction over bags of different sizes")


@pytest.mark.parametrize("library", ["numpy", "pytorch", "jax"])
def test_the_own_functions_of_a_library_give_the_results_of_plain_bags(library: str) -> None:
    pytest.importorskip(PACKAGES[library])
    names = [row.name for row in gs.ops() if row.kernel == "gather_reduce"]
    cases = [
        case
        for name in names
        for case in corpus.cases(op=name, type="float32", kind="bags")
        if "before-the-first-offset" not in case.id
    ]  # PyTorch refuses these
    results = conform([library], cases).results[library]
    verdicts = {judgement.verdict for judgement in results.values()}
    assert "pass" in verdicts
    assert verdicts <= {"pass", "allowed", "not asked"}


def test_members_that_are_skipped_are_in_no_bag() -> None:
    rows = gs.explain(gs.gather_reduce, TABLE, segment_ids=[1, -1, 0][: len(TABLE)], negative="skip")
    assert "segment_ids[1] = -1: in no bag" in str(rows)
    named = gs.explain(gs.gather_reduce, TABLE, [[0, -1]], negative="skip", reduction="mean")
    assert "indices[0, 1] = -1: in no bag" in str(named)
    assert named.equivalents["numpy"].code is None
    picked = gs.explain(gs.gather, TABLE, [0, -1], negative="skip")
    assert "indices[1] = -1: negative, which names nothing: zeros into output[1, :]" in str(picked)
