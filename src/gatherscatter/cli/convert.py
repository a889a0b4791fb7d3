"""``gatherscatter convert``: a model file from ONNX to OpenVINO IR, or back."""

from __future__ import annotations

from pathlib import Path

import click

from gatherscatter.cli.files import ModelFile, OutputFile, WritingCommand
from gatherscatter.cli.group import traceback_option


@click.command(
    "convert",
    cls=WritingCommand,
    short_help="Convert a model between ONNX and OpenVINO IR.",
    epilog="""\b
Examples, from the root of the repository:
  gatherscatter convert examples/kv_cache/scatter_nd.onnx scatter_nd.xml
  gatherscatter convert scatter_nd.xml back.onnx --indices valid
""",
)
@click.argument("model", type=ModelFile())
@click.argument("target", type=OutputFile())
@click.option(
    "--indices",
    type=click.Choice(["any", "valid", "nonnegative"]),
    default="any",
    show_default=True,
    help="What is known of indices that are no constants: nothing; that all are in range; that none is negative, too. "
    "The more is known, the less is inserted.",
)
@traceback_option
def command(model: Path, target: Path, indices: str) -> None:
    """Convert MODEL (.onnx, or .xml with its .bin) to TARGET (.xml or .onnx), with exactly the same meaning."""
    from gatherscatter.openvino.conversion import convert

    convert(model, target, indices=indices)
    click.echo(f"written: {target}")
