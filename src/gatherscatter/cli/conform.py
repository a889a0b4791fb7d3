"""``gatherscatter conform``: the corpus on runtimes, and where they depart from the specification."""

from __future__ import annotations

import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gatherscatter.cli.conform_options import Duration
from gatherscatter.cli.files import InputFile, OutputFile, WritingCommand
from gatherscatter.cli.group import refuse_others, traceback_option
from gatherscatter.conformance import TIMEOUT

if TYPE_CHECKING:
    from gatherscatter.conformance.case import Case

FAILURE = 1  # exit code of --fail-on
_OUTPUTS = ("--json", "--html", "--traceback")


@click.command(
    "conform",
    cls=WritingCommand,
    short_help="Show where runtimes depart from the specification.",
    epilog="""\b
Examples:
  gatherscatter conform --list-runtimes
  gatherscatter conform --runtime numpy --op "onnx.Gather*" --kind negative --json report.json
  gatherscatter conform --runtime numpy --op "onnx.Gather-*" --search 0.2
  gatherscatter conform --from report.json --html report.html
  gatherscatter conform --from report.json --against earlier.json
""",
)
@click.option(
    "--runtime", "runtimes", metavar="NAME", multiple=True, help="Ask this one (repeatable). Default: all installed."
)
@click.option("--op", "ops", metavar="GLOB", multiple=True, help="Op versions or operators: 'onnx.ScatterND*'.")
@click.option("--kind", "kinds", metavar="KIND", multiple=True, help="Kinds of cases: repeated, 'out of range'.")
@click.option("--type", "types", metavar="TYPE", multiple=True, help="Element types of data: bfloat16.")
@click.option("--reduction", "reductions", metavar="NAME", multiple=True, help="Reductions: none, add, mean.")
@click.option(
    "--case", "pattern", metavar="GLOB", default="*", help="Cases by id; 'gatherscatter corpus list' has them."
)
@click.option("--json", "json_file", metavar="FILE", type=OutputFile(), help="Write cases, results and reproducers.")
@click.option("--html", "html_file", metavar="FILE", type=OutputFile(), help="Write one page to filter and search.")
@click.option(
    "--resume",
    "unfinished",
    metavar="FILE",
    type=InputFile(),
    help="Go on with a run that was interrupted. FILE is completed, or left as it is if --json names another.",
)
@click.option(
    "--from",
    "earlier",
    metavar="FILE",
    type=InputFile(),
    multiple=True,
    help="Show the results of --json and run none. Several files give one report.",
)
@click.option("--against", metavar="FILE", type=InputFile(), help="Show what changed since this report.")  # fmt: skip
@click.option("--timeout", metavar="SECONDS", type=Duration(min=0.1), default=TIMEOUT, show_default=True,
              help="Time that a case may take.")  # fmt: skip
@click.option("--jobs", metavar="N", type=click.IntRange(min=1), default=1, show_default=True,
              help="Runtimes that are run at a time.")  # fmt: skip
@click.option("--search", "minutes", metavar="MINUTES", type=Duration(min=0, min_open=True),
              help="Random calls instead of the corpus, so long on each runtime; what is new is shrunk.")  # fmt: skip
@click.option("--fail-on", metavar="VERDICT", help="Exit with 1 if there is this verdict, or a worse one.")
@click.option("--list-runtimes", is_flag=True, help="List the runtimes, and run none.")
@traceback_option
@click.pass_context
def command(
    context: click.Context,
    runtimes: tuple[str, ...],
    ops: tuple[str, ...],
    kinds: tuple[str, ...],
    types: tuple[str, ...],
    reductions: tuple[str, ...],
    pattern: str,
    json_file: Path | None,
    html_file: Path | None,
    unfinished: Path | None,
    earlier: tuple[Path, ...],
    against: Path | None,
    timeout: float,
    jobs: int,
    minutes: float | None,
    fail_on: str | None,
    list_runtimes: bool,
) -> None:
    """Run the corpus of test vectors on runtimes.

    Cases run in worker processes, so that a crash is a result like any other. The table shows, for each
    op version and runtime, the most severe verdict and how many cases have it. Ctrl-C (or SIGTERM) ends the run; what
    there is by then is shown and written, and --resume goes on.
    """
    if list_runtimes:
        _print_runtimes()
        return

    from gatherscatter.cli.conform_options import find_what_is_left, read_report
    from gatherscatter.cli.conform_progress import ConformProgress
    from gatherscatter.cli.conform_search import search_all
    from gatherscatter.conformance import verdicts
    from gatherscatter.conformance.report import ConformReport, merge_reports
    from gatherscatter.conformance.run import conform
    from gatherscatter.conformance.runtimes import installed

    if fail_on is not None and fail_on not in verdicts.SEVERITY:
        raise click.UsageError(f"there is no verdict {fail_on!r}; there are {', '.join(verdicts.SEVERITY)}")
    if minutes is not None and (kinds or types or reductions or pattern != "*"):
        raise click.UsageError("--search draws calls of its own: of the filters, only --op goes with it")
    before = read_report("--against", against) if against else None
    if earlier:
        refuse_others(context, "--from", (*_OUTPUTS, "--against", "--fail-on"))
        merged = reduce(merge_reports, [read_report("--from", file) for file in earlier])
        _show(merged, before, json_file, html_file)
        _check_worst(context, merged, fail_on)
        return
    names: Sequence[str]
    if unfinished:
        refuse_others(context, "--resume", (*_OUTPUTS, "--against", "--fail-on", "--timeout", "--jobs"))
        names, cases, asked = find_what_is_left(read_report("--resume", unfinished))
        json_file = json_file or unfinished
    else:
        asked = None
        names = runtimes or installed()
        cases = [] if minutes is not None else _select(pattern, ops, kinds, types, reductions)
    known = asked["results"] if asked else {}
    report = ConformReport()
    results: dict[str, Any] = {"results": {}}
    try:
        with _treat_sigterm_as_ctrl_c():
            if minutes is None:
                with ConformProgress(sum(len(cases) - len(known.get(name, ())) for name in names)) as progress:
                    conform(names, cases, timeout=timeout, jobs=jobs, progress=progress, report=report, known=known)
            else:
                search_all(names, minutes, ops or ("*",), timeout, report)
    finally:
        if asked or any(report.results.values()):
            results = report.to_dict()
            if asked:  # what it lacked was asked now
                results = merge_reports(results, asked | {"complete": True})
            _show(results, before, json_file, html_file)
    _check_worst(context, results, fail_on)


@contextmanager
def _treat_sigterm_as_ctrl_c() -> Iterator[None]:
    """SIGTERM, with which continuous integration ends a run, is an interruption like Ctrl-C."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _select(
    pattern: str, ops: tuple[str, ...], kinds: tuple[str, ...], types: tuple[str, ...], reductions: tuple[str, ...]
) -> list[Case]:
    from fnmatch import fnmatchcase

    from gatherscatter.conformance import corpus

    def fits(case: Case) -> bool:
        family = case.op.rpartition("-")[0]
        return (
            (not ops or any(fnmatchcase(name, op) for op in ops for name in (case.op, family)))
            and (not kinds or case.kind in kinds)
            and (not types or case.type in types)
            and (not reductions or case.reduction in reductions)
        )

    cases = [case for case in corpus.cases(pattern) if fits(case)]
    if not cases:
        raise click.UsageError("no case fits; 'gatherscatter corpus list' has them all")
    return cases


def _show(
    results: dict[str, Any], before: dict[str, Any] | None, json_file: Path | None, html_file: Path | None
) -> None:
    from gatherscatter.conformance import changes, report_page
    from gatherscatter.conformance.report_files import write_json

    _print_table(results)
    if not results["complete"]:
        click.echo("Incomplete: a run was ended before its last case.")
    if json_file:
        write_json(results, json_file)
        click.echo(f"written: {json_file}")
    if html_file:
        report_page.write(results, html_file)
        click.echo(f"written: {html_file}")
    if before:
        click.echo()
        for line in changes.describe_changes(before, results):
            click.echo(line)


def _check_worst(context: click.Context, results: dict[str, Any], fail_on: str | None) -> None:
    from gatherscatter.conformance.verdicts import SEVERITY

    found = {result["verdict"] for each in results["results"].values() for result in each.values()}
    if fail_on is not None and any(SEVERITY[verdict] <= SEVERITY[fail_on] for verdict in found):
        context.exit(FAILURE)


def _print_table(results: dict[str, Any]) -> None:
    from gatherscatter.cli.tables import print_table
    from gatherscatter.conformance.report import counts, totals, worst

    names = [info["name"] for info in results["runtimes"]]
    rows = [[op, *(worst(found.get(name)) for name in names)] for op, found in counts(results).items()]
    print_table(["op version", *names], rows)
    click.echo()
    for info in results["runtimes"]:
        said = ", ".join(f"{count} {verdict}" for verdict, count in totals(results, info["name"]))
        click.echo(f"{info['title']} {info['version']}: {said} ({info['seconds']:g} s)")


def _print_runtimes() -> None:
    from gatherscatter.cli.tables import print_table
    from gatherscatter.conformance import runtimes

    rows = []
    for name in runtimes.NAMES:
        runtime = runtimes.find(name)
        missing = " ".join(runtime.missing())
        rows.append([name, runtime.title, f"none: pip install {missing}" if missing else runtime.version()])
    print_table(["runtime", "what it is", "version"], rows)
