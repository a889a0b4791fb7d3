"""``gatherscatter ops``: the table of operator versions."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from gatherscatter.cli.group import traceback_option

if TYPE_CHECKING:
    from gatherscatter.specs.table import Attribute, OpVersion


CODE = ("prepare", "finish")  # columns of the table that hold functions


@click.command(
    "ops",
    short_help="List the operator versions.",
    epilog="""\b
Examples:
  gatherscatter ops --domain onnx
  gatherscatter ops openvino.ScatterNDUpdate-15
  gatherscatter ops onnx.ScatterND --json
""",
)
@click.argument("name", required=False)
@click.option("--domain", type=click.Choice(["onnx", "openvino"]), help="Only the operators of one specification.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@traceback_option
def command(name: str | None, domain: str | None, as_json: bool) -> None:
    """List every operator version, or with NAME (onnx.ScatterND-18; onnx.ScatterND is the newest) one in full."""
    import gatherscatter as gs

    if name is not None:
        if domain is not None:
            raise click.UsageError("--domain selects from the list: give it without NAME")
        row = gs.op(name)
        click.echo(json.dumps(facts(row), indent=2)) if as_json else _print_row(row)
        return
    rows = [row for row in gs.ops() if domain in (None, row.domain)]
    click.echo(json.dumps([facts(row) for row in rows], indent=2)) if as_json else _print_rows(rows)


def facts(row: OpVersion) -> dict[str, Any]:
    """An operator version as plain JSON values; an attribute without a default says that it is required."""
    values: dict[str, Any] = {"name": row.name, **asdict(row), "source": row.source}
    for attribute, written in zip(row.attributes, values["attributes"], strict=True):
        required = attribute.is_required
        written |= {"default": None if required else attribute.default, "required": required}
    return {key: value for key, value in values.items() if key not in CODE}


def attribute_text(attribute: Attribute) -> str:
    """An attribute and its default: ``reduction=none``, ``use_init_val=true``; just ``axis`` when it is required."""
    if attribute.is_required:
        return attribute.name
    return f"{attribute.name}={attribute.default_text}"


def _print_rows(rows: list[OpVersion]) -> None:
    from gatherscatter.cli.tables import print_table
    from gatherscatter.specs.table import INDEX_RANGES

    print_table(
        ("operator version", "inputs", "attributes", "index range"),
        [
            (
                row.name + (" (deprecated)" if row.deprecated else ""),
                ", ".join(map(str, row.inputs)),
                ", ".join(map(attribute_text, row.attributes)) or "-",
                row.index_range,
            )
            for row in rows
        ],
    )
    click.echo()
    for name, meaning in INDEX_RANGES.items():
        click.echo(f"{name}: {meaning}")


def _print_row(row: OpVersion) -> None:
    from gatherscatter.cli.tables import print_table
    from gatherscatter.specs.table import INDEX_RANGES

    kinds = {
        "data": "one of the element types",
        "indices": "one of the index types",
        "scalar": "one element of an index type",
        "axis": "one integer",
    }
    lines = [(f"input {one}", kinds[one.kind]) for one in row.inputs]
    lines += [(f"attribute {one.name}", _attribute_line(one)) for one in row.attributes]
    lines += [
        (f"output {row.output}", f"shape {row.shape_rule}"),
        ("element types", ", ".join(row.element_types)),
        ("index types", ", ".join(row.index_types) or "-"),
        ("index range", INDEX_RANGES[row.index_range]),
        ("runs on", row.kernel),
    ]
    click.echo(f"{row.name}{' (deprecated)' if row.deprecated else ''}: {row.source}\n")
    print_table(None, lines)


def _attribute_line(attribute: Attribute) -> str:
    parts = [attribute.type, "required" if attribute.is_required else f"default {attribute.default_text}"]
    if attribute.choices:
        parts.append(f"one of {', '.join(attribute.choices)}")
    return ", ".join(parts)
