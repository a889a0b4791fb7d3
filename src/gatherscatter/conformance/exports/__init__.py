"""The corpus in forms that other projects can use without this package; docs/corpus.md describes them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from gatherscatter.conformance.case import Case
from gatherscatter.lazy_modules import load

# Each form has a module of its own, so that it needs no package of another one.
FORMS = (
    "onnx",  # a model and its data for each case, as ONNX's own tests have them
    "openvino",  # an IR and its data for each case
    "npz",  # an index in JSON, and one .npy for each element type
    "json",  # one file with all values
)

Progress = Callable[[str], None]


@dataclass
class Exported:
    """How many cases were written, and why others could not be."""

    written: int = 0
    left_out: Counter[str] = field(default_factory=Counter)


class UnsupportedCase(Exception):  # noqa: N818 - no error: the form cannot say it
    """A form has no way to say a case; the text is the reason."""


def export(folder: Path, form: str, cases: Sequence[Case], version: str, progress: Progress | None) -> Exported:
    """Write cases into a folder, which is made.

    Raises
    ------
    ValueError
        There is no such form.
    FileExistsError
        The folder is there and not empty.
    ImportError
        The form needs a package that is not installed.
    """
    if form not in FORMS:
        raise ValueError(f"form must be one of {', '.join(map(repr, FORMS))}, not {form!r}")
    write = load(__name__, form)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise FileExistsError(f"{folder} is not empty; give a folder that does not exist yet")
    folder.mkdir(parents=True, exist_ok=True)
    done: Exported = write(folder, cases, version, progress or (lambda description: None))
    return done


def describe_case(case: Case) -> dict[str, Any]:
    """What a case is and asks, without its arrays."""
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
    """The id as the name of one folder, as ONNX names its tests."""
    return "test_" + case.id.replace("/", "__")


def of_domain(cases: Sequence[Case], domain: str, exported: Exported) -> list[Case]:
    """The cases of one specification; the others are left out."""
    chosen = [case for case in cases if case.op.startswith(f"{domain}.")]
    if len(chosen) < len(cases):
        exported.left_out["of the other specification"] += len(cases) - len(chosen)
    return chosen


def required(array: np.ndarray | None) -> np.ndarray:
    """An input that is never left out."""
    assert array is not None
    return array
