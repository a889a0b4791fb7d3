"""An index that is out of range is an error that names it, and the call has changed nothing."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest

import gatherscatter as gs
from tests.contract.adapter import Adapter
from tests.contract.calls import Call, Case, make
from tests.contract.expectations import expect
from tests.contract.matrix import ERRORS, OUT, SCATTERS
from tests.contract.test_values import find_departure


class Fault(NamedTuple):
    """A call with one bad index. ``case`` is the call without it."""

    case: Case
    call: Call
    name: str
    position: tuple[int, ...]
    value: Any


def list_faults(adapter: Adapter, function: str) -> Iterator[Fault]:
    for turn in range(4):
        element = ERRORS.find_elements(adapter, function)[0]
        options = {"aggregate": (("func", "sum"),), "prepare.reduce": (("reductions", "sum"),)}.get(function, ())
        case = Case(function, element, 3, turn, options, tame=True)
        call = make(case)
        if adapter.find_gap_of_call(call, element):
            continue
        for name, bad in _list_bad_values(call):
            is_parent = name == "parent_ids"  # it has the type of the steps, and a parent in the last step is followed
            array = call.inputs[name].astype(call.inputs[name].dtype if is_parent else np.int64)
            position = (2, 0, 0) if is_parent else tuple(n - 1 for n in array.shape)
            array[position] = bad
            changed = Call(function, call.inputs | {name: array}, call.options)
            yield Fault(case, changed, name, position, float(bad) if is_parent else bad)


def _list_bad_values(call: Call) -> Iterator[tuple[str, int]]:
    """Return inputs with bad values. -1 is a good index, but no good label, position or parent."""
    inputs, options = call.inputs, call.options
    if "indices" in inputs:
        size = _find_size(call)
        yield from (("indices", bad) for bad in (size, -size - 1, 10**9, -(10**9)))
    counts: dict[str, Any] = {"segment_ids": options.get("num_segments"), "group_idx": options.get("size")}
    counts["write_indices"] = inputs["past_cache"].shape[1] - 1 if "past_cache" in inputs else None
    counts["parent_ids"] = 3
    for name in ("offsets", "indptr"):
        counts[name] = inputs["indices"].size + 1 if "indices" in inputs else None
    for name in inputs.keys() & counts.keys():
        yield from ((name, bad) for bad in (counts[name], -1) if bad != -1 or name not in ("offsets", "indptr"))


def _find_size(call: Call) -> int:
    if call.function.startswith("prepare."):
        shape = call.options["shape"]
        return int(shape[call.options.get("axis", -1)])
    shape, indices = call.inputs["data"].shape, call.inputs["indices"]
    if call.function in ("gather_nd", "scatter_nd"):
        return int(shape[call.options.get("batch_dims", 0) + indices.shape[-1] - 1])
    return int(shape[call.options.get("axis", 0)])


@ERRORS.each
def test_a_bad_index_is_named(adapter: Adapter, function: str) -> None:
    faults = list(list_faults(adapter, function))
    assert len(faults) >= 2
    for _, call, name, position, value in faults:
        before = [array.tobytes() for array in call.inputs.values()]
        with pytest.raises(adapter.errors) as caught:
            adapter.run(call)
        assert adapter.describe_fault(call, name, position, value) in str(caught.value)
        if isinstance(caught.value, gs.OpIndexError):
            assert caught.value.op == adapter.describe_fault(call, name, position, value).partition(":")[0]
            assert [array.tobytes() for array in call.inputs.values()] == before


def fill(like: Any) -> np.ndarray:
    return np.frombuffer(bytes([7]) * like.nbytes, like.dtype).reshape(like.shape).copy()


def copy(call: Call) -> Call:
    return call._replace(inputs={name: array.copy() for name, array in call.inputs.items()})


@OUT.each
def test_out_has_the_result(adapter: Adapter, function: str) -> None:
    for element, (turn, width) in itertools.product(OUT.find_elements(adapter, function), enumerate(OUT.widths)):
        case = Case(function, element, width, turn, tame=True)
        if adapter.find_gap_of_call(make(case), element):
            continue
        expected = expect(case)
        for out in (fill(expected), *([None] if function in SCATTERS else [])):
            error, content = adapter.call_into(copy(make(case)), out)
            assert error is None, (case, error)
            assert not find_departure(adapter, case, content)


@OUT.each
def test_out_does_not_change_after_an_error(adapter: Adapter, function: str) -> None:
    for fault in list_faults(adapter, function):
        for out in (fill(expect(fault.case)), *([None] if function in SCATTERS else [])):
            call = copy(fault.call)
            held = {each.tobytes() for each in (out, next(iter(call.inputs.values()))) if each is not None}
            error, content = adapter.call_into(call, out)
            assert isinstance(error, IndexError)
            assert content.tobytes() in held
