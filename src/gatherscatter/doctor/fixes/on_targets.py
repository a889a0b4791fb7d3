"""A rewritten model on the runtimes it is for, as far as they are installed."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from gatherscatter.tensor_files import read_tensors, write_tensors

from .proof import same_bits

TIME_LIMIT = 300  # seconds


def compare_on(target: str, path: Path, inputs: Mapping[str, Any], expected: Mapping[str, np.ndarray]) -> str:
    """How the results of one of `RUNNERS` compare with those expected, in a few words."""
    if importlib.util.find_spec(target) is None:
        return "not run: it is not installed"
    try:
        results = RUNNERS[target](path, inputs)
    except Exception as error:  # whatever a runtime raises is its answer
        return f"fails: {' '.join(str(error).split())[:300]}"
    differing = [name for name, array in expected.items() if not same_bits(array, results[name])]
    if not differing:
        return "the same bits"
    return "; ".join(f"output {name!r} {_distance(expected[name], results[name])}" for name in differing)


def _onnxruntime(path: Path, inputs: Mapping[str, Any]) -> Mapping[str, Any]:
    import onnxruntime  # type: ignore[import-untyped]

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(path, options)
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, dict(inputs)), strict=True))


def _openvino(path: Path, inputs: Mapping[str, Any]) -> Mapping[str, Any]:
    """In a process of its own, which may die of it."""
    with tempfile.TemporaryDirectory() as folder:
        given, made = Path(folder) / "inputs.npz", Path(folder) / "results.npz"
        write_tensors(given, {name: np.asarray(value) for name, value in inputs.items()})
        files = [str(path), str(given), "-o", str(made)]
        command = [sys.executable, "-m", "gatherscatter", "run", *files, "--engine", "openvino"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIME_LIMIT)
        if done.returncode:
            raise RuntimeError(done.stderr.strip() or f"the process ended with code {done.returncode}")
        tensors = read_tensors(made)
        return {name: array.astype(object) if array.dtype.kind == "U" else array for name, array in tensors.items()}


RUNNERS: dict[str, Callable[[Path, Mapping[str, Any]], Mapping[str, Any]]] = {
    "onnxruntime": _onnxruntime,
    "openvino": _openvino,
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
