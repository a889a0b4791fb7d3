"""A page for each operator, made from the table of op versions, the rules and cases of the corpus, and the findings."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import groupby
from typing import Any

import numpy as np

import gatherscatter
from gatherscatter.messages.text import markdown_table
from gatherscatter.specs.rows import INDEX_RANGES, REQUIRED
from gatherscatter.specs.table import SPECIFICATIONS, OpVersion, ops
from gatherscatter_conformance import corpus
from gatherscatter_conformance.case import Case
from gatherscatter_conformance.rules import RULES
from gatherscatter_models.findings import catalog
from site_pages.drawings import batch_drawing, drawing
from site_pages.markdown import plain, session

Rows = list[OpVersion]

KINDS = {
    "data": "elements of type T",
    "indices": "integers",
    "scalar": "one integer",
    "axis": "one integer",
    "scales": "float32, float16 or bfloat16",
}
# The kinds of cases that show an operator best, the best first.
TELLING = ("example", "ring", "beams", "bags", "plain")
SEMANTICS = (
    *(f"2.{n}" for n in range(2, 10)),
    "2.12",
    "2.13",
)  # sections of docs/specification.md about one kernel each
# The meaning of the letters of these sections.
LETTERS = {
    "2.2": {
        "B": "the coordinates on the batch dimensions",
        "O": "the coordinates on the dimensions between the batch dimensions and the axis",
        "I": "the other coordinates of an index in `indices`",
    },
    "2.3": {"p": "the coordinates of an element of the output"},
    "2.4": {
        "B": "the coordinates on the batch dimensions",
        "J": "the other coordinates of an index tuple in `indices`",
        "b": "`batch_dims`",
        "k": "the length of an index tuple, `indices.shape[-1]`",
    },
    "2.5": {
        "p": "the coordinates of an update",
        "t": "the coordinates of the element of data that the update changes",
        "f": "the reduction; without a reduction, f returns its second argument",
    },
    "2.6": {
        "J": "the coordinates of an index tuple in `indices`",
        "f": "the reduction; without a reduction, f returns its second argument",
    },
    "2.7": {"I": "the coordinates of an index in `indices`"},
    "2.8": {"n": "the number of a batch entry", "t": "a position in `update` along the axis"},
    "2.12": {"b": "the number of a bag"},
    "2.13": {
        "O": "the coordinates on the dimensions before `gather_axis`",
        "I": "the coordinates of an index in `indices`",
        "J": "the coordinates on the dimensions behind `gather_axis`",
        "p": "the coordinates of a number in the table",
        "q": "the coordinates of its scale and its zero point",
    },
}
TYPES = ("int64", "int32", "float32", "uint8")


def operators() -> list[Rows]:
    """The versions of each operator, in the order of the table."""
    return [list(rows) for _, rows in groupby(ops(), key=lambda row: (row.domain, row.op_type))]


def pages() -> Iterator[tuple[str, str]]:
    """One page for each operator, and the list of them."""
    yield "ops/index.md", _index()
    for rows in operators():
        yield f"ops/{_family(rows[0])}.md", _page(rows)


def _family(row: OpVersion) -> str:
    return f"{row.domain}.{row.op_type}"


def _index() -> str:
    lines = [
        "# Operators",
        "",
        "This page lists every version of every operator in `gatherscatter.ops()`. [Choose](../choose.md) helps you "
        "find the right one.",
        "",
    ]
    for domain, title in SPECIFICATIONS.items():
        its = [rows for rows in operators() if rows[0].domain == domain]
        lines += [f"## {title}", ""]
        lines += [*(_line(rows) for rows in its), ""]
        names = "\n".join(_family(rows[0]) for rows in its)
        lines += [f"```{{toctree}}\n:hidden:\n\n{names}\n```", ""]
    return "\n".join(lines)


def _line(rows: Rows) -> str:
    versions = ", ".join(str(row.version) for row in rows)
    return f"- [{rows[0].op_type}]({_family(rows[0])}.md) {versions}: {_summary(rows[0])}"


def _semantics(row: OpVersion) -> str:
    """The meaning of the operator, by the section that its cases cite; and the letters there."""
    cited = {rule for case in corpus.cases(op=row.name) for rule in case.rules}
    section = next(section for section in SEMANTICS if section in cited)
    letters = [f"- {letter}: {text}" for letter, text in LETTERS.get(section, {}).items()]
    return "\n".join([f"For all positions: {plain(RULES[section].ruling)}.", *(["", *letters] if letters else [])])


def _page(rows: Rows) -> str:
    newest = rows[-1]
    shown = [row for row in rows if not row.deprecated][-1]
    opset = {} if shown is newest else {"opset": shown.version}
    parts = [
        f"# {_title(newest)}",
        _summary(newest),
        _semantics(newest),
        f"`gatherscatter.{_module(newest)}.{newest.op_type}` runs the operator exactly as the specification says. "
        f"The array function `gatherscatter.{newest.kernel}` does the same without the limits of an op version.",
        "## A call",
        *drawing(shown, opset),
        *batch_drawing(shown, opset),
        *_example(shown, opset),
        "## Inputs, attributes, result",
        _inputs(newest),
        _attributes(rows),
        *_shapes(rows),
        "## Types and indices",
        _indices(rows),
        "\n".join(_types(rows)),
        f"Source: {'; '.join(row.source for row in rows)}.",
        "## Errata and rulings",
        "Where the specification is silent or contradicts itself, these rulings decide, here and in the "
        "[test vectors](../corpus.md). [Rulings](../rulings.md) lists all of them, and "
        "[Specification](../specification.md) explains their letters. The quotes contain remarks of this project, such "
        'as "NaN is not mentioned".',
        *_rulings(rows),
        "## What others do differently",
        _departures(rows),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _module(row: OpVersion) -> str:
    """The package with the functions of its domain."""
    return row.domain.rpartition(".")[2]


def _title(row: OpVersion) -> str:
    return f"{SPECIFICATIONS[row.domain]} {row.op_type}"


def _summary(row: OpVersion) -> str:
    """The first line about the array function that it runs as."""
    return str(getattr(gatherscatter, row.kernel).__doc__).strip().splitlines()[0].replace(" `", " ").replace("`", "")


def _example(row: OpVersion, opset: dict[str, int]) -> Iterator[str]:
    """Another call, with the result of the oracle."""
    case = min(_legal(row), key=_worse)
    yield "## The example of the specification" if case.kind == "example" else "## Another call"
    given = [_literal(array) for array in case.inputs if array is not None]
    named = [f"{name}={value!r}" for name, value in (case.attributes | opset).items()]
    call = f"gs.{_module(row)}.{row.op_type}("
    arguments = ", ".join([*given, *named])
    if len(call) + len(arguments) > 90:
        arguments = (",\n...     ").join(["\n...     " + given[0], *given[1:], *named])
    yield session(f"{call}{arguments})", case.expected[0])  # type: ignore[index]


def _legal(row: OpVersion) -> list[Case]:
    """Cases that succeed and have more than two elements, in a type that is easy to read."""
    readable = [case for case in corpus.cases(op=row.name) if case.kind in TELLING and case.expected is not None]
    return [case for case in readable if case.type in TYPES and _size(case) > 2]


def _worse(case: Case) -> tuple[bool, int, int, int]:
    return bool(case.latitude), TELLING.index(case.kind), TYPES.index(case.type), abs(_size(case) - 12)


def _size(case: Case) -> int:
    return sum(array.size for array in case.inputs if array is not None)


def _literal(array: np.ndarray) -> str:
    """Python's text for an array, with its type if NumPy would choose another one."""
    whole = array.dtype.kind == "f" and bool((array == np.rint(array)).all())
    shown = array.astype(np.int64) if whole else array
    text = " ".join(np.array2string(shown, separator=", ", floatmode="unique").split()).replace("[ ", "[")
    return text if array.dtype == np.int64 else f'np.array({text}, "{array.dtype}")'


def _inputs(row: OpVersion) -> str:
    lines = [(f"`{known.name}`", KINDS[known.kind] + ("; optional" if known.optional else "")) for known in row.inputs]
    return markdown_table(("input", "holds"), lines)


def _attributes(rows: Rows) -> str:
    lines = []
    for name in dict.fromkeys(attribute.name for row in rows for attribute in row.attributes):
        for row in rows:
            its = next((attribute for attribute in row.attributes if attribute.name == name), None)
            if its is None:
                continue
            default = "required" if its.default is REQUIRED else f"`{its.default!r}`"
            values = ", ".join(f"`{choice}`" for choice in its.choices) if its.choices else its.type
            line = (f"`{name}`", values, default)
            if lines and lines[-1][1:] == line:
                lines[-1] = (f"{lines[-1][0]}, {row.version}", *line)
            else:
                lines.append((str(row.version), *line))
    head = ("attribute", "values", "default", "versions")
    return markdown_table(head, [(*line[1:], line[0]) for line in lines]) if lines else "There are no attributes."


def _shapes(rows: Rows) -> Iterator[str]:
    """The shape of the result, with its letters."""
    for rule, its in _alike(rows, lambda row: row.shape_rule):
        which = "" if len(its) == len(rows) else f" in version {', '.join(its)}"
        tuples = ". Here `k` is `indices.shape[-1]`" if "+k" in rule else ""
        first = rows[-1].typing_input.name
        yield f"The result, `{rows[-1].output}`, has the type of `{first}` and{which} the shape `{rule}`{tuples}."


def _indices(rows: Rows) -> str:
    facts = _alike(
        rows, lambda row: (", ".join(row.index_types) or "as the elements", plain(INDEX_RANGES[row.index_range]))
    )
    deprecated = {str(row.version) for row in rows if row.deprecated}
    lines = [(", ".join(f"{v} (deprecated)" if v in deprecated else v for v in its), *fact) for fact, its in facts]
    return markdown_table(("version", "index types", "range of an index on an axis of size s"), lines)


def _alike(rows: Rows, fact: Callable[[OpVersion], Any]) -> list[tuple[Any, list[str]]]:
    """The facts of all versions, each with its versions."""
    found: dict[Any, list[str]] = {}
    for row in rows:
        found.setdefault(fact(row), []).append(str(row.version))
    return list(found.items())


def _types(rows: Rows) -> Iterator[str]:
    """The types of each version, by those of the version before."""
    before: OpVersion | None = None
    for row in rows:
        types = ", ".join(row.element_types)
        if before is not None:
            more = [name for name in row.element_types if name not in before.element_types]
            if set(before.element_types) <= set(row.element_types):
                types = f"those of version {before.version}" + (f", and {', '.join(more)}" if more else "")
        yield f"- Elements of version {row.version}: {types}."
        before = row


def _rulings(rows: Rows) -> Iterator[str]:
    """The points at which its cases cite a ruling."""
    citing: dict[str, list[str]] = {}
    for row in rows:
        for rule in {rule for case in corpus.cases(op=row.name) for rule in case.rules}:
            citing.setdefault(rule, []).append(str(row.version))
    for rule in sorted((rule for rule in citing if rule[0] in "OVM"), key=lambda rule: (rule[0], int(rule[1:]))):
        known = RULES[rule]
        only = "" if len(citing[rule]) == len(rows) else f" (version {', '.join(citing[rule])})"
        yield f"**{rule}{only}: {plain(known.title)}**: {plain(known.ruling)}."
        yield f"> {plain(known.text)} ({plain(known.source)})"


def _departures(rows: Rows) -> str:
    """The findings about it, most severe first."""
    domain, op_type = rows[0].domain, rows[0].op_type
    found = [
        one
        for one in catalog.load()
        if (one.namespace == domain and op_type in one.ops) or (domain == "onnx" and op_type in one.onnx_ops)
    ]
    if not found:
        return "No departure is known. [Differences](../differences.md) compares the results of runtimes."
    lines = [
        f"- **{' '.join((catalog.RUNTIMES[one.runtime], one.releases)).strip()}**: "
        f"{plain(one.title)}. {one.effect.capitalize()}. "
        f"Condition: {catalog.CONDITIONS[one.condition]}. "
        + (f"`{one.id}`" if one.evidence == "run" else f"Reported in a [public thread]({one.url}).")
        for one in found
    ]
    text = (
        "`gatherscatter doctor` [looks for these](../doctor.md) in a model. [Differences](../differences.md) compares "
        "the results of runtimes. The id at the end of a line is that of a [finding](../findings.md). "
        "`python -m conformance.findings ID` reproduces it.\n\n"
    )
    return text + "\n".join(lines)
