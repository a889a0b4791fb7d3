"""``gatherscatter inspect``: what an array of indices holds, without running anything."""

from __future__ import annotations

from pathlib import Path

import click

from gatherscatter.cli.files import InputFile
from gatherscatter.cli.group import traceback_option


@click.command(
    "inspect",
    short_help="Report range, negatives, duplicates and hints of indices.",
    epilog="""\b
Example:
  python -c "import numpy; numpy.save('indices.npy', [[0, 2], [-1, 3], [8, 1]])"
  gatherscatter inspect indices.npy --shape 8,4
""",
)
@click.argument("indices", type=InputFile())
@click.option("--shape", required=True, metavar="SIZES", help="Shape of the data that is indexed, as in 8,4.")
@click.option(
    "--axis",
    type=int,
    help="The axis that single indices go into (Gather, ScatterElements, ...). Without it, the last axis of INDICES "
    "holds tuples (GatherND, ScatterND).",
)
@traceback_option
def command(indices: Path, shape: str, axis: int | None) -> None:
    """Look at the indices in a file (.npy, .pb, or .npz with one array) as they would go into data of a shape."""
    import gatherscatter as gs
    from gatherscatter.cli.input_files import read_one
    from gatherscatter.cli.shapes import parse_shape

    click.echo(str(gs.inspect(read_one(indices), parse_shape(shape), axis=axis)))
