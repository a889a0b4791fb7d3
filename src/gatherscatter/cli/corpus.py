"""``gatherscatter corpus``: the test vectors of all op versions, listed, and written for other projects."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gatherscatter.cli.files import OutputFolder, WritingCommand
from gatherscatter.cli.group import traceback_option

if TYPE_CHECKING:
    from gatherscatter.conformance.case import Case

FORMS = ("onnx", "openvino", "npz", "json")


def filter_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options that choose cases."""
    for name, text in (
        ("--rule", "Only cases that check a rule: O3, V10, 2.6."),
        ("--kind", "Only one class of edge cases: repeated, 'out of range', ..."),
        ("--reduction", "Only one reduction: none, add, sum, ..."),
        ("--type", "Only one element type of data: float32, string, ..."),
        ("--op", "Only one op version, onnx.ScatterND-18, or operator, onnx.ScatterND."),
    ):
        command = click.option(name, help=text)(command)
    return click.option("--id", "pattern", default="*", help="Only ids that match: 'onnx/*/bfloat16/*'.")(command)


def choose_cases(pattern: str, **filters: str | None) -> list[Case]:
    """The cases; an error that says what there is if there are none."""
    from gatherscatter.conformance import corpus

    cases = corpus.cases(pattern, **filters)
    if not cases:
        kinds = ", ".join(corpus.KINDS)
        raise click.UsageError(f"no case fits; `gatherscatter corpus list` has them all, of the kinds {kinds}")
    return cases


@click.group("corpus", short_help="List or export the conformance test vectors.")
def command() -> None:
    """The test vectors of all op versions, with the answers of the specifications."""


@command.command(
    "list",
    short_help="List cases, or count them by kind.",
    epilog="""\b
Examples:
  gatherscatter corpus list --op onnx.ScatterND-18 --kind repeated
  gatherscatter corpus list --count
""",
)
@filter_options
@click.option("--count", is_flag=True, help="Only how many cases of each kind there are.")
@traceback_option
def list_command(count: bool, **filters: Any) -> None:
    """Print the ids of cases, and whether they have a result, are refused, or are left open."""
    from gatherscatter.cli.tables import print_table
    from gatherscatter.conformance.case import KINDS

    cases = choose_cases(**filters)
    if count:
        numbers = [(kind, sum(case.kind == kind for case in cases), text) for kind, text in KINDS.items()]
        print_table(("kind", "cases", "what it probes"), [(kind, str(n), text) for kind, n, text in numbers if n])
        click.echo(f"\n{len(cases)} cases")
        return
    for case in cases:
        answer = case.error or "result"
        click.echo(f"{case.id}  {answer}{'  open' if case.latitude else ''}  {' '.join(case.rules)}")


@command.command(
    "export",
    cls=WritingCommand,
    short_help="Write cases in a form that needs nothing of this package.",
    epilog="""\b
Examples:
  gatherscatter corpus export vectors
  gatherscatter corpus export scatters --form json --op onnx.ScatterND-18
""",
)
@click.argument("folder", type=OutputFolder())
@click.option(
    "--form",
    type=click.Choice(FORMS),
    default="onnx",
    show_default=True,
    help="onnx: models with test data as ONNX has them. openvino: IRs. npz: an index and .npy files. json: one file.",
)
@filter_options
@traceback_option
def export_command(folder: Path, form: str, **filters: Any) -> None:
    """Write cases into FOLDER, which must be empty or not exist."""
    from gatherscatter.conformance import corpus
    from gatherscatter.progress import NodeProgress

    cases = choose_cases(**filters)
    with NodeProgress(len(cases)) as progress:
        exported = corpus.export(folder, form, cases=cases, progress=progress)
    click.echo(f"written: {exported.written} cases to {folder}")
    for reason, count in exported.left_out.items():
        click.echo(f"left out: {count} cases, {reason}")
