"""``gatherscatter inspect``: check an array of indices without running an operator."""

from __future__ import annotations

from pathlib import Path

import click

from gatherscatter.cli.choices import Word
from gatherscatter.cli.files import InputFile
from gatherscatter.cli.group import FAILED, traceback_option
from gatherscatter.cli.help import BaseCommand
from gatherscatter.cli.terminal import say
from gatherscatter.pages.palette import Look, Marked
from gatherscatter.system.progress import Bar


@click.command(
    "inspect",
    cls=BaseCommand,
    short_help="Report the range, negative values and duplicates of indices.",
    epilog="""\b
Example:
  python -c "import numpy; numpy.save('indices.npy', [[0, 2], [-1, 3], [8, 1]])"
  gatherscatter inspect indices.npy --shape 8,4
  gatherscatter inspect indices.npy --shape 9,4 --fail-on out-of-range
""",
)
@click.argument("indices", type=InputFile())
@click.option("--shape", required=True, metavar="SIZES", help="Shape of the indexed data, as in 8,4.")
@click.option(
    "--axis",
    metavar="N",
    type=int,
    help="Axis that the indices are for (Gather, ScatterElements, ...). Without it, the last axis of INDICES holds "
    "index tuples (GatherND, ScatterND).",
)
@click.option(
    "--fail-on",
    type=Word(["out-of-range", "negative", "duplicates"]),
    multiple=True,
    help="Exit with code 1 if the report counts such indices (repeatable).",
)
@traceback_option
@click.pass_context
def command(context: click.Context, indices: Path, shape: str, axis: int | None, fail_on: tuple[str, ...]) -> None:
    """Check the indices in a file (.npy, .pb, or .npz with one array) against the shape of the data."""
    import gatherscatter as gs
    from gatherscatter.cli.input_files import read_one
    from gatherscatter.cli.shapes import parse_shape

    with Bar(description=f"inspecting {indices.name}"):
        report = gs.inspect(read_one(indices), parse_shape(shape), axis=axis)
    for line in str(report).splitlines():
        is_bad = report.out_of_range > 0 and line.startswith("  out of range: ")
        say(Marked(line, Look("", "danger")) if is_bad else line)
    if any(getattr(report, fault.replace("-", "_")) for fault in fail_on):
        context.exit(FAILED)
