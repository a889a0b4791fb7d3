"""``gatherscatter corpus``: list the test vectors of all op versions, and export them for other projects."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from gatherscatter.cli.choices import Word
from gatherscatter.cli.files import OutputFolder, WritingCommand
from gatherscatter.cli.group import traceback_option
from gatherscatter.cli.help import BaseGroup
from gatherscatter.cli.terminal import say
from gatherscatter.messages.text import count_text
from gatherscatter_conformance.commands.case_filters import choose_cases, filter_options

FORMATS = ("onnx", "openvino", "npz", "json")


@click.group(
    "corpus",
    cls=BaseGroup,
    short_help="List or export the conformance test vectors.",
    epilog="""\b
Examples:
  gatherscatter corpus list --count
  gatherscatter corpus export vectors
""",
)
def command() -> None:
    """List or export the test vectors of all op versions, with the results that the specifications demand."""


@command.command(
    "list",
    short_help="List cases, or count them by kind.",
    epilog="""\b
Examples:
  gatherscatter corpus list --op onnx.ScatterND-18 --kind repeated
  gatherscatter corpus list --count
""",
)
@click.option("--count", is_flag=True, help="Print only the number of cases of each kind.")
@filter_options
@traceback_option
def list_command(count: bool, **filters: Any) -> None:
    """Print one case per line: its id, "result" or the expected error, and the rules that it checks.

    "open" before the rules means that the specification allows other results.
    """
    from gatherscatter.cli.tables import print_table
    from gatherscatter_conformance.case import KINDS

    cases = choose_cases(**filters)
    if count:
        numbers = [(kind, sum(case.kind == kind for case in cases), text) for kind, text in KINDS.items()]
        print_table(("kind", "cases", "what it tests"), [(kind, str(n), text) for kind, n, text in numbers if n])
        click.echo(f"\n{count_text(len(cases), 'case')}")
        return
    for case in cases:
        answer = case.error or "result"
        say(f"{case.id}  {answer}{'  open' if case.latitude else ''}  {' '.join(case.rules)}")


@command.command(
    "export",
    cls=WritingCommand,
    short_help="Write cases in a format that can be read without this package.",
    epilog="""\b
Examples:
  gatherscatter corpus export vectors
  gatherscatter corpus export scatters --format json --op onnx.ScatterND-18
""",
)
@click.argument("folder", type=OutputFolder())
@click.option(
    "--format",
    type=Word(FORMATS),
    default="onnx",
    show_default=True,
    help="onnx: models and test data, laid out like the tests of ONNX. openvino: IRs. npz: an index and .npy files. "
    "json: one file.",
)
@filter_options
@traceback_option
@click.pass_context
def export_command(context: click.Context, /, folder: Path, format: str, **filters: Any) -> None:
    """Write cases into FOLDER. It must be empty, or must not exist."""
    from gatherscatter.system.progress import Bar, NodeProgress
    from gatherscatter_conformance import corpus

    with Bar(description="reading the corpus"):
        cases = choose_cases(**filters)
    if format in ("onnx", "openvino") and not any(case.op.startswith(f"{format}.") for case in cases):
        raise click.UsageError(f"--format {format}: none of these cases belongs to this specification")
    try:
        with NodeProgress(len(cases)) as progress:
            exported = corpus.export(folder, format, cases=cases, progress=progress, command=_describe_call(context))
    except KeyboardInterrupt as stop:
        stop.add_note(f"{folder} is incomplete: delete it")
        raise
    click.echo(f"written: {count_text(exported.written, 'case')} to {folder}")
    for skipped in exported.describe_skipped():
        click.echo(f"skipped: {skipped}")


def _describe_call(context: click.Context) -> str:
    """Return the command line without the path to the folder, so that it can be published."""
    words = [*context.command_path.split(), context.params["folder"].name]
    for option in context.command.params:
        if (
            isinstance(option, click.Option)
            and context.get_parameter_source(option.name or "") == ParameterSource.COMMANDLINE
        ):
            values = context.params.get(option.name or "", ())
            words += [
                word for value in ([values] if isinstance(values, str) else values) for word in (option.opts[0], value)
            ]
    return shlex.join(words)
