"""A rewritten model on the runtimes it is for, as far as they are installed."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from gatherscatter.doctor.fixes.proof import same_bits
from gatherscatter.extras import find_missing
from gatherscatter.models.tensor_files import read_tensors, write_tensors

TIME_LIMIT = 300  # seconds

Command = Callable[[str, str, str], list[str]]


def compare_on(target: str, path: Path, inputs: Mapping[str, Any], expected: Mapping[str, np.ndarray]) -> str:
    """How the results of one of `RUNNERS` compare with those expected, in a few words."""
    if find_missing([target]):
        return "not run: it is not installed"
    if target == "onnxruntime" and path.suffix.lower() == ".xml":
        return "not run: it takes no IR"
    try:
        results = _results(RUNNERS[target], path, inputs)
        # By position: some runtimes have names of their own for outputs.
        pairs = zip(expected.items(), results.values(), strict=True)
        differing = [(name, mine, theirs) for (name, mine), theirs in pairs if not same_bits(mine, theirs)]
    except Exception as error:  # whatever a runtime raises is its answer
        return f"fails: {' '.join(str(error).split())[:300]}"
    if not differing:
        return "the same bits"
    return "; ".join(f"output {name!r} {_distance(mine, theirs)}" for name, mine, theirs in differing)


def _results(command: Command, path: Path, inputs: Mapping[str, Any]) -> Mapping[str, Any]:
    """Of a process of its own, which may die of it."""
    with tempfile.TemporaryDirectory() as folder:
        given, made = Path(folder) / "inputs.npz", Path(folder) / "results.npz"
        write_tensors(given, {name: np.asarray(value) for name, value in inputs.items()})
        process = [sys.executable, "-m", *command(str(path), str(given), str(made))]
        done = subprocess.run(process, capture_output=True, text=True, timeout=TIME_LIMIT)
        if done.returncode:
            raise RuntimeError(done.stderr.strip() or f"the process ended with code {done.returncode}")
        tensors = read_tensors(made)
        return {name: array.astype(object) if array.dtype.kind == "U" else array for name, array in tensors.items()}


# A module and its arguments, for the files of a model, of inputs and of results.
RUNNERS: dict[str, Command] = {
    "onnxruntime": lambda model, inputs, results: [
        "gatherscatter.doctor.fixes.in_onnxruntime",
        *(model, inputs, results),
    ],
    "openvino": lambda model, inputs, results: [
        "gatherscatter",
        *("run", model, inputs, "-o", results, "--engine", "openvino"),
    ],
}


def _distance(expected: np.ndarray, result: Any) -> str:
    if not isinstance(result, np.ndarray) or expected.shape != result.shape or expected.dtype != result.dtype:
        return "has another type or shape"
    if expected.dtype.kind not in "fiu":
        return "differs"
    finite = np.isfinite(expected) & np.isfinite(result)
    if not np.array_equal(np.where(finite, 0, expected), np.where(finite, 0, result), equal_nan=True):
        return "differs in what is infinite or NaN"
    apart = np.abs(expected[finite].astype(np.float64) - result[finite].astype(np.float64)).max(initial=0)
    if apart == 0:
        return "differs in the sign of zeros only"
    largest = np.abs(expected[finite].astype(np.float64)).max(initial=0)
    return f"differs by {apart:.2g} at most, where the largest value is {largest:.2g}"
