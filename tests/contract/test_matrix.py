"""The contract has no hole without a reason, and no reason without a hole."""

from __future__ import annotations

import contextlib
import inspect
import itertools
from typing import Any

import numpy as np
import pytest

import gatherscatter as gs
from gatherscatter.operation import FUNCTIONS, Kernel
from gatherscatter_conformance.random_calls import TEXT
from tests.contract.adapter import Adapter
from tests.contract.adapters import ADAPTERS
from tests.contract.calls import DRAWS, Case, make
from tests.contract.cases import list_value_cases
from tests.contract.matrix import BUGS, OUT, PROMISES, SUMS, THREADS, domain, format_matrix, is_installed
from tests.contract.test_sums_and_statistics import list_sums
from tests.support.paths import ROOT

each_adapter = pytest.mark.parametrize(
    "adapter",
    [
        pytest.param(
            each, id=each.name, marks=pytest.mark.skipif(not is_installed(each), reason=f"needs {each.library}")
        )
        for each in ADAPTERS.values()
    ],
)
ELSEWHERE = {  # functions that are not about calls of kernels, and their tests
    "at": "functions/test_indexing.py",
    "explain": "explaining/test_explain.py",
    "inspect": "functions/test_inspection.py",
    "num_threads": "core/test_threads.py",
    "op": "specs/test_versions.py",
    "ops": "specs/test_versions.py",
    "plan": "functions/test_plans.py",
    "pool_limit": "core/test_pool.py",
    "pool_size": "core/test_pool.py",
    "prepare": "contract/test_values.py",
    "register_threadpoolctl": "core/test_threads.py",
    "set_num_threads": "core/test_threads.py",
    "set_pool_limit": "core/test_pool.py",
}


def test_every_function_is_in_the_contract() -> None:
    assert set(FUNCTIONS) <= set(DRAWS)
    public = {name for name in gs.__all__ if name.islower() and not inspect.ismodule(getattr(gs, name))}
    assert public - set(DRAWS) == set(ELSEWHERE)
    assert all((ROOT / "tests" / file).exists() for file in ELSEWHERE.values())
    methods = {name for name, each in vars(gs.Prepared).items() if inspect.isfunction(each) and name[0] != "_"}
    assert {f"prepare.{name}" for name in methods} <= set(DRAWS)


def test_every_parameter_is_given_and_takes_every_word() -> None:
    numpy = ADAPTERS["NumPy"]
    for function, signature in FUNCTIONS.items():
        calls = [make(case) for case in list_value_cases(numpy, function, domain(function))]
        calls += [make(case) for case in list_sums(numpy, function)] if function in SUMS.functions else []
        given = {*(name for call in calls for name in (*call.inputs, *call.options))}
        given |= {promise.parameter for promise in (OUT, THREADS) if function in promise.functions}
        assert given >= {each.name for each in signature.parameters}, function
        for each in signature.parameters:
            words = {call.options.get(each.name, each.default) for call in calls}
            assert words >= set(each.choices), (function, each.name)


def refuses(adapter: Adapter, function: str, **options: Any) -> bool:
    """Whether a call raises an error."""
    call = make(Case(function, "int8 of float32" if function == "gather_quantized" else "float32"))
    try:
        if "out" in options:
            return adapter.call_into(call, options["out"])[0] is not None
        adapter.run(call._replace(options=call.options | options))
    except Exception:
        return True
    return False


@each_adapter
def test_reasons_about_functions_and_parameters_are_true(adapter: Adapter) -> None:
    """What a reason is about is not there, or is refused, or it has no effect: threads, and tables without scales."""
    for function in DRAWS:
        missing = adapter.find_gap(function, "")
        if adapter.find(function) is None or missing:
            assert missing, function
            assert adapter.find(function) is None or refuses(adapter, function), (function, missing)
            continue
        known = adapter.parameters(function)
        for each in FUNCTIONS[Kernel(function)].parameters if function in FUNCTIONS else ():
            reason = adapter.find_gap(function, "", each.name)
            if each.name not in known:
                assert reason, (function, each.name)
            elif reason and each.name not in ("num_threads", "quantize_axis", "block_size", "bits"):
                assert refuses(adapter, function, **{each.name: np.zeros(1) if each.name == "out" else 3}), each.name


@each_adapter
def test_reasons_about_types_are_true(adapter: Adapter) -> None:
    """Calls with them are refused, or change the type."""
    for element in set(domain("gather")) - set(TEXT):  # the C interface moves pointers to text as numbers
        if adapter.find_gap("gather", element) and adapter.name != "torch to ONNX":  # only some operators lack them
            call = make(Case("gather", element))
            found = None
            with contextlib.suppress(Exception):
                found = adapter.run(call)
            assert found is None or found.dtype != call.inputs["data"].dtype, element


@each_adapter
def test_every_reason_is_used(adapter: Adapter) -> None:
    gaps = set()
    for promise, function in itertools.product(PROMISES, DRAWS):
        names = [promise.name, promise.parameter, *(each.name for each in FUNCTIONS.get(function, ((), ()))[0])]
        gaps |= {adapter.find_gap(function, "", each) for each in names if each}
    assert gaps - {""} <= set(adapter.lacks.values())


def test_the_matrix_shows_every_adapter_promise_and_bug() -> None:
    shown = format_matrix()
    adapters = [each.name for each in ADAPTERS.values() if is_installed(each)]
    names = [*(each.name for each in PROMISES), *adapters, *BUGS.values()]
    assert [name for name in names if name not in shown] == []
