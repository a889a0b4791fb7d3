"""Run a rewritten model on its targets, if they are installed, and compare the results."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from gatherscatter.arrays.tensor_files import write_tensors
from gatherscatter.system.extras import find_missing
from gatherscatter.system.processes import LONGEST
from gatherscatter_models.doctor.fixes.model_process import ModelProcess
from gatherscatter_models.doctor.fixes.proof import same_bits
from gatherscatter_models.findings.verdicts import OWN_RUNTIME

RUNNERS = ("onnxruntime", "openvino")


def why_not_run(target: str, path: Path) -> str:
    """Return why one of `RUNNERS` can't run a model here; empty if it can."""
    if find_missing([target]):
        return "it is not installed"
    if target == OWN_RUNTIME and path.suffix.lower() == ".xml":
        return "it does not read IRs"
    return ""


def compare_on(target: str, path: Path, inputs: Mapping[str, Any], expected: Mapping[str, np.ndarray]) -> str:
    """Describe how the results of one of `RUNNERS` compare with those expected."""
    if reason := why_not_run(target, path):
        return f"not run: {reason}"
    try:
        results = _run(target, path, inputs)
        differing = [
            (name, mine, theirs) for name, mine, theirs in _pairs(expected, results) if not same_bits(mine, theirs)
        ]
    except Exception as error:  # any error of a runtime is its answer
        return f"fails: {' '.join(str(error).split())[:LONGEST]}"
    if not differing:
        return "bit-for-bit identical"
    return "; ".join(f"output {name!r} {_distance(mine, theirs)}" for name, mine, theirs in differing)


def _run(target: str, path: Path, inputs: Mapping[str, Any]) -> Mapping[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        given = write_inputs(Path(folder), inputs)
        with ModelProcess(target, path, given, Path(folder, "results.npz")) as process:
            process.run()
            return process.read_results()


def write_inputs(folder: Path, inputs: Mapping[str, Any]) -> Path:
    """Write a file of inputs for a `ModelProcess`."""
    path = folder / "inputs.npz"
    write_tensors(path, {name: np.asarray(value) for name, value in inputs.items()})
    return path


def same_results(one: Mapping[str, np.ndarray], other: Mapping[str, np.ndarray]) -> bool:
    """Whether the results of two runs are bit-for-bit identical."""
    return len(one) == len(other) and all(same_bits(mine, theirs) for _, mine, theirs in _pairs(one, other))


def _pairs(
    expected: Mapping[str, np.ndarray], results: Mapping[str, np.ndarray]
) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Pair the results by position: some runtimes have their own names for outputs."""
    for (name, mine), theirs in zip(expected.items(), results.values(), strict=True):
        yield name, mine, theirs


def _distance(expected: np.ndarray, result: Any) -> str:
    if not isinstance(result, np.ndarray) or expected.shape != result.shape or expected.dtype != result.dtype:
        return "has another type or shape"
    if expected.dtype.kind not in "fiu":
        return "differs"
    finite = np.isfinite(expected) & np.isfinite(result)
    if not np.array_equal(np.where(finite, 0, expected), np.where(finite, 0, result), equal_nan=True):
        return "differs in infinite or NaN elements"
    apart = np.abs(expected[finite].astype(np.float64) - result[finite].astype(np.float64)).max(initial=0)
    if apart == 0:
        return "differs in the sign of zeros only"
    largest = np.abs(expected[finite].astype(np.float64)).max(initial=0)
    return f"differs by at most {apart:.2g} (largest value: {largest:.2g})"
