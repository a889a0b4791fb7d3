"""``gatherscatter run``: a model file and its inputs to outputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gatherscatter.cli.files import InputFile, InputText, ModelFile, OutputText, WritingCommand
from gatherscatter.cli.group import traceback_option
from gatherscatter.models import ENGINES
from gatherscatter.text import printable

if TYPE_CHECKING:
    import numpy as np

    from gatherscatter.model_interface import Model, TensorInfo


@click.command(
    "run",
    cls=WritingCommand,
    short_help="Run an ONNX model or OpenVINO IR file.",
    epilog="""\b
Examples, from the root of the repository:
  gatherscatter run examples/message_passing/message_passing.onnx examples/message_passing/inputs.npz
  gatherscatter run examples/kv_cache/scatter_nd.onnx --random-inputs --dim length=4096 --benchmark 5 -o out.npz
""",
)
@click.argument("model", type=ModelFile())
@click.argument("input_files", nargs=-1, type=InputFile())
@click.option(
    "--input", "named_inputs", metavar="NAME=FILE", type=InputText(), multiple=True, help="The file of one input."
)
@click.option("--random-inputs", is_flag=True, help="Make up every input that no file gives.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of the random inputs.")
@click.option(
    "--dim",
    "sizes",
    metavar="NAME=SIZE",
    multiple=True,
    help="Size of a dimension that the model leaves open, for random inputs; ?=SIZE for those without a name. "
    "Default: 1.",
)
@click.option("--shape", "shapes", metavar="NAME=2,3", multiple=True, help="Whole shape of one random input.")
@click.option(
    "--integers-below",
    metavar="N",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Random integers come from 0..N-1. The default makes them all 0, the one index that is in range of every "
    "axis with elements.",
)
@click.option(
    "-o",
    "--output",
    "targets",
    metavar="FILE",
    type=OutputText(),
    multiple=True,
    help="Write the outputs: FILE.npz for all, NAME=FILE for one (.npy, .npz, .pb), FOLDER/ for one .npy each.",
)
@click.option("--benchmark", metavar="N", type=click.IntRange(min=1), help="Time N more runs after the first.")
@click.option(
    "--engine",
    type=click.Choice(ENGINES),
    default=ENGINES[0],
    show_default=True,
    help="Who runs the model; openvino runs every layer in the openvino package.",
)
@click.option(
    "--node-time-limit",
    metavar="SECONDS",
    type=click.FloatRange(min=0, min_open=True),
    help="Time that each node of an ONNX model may take. Default: no limit, except for regular expressions.",
)
@traceback_option
def command(
    model: Path,
    input_files: tuple[Path, ...],
    named_inputs: tuple[str, ...],
    random_inputs: bool,
    seed: int,
    sizes: tuple[str, ...],
    shapes: tuple[str, ...],
    integers_below: int,
    targets: tuple[str, ...],
    benchmark: int | None,
    engine: str,
    node_time_limit: float | None,
) -> None:
    """Run MODEL (.onnx, or .xml with its .bin) and print its inputs and outputs.

    INPUT_FILES are .npz (arrays by input name), .pb (TensorProto, by its name) and .npy files; those without a
    known name are taken in the order of the inputs.
    """
    from gatherscatter import models
    from gatherscatter.cli.input_files import read_inputs, require_all
    from gatherscatter.cli.output_files import OutputFiles
    from gatherscatter.cli.shapes import parse_shapes, parse_sizes
    from gatherscatter.cli.timing import time_runs, timing_text
    from gatherscatter.models.random_inputs import make_inputs
    from gatherscatter.progress import NodeProgress

    if (sizes or shapes) and not random_inputs:
        raise click.UsageError("--dim and --shape are for --random-inputs")
    loaded = models.load(model, engine=engine, node_time_limit=node_time_limit)
    inputs = read_inputs(loaded, named_inputs, input_files)
    if random_inputs:
        missing = [info for info in loaded.inputs if info.name not in inputs]
        open_sizes = parse_sizes(sizes, missing)
        whole = parse_shapes(shapes, missing)
        inputs |= make_inputs(missing, seed=seed, sizes=open_sizes, shapes=whole, below=integers_below)
    require_all(loaded, inputs)
    files = OutputFiles(targets, [info.name for info in loaded.outputs])
    files.check()
    with NodeProgress(loaded.node_count) as progress:
        outputs = loaded.run(inputs, progress)
    seconds = time_runs(loaded, inputs, benchmark) if benchmark else None
    _print_tensors(model.name, loaded, inputs, outputs)
    if seconds:
        click.echo(f"\n{timing_text(seconds)}")
    for path in files.write(outputs):
        click.echo(f"\nwritten: {path}")


def _print_tensors(
    title: str, model: Model, inputs: Mapping[str, np.ndarray], outputs: Mapping[str, np.ndarray]
) -> None:
    from gatherscatter.cli.tables import preview, print_table

    rows = _rows("input", model.inputs, inputs) + _rows("output", model.outputs, outputs)
    headers = ["", "name", "type", "shape", "declared"]
    if all(row[3] == row[4] for row in rows):
        headers, rows = headers[:4], [row[:4] for row in rows]
    click.echo(f"{printable(title)}: {model.node_count} node{'s' if model.node_count != 1 else ''}\n")
    print_table(headers, rows)
    for name, array in outputs.items():
        click.echo(f"\n{printable(name)} =\n{preview(array)}")


def _rows(role: str, declared: Sequence[TensorInfo], arrays: Mapping[str, np.ndarray]) -> list[list[str]]:
    """A line per array; inputs that a model may do without are given but not declared as inputs."""
    from gatherscatter.cli.tables import type_text
    from gatherscatter.text import shape_text

    shapes = {info.name: shape_text(info.shape) for info in declared}
    return [
        [role, name, type_text(array), shape_text(getattr(array, "shape", None)), shapes.get(name, "optional")]
        for name, array in arrays.items()
    ]
