"""numpy-groupies' own tests, with `gatherscatter.aggregate` instead of its implementations."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

# Tests that fail, with the difference that each shows. docs/statistics.md lists the differences.
DIFFERENCES = {
    "The message is another": [
        "test_api.py::test_none_is_refused_where_no_result_holds_it",
        "test_api.py::test_a_func_that_names_nothing_says_the_same_everywhere",
        "test_collect.py::test_collecting_refuses_a_scalar",
        "test_complex.py::test_rejects_non_complex_dtype",
        "test_quantile.py::test_a_quantile_out_of_the_range_is_refused",
        "test_quantile.py::test_an_unknown_interpolation_method_is_refused",
    ],
    "Labels out of range raise IndexError": [
        "test_api.py::test_no_negative_indices",
        "test_collect.py::test_collecting_refuses_negative_labels",
    ],
    "No labels are a valid call": ["test_api.py::test_empty_group_idx_raises"],
    "Sums of integers have 64 bits, as in NumPy": [
        "test_dtypes.py::test_sum_dtype_guess_survives_single_group",
        "test_dtypes.py::test_sum_bool_dtype_guess_ignores_empty_groups",
    ],
    "Means and variances of integers are right for all integers": [
        "test_dtypes.py::test_integer_variance_full_span_raises",
        "test_dtypes.py::test_integer_mean_cancellation_raises",
        "test_dtypes.py::test_integer_mean_beyond_exact_window_raises",
        "test_dtypes.py::test_integer_mean_gate_boundary",
    ],
    "Running statistics and sorts have the shape of a": ["test_axis.py::test_one_out_per_in_cannot_fill"],
}
MODULES = ("api", "axis", "collect", "complex", "dtypes", "funcs", "moments", "nan", "nunique", "quantile")


def test_its_tests_pass_except_for_the_differences(tmp_path: Path) -> None:
    pytest.importorskip("numpy_groupies")
    root = Path(__file__).parents[2]
    environment = os.environ | {"PYTHONPATH": str(root), "PYTEST_ADDOPTS": "", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "tests.support.groupies_plugin", "-p", "no:cacheprovider",
               "--tb=no", "-rf", "--pyargs", *(f"numpy_groupies.tests.test_{name}" for name in MODULES)]  # fmt: skip
    run = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=tmp_path, check=False)
    found = re.search(r"(\d+) failed, (\d+) passed", run.stdout)
    assert found is not None, run.stdout[-2000:] + run.stderr[-2000:]
    failed = set(re.findall(r"^FAILED \S*?(test_\w+\.py::\w+|::\w+)", run.stdout, re.M))
    known = {name for names in DIFFERENCES.values() for name in names}
    assert {name.rpartition("::")[2] for name in failed} == {name.rpartition("::")[2] for name in known}
    assert int(found[2]) > 1390
