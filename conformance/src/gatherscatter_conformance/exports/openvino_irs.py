"""Export cases as OpenVINO IRs: model.xml with model.bin, inputs and output as .npy. An axis input is a constant."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from gatherscatter.specs import op
from gatherscatter_conformance.case import Case
from gatherscatter_conformance.exports.exported import (
    Exported,
    Progress,
    UnsupportedCase,
    describe_case,
    folder_name,
    of_format,
)
from gatherscatter_conformance.store import to_storable
from gatherscatter_models.openvino.element_types import from_dtype
from gatherscatter_models.openvino.ir_write import IRWriter

# The opset of an operation, if it differs from its version.
OPSETS = {"openvino.ScatterNDUpdate-3": 4}


def write(folder: Path, cases: Sequence[Case], version: str, progress: Progress) -> Exported:
    """Write a folder for each case of an operation of OpenVINO."""
    exported = Exported()
    for case in of_format(cases, "openvino", exported):
        progress(case.id)
        try:
            writer = model(case)
        except UnsupportedCase as reason:
            exported.skipped[str(reason)] += 1
            continue
        own = folder / ("errors" if case.expected is None else "results") / folder_name(case)
        own.mkdir(parents=True)
        writer.save(own / "model.xml")
        facts = json.dumps({"corpus": version, **describe_case(case)}, indent=1, ensure_ascii=False)
        (own / "data.json").write_text(facts, encoding="utf-8")
        for name, array in parameters(case).items():
            _save(own / f"{name}.npy", array)
        for array in case.expected or ():
            _save(own / "output.npy", array)
        exported.written += 1
    return exported


def model(case: Case) -> IRWriter:
    """Return an IR of one layer."""
    row = op(case.op)
    writer = IRWriter(case.id)
    inputs = []
    given = list(case.inputs)
    while given and given[-1] is None:
        given.pop()
    for one, array in zip(row.inputs, given, strict=False):
        if array is None:
            raise UnsupportedCase("cases with a missing input before another input, which an IR can't have")
        try:
            kind = from_dtype(array.dtype).name
        except ValueError:
            raise UnsupportedCase(f"cases of {array.dtype}, which gatherscatter does not write to IRs") from None
        inputs.append(writer.constant(array) if one.kind == "axis" else writer.parameter(one.name, kind, array.shape))
    layer = writer.layer(
        row.op_type, f"opset{OPSETS.get(case.op, row.version)}", inputs, name=case.id, attributes=case.attributes
    )
    writer.result("output", layer)
    return writer


def parameters(case: Case) -> dict[str, np.ndarray]:
    """Return the inputs of the model by name."""
    named = zip(op(case.op).inputs, case.inputs, strict=True)
    return {one.name: array for one, array in named if one.kind != "axis" and array is not None}


def _save(path: Path, array: np.ndarray) -> None:
    np.save(path, to_storable(array), allow_pickle=False)
