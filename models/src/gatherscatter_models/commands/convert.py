"""``gatherscatter convert``: convert a model between ONNX and OpenVINO IR, or for ONNX Runtime and the library."""

from __future__ import annotations

import json
import os
from pathlib import Path

import click

from gatherscatter.cli.choices import Word
from gatherscatter.cli.files import WritingCommand
from gatherscatter.cli.group import traceback_option
from gatherscatter.cli.terminal import say
from gatherscatter.system.progress import Bar
from gatherscatter_models.commands.model_files import ModelFile, ModelOutput

MODEL = ModelOutput((".xml", ".onnx"))


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
@click.argument("target", type=MODEL, metavar="TARGET", required=False)
@click.option(
    "-o", "--output", "output", type=MODEL, metavar="FILE", help="File to write, instead of the argument TARGET."
)
@click.option(
    "--indices",
    type=Word(["any", "valid", "nonnegative"]),
    default="any",
    show_default=True,
    help="What you know about indices that are not constant. any: nothing. valid: all are in range. nonnegative: all "
    "are in range and none is negative. The more you know, the fewer nodes are added.",
)
@click.option(
    "--for",
    "runtime",
    type=Word(["onnxruntime"]),
    help="Convert for ONNX Runtime with the library of this package. The library runs the nodes that ONNX Runtime "
    "gets wrong, refuses or runs more slowly.",
)
@click.option(
    "--fuse/--no-fuse",
    default=None,
    help="With --for: fuse a Gather and the reduction of its rows into one node. Default: --fuse.",
)
@traceback_option
def command(
    model: Path, target: Path | None, output: Path | None, indices: str, runtime: str | None, fuse: bool | None
) -> None:
    """Convert MODEL (.onnx, or .xml with its .bin) to TARGET (.xml or .onnx). Both models give the same results."""
    if (target is None) == (output is None):
        raise click.UsageError("give TARGET once: as the second argument, or with -o")
    written = target or output
    assert written is not None
    if runtime is None:
        if fuse is not None:
            raise click.UsageError("--fuse and --no-fuse need --for")
        from gatherscatter_models.openvino.conversion import convert

        with Bar(description=f"converting {model.name}"):
            convert(model, written, indices=indices)
        click.echo(f"written: {written}")
        return
    if indices != "any":
        raise click.UsageError("--indices needs a conversion between ONNX and OpenVINO IR: omit it with --for")
    _convert_for_onnxruntime(model, written, fuse is not False)


def _convert_for_onnxruntime(model: Path, target: Path, fuse: bool) -> None:
    from gatherscatter.system.native_library import library_path
    from gatherscatter_models.onnx.native_files import convert_for_onnxruntime

    library = library_path()  # raises if there is no library, before the model is written
    with Bar(description=f"converting {model.name}"):
        plan = convert_for_onnxruntime(model, target, fuse=fuse)
    for line in str(plan).splitlines():
        say(line)
    click.echo(f"written: {target}")
    if not plan.moved:
        click.echo("nothing was changed: ONNX Runtime runs this model correctly without the library")
        return
    literal = json.dumps(str(library), ensure_ascii=False)  # a string literal in all of these languages
    click.echo(f"library: {library}")
    click.echo("register the library before you create the session:")
    click.echo(f"  Python  options.register_custom_ops_library({literal})")
    click.echo(f"  C++     options.RegisterCustomOpsLibrary({'L' * (os.name == 'nt')}{literal});")
    click.echo(f"  C#      options.RegisterCustomOpLibrary({literal});")
    click.echo(f"  Java    options.registerCustomOpLibrary({literal});")
