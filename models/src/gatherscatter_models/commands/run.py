"""``gatherscatter run``: run a model file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gatherscatter.cli.choices import Word
from gatherscatter.cli.files import InputFile, InputText, OutputText, WritingCommand
from gatherscatter.cli.group import traceback_option
from gatherscatter.cli.terminal import say
from gatherscatter.messages.text import count_text, printable
from gatherscatter_models.commands.model_files import ModelFile
from gatherscatter_models.loading import ENGINES

if TYPE_CHECKING:
    import numpy as np

    from gatherscatter_models.interface import Model, TensorInfo


@click.command(
    "run",
    cls=WritingCommand,
    short_help="Run an ONNX model or OpenVINO IR and print its outputs.",
    epilog="""\b
Examples, from the root of the repository:
  gatherscatter run examples/message_passing/message_passing.onnx examples/message_passing/inputs.npz
  gatherscatter run examples/kv_cache/scatter_nd.onnx --random-inputs --dim length=4096 --benchmark 5 -o out.npz
""",
)
@click.argument("model", type=ModelFile())
@click.argument("input_files", nargs=-1, type=InputFile())
@click.option(
    "--input",
    "named_inputs",
    metavar="NAME=FILE",
    type=InputText(),
    multiple=True,
    help="File with the array of one input (repeatable).",
)
@click.option("--random-inputs", is_flag=True, help="Generate random values for the inputs without a file.")
@click.option(
    "--seed", metavar="N", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of the random inputs."
)
@click.option(
    "--dim",
    "sizes",
    metavar="NAME=SIZE",
    multiple=True,
    help="Size of a dynamic dimension of the random inputs (repeatable). ?=SIZE sets all dimensions without a name. "
    "Default: 1.",
)
@click.option("--shape", "shapes", metavar="NAME=2,3", multiple=True, help="Shape of one random input (repeatable).")
@click.option(
    "--integers-below",
    metavar="N",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Generate random integers in 0..N-1. Choose N so that random indices are in range.",
)
@click.option(
    "-o",
    "--output",
    "targets",
    metavar="FILE",
    type=OutputText(),
    multiple=True,
    help="Write outputs (repeatable). FILE.npz: all of them. NAME=FILE: one of them (.npy, .npz, .pb). FOLDER/: each "
    "to a separate .npy file.",
)
@click.option("--benchmark", metavar="N", type=click.IntRange(min=1), help="Time N more runs after the first one.")
@click.option(
    "--engine",
    type=Word(ENGINES),
    default=ENGINES[0],
    show_default=True,
    help="Engine that runs the model. auto: ONNX Runtime with gatherscatter's library, or the reference evaluator if "
    "ONNX Runtime refuses the model. openvino: OpenVINO, with its own operators.",
)
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
    benchmark: int | None,
    engine: str,
) -> None:
    """Run MODEL (.onnx, or .xml with its .bin) and print its inputs and outputs.

    INPUT_FILES are .npz files (arrays by input name), .pb files (a TensorProto with a name) and .npy files. Arrays
    without the name of an input are used in the order of the inputs.
    """
    from gatherscatter.system.progress import Bar, NodeProgress
    from gatherscatter_models.commands.input_files import read_inputs, require_all
    from gatherscatter_models.commands.output_files import OutputFiles
    from gatherscatter_models.commands.sizes import parse_shapes, parse_sizes
    from gatherscatter_models.commands.timing import time_runs, timing_text
    from gatherscatter_models.loading import open_model
    from gatherscatter_models.random_inputs import make_inputs

    if (sizes or shapes) and not random_inputs:
        raise click.UsageError("--dim and --shape are for --random-inputs")
    with Bar(description=f"reading {model.name}"):
        loaded = open_model(model, engine)
        inputs = read_inputs(loaded, named_inputs, input_files)
        if random_inputs:
            missing = [info for info in loaded.inputs if info.name not in inputs]
            open_sizes = parse_sizes(sizes, missing)
            whole = parse_shapes(shapes, missing)
            inputs |= make_inputs(missing, seed=seed, sizes=open_sizes, shapes=whole, below=integers_below)
    if note := getattr(loaded, "note", ""):
        click.echo(note, err=True)
    require_all(loaded, inputs)
    files = OutputFiles(targets, [info.name for info in loaded.outputs])
    files.check()
    with NodeProgress(loaded.node_count) as progress:
        outputs = loaded.run(inputs, progress)
    seconds = time_runs(loaded, inputs, benchmark) if benchmark else None
    _print_tensors(model.name, loaded, inputs, outputs)
    if seconds:
        click.echo()
        say(timing_text(seconds))
    with Bar(description="writing the outputs"):
        written = files.write(outputs)
    for path in written:
        click.echo(f"\nwritten: {path}")


def _print_tensors(
    title: str, model: Model, inputs: Mapping[str, np.ndarray], outputs: Mapping[str, np.ndarray]
) -> None:
    from gatherscatter.cli.tables import preview, print_table

    rows = _rows("input", model.inputs, inputs) + _rows("output", model.outputs, outputs)
    headers = ["", "name", "type", "shape", "declared"]
    if all(row[3] == row[4] for row in rows):
        headers, rows = headers[:4], [row[:4] for row in rows]
    click.echo(f"{printable(title)}: {count_text(model.node_count, 'node')}\n")
    print_table(headers, rows)
    for name, array in outputs.items():
        click.echo(f"\n{printable(name)} =\n{preview(array)}")


def _rows(role: str, declared: Sequence[TensorInfo], arrays: Mapping[str, np.ndarray]) -> list[list[str]]:
    """Return one row per array. Optional inputs of a model are given, but not declared as inputs."""
    from gatherscatter.cli.tables import type_text
    from gatherscatter.messages.text import shape_text

    shapes = {info.name: shape_text(info.shape) for info in declared}
    return [
        [role, name, type_text(array), shape_text(getattr(array, "shape", None)), shapes.get(name, "optional")]
        for name, array in arrays.items()
    ]
