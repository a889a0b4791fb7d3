"""``gatherscatter doctor``: what runtimes do with a model's gathers and scatters, and a model on which they agree."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from gatherscatter.cli import run
from gatherscatter.cli.files import InputFile, ModelFile, OutputFile, WritingCommand
from gatherscatter.cli.group import traceback_option
from gatherscatter.text import printable

if TYPE_CHECKING:
    import numpy as np

FAILED = 1

# What `gatherscatter run` has about inputs, doctor has too.
OF_RUN = ("input_files", "named_inputs", "random_inputs", "seed", "sizes", "shapes", "integers_below")


@click.command(
    "doctor",
    cls=WritingCommand,
    short_help="Say what runtimes do with a model's gathers and scatters; rewrite it.",
    epilog="""\b
Examples, from the root of the repository:
  gatherscatter doctor examples/message_passing/message_passing.onnx
  gatherscatter doctor examples/kv_cache/scatter_nd.onnx examples/kv_cache/inputs.npz --target openvino
  gatherscatter doctor examples/kv_cache/scatter_nd.onnx --target onnxruntime --fix fixed.onnx
""",
)
@click.argument("model", type=ModelFile())
@click.option("--inputs", "more_files", type=InputFile(), multiple=True, help="A file of inputs, as INPUT_FILES.")
@click.option(
    "--target",
    "targets",
    metavar="RUNTIME",
    multiple=True,
    help="Judge by this runtime: onnxruntime, openvino, tensorrt, ... Default: onnxruntime and openvino.",
)
@click.option(
    "--fix",
    "fixed_path",
    type=OutputFile(),
    metavar="OUT",
    help="Write a model on which the targets agree (all, if there is no --target), proven equal by running both.",
)
@click.option("--leave", metavar="CONDITION", multiple=True, help="With --fix: don't rewrite for this, e.g. nan.")
@click.option("--json", "json_path", type=OutputFile(), metavar="FILE", help="Write all that was found as JSON.")
@click.option(
    "--html",
    "html_path",
    type=OutputFile(),
    metavar="FILE",
    help="Write a page that opens from the file.",
)
@click.option("--fail", is_flag=True, help="Exit with code 1 if a target is certain not to support a node rightly.")
@traceback_option
def command(
    model: Path,
    input_files: tuple[Path, ...],
    more_files: tuple[Path, ...],
    named_inputs: tuple[str, ...],
    random_inputs: bool,
    seed: int,
    sizes: tuple[str, ...],
    shapes: tuple[str, ...],
    integers_below: int,
    targets: tuple[str, ...],
    fixed_path: Path | None,
    leave: tuple[str, ...],
    json_path: Path | None,
    html_path: Path | None,
    fail: bool,
) -> None:
    """List the gather and scatter nodes of MODEL (.onnx, or .xml with its .bin) and what runtimes do with them.

    With inputs, MODEL runs here and the values that reach each node decide; INPUT_FILES are those of
    gatherscatter run. Without, types, shapes and constants do, and the rest is called possible.
    """
    from gatherscatter.cli.tables import print_table
    from gatherscatter.doctor import examine
    from gatherscatter.doctor.report_text import explanations, fix_lines, table
    from gatherscatter.findings.verdicts import DEPARTURES
    from gatherscatter.progress import NodeProgress

    if leave and fixed_path is None:
        raise click.UsageError("--leave is for --fix")
    files = (*input_files, *more_files)
    inputs = None
    if files or named_inputs or random_inputs:
        inputs = _inputs(model, files, named_inputs, random_inputs, seed, sizes, shapes, integers_below)
    with NodeProgress(0) as progress:
        diagnosis = examine(model, inputs, targets=targets or None, progress=progress)
    if diagnosis.nodes:
        print_table(*table(diagnosis))
        click.echo()
    for line in (*explanations(diagnosis), *diagnosis.advice, *diagnosis.notes, diagnosis.error):
        if line:
            click.echo(printable(line))
    fixed = None
    if fixed_path is not None:
        from gatherscatter.doctor import fix

        fixed = fix(model, fixed_path, inputs, targets=targets or None, leave=leave, seed=seed)
        click.echo()
        for line in fix_lines(fixed):
            click.echo(printable(line))
    click.echo()
    for line in diagnosis.summary:
        click.echo(line)
    if json_path is not None:
        diagnosis.save_json(json_path, fixed)
    if html_path is not None:
        diagnosis.save_html(html_path, fixed)
    if fail and (diagnosis.error or diagnosis.worst in DEPARTURES):
        click.get_current_context().exit(FAILED)


def _inputs(
    model: Path,
    files: tuple[Path, ...],
    named: tuple[str, ...],
    random: bool,
    seed: int,
    sizes: tuple[str, ...],
    shapes: tuple[str, ...],
    below: int,
) -> dict[str, np.ndarray]:
    """The inputs, read and made up as `gatherscatter run` does."""
    from gatherscatter import models
    from gatherscatter.cli.input_files import read_inputs, require_all
    from gatherscatter.cli.shapes import parse_shapes, parse_sizes
    from gatherscatter.models.random_inputs import make_inputs

    loaded = models.load(model)
    inputs = read_inputs(loaded, named, files)
    if random:
        missing = [info for info in loaded.inputs if info.name not in inputs]
        open_sizes, whole = parse_sizes(sizes, missing), parse_shapes(shapes, missing)
        inputs |= make_inputs(missing, seed=seed, sizes=open_sizes, shapes=whole, below=below)
    require_all(loaded, inputs)
    return inputs


command.params[1:1] = [parameter for parameter in run.command.params if parameter.name in OF_RUN]
