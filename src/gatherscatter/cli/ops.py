"""``gatherscatter ops``: print the table of op versions."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from gatherscatter.cli.choices import OperatorName, Word
from gatherscatter.cli.group import traceback_option
from gatherscatter.cli.help import BaseCommand
from gatherscatter.cli.terminal import say
from gatherscatter.pages.palette import Look, Marked

if TYPE_CHECKING:
    from gatherscatter.specs.rows import Attribute
from gatherscatter.specs.table import OpVersion

CODE = ("prepare", "finish")  # columns of the table that hold functions


@click.command(
    "ops",
    cls=BaseCommand,
    short_help="List the op versions, or describe one.",
    epilog="""\b
Examples:
  gatherscatter ops --domain onnx
  gatherscatter ops openvino.ScatterNDUpdate-15
  gatherscatter ops onnx.ScatterND --format json
""",
)
@click.argument("name", required=False, type=OperatorName())
@click.option(
    "--domain", type=Word(["onnx", "openvino", "com.microsoft"]), help="List only the operators of this specification."
)
@click.option("--format", "form", type=Word(["text", "json"]), default="text", show_default=True,
              help="Output format.")  # fmt: skip
@traceback_option
def command(name: str | None, domain: str | None, form: str) -> None:
    """List all op versions. With NAME (onnx.ScatterND-18, or onnx.ScatterND for the newest version), describe one."""
    import gatherscatter as gs

    if name is not None:
        if domain is not None:
            raise click.UsageError("--domain filters the list: omit --domain or NAME")
        row = gs.op(name)
        click.echo(json.dumps(facts(row), indent=2)) if form == "json" else _print_row(row)
        return
    rows = [row for row in gs.ops() if domain in (None, row.domain)]
    click.echo(json.dumps([facts(row) for row in rows], indent=2)) if form == "json" else _print_rows(rows)


def facts(row: OpVersion) -> dict[str, Any]:
    """Return an op version as plain JSON values. An attribute without a default is marked as required."""
    values: dict[str, Any] = {"name": row.name, **asdict(row), "source": row.source}
    for attribute, written in zip(row.attributes, values["attributes"], strict=True):
        required = attribute.is_required
        written |= {"default": None if required else attribute.default, "required": required}
    return {key: value for key, value in values.items() if key not in CODE}


def attribute_text(attribute: Attribute) -> str:
    """Return an attribute and its default: ``reduction=none``, ``use_init_val=true``. A required one is ``axis``."""
    if attribute.is_required:
        return attribute.name
    return f"{attribute.name}={attribute.default_text}"


def _print_rows(rows: list[OpVersion]) -> None:
    from gatherscatter.cli.tables import print_table
    from gatherscatter.specs.rows import INDEX_RANGES

    print_table(
        ("op version", "inputs", "attributes", "index range"),
        [
            (
                Marked(f"{row.name} (deprecated)", Look("", "none")) if row.deprecated else row.name,
                ", ".join(map(str, row.inputs)),
                ", ".join(map(attribute_text, row.attributes)) or "-",
                row.index_range,
            )
            for row in rows
        ],
    )
    click.echo("\nindex range, for an axis of size s:")
    for name, meaning in INDEX_RANGES.items():
        say(f"  {name}: {meaning}")


def _print_row(row: OpVersion) -> None:
    from gatherscatter.cli.tables import print_table
    from gatherscatter.specs.rows import INDEX_RANGES

    kinds = {
        "data": "one of the element types",
        "indices": "one of the index types",
        "scalar": "one element of an index type",
        "axis": "one integer",
        "scales": "float32, float16 or bfloat16, which is the type of the output",
    }
    lines = [(f"input {one}", kinds[one.kind]) for one in row.inputs]
    lines += [(f"attribute {one.name}", _attribute_line(one)) for one in row.attributes]
    lines += [
        (f"output {row.output}", f"shape {row.shape_rule}"),
        ("element types", ", ".join(row.element_types)),
        ("index types", ", ".join(row.index_types) or "-"),
        ("index range", INDEX_RANGES[row.index_range]),
        ("array function", row.kernel),
    ]
    say(f"{row.name}{' (deprecated)' if row.deprecated else ''}: {row.source}")
    click.echo()
    print_table(None, lines)


def _attribute_line(attribute: Attribute) -> str:
    parts = [attribute.type, "required" if attribute.is_required else f"default {attribute.default_text}"]
    if attribute.choices:
        parts.append(f"choices: {', '.join(attribute.choices)}")
    return ", ".join(parts)
