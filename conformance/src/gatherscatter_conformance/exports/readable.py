"""Export the corpus as one JSON file with all values, for any language."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from gatherscatter.specs import op
from gatherscatter_conformance.case import Case, element_type
from gatherscatter_conformance.exports.exported import Exported, Progress, describe_case

_SAFE = 1 << 53  # larger integers are text, because some readers of JSON round them


def write(folder: Path, cases: Sequence[Case], version: str, progress: Progress) -> Exported:
    """Write corpus.json, with one line for each case."""
    with (folder / "corpus.json").open("w", encoding="utf-8") as file:
        file.write(f'{{"format":1,"version":{json.dumps(version)},"cases":[')
        for number, case in enumerate(cases):
            progress(case.id)
            named = zip(op(case.op).inputs, case.inputs, strict=True)
            record = describe_case(case) | {
                "inputs": {one.name: None if array is None else tensor(array) for one, array in named},
                "expected": None if case.expected is None else [tensor(array) for array in case.expected],
            }
            comma = "," if number else ""
            file.write(f"{comma}\n{json.dumps(record, ensure_ascii=False, separators=(',', ':'), allow_nan=False)}")
        file.write("\n]}\n")
    return Exported(len(cases))


def tensor(array: np.ndarray) -> dict[str, Any]:
    """Return the type, the shape, and the values in row-major order."""
    values = [_value(one) for one in array.reshape(-1).tolist()]
    return {"type": element_type(array), "shape": list(array.shape), "values": values}


def _value(one: Any) -> Any:
    """Return a number, a bool or text. A complex number is a pair, and values that JSON lacks are text."""
    if isinstance(one, complex):
        return [_value(one.real), _value(one.imag)]
    if isinstance(one, bool | str):
        return one
    if isinstance(one, int):
        return one if abs(one) <= _SAFE else str(one)
    number = float(one)
    if math.isnan(number):
        return "NaN"
    if math.isinf(number):
        return "Infinity" if number > 0 else "-Infinity"
    return number
