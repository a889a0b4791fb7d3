"""Which tests run, and the profiles of Hypothesis.

``pytest`` alone runs the files in QUICK. They take less than three minutes and cover a part of every capability.
``pytest --all`` runs everything. ``pytest tests/zarr`` runs everything in a folder.

Of Hypothesis's profiles, `ci` is small and always the same, and `long` (HYPOTHESIS_PROFILE=long) is for a night.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings

QUICK = {
    "arrays": ("test_casts", "test_kinds"),
    "bench": ("test_bench_intervals",),
    "conformance": ("test_conform_search",),
    "cli": ("test_cli", "test_cli_apply", "test_cli_run"),
    "core": ("test_core_rules", "test_fuzz", "test_hostile_callers", "test_sums"),
    "docs": ("test_examples", "test_readme"),
    "doctor": ("test_doctor_conditions",),
    "explaining": ("test_explain_cli", "test_explain_page"),
    "functions": ("test_indexing", "test_inspection", "test_plans", "test_prepared"),
    "models": ("test_tensor_files",),
    "onnx": ("test_onnx_models", "test_onnx_reference_ops"),
    "onnx/session": ("test_session_errors", "test_session_interface", "test_session_memory", "test_session_plan"),
    "openvino": ("test_ir", "test_ir_snippets", "test_openvino_convert_plain", "test_openvino_engine"),
    "project": ("test_ci", "test_imports", "test_layers", "test_stubs"),
    "specs": ("test_input_rules", "test_messages", "test_rulings", "test_seeds"),
    "torch": ("test_torch_segment",),
    "xarray": ("test_xarray",),
}
TESTS = Path(__file__).parent
_QUICK_FILES = {TESTS / folder / f"{name}.py" for folder, names in QUICK.items() for name in names}

# A telemetry thread of ONNX Runtime can crash the process (onnxruntime#32173). It must be disabled before the import.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
# OpenVINO also reports home, from a process that it forks. JAX warns about the fork if its threads already run.
os.environ.setdefault("CI", "true")

# Slow machines and instrumented builds must not fail on time, and the draws are large by design. The phase that
# explains a failure traces each line. Under Python 3.11, that can loop forever.
_COMMON = {
    "deadline": None,
    "suppress_health_check": [HealthCheck.too_slow, HealthCheck.data_too_large],
    "phases": [phase for phase in Phase if phase is not Phase.explain],
}

settings.register_profile("ci", max_examples=60, derandomize=True, database=None, **_COMMON)
settings.register_profile("long", max_examples=5000, **_COMMON)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--all", action="store_true", help="run all tests, not only the quick ones")
    parser.addoption("--without-quick", action="store_true", help="run all tests but the quick ones")
    parser.addoption("--quick", action="store_true", help="run the quick tests; the default without arguments")


def pytest_configure(config: pytest.Config) -> None:
    everything = config.option.all or config.option.without_quick
    if config.args_source is pytest.Config.ArgsSource.TESTPATHS and not everything:
        config.option.quick = True  # the processes of pytest-xdist also get the options


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    is_test = collection_path.name.startswith("test_") and collection_path.suffix == ".py"
    is_quick = collection_path in _QUICK_FILES
    left_out = (config.option.quick and not is_quick) or (config.option.without_quick and is_quick)
    return True if is_test and left_out else None


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if config.option.quick:
        terminalreporter.write_line("These were the quick tests. Run all of them with: pytest --all -n auto")
