"""Which tests run, where they find the packages, and the profiles of Hypothesis.

``pytest`` alone runs the files in QUICK without the tests with the mark `full`. They take less than three minutes and
cover a part of every capability.
``pytest --all`` runs everything. ``pytest tests/zarr`` runs everything in a folder.

The package gatherscatter must be installed. The other two need not be: tests then use their sources.

Of Hypothesis's profiles, `ci` is small and always the same, and `long` (HYPOTHESIS_PROFILE=long) is for a night.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import shutil
import signal
import sys
import tempfile
from importlib import metadata
from pathlib import Path

import pytest
from flit_core import buildapi
from hypothesis import HealthCheck, Phase, settings

ROOT = Path(__file__).parent
# The quick tests of each package: the names of files, by folder.
QUICK = {
    "benchmarks/tests": ("test_bench_intervals",),
    "conformance/tests": ("test_conform_search",),
    "models/tests/commands": ("test_cli_run",),
    "models/tests/doctor": ("test_doctor_conditions",),
    "models/tests/onnx": ("test_onnx_models", "test_onnx_reference_ops"),
    "models/tests/onnx/session": (
        "test_session_errors",
        "test_session_interface",
        "test_session_memory",
        "test_session_plan",
    ),
    "models/tests/openvino": ("test_ir", "test_ir_snippets", "test_openvino_convert_plain", "test_openvino_engine"),
    "tests/arrays": ("test_casts", "test_kinds", "test_tensor_files"),
    "tests/cli": ("test_cli", "test_cli_apply"),
    "tests/core": ("test_core_rules", "test_fuzz", "test_hostile_callers", "test_sums"),
    "tests/docs": ("test_examples", "test_readme"),
    "tests/explaining": ("test_explain_cli",),
    "tests/functions": ("test_indexing", "test_inspection", "test_plans", "test_prepared"),
    "tests/project": ("test_ci", "test_imports", "test_layers", "test_stubs"),
    "tests/specs": ("test_input_rules", "test_messages", "test_rulings", "test_seeds"),
    "tests/torch": ("test_torch_segment",),
    "tests/xarray": ("test_xarray",),
}
_QUICK_FILES = {ROOT / folder / f"{name}.py" for folder, names in QUICK.items() for name in names}

# A telemetry thread of ONNX Runtime can crash the process (onnxruntime#32173). It must be disabled before the import.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
# OpenVINO also reports home, from a process that it forks. JAX warns about the fork if its threads already run.
os.environ.setdefault("CI", "true")
# A shell ignores Ctrl-C in commands that it runs in the background, and processes pass this on. Tests send it.
signal.signal(signal.SIGINT, signal.default_int_handler)


def _provide(name: str) -> None:
    """Make the sources of a distribution importable, and its commands known, unless it is installed."""
    with contextlib.suppress(metadata.PackageNotFoundError):
        metadata.distribution(f"gatherscatter-{name}")
        return
    folder = tempfile.mkdtemp(prefix=f"gatherscatter-{name}-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    with contextlib.chdir(ROOT / name):
        buildapi.prepare_metadata_for_build_wheel(folder)
    paths = [str(ROOT / name / "src"), folder]
    sys.path += paths
    given = [os.environ["PYTHONPATH"]] if os.environ.get("PYTHONPATH") else []
    os.environ["PYTHONPATH"] = os.pathsep.join([*given, *paths])  # for processes that tests or pytest-xdist start


_provide("models")
_provide("conformance")

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
    if config.option.quick:
        config.option.markexpr = config.option.markexpr or "not full"


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    is_test = collection_path.name.startswith("test_") and collection_path.suffix == ".py"
    is_quick = collection_path in _QUICK_FILES
    left_out = (config.option.quick and not is_quick) or (config.option.without_quick and is_quick)
    return True if is_test and left_out else None


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if config.option.quick:
        terminalreporter.write_line("These were the quick tests. Run all of them with: pytest --all -n auto")
