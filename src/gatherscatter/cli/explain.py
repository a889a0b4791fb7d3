"""``gatherscatter explain``: draw and describe a call. Each subcommand is generated from its row in the table."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gatherscatter.cli.apply import Operators, attribute_option
from gatherscatter.cli.choices import Word
from gatherscatter.cli.files import InputText, OutputFile, WritingCommand
from gatherscatter.cli.group import traceback_option
from gatherscatter.cli.terminal import console, print_wrapped

if TYPE_CHECKING:
    import numpy as np

    from gatherscatter.explaining import Explanation
    from gatherscatter.specs.rows import Input
from gatherscatter.specs.table import OpVersion

GRID = "\u2502\u250c\u2514"  # characters that only lines of a drawing have


class ExplainOperators(Operators):
    """A group whose subcommands explain op versions."""

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command of an op version. A name without a version means the newest one."""
        import gatherscatter as gs

        return _operator_command(gs.op(cmd_name))


@click.command(
    "explain",
    cls=ExplainOperators,
    subcommand_metavar="OPERATOR --data FILE|JSON ...",
    short_help="Draw a call and describe what it does, step by step.",
    epilog="""\b
Examples:
  gatherscatter explain onnx.GatherND-13 --data '[[1,2],[3,4]]' --indices '[[0,1],[-1,0]]'
  gatherscatter explain onnx.ScatterND --data '[1,2]' --indices '[[1],[1]]' --updates '[5,6]' --reduction add -o x.html

Help for one operator: gatherscatter explain OPERATOR --help
""",
)
@traceback_option
def command() -> None:
    """Draw a call. Describe what each index does, where the shapes come from, and what other engines do with the call.

    Inputs are files (.npy, .pb, or .npz with one array) or values as JSON. Calls that fail are also explained.
    """


def _operator_command(row: OpVersion) -> click.Command:
    """Return the command of one row. Its inputs and attributes are options."""
    from gatherscatter.explaining import SUFFIXES, THEMES

    options = [_input_option(one) for one in row.inputs] + [attribute_option(one) for one in row.attributes]
    output = click.Option(["-o", "--output"], metavar="FILE", type=OutputFile(SUFFIXES),
                          help=f"Write a file ({', '.join(SUFFIXES)}) instead of printing text.")  # fmt: skip
    theme = click.Option(["--theme"], type=Word(THEMES), default=THEMES[0], show_default=True,
                         help="Colours of .svg and .png files.")  # fmt: skip

    def call(output: Path | None, theme: str, **values: Any) -> None:
        _explain(row, values, output, theme)

    made = WritingCommand(
        row.name,
        callback=call,
        params=[*options, output, theme],
        help=f"Explain a call of {row.name} as specified in {row.source}.",
        short_help=", ".join(one.name for one in row.inputs),
        epilog=f"\b\nExample:\n  gatherscatter explain {_example(row)}",
    )
    return traceback_option(made)


def _input_option(one: Input) -> click.Option:
    names = dict.fromkeys([f"--{one.name}", f"--{one.name.replace('_', '-')}"])
    help_text = "A file, or values as JSON." + (" Optional." if one.optional else "")
    return click.Option(
        [*names, f"input_{one.name}"],
        metavar="FILE|JSON",
        type=InputText(),
        required=not one.optional,
        help=help_text,
    )


def _example(row: OpVersion) -> str:
    files = [
        f"--{one.name} {one.name}.npy"
        for one in row.inputs
        if not one.optional and one.kind in ("data", "indices", "scales")
    ]
    numbers = [f"--{one.name} 0" for one in row.inputs if not one.optional and one.kind not in ("data", "indices")]
    attributes = [f"--{one.name} {one.choices[0] if one.choices else 0}" for one in row.attributes if one.is_required]
    return " ".join([row.name, *files, *numbers, *attributes])


def _explain(row: OpVersion, values: dict[str, Any], output: Path | None, theme: str) -> None:
    import gatherscatter as gs
    from gatherscatter.system.progress import Bar

    inputs = _unify_types(row, [_array(one, values[f"input_{one.name}"]) for one in row.inputs], values)
    attributes = {one.name: values[one.name] for one in row.attributes if values[one.name] != one.default}
    with Bar(description=f"explaining {row.name}"):
        explanation = gs.explain(row, *inputs, **attributes)
        if output is not None:
            explanation.save(output, theme)
    if output is None:
        _print(explanation)
    else:
        click.echo(f"written: {output}")


def _array(one: Input, text: str | None) -> np.ndarray | None:
    """Return the array in a file, or the array of JSON values."""
    import numpy as np

    from gatherscatter.cli.input_files import read_one

    if text is None:
        return None
    try:
        value = json.loads(text)
    except ValueError as error:
        if text.lstrip()[:1] in ("[", "{", '"', "-") and not Path(text).exists():
            raise click.UsageError(f"--{one.name}: {text!r} is not valid JSON: {error}") from None
        return read_one(Path(text))
    try:
        array = np.array(value)
    except ValueError:
        raise click.UsageError(f"--{one.name} {text}: the rows are not all of one length") from None
    if array.dtype.kind == "U":
        return array.astype(object)
    return array.astype(np.int64) if array.size == 0 and one.kind != "data" else array


def _unify_types(row: OpVersion, arrays: list[Any], values: dict[str, Any]) -> list[Any]:
    """Give JSON values a common type: 5 becomes 5.0 if another input has 1.5."""
    import numpy as np

    moved = [n for n, one in enumerate(row.inputs) if one.kind == "data" and arrays[n] is not None]
    written = all((values[f"input_{row.inputs[n].name}"] or "").lstrip()[:1] in "[0123456789-tf" for n in moved)
    if written and all(arrays[n].dtype.kind in "if" for n in moved):
        kind = np.result_type(*(arrays[n] for n in moved))
        return [array.astype(kind) if n in moved else array for n, array in enumerate(arrays)]
    return arrays


def _print(explanation: Explanation) -> None:
    """Print as text. On a terminal, use colours and wrap at its width."""
    from gatherscatter.explaining import text as explained

    code = explained.code_text(explanation)
    screen = console()
    if not screen.is_terminal:
        click.echo("\n\n".join(filter(None, (str(explanation), code))))
        return
    from rich.text import Text

    text = Text("\n\n".join(filter(None, (explained.text(explanation, min(screen.width, explained.WIDTH)), code))))
    text.highlight_regex(re.compile(r"\A.*"), "bold")
    text.highlight_regex(re.compile("[\u2070\u00b9\u00b2\u00b3\u2074-\u2079\u207a]+"), "bold cyan")
    text.highlight_regex(re.compile("\u2717[^ ]*|^Op\\w*Error: .*", re.MULTILINE), "bold red")
    text.highlight_regex(re.compile(r"^(Step by step|Other engines|The same in).*", re.MULTILINE), "bold")
    for line in text.split("\n", allow_blank=True):
        if set(line.plain) & set(GRID) or line.plain in code.splitlines():
            screen.print(line, soft_wrap=True)
        else:
            print_wrapped(screen, line)
