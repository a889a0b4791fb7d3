"""Export cases in the layout of ONNX's own tests: a model, its inputs and its output as TensorProto files.

``results/`` and ``errors/`` are two kinds for `onnx.backend.test.loader.load_model_tests`: calls with a result, and
calls that must be refused, which have no output.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnx

from gatherscatter.arrays.tensor_files import to_tensor_proto
from gatherscatter.specs import op
from gatherscatter_conformance.case import Case
from gatherscatter_conformance.exports.exported import (
    NARROW_OPSET,
    OLDEST_OPSET,
    Exported,
    Progress,
    describe_case,
    folder_name,
    of_format,
)


def write(folder: Path, cases: Sequence[Case], version: str, progress: Progress) -> Exported:
    """Write a folder for each case of an operator of ONNX."""
    exported = Exported()
    for case in of_format(cases, "onnx", exported):
        progress(case.id)
        own = folder / ("errors" if case.expected is None else "results") / folder_name(case)
        data = own / "test_data_set_0"
        data.mkdir(parents=True)
        (own / "model.onnx").write_bytes(model(case).SerializeToString())
        # The loader of onnx reads tolerances from this file. They are zero.
        facts = {"rtol": 0.0, "atol": 0.0, "corpus": version, **describe_case(case)}
        (own / "data.json").write_text(json.dumps(facts, indent=1, ensure_ascii=False), encoding="utf-8")
        for prefix, named in (("input", _given(case)), ("output", _results(case))):
            for number, (name, array) in enumerate(named.items()):
                (data / f"{prefix}_{number}.pb").write_bytes(to_tensor_proto(array, name).SerializeToString())
        exported.written += 1
    return exported


def model(case: Case) -> onnx.ModelProto:
    """Return a model of one node. Its inputs and output have the names of the specification."""
    row = op(case.op)
    given = _given(case)
    names = [one.name if one.name in given else "" for one in row.inputs]
    while names[-1] == "":
        names.pop()
    opsets = [onnx.helper.make_opsetid("", max(row.version, OLDEST_OPSET))]
    domain = ""
    if row.domain != "onnx":
        domain = row.domain
        opsets = [onnx.helper.make_opsetid("", NARROW_OPSET), onnx.helper.make_opsetid(domain, row.version)]
    node = onnx.helper.make_node(row.op_type, names, [row.output], domain=domain)
    for name, value in case.attributes.items():
        node.attribute.append(onnx.helper.make_attribute(name, value))
    inputs = [onnx.helper.make_tensor_value_info(name, _type(array), array.shape) for name, array in given.items()]
    shape = case.expected[0].shape if case.expected else None
    output = onnx.helper.make_tensor_value_info(row.output, _type(given[row.typing_input.name]), shape)
    made: onnx.ModelProto = onnx.helper.make_model(
        onnx.helper.make_graph([node], case.id, inputs, [output]),
        opset_imports=opsets,
        ir_version=onnx.helper.find_min_ir_version_for(opsets, ignore_unknown=True),
        producer_name="gatherscatter",
    )
    return made


def _given(case: Case) -> dict[str, np.ndarray]:
    named = zip(op(case.op).inputs, case.inputs, strict=True)
    return {one.name: array for one, array in named if array is not None}


def _results(case: Case) -> dict[str, np.ndarray]:
    return {op(case.op).output: case.expected[0]} if case.expected else {}


def _type(array: np.ndarray) -> int:
    return int(onnx.helper.np_dtype_to_tensor_dtype(array.dtype))
