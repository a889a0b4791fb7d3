"""``gatherscatter explain``: a call drawn and put into words. Every subcommand is made from its row in the table."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gatherscatter.cli.apply import Operators, attribute_option
from gatherscatter.cli.files import InputText, OutputFile, WritingCommand
from gatherscatter.cli.group import traceback_option

if TYPE_CHECKING:
    import numpy as np

    from gatherscatter.explaining import Explanation
    from gatherscatter.specs.table import Input, OpVersion


class ExplainOperators(Operators):
    """A group whose subcommands explain operator versions."""

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of an operator version; a name without a version is its newest."""
        import gatherscatter as gs

        return _operator_command(gs.op(cmd_name))


@click.command(
    "explain",
    cls=ExplainOperators,
    subcommand_metavar="OPERATOR --data FILE|JSON ...",
    short_help="Draw a call and say what it does, step by step.",
    epilog="""\b
Examples:
  gatherscatter explain onnx.GatherND-13 --data '[[1,2],[3,4]]' --indices '[[0,1],[-1,0]]'
  gatherscatter explain onnx.ScatterND --data '[1,2]' --indices '[[1],[1]]' --updates '[5,6]' --reduction add -o x.html

What an operator takes: gatherscatter explain OPERATOR --help
""",
)
@traceback_option
def command() -> None:
    """Draw a call, and say what each index does, how the shapes come about, and what other engines do with it.

    Inputs are files (.npy, .pb, or .npz with one array) or values as JSON. A call that fails is explained, too.
    """


def _operator_command(row: OpVersion) -> click.Command:
    """The command of one row: its inputs and its attributes are options."""
    from gatherscatter.explaining import SUFFIXES, THEMES

    options = [_input_option(one) for one in row.inputs] + [attribute_option(one) for one in row.attributes]
    output = click.Option(["-o", "--output"], type=OutputFile(),
                          help=f"Write a file: {', '.join(SUFFIXES)}. Without it, print text.")  # fmt: skip
    theme = click.Option(["--theme"], type=click.Choice(THEMES), default=THEMES[0], show_default=True,
                         help="Of .svg and .png.")  # fmt: skip

    def call(output: Path | None, theme: str, **values: Any) -> None:
        _explain(row, values, output, theme)

    made = WritingCommand(
        row.name,
        callback=call,
        params=[*options, output, theme],
        help=f"Explain a call of {row.name}: {row.source}.",
        short_help=", ".join(one.name for one in row.inputs),
    )
    return traceback_option(made)


def _input_option(one: Input) -> click.Option:
    names = dict.fromkeys([f"--{one.name}", f"--{one.name.replace('_', '-')}"])
    help_text = "A file, or values as JSON." + (" May be left out." if one.optional else "")
    return click.Option(
        [*names, f"input_{one.name}"],
        metavar="FILE|JSON",
        type=InputText(),
        required=not one.optional,
        help=help_text,
    )


def _explain(row: OpVersion, values: dict[str, Any], output: Path | None, theme: str) -> None:
    import gatherscatter as gs

    inputs = _unify_types(row, [_array(one, values[f"input_{one.name}"]) for one in row.inputs], values)
    attributes = {one.name: values[one.name] for one in row.attributes if values[one.name] != one.default}
    explanation = gs.explain(row, *inputs, **attributes)
    if output is None:
        _print(explanation)
    else:
        explanation.save(output, theme)
        click.echo(f"written: {output}")


def _array(one: Input, text: str | None) -> np.ndarray | None:
    """The array in a file, or that of values in JSON."""
    import numpy as np

    from gatherscatter.cli.input_files import read_one

    if text is None:
        return None
    try:
        value = json.loads(text)
    except ValueError as error:
        if text.lstrip()[:1] in ("[", "{", '"', "-") and not Path(text).exists():
            raise click.UsageError(f"--{one.name}: {text!r} is no JSON: {error}") from None
        return read_one(Path(text))
    try:
        array = np.array(value)
    except ValueError:
        raise click.UsageError(f"--{one.name} {text}: the rows are not all of one length") from None
    if array.dtype.kind == "U":
        return array.astype(object)
    return array.astype(np.int64) if array.size == 0 and one.kind != "data" else array


def _unify_types(row: OpVersion, arrays: list[Any], values: dict[str, Any]) -> list[Any]:
    """Values of JSON in a type that holds them all: 5 beside 1.5 is 5.0."""
    import numpy as np

    moved = [n for n, one in enumerate(row.inputs) if one.kind == "data" and arrays[n] is not None]
    written = all((values[f"input_{row.inputs[n].name}"] or "").lstrip()[:1] in "[0123456789-tf" for n in moved)
    if written and all(arrays[n].dtype.kind in "if" for n in moved):
        kind = np.result_type(*(arrays[n] for n in moved))
        return [array.astype(kind) if n in moved else array for n, array in enumerate(arrays)]
    return arrays


def _print(explanation: Explanation) -> None:
    """As text; on a terminal with colours."""
    from gatherscatter.explaining.text import code_text

    whole = "\n\n".join(filter(None, (str(explanation), code_text(explanation))))
    if not sys.stdout.isatty():
        click.echo(whole)
        return
    from rich.text import Text

    from gatherscatter.cli.tables import console

    text = Text(whole)
    text.highlight_regex(re.compile(r"\A.*"), "bold")
    text.highlight_regex(re.compile("[\u2070\u00b9\u00b2\u00b3\u2074-\u2079\u207a]+"), "bold cyan")
    text.highlight_regex(re.compile("\u2717[^ ]*|^Op\\w*Error: .*", re.MULTILINE), "bold red")
    text.highlight_regex(re.compile(r"^(Step by step|Other engines|The same in).*", re.MULTILINE), "bold")
    console().print(text, soft_wrap=True)
