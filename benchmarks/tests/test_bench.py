"""The benchmark: its table, contenders, judgements and reports. No test measures how long something takes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gatherscatter as gs
from benchmarks.bound import RANDOM, compute_bound
from benchmarks.case import BenchCase, build
from benchmarks.contenders import PEERS, by_numba, make_contenders
from benchmarks.contenders.contender import Contender, TimedCall, find_calls
from benchmarks.contenders.ours import Ours
from benchmarks.distributions import DISTRIBUTIONS
from benchmarks.limits import Limits
from benchmarks.measure import measure
from benchmarks.reference import Reference
from benchmarks.report import find_reason, groups, to_markdown
from benchmarks.results import AGAIN, OURS, Effort, Results, Row, RunPlan, Timing, make_row, read_json
from benchmarks.tests.test_bench_bags import WAYS
from benchmarks.workload import GATHERS, SCATTERS, Workload
from benchmarks.workloads import SETS, WORKLOADS, select
from tests.support.command_line import call, examples_of, fail, succeed
from tests.support.paths import DOCS
from tests.support.processes import in_another_process

SMALL = 12  # longest dimension of a scaled-down workload
LEAST = Effort(rounds=8, seconds=0.0)
UNTIMED = Effort(rounds=0)  # contenders are only checked
LIMITS = Limits(
    (1 << 15, 1 << 20), (1e10, 1e10), (2e10, 1e10), (0.0, 1e-11), {4: (1e9, 1e8), 8: (1e9, 1e8), 64: (1e8, 1e7)}
)
BAGS = {"form": "gather_reduce", "data": (5000, 64), "grouping": "offsets", "bags": 50}
ADD = Workload("test/add", "add", (50,), (400,), form="scatter_update", reduction="add")


CALLS = [row for row in WORKLOADS if not row.is_model]  # test_bench_models.py has the others


def small() -> list[Workload]:
    return [row.at_most(SMALL) for row in CALLS]


def test_ids_are_unique_and_have_a_group_and_a_name() -> None:
    assert len({row.id for row in WORKLOADS}) == len(WORKLOADS)
    assert all(re.fullmatch(r"[\w-]+/[\w-]+", row.id) for row in WORKLOADS)


def test_the_table_covers_what_it_claims() -> None:
    assert {row.form for row in CALLS} == {*GATHERS, *SCATTERS, "aggregate"}
    assert {row.itemsize for row in CALLS} == {1, 2, 4, 8, 16}
    assert {"int64", "int32", "uint8", "uint32"} <= {row.index_dtype for row in CALLS}
    assert {*DISTRIBUTIONS, "pattern"} == {row.distribution for row in CALLS}
    assert {"none", "add", "sub", "mul", "min", "max", "mean"} == {
        row.reduction for row in CALLS if not row.is_statistic
    }
    assert {"contiguous", "strided", "transposed", "expanded"} <= {row.layout for row in CALLS}
    adding = [row for row in CALLS if row.reduction == "add"]
    for forms in (SCATTERS, ("gather_reduce",)):
        assert {"float16", "bfloat16"} <= {row.dtype for row in adding if row.form in forms}
    sizes = [row.data_bytes for row in CALLS if row.group == "sizes"]
    assert (min(sizes), max(sizes)) == (64, 1 << 32)


def test_huge_workloads_run_on_request_only() -> None:
    assert all(row.data_bytes < 3 << 30 and not row.huge for row in select())
    assert any(row.huge for row in select(huge=True))


def test_the_default_set_has_some_of_every_group() -> None:
    quick, default = ({row.id for row in select(among=name)} for name in ("quick", "default"))
    assert {row.group for row in select(among="default")} == {row.group for row in WORKLOADS}
    assert quick < default
    assert 90 <= len(default) <= 130
    for name in ("quick", "default"):
        assert all(select([pattern]) for pattern in SETS[name])  # every name exists


@pytest.mark.parametrize("row", CALLS, ids=lambda row: row.id)
def test_a_workload_is_consistent(row: Workload) -> None:
    """The full shapes are consistent. Only the scaled-down arrays are allocated."""
    assert compute_bound(row, LIMITS).kind in ("stream", "random", "call")
    case = build(row.at_most(SMALL))
    assert case.data.shape == row.at_most(SMALL).data
    assert case.data.dtype.itemsize == row.itemsize
    assert case.indices.dtype == row.index_dtype
    if case.updates is not None:
        assert case.updates.shape == case.workload.slots
    again = build(row.at_most(SMALL))
    assert np.array_equal(case.indices, again.indices)
    assert case.data.tobytes() == again.data.tobytes()


@pytest.mark.parametrize("row", [row for row in small() if not row.is_statistic], ids=lambda row: row.id)
def test_our_result_has_the_bits_of_the_reference(row: Workload) -> None:
    case = build(row)
    reference = Reference(case)
    (ours,) = find_calls(Ours(1), case).values()
    assert reference.same_bits(ours.result(ours.run()))


@pytest.mark.full
@pytest.mark.parametrize("row", [row for row in small() if row.given], ids=lambda row: row.id)
def test_a_conversion_before_the_call_gives_the_same_bits(row: Workload) -> None:
    ours, first = measure(row, make_contenders(["convert-first", "numpy"], 1)[1:-1], UNTIMED)
    assert (ours.state, first.state, first.way) == ("ok", "ok", "convert, then call")


@pytest.mark.parametrize("row", [row for row in WORKLOADS if row.entry == "torch"], ids=lambda row: row.id)
@pytest.mark.parametrize("peer", ["numpy", "jax", "torch"])
def test_a_workload_of_tensors_has_tensors_as_results(row: Workload, peer: str) -> None:
    """A library that takes arrays converts them, and its result."""
    torch = pytest.importorskip("torch")
    case = build(row)
    *_, contender = make_contenders([peer], 1)
    calls = find_calls(contender, case)
    assert calls
    for way in calls.values():
        result = way.run()
        assert isinstance(result, torch.Tensor)
        assert Reference(case).accepts(way.result(result))


def some_of_each() -> list[Workload]:
    """Return a workload for every combination of properties that the adapters depend on."""
    looks = ("form", "dtype", "reduction", "axis", "batch_dims", "out", "layout", "grouping", "weighted", "prepared")
    rows = [row for row in small() if not row.given and not row.bits]  # few libraries take part in those
    kinds = {(*(getattr(row, name) for name in looks), row.indices[-1:] > (1,)): row for row in rows}
    return list(kinds.values())


# Known faults of peers on single-threaded, small input. The check must find them.
ROUNDS_DOUBLES = {"openvino"}  # computes float64 in float32
WHOLE = {"numpy", "torch", "jax", "onnxruntime", "openvino", "numba"}  # libraries that have most of the operators


def check(peer: str) -> None:
    """Check a peer on small workloads. This runs in a separate process."""
    rows = some_of_each() if peer not in WAYS else without_bags()
    rows = [row for row in rows if peer not in ROUNDS_DOUBLES or row.dtype not in ("float64", "int64")]
    check_rows(rows, make_contenders([peer], 1)[-1], 4 if peer in WHOLE else 20)


def without_bags() -> list[Workload]:
    """Exclude the workloads that reduce bags. test_bench_bags.py checks them."""
    return [row for row in some_of_each() if row.form != "gather_reduce"]


def check_rows(rows: list[Workload], contender: Contender, share: int) -> None:
    """Check that a contender is never wrong, and right for more than one in ``share`` rows.

    All rows run in one process, so later rows use code that was compiled for earlier ones.
    """
    found = [(row, measure(row, [Ours(1), contender], UNTIMED)[1]) for row in rows]
    assert [(row.id, timing.note) for row, timing in found if timing.state == "wrong"] == []
    assert sum(timing.state == "ok" for _, timing in found) > len(rows) / share


class ParallelLoop(by_numba.NumbaContender):
    """Numba without its serial loop, which is faster on small workloads."""

    def calls(self, case: BenchCase) -> Mapping[str, TimedCall]:
        return {way: call for way, call in super().calls(case).items() if way == "parallel loop"}


def check_parallel_loops() -> None:
    """Check Numba's parallel loops on small workloads. This runs in a separate process."""
    by_numba._SMALL = 0
    check_rows(without_bags(), ParallelLoop(2), 4)


@pytest.mark.full
@pytest.mark.parametrize(
    "peer", [name for name in PEERS if name not in ("onnxruntime-1", "two-steps", "convert-first")]
)
def test_a_peer_is_right_or_refuses(peer: str) -> None:
    if find_spec(peer.replace("-", "_")) is None:
        pytest.skip(f"{peer} is not installed")
    in_another_process(f"check({peer!r})", "benchmarks.tests.test_bench")


@pytest.mark.full
def test_parallel_loops_of_numba_are_right_or_refuse() -> None:
    pytest.importorskip("numba")
    in_another_process("check_parallel_loops()", "benchmarks.tests.test_bench")


class Liar(Contender):
    """A contender that returns zeros instead of the result, in the first or in a later run."""

    name = "liar"

    def __init__(self, honest_runs: int) -> None:
        self._honest_runs = honest_runs

    def calls(self, case: BenchCase) -> Mapping[str, TimedCall]:
        right = Reference(case).expected
        answers = iter([right] * self._honest_runs + [np.zeros_like(right)] * 9)
        return {"lie": TimedCall(lambda: next(answers))}


class Broken(Liar):
    def calls(self, case: BenchCase) -> Mapping[str, TimedCall]:
        raise RuntimeError("not implemented")


def row_with(contender: Contender, workload: Workload = ADD) -> Row:
    timings = measure(workload, [Ours(1), contender], LEAST)
    return make_row(workload, timings, compute_bound(workload, LIMITS))


@pytest.mark.parametrize("honest_runs", [0, 1, 2])
def test_a_wrong_contender_is_shown_as_wrong_and_does_not_count(
    honest_runs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("benchmarks.measure._SLOW", 1e9)  # even a slow contender runs again
    row = row_with(Liar(honest_runs))
    assert row.timings[1].state == "wrong"
    assert f"run {honest_runs + 1} of 3" in row.timings[1].note
    assert row.theirs is None
    assert row.ratio is None
    ((cells,),) = (section.rows for section in groups(results_of(row)))
    assert cells[-1] == "liar"


def test_a_contender_that_raises_is_shown_as_one_that_refuses() -> None:
    row = row_with(Broken(0))
    assert row.timings[1].state == "refused"
    assert "not implemented" in row.timings[1].note
    assert "not implemented" in row.fault
    assert row.theirs is None


@pytest.mark.parametrize("change", [1e-3, 1.0])
def test_the_tolerance_for_sums_does_not_hide_a_lost_update(change: float) -> None:
    case = build(ADD)
    reference = Reference(case)
    near, far = reference.expected.copy(), reference.expected.copy()
    near[3] = np.nextafter(near[3], np.float32(np.inf))
    far[3] += change
    assert reference.accepts(near)
    assert not reference.same_bits(near)
    assert not reference.accepts(far)
    assert not reference.accepts(reference.expected.astype(np.float64))


def test_moves_and_integers_are_compared_by_bits() -> None:
    for workload in (replace(ADD, dtype="int32"), replace(ADD, reduction="none"), replace(ADD, reduction="max")):
        reference = Reference(build(workload))
        wrong = reference.expected.copy()
        wrong[3] = np.nextafter(wrong[3], np.float32(9)) if wrong.dtype.kind == "f" else wrong[3] + 1
        assert reference.accepts(reference.expected.copy())
        assert not reference.accepts(wrong)


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_distributions_stay_in_range(name: str) -> None:
    drawn = DISTRIBUTIONS[name](500, 700, np.random.default_rng(0), 0.0)
    assert drawn.shape == (500,)
    assert drawn.min() >= (-700 if name == "negatives" else 0)
    assert drawn.max() < 700
    assert len(set(drawn.tolist())) == 500 or name != "permutation"


def test_the_limit_of_random_access_is_lower_than_that_of_a_stream() -> None:
    row = Workload("test/take", "take", (1 << 20,), (1 << 20,), form="gather")
    assert "uniform" in RANDOM
    assert compute_bound(row, LIMITS).kind == "random"
    assert compute_bound(replace(row, distribution="sorted"), LIMITS).kind == "stream"
    assert compute_bound(replace(row, out=True), LIMITS).seconds < compute_bound(row, LIMITS).seconds


def results_of(*rows: Row) -> Results:
    machine = {"cpu": "<a cpu>", "cores": 2, "memory_gib": 1.0, "system": "s", "python": "3", "date": "d"}
    return Results(
        RunPlan(("liar",), 2, LEAST), {**machine, "versions": {"gatherscatter": "0"}}, LIMITS, [], list(rows)
    )


def run_bench(folder: Path, *args: str) -> tuple[str, dict]:
    """Run three tiny workloads from the command line."""
    rows = ["--only", "tiny/take", "--only", "sizes/add-64", "--only", "spatter/set-lulesh-1"]
    done = call("benchmarks", *rows, "--peers", "numpy", "--repeat", "8", "--json", folder / "r.json", *args)
    assert done.exit_code == 0, done.stderr
    return done.stdout, json.loads((folder / "r.json").read_text())


@pytest.fixture
def quiet(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Use small workloads and do not measure limits."""
    monkeypatch.setattr("benchmarks.session.measure_limits", lambda *args: LIMITS)
    monkeypatch.setattr("benchmarks.workloads.WORKLOADS", tuple(small()))
    threads = gs.num_threads()
    yield
    gs.set_num_threads(threads)


@pytest.mark.usefixtures("quiet")
def test_a_run_through_the_command_line(tmp_path: Path) -> None:
    text, found = run_bench(tmp_path, "--threads", "2")
    assert "All: geometric mean" in text
    assert "numpy" in text
    everybody = ["gatherscatter", AGAIN, "gatherscatter-1", "numpy"]
    assert list(found["machine"]["versions"]) == everybody
    assert found["machine"]["cores"]
    results = read_json(tmp_path / "r.json")
    assert [row.workload.id for row in results.rows] == ["sizes/add-64", "spatter/set-lulesh-1", "tiny/take"]
    for row in results.rows:
        assert [timing.contender for timing in row.timings] == everybody
        assert all(timing.state == "ok" and len(timing.samples) == 8 for timing in row.timings)
        assert row.peer == "numpy"
        assert row.ratio is not None
        assert 0 < row.ratio.low <= row.ratio.value <= row.ratio.high
        assert len(row.scaling) == 1
        assert results.verdict(row) in ("ahead", "even", "behind")
    assert list(results.patterns()) == [name for name in everybody if name != AGAIN]


@pytest.mark.usefixtures("quiet")
def test_results_can_be_read_again(tmp_path: Path) -> None:
    _, found = run_bench(tmp_path, "--threads", "1")
    again = read_json(tmp_path / "r.json")
    again.write_json(tmp_path / "again.json")
    assert json.loads((tmp_path / "again.json").read_text()) == found
    text = succeed("benchmarks", "--from", tmp_path / "r.json", "--markdown", tmp_path / "r.md")
    assert "All: geometric mean" in text
    assert all(row.workload.title in (tmp_path / "r.md").read_text() for row in again.rows)


@pytest.mark.usefixtures("quiet")
def test_results_are_published_without_samples_and_say_the_same(tmp_path: Path) -> None:
    run_bench(tmp_path, "--threads", "2")
    first, second = tmp_path / "r.json", tmp_path / "published.json"
    text = succeed("benchmarks", "--from", first, "--json", second)
    assert succeed("benchmarks", "--from", second) == text.partition("written:")[0]
    assert to_markdown(read_json(second)) == to_markdown(read_json(first))
    assert second.stat().st_size < first.stat().st_size
    assert not any(row.timings for row in read_json(second).rows)


def test_the_published_results_are_whole_and_small() -> None:
    (file,) = (DOCS / "performance").glob("*.json")
    assert file.stat().st_size < 100_000
    results = read_json(file)
    assert not results.missing
    assert not any(row.timings for row in results.rows)
    measured = {row.workload.id for row in results.rows}
    assert measured == {row.id for row in select() if row.group != "sessions"}


@pytest.mark.parametrize(
    ("changes", "peer", "limit"),
    [
        ({"data": (64,), "indices": (8,)}, ("numpy", "assign"), "the call"),
        ({"out": True}, ("numpy", "ufunc.at"), "indices are read twice"),
        ({"distribution": "permutation", "reduction": "none"}, ("numba", "parallel loop"), "no index repeats"),
        ({}, ("torch", "scatter_add_"), "keep their order"),
        ({"form": "gather", "reduction": "none"}, ("numba", "loop"), "does not check"),
        (BAGS, ("torch", "embedding_bag"), "not explained"),
        (BAGS, ("scipy", "csr @ data"), "not explained"),
        (BAGS | {"data": (5000, 16)}, ("scipy", "csr @ data"), "does not check"),
        (BAGS | {"dtype": "float16"}, ("torch", "embedding_bag"), "generates"),
        (BAGS | {"dtype": "float16", "weighted": True}, ("torch", "embedding_bag"), "rounded"),
        (BAGS | {"grouping": "segments"}, ("numba", "loop over members"), "grouped"),
        (BAGS | {"grouping": "segments"}, ("numba", "loop"), "not explained"),
        (BAGS | {"grouping": "segments", "prepared": True}, ("torch", "embedding_bag"), "not explained"),
        ({"form": "gather", "reduction": "none", "data": (5000, 64)}, ("torch", "index"), "not explained"),
    ],
)
def test_a_row_that_is_behind_says_why(changes: dict[str, Any], peer: tuple[str, str], limit: str) -> None:
    workload = replace(ADD, **({"data": (5000,), "indices": (100_000,)} | changes))
    ours, best = Timing(OURS, "ok", "", "", [2.0]), Timing(peer[0], "ok", peer[1], "", [1.0])
    assert limit in find_reason(make_row(workload, [ours, best], compute_bound(workload, LIMITS)))


def test_the_list_shows_every_workload() -> None:
    text = succeed("benchmarks", "--list", "--all", "--huge")
    assert all(row.id in text for row in WORKLOADS)
    for name, options in (("quick", ["--quick"]), ("default", [])):
        listed = succeed("benchmarks", "--list", *options)
        assert all(row.id in listed for row in select(among=name))
        assert listed.count("\n") == len(select(among=name)) + 2


@pytest.mark.parametrize(
    ("args", "part"),
    [
        (["--only", "nothing"], "no workload matches nothing"),
        (["--only", "tiny/take", "--peers", "abacus"], "'abacus' is not a peer. Choose from numpy, torch"),
        (["--against", "no-such-commit", "--only", "tiny/take"], "commit 'no-such-commit' cannot be read"),
        (["--repeat", "3"], "3 is not in the range x>=8"),
    ],
)
def test_mistakes_give_one_line(args: list[str], part: str) -> None:
    assert part in fail("benchmarks", *args)


def test_a_peer_that_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert "pip install torch" in fail("benchmarks", "--only", "tiny/take", "--peers", "torch")


def test_the_help_has_examples() -> None:
    assert examples_of(call("benchmarks", "--help").stdout)
