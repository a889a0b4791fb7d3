"""Gradients are those of the definitions, in the type of the input, for every float, reduction and width."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gatherscatter import oracle
from gatherscatter_conformance import random_calls
from tests.contract.adapter import Adapter
from tests.contract.adjoints import find_gradients
from tests.contract.calls import Call, Case, find_epsilon, make
from tests.contract.cases import list_value_cases
from tests.contract.expectations import expect_call
from tests.contract.matrix import GRADIENTS, HALVES


def soften(call: Call) -> Call:
    """Return the call with multiples of 1/8 between 1/2 and 2, so that products neither overflow nor vanish."""
    rng = np.random.default_rng(call.inputs["indices"].size)
    floats = {name: array for name, array in call.inputs.items() if array.dtype.kind in "fV"}
    drawn = {
        name: (rng.integers(4, 17, array.shape) / 8 * rng.choice([-1, 1], array.shape)).astype(array.dtype)
        for name, array in floats.items()
    }
    return call._replace(inputs=call.inputs | drawn)


@pytest.mark.parametrize("kind", oracle.INTEGERS)
@pytest.mark.parametrize("function", ["gather", "gather_nd"])
def test_gradients_of_a_batch_that_the_type_of_the_indices_can_not_count(function: str, kind: str) -> None:
    torch: Any = pytest.importorskip("torch")
    gst: Any = pytest.importorskip("gatherscatter.torch")
    indices = (torch.arange(300) % 2).to(getattr(torch, kind)).reshape(300, 1)
    indices = indices if function == "gather" else indices[..., None]
    options = {"axis": 1} if function == "gather" else {}
    data = torch.ones(300, 3, requires_grad=True)
    getattr(gst, function)(data, indices, batch_dims=1, **options).sum().backward()
    assert data.grad.tolist() == [[1, 0, 0], [0, 1, 0]] * 150


@pytest.mark.parametrize("thorough", [False, pytest.param(True, marks=pytest.mark.full)])
@GRADIENTS.each
def test_gradients_are_those_of_the_definitions(adapter: Adapter, function: str, thorough: bool) -> None:
    cases = list_value_cases(adapter, function, GRADIENTS.find_elements(adapter, function))
    cases = cases[:: 1 if thorough else adapter.step]
    calls = [soften(make(case)) for case in cases]
    cotangents = []
    for call in calls:
        result = expect_call(call)
        rng = np.random.default_rng(result.size)
        cotangents.append((rng.integers(-8, 9, result.shape) / 4).astype(result.dtype))
    found = adapter.differentiate(calls, cotangents)
    for case, call, cotangent, gradients in zip(cases, calls, cotangents, found, strict=True):
        _check(case, call, cotangent, gradients)


def _check(case: Case, call: Call, cotangent: np.ndarray, gradients: dict[str, np.ndarray]) -> None:
    for name, expected in find_gradients(call, cotangent).items():
        gradient = gradients[name]
        assert (gradient.dtype, gradient.shape) == (call.inputs[name].dtype, expected.shape), (str(case), name)
        loose = 8 * find_epsilon(gradient.dtype)
        most = float(np.abs(expected).max(initial=1))
        np.testing.assert_allclose(gradient.astype(float), expected, loose, loose * most, err_msg=f"{case}: {name}")


MANY = 4096  # the sum stops at 2048 in float16, and at 256 in bfloat16, if it is rounded after each step


@HALVES.each
def test_many_gradients_of_16_bits_are_added_up(adapter: Adapter, function: str) -> None:
    zeros = np.zeros(MANY, np.int64)
    forms = {"gather_elements": np.zeros((MANY, 8), np.int64), "gather": zeros, "prepare.gather": zeros}
    indices = forms.get(function, zeros[:, None])
    for element in HALVES.find_elements(adapter, function):
        data = np.ones((1, 8), random_calls.dtype_of(element))
        options = {"shape": (1,), "axis": 0} if function == "prepare.gather" else {}
        call = Call(function, {"data": data, "indices": indices}, options)
        (found,) = adapter.differentiate([call], [np.ones((MANY, 8), data.dtype)])
        assert found["data"].astype(float).tolist() == [[MANY] * 8]
