"""``python -m gatherscatter.doctor.fixes.in_onnxruntime MODEL INPUTS RESULTS``: a run by ONNX Runtime.

It has a process of its own, which may die of a model.
"""

from __future__ import annotations

import sys
from pathlib import Path

from gatherscatter.models.tensor_files import read_tensors, write_tensors
from gatherscatter.native_library import library_path
from gatherscatter.onnx.model import parse_onnx
from gatherscatter.specs.own_operators import DOMAIN


def main(model: str, inputs: str, results: str) -> None:
    """Run a model with a file of inputs, and write the results in their order."""
    import onnxruntime  # type: ignore[import-untyped]

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    if any(entry.domain == DOMAIN for entry in parse_onnx(Path(model)).opset_import):
        options.register_custom_ops_library(str(library_path()))
    session = onnxruntime.InferenceSession(model, options)
    given = {
        name: array.astype(object) if array.dtype.kind == "U" else array for name, array in read_tensors(inputs).items()
    }
    names = [output.name for output in session.get_outputs()]
    write_tensors(results, dict(zip(names, session.run(names, given), strict=True)))


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except Exception as error:  # whatever the runtime raises is its answer
        sys.exit(str(error))
