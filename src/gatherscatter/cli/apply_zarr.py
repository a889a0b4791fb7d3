"""``gatherscatter apply`` with data in Zarr: scatters change it in place, gathers read it, and memory may be small."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gatherscatter.cli.apply_options import chunk_sizes
from gatherscatter.files import replacing

if TYPE_CHECKING:
    import numpy as np

    from gatherscatter.versions import OpVersion


def is_zarr(path: str) -> bool:
    """Whether a path names an array of Zarr, and no file."""
    return Path(path).suffix == ".zarr" or (Path(path) / "zarr.json").exists()


def read_mapped(path: Path) -> np.ndarray:
    """An array in a file; one in .npy form is mapped into memory, not read."""
    import numpy as np

    from gatherscatter.cli.input_files import read_one

    if is_zarr(str(path)):
        return np.asarray(open_array(path, "r")[...])
    if path.suffix != ".npy":
        return read_one(path)
    mapped = np.load(path, mmap_mode="r", allow_pickle=False)
    return mapped if mapped.dtype.kind != "V" else read_one(path)


def open_array(path: Path, mode: Any) -> Any:
    """An array of Zarr."""
    if not path.exists():
        raise FileNotFoundError(2, "no such array", str(path))
    return _zarr().open_array(path.absolute(), mode=mode)


def _zarr() -> Any:
    import gatherscatter.zarr  # noqa: F401  which says what to install, if Zarr is missing

    return sys.modules["zarr"]


def apply_to_zarr(
    row: OpVersion,
    data: Path,
    inputs: list[np.ndarray | None],
    attributes: dict[str, Any],
    output: Path | None,
    memory_limit: int | None,
    resume: bool,
    dry_run: bool,
    chunks: tuple[int, ...] | None,
) -> None:
    """Call the operator and say what was done; a gather's result is printed or written."""
    scatter = "updates" in [one.name for one in row.inputs]
    if scatter and output is not None:
        raise click.UsageError("a scatter changes the .zarr array in place: leave out --output")
    if resume and not scatter:
        raise click.UsageError("--resume is for scatters: a gather that was interrupted is made again")
    if chunks is not None and (output is None or output.suffix != ".zarr"):
        raise click.UsageError("--chunks is for a result that goes to a .zarr array, and for --scheduler")
    array = open_array(data, "r+" if scatter else "r")
    from gatherscatter.zarr.call import Terms
    from gatherscatter.zarr.progress import ChunkProgress
    from gatherscatter.zarr.scatter import scatter as run_scatter
    from gatherscatter.zarr.spec import version_call

    call = version_call(row, array, inputs, attributes)
    terms = Terms(memory_limit=memory_limit)
    terms.check(row.name)
    with ChunkProgress(row.name) as progress:
        if scatter:
            result = run_scatter(call, terms, progress, dry_run=dry_run, job=None, resume=resume)
        else:
            result = _gathered(call, output, chunks, terms, progress, dry_run)
    if scatter or dry_run:
        click.echo(str(result))
    else:
        _deliver(row, result, output)


def _gathered(
    call: Any, output: Path | None, chunks: tuple[int, ...] | None, terms: Any, progress: Any, dry_run: bool
) -> Any:
    """The result; a .zarr is made for it if it is to go to one."""
    from gatherscatter.cli.output_files import checked
    from gatherscatter.zarr.gather import gather

    if output is not None and output.suffix != ".zarr":
        checked(output)
    elif output is not None and not dry_run:
        sizes = chunk_sizes(chunks, call.slots) or "auto"
        with replacing(output) as part:
            out = _zarr().create_array(part.absolute(), shape=call.slots, dtype=call.array.dtype, chunks=sizes)
            return gather(call, out, terms, progress, dry_run=False)
    return gather(call, None, terms, progress, dry_run=dry_run)


def _deliver(row: OpVersion, result: Any, output: Path | None) -> None:
    from gatherscatter.cli.tables import preview, shape_text, type_text
    from gatherscatter.tensor_files import write_tensors

    if output is None:
        click.echo(f"{row.output} {type_text(result)} {shape_text(result.shape)} =\n{preview(result)}")
        return
    if output.suffix != ".zarr":
        write_tensors(output, {row.output: result})
    click.echo(f"written: {output}")
