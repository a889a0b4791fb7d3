"""``gatherscatter apply``: apply one op version to files. Each subcommand is generated from its row in the table."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gatherscatter.cli import apply_dask
from gatherscatter.cli.choices import Word
from gatherscatter.cli.files import InputText, OutputFile, WritingCommand, chunk_sizes, import_zarr, is_zarr, open_array
from gatherscatter.cli.group import traceback_option
from gatherscatter.cli.help import BaseGroup, write_commands
from gatherscatter.system.files import replace_atomically
from gatherscatter.system.progress import Bar

if TYPE_CHECKING:
    import numpy as np

    from gatherscatter.specs.rows import Attribute, Input
from gatherscatter.specs.table import OpVersion

_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}


class Size(click.ParamType):  # type: ignore[type-arg]  # generic in click 8.4 only
    """A number of bytes, written like 500MB or 2GiB."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return the number of bytes that the text stands for."""
        found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([kmgt]i?)?b?", str(value).strip(), re.IGNORECASE)
        if found is None:
            self.fail(f"{value!r} is not a size: write it as 500MB or 2GiB", param, ctx)
        return int(float(found[1]) * _UNITS[(found[2] or "").lower()])


class Chunks(click.ParamType):  # type: ignore[type-arg]  # generic in click 8.4 only
    """Chunk sizes along the axes: 1000 for all axes, or one size per axis (1000,500). -1 means the whole axis."""

    name = "chunks"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, ...]:
        """Return the sizes that the text stands for."""
        try:
            sizes = tuple(int(part) for part in str(value).split(","))
        except ValueError:
            sizes = ()
        if not sizes or any(size != -1 and size < 1 for size in sizes):
            self.fail(f"{value!r} are not chunk sizes: write them as 1000 or 1000,500 (-1: the whole axis)", param, ctx)
        return sizes


OPTIONS: tuple[tuple[tuple[str, ...], dict[str, Any]], ...] = (
    (
        ("--memory-limit",),
        {"type": Size(), "metavar": "SIZE", "help": "With .zarr: approximate memory limit, as in 2GiB."},
    ),
    (
        ("--chunks",),
        {
            "type": Chunks(),
            "metavar": "N,...",
            "help": "Chunk sizes, as in 1000 or 1000,500 (-1: the whole axis). With --scheduler, those of "
            "data; otherwise those of the new .zarr array.",
        },
    ),
    (
        ("--scheduler",),
        {
            "metavar": "ADDRESS|local",
            "help": "Compute with Dask, at this address or on this machine (local), and write a new .zarr array.",
        },
    ),
    (("--resume",), {"is_flag": True, "help": "With .zarr: finish an interrupted scatter."}),
    (("--dry-run",), {"is_flag": True, "help": "With .zarr: report the bytes to read and write, and change nothing."}),
)


def chunk_options() -> list[click.Option]:
    """Return the options for arrays in chunks."""
    return [click.Option(list(names), **facts) for names, facts in OPTIONS]


def read_mapped(path: Path) -> np.ndarray:
    """Return the array in a file. A .npy file is mapped into memory instead of being read."""
    import numpy as np

    from gatherscatter.cli.input_files import read_one

    if is_zarr(str(path)):
        return np.asarray(open_array(path, "r")[...])
    if path.suffix != ".npy":
        return read_one(path)
    mapped = np.load(path, mmap_mode="r", allow_pickle=False)
    return mapped if mapped.dtype.kind != "V" else read_one(path)


def apply_to_zarr(
    row: OpVersion,
    data: Path,
    inputs: list[np.ndarray | None],
    attributes: dict[str, Any],
    output: Path | None,
    memory_limit: int | None,
    *,
    resume: bool,
    dry_run: bool,
    chunks: tuple[int, ...] | None,
) -> None:
    """Call the operator on a .zarr array and print a report. The result of a gather is printed or written."""
    scatter = "updates" in [one.name for one in row.inputs]
    if scatter and output is not None:
        raise click.UsageError("a scatter changes the .zarr array in place: omit --output")
    if resume and not scatter:
        raise click.UsageError("--resume is for scatters: run an interrupted gather again from the start")
    if chunks is not None and (output is None or output.suffix != ".zarr"):
        raise click.UsageError("--chunks is for a result that is written to a .zarr array, and for --scheduler")
    array = open_array(data, "r+" if scatter else "r")
    from gatherscatter.system.progress import ChunkProgress
    from gatherscatter.zarr.call import Terms, version_call
    from gatherscatter.zarr.scatter import scatter as run_scatter

    call = version_call(row, array, inputs, attributes)
    terms = Terms(memory_limit=memory_limit, dry_run=dry_run, resume=resume)
    terms.check(row.name)
    try:
        with ChunkProgress(row.name) as progress:
            if scatter:
                result = run_scatter(call, terms, progress)
            else:
                result = _gather_zarr(call, output, chunks, terms, progress)
    except KeyboardInterrupt as stop:
        if getattr(stop, "__notes__", None):  # a journal holds what was written
            stop.__notes__[:] = ["to resume: repeat the command with --resume"]
        raise
    if scatter or dry_run:
        click.echo(str(result))
    else:
        _print_or_write(row, result, output)


def _gather_zarr(call: Any, output: Path | None, chunks: tuple[int, ...] | None, terms: Any, progress: Any) -> Any:
    """Return the result of a gather, in a new .zarr array if ``output`` names one."""
    from gatherscatter.cli.output_files import check_suffix
    from gatherscatter.zarr.gather import gather

    if output is not None and output.suffix != ".zarr":
        check_suffix(output)
    elif output is not None and not terms.dry_run:
        sizes = chunk_sizes(chunks, call.slots) or "auto"
        with replace_atomically(output) as part:
            out = import_zarr().create_array(part.absolute(), shape=call.slots, dtype=call.array.dtype, chunks=sizes)
            return gather(call, out, terms, progress)
    return gather(call, None, terms, progress)


def _print_or_write(row: OpVersion, result: Any, output: Path | None) -> None:
    from gatherscatter.arrays.tensor_files import write_tensors
    from gatherscatter.cli.tables import preview, type_text
    from gatherscatter.messages.text import shape_text

    if output is None:
        click.echo(f"{row.output} {type_text(result)} {shape_text(result.shape)} =\n{preview(result)}")
        return
    if output.suffix != ".zarr":
        with Bar(description=f"writing {output.name}"):
            write_tensors(output, {row.output: result})
    click.echo(f"written: {output}")


AXIS_OPTION = "axis_option"
CLICK_TYPES: dict[str, Any] = {"int": click.INT, "bool": click.BOOL, "string": click.STRING}
ATTRIBUTE_HELP = {
    "axis": "Axis of the data.",
    "batch_dims": "Number of leading dimensions that data and indices share.",
    "bits": "Number of bits of a code in an array of uint8: 2, 4 or 8.",
    "block_size": "Number of elements along the quantized axis that share a scale.",
    "fill_mode": "Value of an empty segment.",
    "gather_axis": "Axis of the data along which slices are taken.",
    "mode": "At the end of the cache: raise an error (linear), or continue at its start (circular).",
    "quantize_axis": "Axis of the data along which blocks share a scale.",
    "reduction": "Operation that combines values for the same target.",
    "use_init_val": "Include the value in data in the reduction: true or false.",
}


class Operators(BaseGroup):
    """A group whose subcommands are the op versions. Its help lists the newest version of each operator."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return all names in the order of the table."""
        import gatherscatter as gs

        return [row.name for row in gs.ops()]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command of an op version. A name without a version means the newest one."""
        import gatherscatter as gs

        return operator_command(gs.op(cmd_name))

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the newest version of each operator."""
        import gatherscatter as gs

        families = dict.fromkeys(row.name.rpartition("-")[0] for row in gs.ops())
        newest = [self.get_command(ctx, gs.op(family).name) for family in families]
        write_commands(formatter, "Operators (newest versions)", [one for one in newest if one])
        with formatter.indentation():
            formatter.write_paragraph()
            formatter.write_text("'gatherscatter ops' lists all versions.")


@click.command(
    "apply",
    cls=Operators,
    subcommand_metavar="OPERATOR FILES...",
    short_help="Apply one operator version to files.",
    epilog="""\b
Example:
  python -c "import numpy; numpy.save('data.npy', numpy.zeros(4))"
  python -c "import numpy; numpy.save('indices.npy', [[1], [3]])"
  python -c "import numpy; numpy.save('updates.npy', [2.0, 5.0])"
  gatherscatter apply onnx.ScatterND-18 data.npy indices.npy updates.npy --reduction add -o out.npy

Help for one operator: gatherscatter apply OPERATOR --help
""",
)
@traceback_option
def command() -> None:
    """Apply one op version to files (.npy, .pb, or .npz with one array) and print or write the result.

    The data can also be a .zarr array, which is processed chunk by chunk. A scatter changes it in place. With
    --scheduler, Dask computes the result on one or many machines and writes it to a new .zarr array.
    """


def operator_command(row: OpVersion) -> click.Command:
    """Return the command of one row. Inputs are arguments. Attributes and inputs of a single number are options."""
    files = [_argument(one) for one in row.inputs if one.kind != "scalar"]
    options = [_number_option(one) for one in row.inputs if one.kind == "scalar"]
    options += [attribute_option(attribute) for attribute in row.attributes]
    if any(one.kind == "axis" for one in row.inputs):
        options.append(
            click.Option(
                ["--axis", AXIS_OPTION],
                metavar="INT|FILE",
                type=InputText(),
                help="The axis, instead of the argument AXIS.",
            )
        )
    output = click.Option(
        ["-o", "--output"],
        metavar="FILE",
        type=OutputFile(),
        help="Write the result to this file (.npy, .npz, .pb, .zarr) instead of printing it.",
    )

    def call(output: Path | None, **values: Any) -> None:
        apply_to_files(row, values, output)

    made = WritingCommand(
        row.name,
        callback=call,
        params=[*files, *options, output, *chunk_options()],
        help=_help(row),
        short_help=", ".join(map(str, row.inputs)) + (" (deprecated)" if row.deprecated else ""),
        epilog=f"\b\nExample:\n  gatherscatter apply {_example(row)}",
    )
    return traceback_option(made)


def apply_to_files(row: OpVersion, values: dict[str, Any], output: Path | None) -> None:
    """Read the inputs, call the operator, and print or write the result."""
    from gatherscatter.cli.input_files import read_one
    from gatherscatter.cli.output_files import check_suffix

    attributes = {one.name: values[one.name] for one in row.attributes if values[one.name] is not None}
    terms = {name: values[name] for name in ("memory_limit", "resume", "dry_run", "chunks")}
    data = values[f"input_{row.inputs[0].name}"]
    if (scheduler := values["scheduler"]) is not None:
        first, *others = row.inputs
        lazy = [_array(first, values, partial(apply_dask.read_lazily, chunks=terms.pop("chunks")))]
        lazy += [_array(one, values, apply_dask.read_if_small) for one in others]
        lazy = _give_types(row, lazy)
        apply_dask.apply_with_dask(row, lazy, attributes, output, scheduler, **terms)
        return
    if is_zarr(data):
        inputs = [None, *(_array(one, values, read_mapped) for one in row.inputs[1:])]
        apply_to_zarr(row, Path(data), _give_types(row, inputs)[1:], attributes, output, **terms)
        return
    if any(terms.values()):
        raise click.UsageError("--memory-limit, --resume, --dry-run and --chunks are for data in a .zarr array")
    if output is not None:
        check_suffix(output)
    with Bar(description=row.name):
        arrays = _give_types(row, [_array(one, values, read_one) for one in row.inputs])
        result = row(*arrays, **attributes)
    _print_or_write(row, result, output)


def _argument(one: Input) -> click.Argument:
    required = not (one.optional or one.kind == "axis")
    return click.Argument([f"input_{one.name}"], metavar=_metavar(one), type=InputText(), required=required)


def _number_option(one: Input) -> click.Option:
    names = [f"--{one.name}", f"--{one.name.replace('_', '-')}", f"input_{one.name}"]
    return click.Option(
        names, metavar="INT|FILE", type=InputText(), required=not one.optional, help="An integer, or a file with one."
    )


def attribute_option(attribute: Attribute) -> click.Option:
    """Return the option of an attribute, with both spellings of its name."""
    dashed = attribute.name.replace("_", "-")
    names = [f"--{attribute.name}", *([f"--{dashed}"] if dashed != attribute.name else [])]
    kind = Word(attribute.choices) if attribute.choices else CLICK_TYPES[attribute.type]
    text = ATTRIBUTE_HELP[attribute.name]
    if attribute.is_required:
        return click.Option([*names, attribute.name], type=kind, required=True, help=text)
    return click.Option([*names, attribute.name], type=kind, default=attribute.default, show_default=True, help=text)


def _array(one: Input, values: dict[str, Any], read: Callable[[Path], Any]) -> Any:
    """Return the array of an input, read from its file. An axis or a scalar can also be a number."""
    text: str | None = values[f"input_{one.name}"]
    if one.kind == "axis":
        option: str | None = values[AXIS_OPTION]
        if (text is None) == (option is None):
            raise click.UsageError("give the axis once: as the last argument, or with --axis")
        text = text or option
    if text is None:
        return None
    return read(Path(text)) if one.kind in ("data", "indices") else _read_number(text)


def _read_number(text: str) -> Any:
    """Return the integer, or the array in the file, that the text names."""
    from gatherscatter.cli.input_files import read_one

    try:
        return int(text)
    except ValueError:
        return read_one(Path(text))


def _give_types(row: OpVersion, arrays: list[Any]) -> list[Any]:
    """Convert numbers of the command line to arrays. Scalars get the type of the indices."""
    import numpy as np

    of_indices = next((a.dtype for one, a in zip(row.inputs, arrays, strict=True) if one.name == "indices"), np.int64)
    typed = []
    for one, array in zip(row.inputs, arrays, strict=True):
        kind = np.dtype(of_indices if one.kind == "scalar" else np.int64)
        try:
            typed.append(np.array(array, kind) if isinstance(array, int) else array)
        except OverflowError:
            raise click.UsageError(f"--{one.name} {array} does not fit in {kind}") from None
    return typed


def _metavar(one: Input) -> str:
    return f"[{one.name.upper()}]" if one.optional or one.kind == "axis" else one.name.upper()


def _help(row: OpVersion) -> str:
    from gatherscatter.messages.choices import SCALE_TYPES
    from gatherscatter.specs.rows import INDEX_RANGES

    kinds: dict[str, list[str]] = {}
    for one in row.inputs:
        kinds.setdefault(one.kind, []).append(_metavar(one))
    index_types = f" ({', '.join(row.index_types)})" if row.index_types else ""
    meaning = {
        "data": f"array in a file, of type {', '.join(row.element_types)}",
        "indices": f"indices in a file{index_types}. Range for an axis of size s: {INDEX_RANGES[row.index_range]}",
        "scalar": "an integer or a file",
        "axis": "an integer or a file",
        "scales": f"array in a file, of type {', '.join(SCALE_TYPES)}",
    }
    return "\n\n".join(
        [
            f"Apply {row.name} (source: {row.source}).",
            *(f"{', '.join(names)}: {meaning[kind]}." for kind, names in kinds.items()),
        ]
    )


def _example(row: OpVersion) -> str:
    files = " ".join(
        f"{one.name}.npy" for one in row.inputs if not one.optional and one.kind in ("data", "indices", "scales")
    )
    options = [f"--{one.name} 3" for one in row.inputs if one.kind == "scalar" and not one.optional]
    options += [f"--{one.name} {_example_value(one)}" for one in row.attributes]
    axis = " --axis 0" if any(one.kind == "axis" for one in row.inputs) else ""
    return f"{row.name} {files}{axis}{''.join(' ' + option for option in options)} -o out.npy"


def _example_value(attribute: Attribute) -> str:
    if not attribute.is_required:
        return attribute.default_text
    return attribute.choices[0] if attribute.choices else "0"
