"""Inputs of any layout and type are read, never changed, and lose nothing in silence."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

import gatherscatter as gs
from gatherscatter_conformance import random_calls
from tests.contract.adapter import Adapter, NumPy
from tests.contract.calls import Call, Case, make
from tests.contract.expectations import expect_call, find_like
from tests.contract.matrix import CASTS, EMPTY, LAYOUTS, OBJECTS
from tests.contract.test_values import find_departure_of_call
from tests.support import judge
from tests.support.judge import content

KINDS = ("a subclass", "a matrix", "records", "a mask without masked values", "a parameter", "masked", "units")


def expect(call: Call) -> Any:
    """Return the result of the oracle. Statistics have another judge: here it is the call on plain arrays."""
    return NumPy().run(call) if call.function == "aggregate" else expect_call(call)


def with_function(case: Case) -> Call:
    """Return the call of a case, with a statistic or a reduction where the function needs one."""
    options = {"aggregate": {"func": "sum"}, "prepare.reduce": {"reductions": "sum"}}.get(case.function, {})
    return make(case._replace(options=tuple(options.items()), tame=True))


def change(call: Call, layout: str) -> Call:
    """Return the call with inputs in a layout. The last pointer stays the number of members."""
    keeps = ("indptr",) if layout == "zero stride" else ()
    inputs = {
        name: array.copy() if name in keeps else random_calls.change_layout(array.copy(), layout)
        for name, array in call.inputs.items()
    }
    return call._replace(inputs=inputs)


def make_native(array: Any, like: np.ndarray) -> Any:
    """Return a result in native byte order. It may have that of data."""
    if isinstance(array, Exception) or array.dtype.isnative:
        return array
    assert array.dtype == like.dtype
    return array.astype(array.dtype.newbyteorder("="))


@LAYOUTS.each
def test_inputs_of_any_layout(adapter: Adapter, function: str) -> None:
    ways = itertools.product(random_calls.LAYOUTS, LAYOUTS.find_elements(adapter, function), range(4))
    for n, (layout, element, turn) in list(enumerate(ways))[:: adapter.step]:
        call = with_function(Case(function, element, LAYOUTS.widths[(n + turn) % 4], turn))
        if adapter.find_gap_of_call(call, element):
            continue
        changed = change(call, layout)
        before = [content(array) for array in changed.inputs.values()]
        plain = {name: np.array(array, array.dtype.newbyteorder("=")) for name, array in changed.inputs.items()}
        found = make_native(judge.outcome(adapter.run, changed), find_like(changed))
        call = call._replace(inputs=plain)
        departure = find_departure_of_call(adapter, call, found, expect(call))
        assert not departure, f"{layout} {element} turn {turn}: {departure}"
        assert [content(array) for array in changed.inputs.values()] == before, layout


@EMPTY.each
def test_inputs_without_elements(adapter: Adapter, function: str) -> None:
    for element, turn in itertools.product(EMPTY.find_elements(adapter, function), range(4)):
        call = with_function(Case(function, element, 3, turn, scale=0))
        if adapter.find_gap_of_call(call, element):
            continue
        departure = find_departure_of_call(adapter, call, judge.outcome(adapter.run, call), expect(call))
        assert not departure, f"{element} turn {turn}: {departure}"


@CASTS.each
def test_updates_of_another_type(adapter: Adapter, function: str) -> None:
    """They keep their values, or are an error: TypeError for the type, ValueError for a number that is too large."""
    name = {"gather_reduce": "weights", "tensor_scatter": "update"}.get(function, "updates")
    raised = set()
    pairs = list(itertools.product(CASTS.find_elements(adapter, function), repeat=2))
    for n, (element, other) in list(enumerate(pairs))[:: adapter.step]:
        turn = 4 + n % 4
        call, given = make(Case(function, element, 3, turn)), make(Case(function, other, 3, turn))
        call = Call(function, call.inputs | {name: given.inputs[name]}, call.options)
        expected, found = _expect_cast(call, name), judge.outcome(adapter.run, call)
        if isinstance(expected, Exception):
            assert isinstance(found, judge.error_class(expected)), f"{element} from {other}: {found!r}"
            raised.add(judge.error_class(expected))
        else:
            departure = find_departure_of_call(adapter, call, found, expected)
            assert not departure, f"{element} from {other}: {departure}"
    assert raised == {TypeError, ValueError}


def _expect_cast(call: Call, name: str) -> Any:
    """Return the result of the oracle for updates that were cast one by one, or the error."""
    data, given = next(iter(call.inputs.values())), call.inputs[name]
    kinds = "b", "iu", "fV", "c"  # those of ml_dtypes are V
    source, target = (next(n for n, kind in enumerate(kinds) if array.dtype.kind in kind) for array in (given, data))
    if source > target or (target == 0) != (source == target == 0):
        return TypeError("this type does not hold the other one")
    with np.errstate(all="ignore"):
        cast = given.astype(data.dtype)
    if source < 2 and not all(_is_same(*pair) for pair in zip(cast.flat, given.flat, strict=True)):
        return ValueError("integers and truth values keep their values")
    return expect_call(call._replace(inputs=call.inputs | {name: cast}))


def _is_same(made: Any, number: Any) -> bool:
    real = made.real if isinstance(made, np.complexfloating) else made
    exact = int(real) if isinstance(real, np.integer | np.bool) else float(real)
    return math.isfinite(exact) and int(exact) == int(number)


@pytest.mark.filterwarnings("ignore:the matrix subclass")
@OBJECTS.each
def test_nothing_is_lost_in_silence(adapter: Adapter, function: str) -> None:
    """An object gives the result of the plain array, or a TypeError. Masks and units are always a TypeError."""
    tested = 0
    for kind, turn in itertools.product(KINDS, range(4 if adapter.step == 1 else 1)):
        element = "int8 of float32" if function == "gather_quantized" else "float32"
        call = with_function(Case(function, element, 3, turn))
        if adapter.find_gap_of_call(call, element):
            continue
        for name, array in call.inputs.items():
            given = adapter.disguise(kind, array)
            if given is None or adapter.find_gap(function, element, f"objects as {name}"):
                continue
            found = judge.outcome(adapter.run, call, **{name: given})
            tested += 1
            if kind in ("masked", "units"):
                assert isinstance(found, gs.OpTypeError), (kind, name, found)
            elif not isinstance(found, TypeError):
                departure = find_departure_of_call(adapter, call, found, expect(call))
                assert not departure, f"{kind} as {name}: {departure}"
    if not tested:
        pytest.skip("no other objects")
