"""The page "Differences": the results of all engines for the same calls.

They are in the published results of `conformance.lab`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from conformance.lab.results import FILE, read_file
from gatherscatter.messages.text import markdown_table
from gatherscatter.specs.table import op
from gatherscatter_conformance import runtimes
from gatherscatter_conformance.case import Case
from site_pages.topics import TOPICS

__all__ = ["AN_ERROR", "ENGINES", "FILE", "RECIPES", "numbers", "pages", "wanted"]

# Engines by their names in reports. Second runs of an engine (one thread, 64 bits) are not shown.
ENGINES = {
    "numpy": "NumPy",
    "pytorch": "PyTorch",
    "jax": "JAX",
    "tensorflow": "TensorFlow",
    "onnxruntime": "ONNX Runtime",
    "onnx-reference": "ONNX reference evaluator",
    "openvino": "OpenVINO",
    "openvino-onnx": "OpenVINO (ONNX model)",
    "tract": "tract",
    "onnx2torch": "onnx2torch",
    "gatherscatter": "gatherscatter",
}
RECIPES = ("numpy", "pytorch", "jax", "tensorflow")
AN_ERROR = "an error"


def pages() -> Iterator[tuple[str, str]]:
    """The page."""
    yield "differences.md", "\n\n".join(_page(read_file())) + "\n"


def _page(results: dict[str, Any]) -> Iterator[str]:
    yield "# Differences between runtimes and libraries"
    yield (
        "This page shows the results of different runtimes and libraries for the same call. They come from the "
        "[conformance tests](conformance.md). NumPy, PyTorch, JAX and TensorFlow promise nothing about ONNX. For them "
        "the lab calls the function that users would call, [listed at the end](#functions-of-the-array-libraries). A "
        "result can differ without being wrong, because the specification may leave it open. Results that the "
        "specification does not allow are in [findings](findings.md)."
    )
    versions = {info["name"]: info["version"] for info in results["runtimes"]}
    releases = (f"{title} {versions[name]}" for name, title in ENGINES.items() if name in versions)
    yield f"The results are of {results['created'][:10]}. Releases: {', '.join(releases)}."
    for topic in TOPICS:
        yield f"## {topic.title}"
        yield topic.text
        for cases in topic.cases():
            yield from _call(cases, results["outcomes"])
    yield "## Functions of the array libraries"
    yield "`got` is a copy of data. `at` is a tuple of index arrays that name the positions of the updates."
    yield from _recipes(results["outcomes"])


def _call(cases: list[Case], outcomes: dict[str, dict[str, str]]) -> Iterator[str]:
    """A call, the results of the engines, and the result that the specifications demand."""
    yield f"**{' and '.join(case.op for case in cases)}**: {_inputs(cases[0])}"
    found: dict[str, list[str]] = {}
    for name in ENGINES:
        its = {case: outcomes[case.id][name] for case in cases if name in outcomes.get(case.id, {})}
        for case, outcome in its.items():
            title = ENGINES[name] + (f" ({case.op})" if len({*its.values()}) > 1 else "")
            if title not in found.setdefault(outcome, []):
                found[outcome].append(title)
    yield markdown_table(("outcome", "engines"), [(outcome, ", ".join(who)) for outcome, who in found.items()])
    yield f"Expected: {_specified(cases)}."


def _recipes(outcomes: dict[str, dict[str, str]]) -> Iterator[str]:
    """The functions that stand for an operator, reduction by reduction."""
    asked: dict[tuple[str, str], dict[str, str]] = {}
    for case in (cases[0] for topic in TOPICS for cases in topic.cases()):
        its = asked.setdefault((op(case.op).kernel, case.reduction), {})
        for name in RECIPES:
            if name in outcomes.get(case.id, {}):
                its.setdefault(name, _recipe(name, case))
    for (kernel, reduction), its in asked.items():
        yield f"**{kernel}**" + ("" if reduction == "none" else f", {reduction}")
        yield "\n".join(f"- {ENGINES[name]} `{recipe}`" for name, recipe in its.items())


def _specified(cases: list[Case]) -> str:
    ops: dict[str, list[str]] = {}
    for case in cases:
        decided = " by a ruling of gatherscatter, because the specification is open" if case.latitude else ""
        ops.setdefault(wanted(case) + decided, []).append(case.op)
    if len(ops) == 1:
        return next(iter(ops))
    return "; ".join(f"{outcome} ({', '.join(its)})" for outcome, its in ops.items())


def _inputs(case: Case) -> str:
    """The inputs that matter, each with its name."""
    row = op(case.op)
    pairs = [(known.name, array) for known, array in zip(row.inputs, case.inputs, strict=False) if known.kind != "axis"]
    return ", ".join(f"{name} `{_text(array)}`" for name, array in pairs if array is not None)


def _recipe(name: str, case: Case) -> str:
    """The line of a recipe that does it."""
    lines = runtimes.find(name).source(case).splitlines()
    others = ("got = got.", "got = np.asarray(", "got = data.copy()")
    telling = [line for line in lines if "got" in line and not line.startswith(others)]
    return telling[-1].removeprefix("got = ")


def wanted(case: Case) -> str:
    """The result that a specification demands, or a ruling where it is silent."""
    return AN_ERROR if case.expected is None else f"`{_text(case.expected[0])}`"


def _text(array: np.ndarray) -> str:
    """Values on one line; of many, the first ones."""
    if array.size > 12:
        return f"{_text(array.ravel()[:3])[:-1]}, ...] of shape {array.shape}"
    return numbers(array.astype(np.float64 if array.dtype.kind not in "iu" else np.int64).tolist())


def numbers(values: Any) -> str:
    """Nested lists of numbers, with as many digits as they need."""
    if isinstance(values, list):
        return f"[{', '.join(numbers(value) for value in values)}]"
    return f"{values:.9g}" if isinstance(values, float) else str(values)
