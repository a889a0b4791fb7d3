"""``gatherscatter apply``: one operator version on files. Every subcommand is made from its row in the registry."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gatherscatter.cli import apply_dask, apply_options, apply_zarr
from gatherscatter.cli.failures import traceback_option
from gatherscatter.cli.files import InputText, OutputFile, WritingCommand
from gatherscatter.cli.ops import default_text, input_text, is_required

if TYPE_CHECKING:
    import numpy as np

    from gatherscatter.versions import Attribute, Input, OpVersion

AXIS_OPTION = "axis_option"
CLICK_TYPES: dict[str, Any] = {"int": click.INT, "bool": click.BOOL, "string": click.STRING}


class Operators(click.Group):
    """A group whose subcommands are the operator versions."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All names in the order of the registry."""
        import gatherscatter as gs

        return [row.name for row in gs.ops()]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of an operator version; a name without a version is its newest."""
        import gatherscatter as gs

        return operator_command(gs.op(cmd_name))


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

What an operator takes: gatherscatter apply OPERATOR --help
""",
)
@traceback_option
def command() -> None:
    """Apply one operator version to files (.npy, .pb, or .npz with one array) and print or write the result.

    Data may also be a .zarr array: scatters change it in place, gathers read it, and both chunk by chunk. With
    --scheduler all is done by Dask, on this machine or on many, and the result is a new .zarr array.
    """


def operator_command(row: OpVersion) -> click.Command:
    """The command of one row: its inputs are arguments, its attributes options."""
    files = [_argument(one) for one in row.inputs]
    options = [attribute_option(attribute) for attribute in row.attributes]
    if any(one.kind == "axis" for one in row.inputs):
        options.append(
            click.Option(
                ["--axis", AXIS_OPTION], metavar="INT|FILE", type=InputText(), help="The axis, in place of AXIS."
            )
        )
    output = click.Option(["-o", "--output"], type=OutputFile(), help="Write the result (.npy, .npz, .pb, .zarr).")

    def call(output: Path | None, **values: Any) -> None:
        apply_to_files(row, values, output)

    made = WritingCommand(
        row.name,
        callback=call,
        params=[*files, *options, output, *apply_options.options()],
        help=_help(row),
        short_help=", ".join(map(input_text, row.inputs)) + (" (deprecated)" if row.deprecated else ""),
        epilog=f"\b\nExample:\n  gatherscatter apply {_example(row)}",
    )
    return traceback_option(made)


def apply_to_files(row: OpVersion, values: dict[str, Any], output: Path | None) -> None:
    """Read the inputs, call the operator, and print the result or write it."""
    from gatherscatter.cli.input_files import read_one
    from gatherscatter.cli.output_files import checked
    from gatherscatter.cli.tables import preview, shape_text, type_text
    from gatherscatter.tensor_files import write_tensors

    attributes = {one.name: values[one.name] for one in row.attributes if values[one.name] is not None}
    terms = {name: values[name] for name in ("memory_limit", "resume", "dry_run", "chunks")}
    data = values[f"input_{row.inputs[0].name}"]
    if (scheduler := values["scheduler"]) is not None:
        first, *others = row.inputs
        lazy = [_array(first, values, partial(apply_dask.read_lazily, chunks=terms.pop("chunks")))]
        lazy += [_array(one, values, apply_dask.read_if_small) for one in others]
        apply_dask.apply_with_dask(row, lazy, attributes, output, scheduler, **terms)
        return
    if apply_zarr.is_zarr(data):
        inputs = [_array(one, values, apply_zarr.read_mapped) for one in row.inputs[1:]]
        apply_zarr.apply_to_zarr(row, Path(data), inputs, attributes, output, **terms)
        return
    if any(terms.values()):
        raise click.UsageError("--memory-limit, --resume, --dry-run and --chunks are for data in a .zarr array")
    if output is not None:
        checked(output)
    arrays = [_array(one, values, read_one) for one in row.inputs]
    result = row(*arrays, **attributes)
    if output is None:
        click.echo(f"{row.output} {type_text(result)} {shape_text(result.shape)} =\n{preview(result)}")
    else:
        write_tensors(output, {row.output: result})
        click.echo(f"written: {output}")


def _argument(one: Input) -> click.Argument:
    required = not (one.optional or one.kind == "axis")
    return click.Argument([f"input_{one.name}"], metavar=_metavar(one), type=InputText(), required=required)


def attribute_option(attribute: Attribute) -> click.Option:
    """The option of an attribute, with both spellings of its name."""
    dashed = attribute.name.replace("_", "-")
    names = [f"--{attribute.name}", *([f"--{dashed}"] if dashed != attribute.name else [])]
    kind = click.Choice(attribute.choices) if attribute.choices else CLICK_TYPES[attribute.type]
    if is_required(attribute):
        return click.Option([*names, attribute.name], type=kind, required=True)
    return click.Option([*names, attribute.name], type=kind, default=attribute.default, show_default=True)


def _array(one: Input, values: dict[str, Any], read: Callable[[Path], Any]) -> Any:
    """The array of an input: from its file, or for an axis from a number."""
    text: str | None = values[f"input_{one.name}"]
    if one.kind == "axis":
        return _axis(text, values[AXIS_OPTION])
    return None if text is None else read(Path(text))


def _axis(argument: str | None, option: str | None) -> np.ndarray:
    import numpy as np

    from gatherscatter.cli.input_files import read_one

    if (argument is None) == (option is None):
        raise click.UsageError("give the axis once: as the last file, or as --axis INT")
    text = argument or option or ""
    try:
        return np.array(int(text), dtype=np.int64)
    except ValueError:
        return read_one(Path(text))


def _metavar(one: Input) -> str:
    return f"[{one.name.upper()}]" if one.optional or one.kind == "axis" else one.name.upper()


def _help(row: OpVersion) -> str:
    from gatherscatter.versions import INDEX_RANGES

    kinds: dict[str, list[str]] = {}
    for one in row.inputs:
        kinds.setdefault(one.kind, []).append(_metavar(one))
    index_types = f"of {', '.join(row.index_types)}, " if row.index_types else ""
    meaning = {
        "data": f"files of one of the types {', '.join(row.element_types)}",
        "indices": f"a file {index_types}in {INDEX_RANGES[row.index_range]}",
        "axis": "an integer or a file",
    }
    return "\n\n".join([f"{row.source}.", *(f"{', '.join(names)}: {meaning[kind]}." for kind, names in kinds.items())])


def _example(row: OpVersion) -> str:
    files = " ".join(f"{one.name}.npy" for one in row.inputs if not (one.optional or one.kind == "axis"))
    options = [f"--{one.name} {0 if is_required(one) else default_text(one)}" for one in row.attributes]
    axis = " --axis 0" if any(one.kind == "axis" for one in row.inputs) else ""
    return f"{row.name} {files}{axis}{''.join(' ' + option for option in options)} -o out.npy"
