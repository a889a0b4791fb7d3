"""Parts of all formats: the facts about a case, and the numbers of written and skipped cases."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gatherscatter_conformance.case import Case

Progress = Callable[[str], None]

OLDEST_OPSET = 7  # the oldest opset that runtimes promise to read; it still has the operators of version 1
NARROW_OPSET = 23  # with types of 4 bits, for operators of other domains


@dataclass
class Exported:
    """The number of cases written, and the numbers of cases skipped, by kind and reason."""

    written: int = 0
    skipped: Counter[str] = field(default_factory=Counter)

    def describe_skipped(self) -> list[str]:
        """Return a text for each kind of skipped cases.

        >>> Exported(1, Counter({"OpenVINO cases": 4018})).describe_skipped()
        ['4,018 OpenVINO cases']
        """
        return [
            f"{count:,} {reason if count != 1 else reason.replace('cases', 'case', 1)}"
            for reason, count in self.skipped.items()
        ]


class UnsupportedCase(Exception):  # noqa: N818 - no error: the format cannot hold it
    """A format cannot hold a case. The text names the kind of cases and the reason."""


def describe_case(case: Case) -> dict[str, Any]:
    """Return the facts about a case, without its arrays."""
    return {
        "id": case.id,
        "op": case.op,
        "type": case.type,
        "reduction": case.reduction,
        "kind": case.kind,
        "attributes": case.attributes,
        "error": case.error,
        "rules": list(case.rules),
        "latitude": case.latitude,
        "relation": case.relation,
    }


def folder_name(case: Case) -> str:
    """Return the id as a folder name in the style of ONNX's tests."""
    return "test_" + case.id.replace("/", "__")


def of_format(cases: Sequence[Case], format: str, exported: Exported) -> list[Case]:
    """Return the cases whose operators are in models of a format, "onnx" or "openvino". The others are skipped."""
    chosen = [case for case in cases if case.op.startswith("openvino.") == (format == "openvino")]
    if len(chosen) < len(cases):
        name, format = ("OpenVINO", "openvino") if format == "onnx" else ("ONNX", "onnx")
        exported.skipped[f"{name} cases (use --format {format} for them)"] += len(cases) - len(chosen)
    return chosen


def required(array: np.ndarray | None) -> np.ndarray:
    """Return an input that is never omitted."""
    assert array is not None
    return array
