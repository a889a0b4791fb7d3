"""Results are those of the oracle, for every function, element type, reduction, mode and width of rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gatherscatter as gs
from gatherscatter import oracle
from tests.contract.adapter import Adapter
from tests.contract.adapters import ADAPTERS
from tests.contract.calls import Call, Case, find_epsilon, make
from tests.contract.cases import list_value_cases
from tests.contract.expectations import expect, find_like
from tests.contract.matrix import VALUES


def find_departure(adapter: Adapter, case: Case, found: Any) -> str:
    """Return a line about a result that is not that of the oracle."""
    expected = expect(case)
    assert not isinstance(expected, Exception), f"{case} is wrong: {expected!r}"
    departure = find_departure_of_call(adapter, make(case), found, expected)
    return f"{case}: {departure}" if departure else ""


def find_departure_of_call(adapter: Adapter, call: Call, found: Any, expected: Any) -> str:
    """Return what is wrong with a result: "" if nothing is."""
    if isinstance(found, Exception) or isinstance(expected, Exception):
        return repr(found) if type(found) is not type(expected) else ""
    if (found.dtype, found.shape) == (expected.dtype, expected.shape) and found.tobytes() == expected.tobytes():
        return ""
    summed = "add" if call.function in ("aggregate", "gather_reduce", "prepare.sum", "prepare.propagate") else "none"
    reduction = call.options.get("reduction", call.options.get("reductions", summed))
    try:
        is_sum = reduction in ("add", "sum", "sub", "mul", "mean") and expected.dtype.kind in "fcV"
        rounds = adapter.rounds(call) or call.function == "aggregate"
        if is_sum and (rounds or (expected.dtype.kind == "c" and reduction == "mean")):
            assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
            loose = 16 * find_epsilon(expected.dtype)
            wide = complex if expected.dtype.kind == "c" else float
            np.testing.assert_allclose(found.astype(wide), expected.astype(wide), rtol=loose, atol=16 * loose)
        else:
            oracle.assert_same(found, expected, find_like(call), reduction not in ("min", "max"))
    except AssertionError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("thorough", [False, pytest.param(True, marks=pytest.mark.full)])
@VALUES.each
def test_results_are_those_of_the_oracle(adapter: Adapter, function: str, thorough: bool) -> None:
    if thorough and adapter.step == 1:
        pytest.skip("the other test has all cases")
    cases = list_value_cases(adapter, function, VALUES.find_elements(adapter, function))[
        :: 1 if thorough else adapter.step
    ]
    results = adapter.run_all([make(case) for case in cases])
    departures = [find_departure(adapter, case, found) for case, found in zip(cases, results, strict=True)]
    wrong = [line for line in departures if line]
    assert not wrong, f"{len(wrong)} of {len(cases)}:\n" + "\n".join(line[:300] for line in wrong[:8])


def test_a_mean_of_infinite_complex_numbers_warns_of_nothing() -> None:
    gs.prepare([0, 0], 1).reduce(np.array([np.inf, 1 + 0j]), "mean")


@pytest.mark.xfail(strict=True, reason="the exported model multiplies truth values, which ONNX can't")
def test_weights_of_truth_values_are_exported() -> None:
    adapter = ADAPTERS["torch to ONNX"]
    pytest.importorskip(adapter.library)
    case = Case("gather_reduce", "bool", 3, 4)
    assert "weights" in make(case).inputs
    assert not find_departure(adapter, case, adapter.run(make(case)))


@pytest.mark.xfail(strict=True, reason="Zarr takes a chunk of -0.0 + 0j for its fill value")
def test_signs_of_complex_zeros_are_stored() -> None:
    zarr: Any = pytest.importorskip("zarr")
    gsz: Any = pytest.importorskip("gatherscatter.zarr")
    array = zarr.create_array(zarr.storage.MemoryStore(), shape=(1,), chunks=(1,), dtype="complex64")
    gsz.scatter_update(array, [0], np.array([complex(-0.0, 0)], np.complex64))
    assert np.signbit(array[...].real).all()
