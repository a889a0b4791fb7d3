"""``gatherscatter convert``: a model file from ONNX to OpenVINO IR, or back, or for ONNX Runtime with our library."""

from __future__ import annotations

import json
import os
from pathlib import Path

import click

from gatherscatter.cli.files import ModelFile, OutputFile, WritingCommand
from gatherscatter.cli.group import traceback_option
from gatherscatter.text import printable


@click.command(
    "convert",
    cls=WritingCommand,
    short_help="Convert a model between ONNX and OpenVINO IR, or for ONNX Runtime.",
    epilog="""\b
Examples, from the root of the repository:
  gatherscatter convert examples/kv_cache/scatter_nd.onnx scatter_nd.xml
  gatherscatter convert scatter_nd.xml back.onnx --indices valid
  gatherscatter convert examples/message_passing/message_passing.onnx --for onnxruntime -o fixed.onnx
""",
)
@click.argument("model", type=ModelFile())
@click.argument("target", type=OutputFile(), metavar="TARGET", required=False)
@click.option("-o", "--output", "output", type=OutputFile(), metavar="TARGET", help="Another way to give TARGET.")
@click.option(
    "--indices",
    type=click.Choice(["any", "valid", "nonnegative"]),
    default="any",
    show_default=True,
    help="What is known of indices that are no constants: nothing; that all are in range; that none is negative, too. "
    "The more is known, the less is inserted.",
)
@click.option(
    "--for",
    "runtime",
    type=click.Choice(["onnxruntime"]),
    help="Let this package's library run what ONNX Runtime gets wrong, refuses or runs slower.",
)
@click.option(
    "--fuse/--no-fuse",
    default=None,
    help="With --for: whether a Gather and the reduction that alone reads its rows become one node. Default: yes.",
)
@traceback_option
def command(
    model: Path, target: Path | None, output: Path | None, indices: str, runtime: str | None, fuse: bool | None
) -> None:
    """Convert MODEL (.onnx, or .xml with its .bin) to TARGET (.xml or .onnx), with exactly the same meaning."""
    if (target is None) == (output is None):
        raise click.UsageError("give TARGET once: as the second argument, or with -o")
    written = target or output
    assert written is not None
    if runtime is None:
        if fuse is not None:
            raise click.UsageError("--fuse and --no-fuse go with --for")
        from gatherscatter.openvino.conversion import convert

        convert(model, written, indices=indices)
        click.echo(f"written: {written}")
        return
    if indices != "any":
        raise click.UsageError("--indices is for conversions between ONNX and OpenVINO IR")
    _convert_for_onnxruntime(model, written, fuse is not False)


def _convert_for_onnxruntime(model: Path, target: Path, fuse: bool) -> None:
    from gatherscatter.native_library import library_path
    from gatherscatter.onnx.native_files import convert_for_onnxruntime

    library = library_path()  # before the model is written, as there may be none
    plan = convert_for_onnxruntime(model, target, fuse=fuse)
    for line in str(plan).splitlines():
        click.echo(printable(line))
    click.echo(f"written: {target}")
    if not plan.moved:
        click.echo("nothing was changed: ONNX Runtime runs this model rightly without the library")
        return
    literal = json.dumps(str(library), ensure_ascii=False)  # as all of these languages write text
    click.echo(f"library: {library}")
    click.echo("register the library before the session is made:")
    click.echo(f"  Python  options.register_custom_ops_library({literal})")
    click.echo(f"  C++     options.RegisterCustomOpsLibrary({'L' * (os.name == 'nt')}{literal});")
    click.echo(f"  C#      options.RegisterCustomOpLibrary({literal});")
    click.echo(f"  Java    options.registerCustomOpLibrary({literal});")
