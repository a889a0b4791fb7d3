"""``gatherscatter doctor``: show what runtimes do with the gathers and scatters of a model, and rewrite the model."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gatherscatter.cli.choices import Choice, fail_on_option
from gatherscatter.cli.files import OutputFile, WritingCommand
from gatherscatter.cli.group import FAILED, traceback_option
from gatherscatter.cli.terminal import say
from gatherscatter_models.commands import run
from gatherscatter_models.commands.model_files import ModelFile, ModelOutput

if TYPE_CHECKING:
    import numpy as np

# The parameters of `gatherscatter run` about inputs, which doctor shares.
OF_RUN = ("input_files", "named_inputs", "random_inputs", "seed", "sizes", "shapes", "integers_below")


def _targets() -> Iterable[str]:
    from gatherscatter_models.findings.verdicts import names

    return names()


def _conditions() -> Iterable[str]:
    from gatherscatter_models.findings.catalog import CONDITIONS

    return CONDITIONS


def _list_targets(context: click.Context, parameter: click.Parameter, value: bool) -> None:
    from gatherscatter.cli.tables import print_table
    from gatherscatter_models.findings.verdicts import is_tested

    if value:
        evidence = {True: "runs of this project", False: "public reports"}
        print_table(["target", "evidence"], [[name, evidence[is_tested(name)]] for name in _targets()])
        context.exit()


@click.command(
    "doctor",
    cls=WritingCommand,
    short_help="Find the gathers and scatters that runtimes get wrong, and fix the model.",
    epilog="""\b
Examples, from the root of the repository:
  gatherscatter doctor examples/message_passing/message_passing.onnx
  gatherscatter doctor examples/kv_cache/scatter_nd.onnx examples/kv_cache/inputs.npz --target openvino
  gatherscatter doctor examples/kv_cache/scatter_nd.onnx --target onnxruntime --fix fixed.onnx
""",
)
@click.argument("model", type=ModelFile())
@click.option(
    "--target",
    "targets",
    metavar="RUNTIME",
    type=Choice("target", _targets),
    multiple=True,
    help="Check this runtime (repeatable). Default: onnxruntime and openvino.",
)
@click.option(
    "--list-targets",
    is_flag=True,
    is_eager=True,  # needs no model
    expose_value=False,
    callback=_list_targets,
    help="List the targets and exit.",
)
@click.option(
    "--fix",
    "fixed_path",
    type=ModelOutput(),
    metavar="FILE",
    help="Write a model that gives the same results in all targets (without --target: in all known runtimes). "
    "Both models are run, and their results must be equal.",
)
@click.option(
    "--leave",
    metavar="CONDITION",
    type=Choice("condition", _conditions),
    multiple=True,
    help="With --fix: do not rewrite nodes for this condition, as in nan (repeatable).",
)
@click.option(
    "--widen-halves",
    is_flag=True,
    help="With --fix: compute sums and products of float16 and bfloat16 in float32. The result is rounded once, not "
    "after each update, so it may differ from that of the original.",
)
@click.option("--json", "json_path", type=OutputFile(), metavar="FILE", help="Write the results to a JSON file.")
@click.option(
    "--html",
    "html_path",
    type=OutputFile(),
    metavar="FILE",
    help="Write the results to an HTML page.",
)
@fail_on_option
@traceback_option
def command(
    *,
    model: Path,
    input_files: tuple[Path, ...],
    named_inputs: tuple[str, ...],
    random_inputs: bool,
    seed: int,
    sizes: tuple[str, ...],
    shapes: tuple[str, ...],
    integers_below: int,
    targets: tuple[str, ...],
    fixed_path: Path | None,
    leave: tuple[str, ...],
    widen_halves: bool,
    json_path: Path | None,
    html_path: Path | None,
    fail_on: str | None,
) -> None:
    """List the gather and scatter nodes of MODEL (.onnx, or .xml with its .bin), and what runtimes do with them.

    With inputs, the model is run and the values at each node are checked. INPUT_FILES are the same as for
    'gatherscatter run'. Without inputs, only types, shapes and constants are known, so some verdicts begin with "may".
    --fail-on does not count these. With --fail-on, the exit code is also 1 if the model can't be run.
    """
    from gatherscatter.cli.tables import print_table
    from gatherscatter.system.progress import Bar, NodeProgress
    from gatherscatter_models.doctor import examine
    from gatherscatter_models.doctor.report_text import explanations, fix_lines, summary, table
    from gatherscatter_models.findings.verdicts import STATUSES

    for option, given in (("--leave", leave), ("--widen-halves", widen_halves)):
        if given and fixed_path is None:
            raise click.UsageError(f"{option} is for --fix")
    inputs = None
    if input_files or named_inputs or random_inputs:
        with Bar(description=f"reading {model.name}"):
            inputs = _inputs(
                model, input_files, named_inputs, random_inputs, seed, sizes, shapes=shapes, below=integers_below
            )
    with NodeProgress(0) as progress:
        diagnosis = examine(model, inputs, targets=targets or None, progress=progress)
    if diagnosis.nodes:
        print_table(*table(diagnosis))
        click.echo()
    for line in (*explanations(diagnosis), *diagnosis.advice, *diagnosis.notes, diagnosis.error):
        if line:
            say(line)
    fixed = None
    if fixed_path is not None:
        from gatherscatter_models.doctor import fix

        with Bar(description="rewriting the model and comparing it with the original"):
            fixed = fix(
                model,
                fixed_path,
                inputs,
                targets=targets or None,
                leave=leave,
                widen_halves=widen_halves,
                seed=seed,
            )
        click.echo()
        for line in fix_lines(fixed):
            say(line)
    click.echo()
    if fixed is not None:
        click.echo("the original model:")
    for each in summary(diagnosis):
        say(each)
    for path, save in ((json_path, diagnosis.save_json), (html_path, diagnosis.save_html)):
        if path is not None:
            save(path, fixed)
            click.echo(f"written: {path}")
    ranks = list(STATUSES)
    if fail_on and (diagnosis.error or ranks.index(diagnosis.worst) <= ranks.index(fail_on)):
        click.get_current_context().exit(FAILED)


def _inputs(
    model: Path,
    files: tuple[Path, ...],
    named: tuple[str, ...],
    random: bool,
    seed: int,
    sizes: tuple[str, ...],
    *,
    shapes: tuple[str, ...],
    below: int,
) -> dict[str, np.ndarray]:
    """Read the inputs from files, or generate them, as `gatherscatter run` does."""
    from gatherscatter_models.commands.input_files import read_inputs, require_all
    from gatherscatter_models.commands.sizes import parse_shapes, parse_sizes
    from gatherscatter_models.loading import open_model
    from gatherscatter_models.random_inputs import make_inputs

    loaded = open_model(model)
    inputs = read_inputs(loaded, named, files)
    if random:
        missing = [info for info in loaded.inputs if info.name not in inputs]
        open_sizes, whole = parse_sizes(sizes, missing), parse_shapes(shapes, missing)
        inputs |= make_inputs(missing, seed=seed, sizes=open_sizes, shapes=whole, below=below)
    require_all(loaded, inputs)
    return inputs


command.params[1:1] = [parameter for parameter in run.command.params if parameter.name in OF_RUN]
