"""The process of a `ModelProcess`, which runs a model in a runtime.

It answers each question with the fewest seconds of a run. The first time, it loads the model, runs it once and writes
the results.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from gatherscatter.arrays.tensor_files import read_tensors, write_tensors
from gatherscatter.specs.rows import DOMAIN
from gatherscatter.system.native_library import library_path
from gatherscatter.system.processes import answer_lines
from gatherscatter_models.doctor.fixes.model_process import TURN
from gatherscatter_models.interface import name_inputs

Run = Callable[[], Mapping[str, Any]]
Arrays = Mapping[str, np.ndarray]


def main(runtime: str, model: str, inputs: str, results: str) -> None:
    """Answer each question with the seconds of a run."""
    runs: list[Run] = []

    def answer(question: bytes) -> bytes:
        if runs:
            return str(_time(runs[0])).encode()
        tensors = read_tensors(inputs).items()
        given = {name: array.astype(object) if array.dtype.kind == "U" else array for name, array in tensors}
        runs.append(LOADERS[runtime](Path(model), given))
        start = perf_counter()
        made = runs[0]()
        seconds = perf_counter() - start
        write_tensors(results, made)
        return str(seconds).encode()

    answer_lines(answer)


def _time(run: Run) -> float:
    """Return the fewest seconds of a run in this turn."""
    least, end = float("inf"), perf_counter() + TURN
    while perf_counter() < end:
        start = perf_counter()
        run()
        least = min(least, perf_counter() - start)
    return least


def _load_onnxruntime(model: Path, inputs: Arrays) -> Run:
    import onnxruntime  # type: ignore[import-untyped]

    from gatherscatter_models.onnx.reading import parse_onnx

    options = _options()
    if any(entry.domain == DOMAIN for entry in parse_onnx(model).opset_import):
        options.register_custom_ops_library(str(library_path()))
    return _bind(onnxruntime.InferenceSession(str(model), options), inputs)


def _load_session(model: Path, inputs: Arrays) -> Run:
    from gatherscatter_models.onnx import InferenceSession

    return _bind(InferenceSession(model, _options()), inputs)


def _options() -> Any:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    return options


def _bind(session: Any, inputs: Arrays) -> Run:
    names = [output.name for output in session.get_outputs()]
    return lambda: dict(zip(names, session.run(names, inputs), strict=True))


def _load_openvino(model: Path, inputs: Arrays) -> Run:
    from gatherscatter_models.openvino.engine import load_openvino

    loaded = load_openvino(model)
    # By position in an IR, because each format has its own names.
    given = name_inputs(loaded.inputs, list(inputs.values())) if model.suffix.lower() == ".xml" else inputs
    return lambda: loaded.run(given)


LOADERS: dict[str, Callable[[Path, Arrays], Run]] = {
    "onnxruntime": _load_onnxruntime,
    "session": _load_session,
    "openvino": _load_openvino,
}


if __name__ == "__main__":
    main(*sys.argv[1:])
