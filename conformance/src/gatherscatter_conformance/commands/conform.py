"""``gatherscatter conform``: run the corpus on runtimes and show where they depart from the specification."""

from __future__ import annotations

import signal
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import reduce
from pathlib import Path
from typing import Any

import click

from gatherscatter.cli.choices import fail_on_option
from gatherscatter.cli.files import InputFile, OutputFile, WritingCommand
from gatherscatter.cli.group import FAILED, refuse_others, traceback_option
from gatherscatter.cli.terminal import say
from gatherscatter.pages.palette import Marked
from gatherscatter.system.progress import Bar
from gatherscatter_conformance import TIMEOUT
from gatherscatter_conformance.commands.case_filters import choose_cases, filter_options
from gatherscatter_conformance.commands.conform_options import Duration

_OUTPUTS = ("--json", "--html", "--traceback")
LEAST_SEVERE = {"memory": "hangs", "different": "accepts", "refused": "refuses"}  # verdict of each level of --fail-on


def _complete_runtime(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    from gatherscatter_conformance.runtimes import NAMES

    return [name for name in NAMES if name.startswith(incomplete)]


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
    "--runtime",
    "runtimes",
    metavar="NAME",
    shell_complete=_complete_runtime,
    multiple=True,
    help="Runtime to test (repeatable): its name, 'command:./mine {folder}' for your own program, or module:Class "
    "for your own class. Default: all that are installed.",
)
@filter_options
@click.option(
    "--json",
    "json_file",
    metavar="FILE",
    type=OutputFile(),
    help="Write cases, results and reproducers to a JSON file.",
)
@click.option(
    "--html",
    "html_file",
    metavar="FILE",
    type=OutputFile(),
    help="Write an HTML page that can be filtered and searched.",
)
@click.option(
    "--resume",
    "unfinished",
    metavar="FILE",
    type=InputFile(),
    help="Resume an interrupted run. The results are added to FILE, or written to the file that --json names.",
)
@click.option(
    "--from",
    "earlier",
    metavar="FILE",
    type=InputFile(),
    multiple=True,
    help="Show the results in a file that --json wrote, and run nothing (repeatable). Files are merged.",
)
@click.option("--against", metavar="FILE", type=InputFile(), help="Show the changes since this report.")  # fmt: skip
@click.option("--timeout", metavar="SECONDS", type=Duration(min=0.1), default=TIMEOUT, show_default=True,
              help="Time limit per case, in seconds.")  # fmt: skip
@click.option("--jobs", metavar="N", type=click.IntRange(min=1), default=1, show_default=True,
              help="Number of runtimes to test in parallel.")  # fmt: skip
@click.option("--search", "minutes", metavar="MINUTES", type=Duration(min=0, min_open=True),
              help="Test random calls instead of the corpus, for this many minutes per runtime. New departures are "
                   "minimised.")  # fmt: skip
@fail_on_option
@click.option("--list-runtimes", is_flag=True, help="List the names of the runtimes and exit.")
@traceback_option
@click.pass_context
def command(
    context: click.Context,
    /,
    *,
    runtimes: tuple[str, ...],
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
    **filters: Any,
) -> None:
    """Run the corpus of test vectors on runtimes, and show where they depart from the specification.

    Cases run in worker processes, so a crash of a runtime is a result and does not end the run. The table shows the
    most severe verdict for each op version and runtime, and the number of cases that have it. Ctrl-C (or SIGTERM) ends
    the run. The results so far are shown and written, and --resume continues the run.
    """
    if list_runtimes:
        _print_runtimes()
        return

    from gatherscatter_conformance.commands.conform_options import find_what_is_left, read_report
    from gatherscatter_conformance.commands.conform_progress import ConformProgress
    from gatherscatter_conformance.commands.conform_search import search_all
    from gatherscatter_conformance.report import ConformReport, merge_reports
    from gatherscatter_conformance.run import conform
    from gatherscatter_conformance.runtimes import installed

    if minutes is not None and any(values for name, values in filters.items() if name != "ops"):
        raise click.UsageError("--search tests random calls: the only filter that it accepts is --op")
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
        with Bar(description="reading the corpus"):
            cases = [] if minutes is not None else choose_cases(**filters)
    known = asked["results"] if asked else {}
    report = ConformReport()
    results: dict[str, Any] = {"results": {}}
    try:
        with _treat_sigterm_as_ctrl_c():
            if minutes is None:
                with ConformProgress(sum(len(cases) - len(known.get(name, ())) for name in names)) as progress:
                    conform(names, cases, timeout=timeout, jobs=jobs, progress=progress, starting=progress.start,
                            report=report, known=known)  # fmt: skip
            else:
                search_all(names, minutes, filters["ops"] or ("*",), timeout, report)
    except KeyboardInterrupt as stop:
        if json_file and minutes is None:
            stop.add_note(f"to resume: gatherscatter conform --resume {json_file}")
        raise
    finally:
        if asked or any(report.results.values()):
            with Bar(description="collecting the results"):
                results = report.to_dict()
                if asked:  # the missing cases have run now
                    results = merge_reports(results, asked | {"complete": True})
            _show(results, before, json_file, html_file)
    _check_worst(context, results, fail_on)


@contextmanager
def _treat_sigterm_as_ctrl_c() -> Iterator[None]:
    """Treat SIGTERM, which continuous integration sends to end a run, like Ctrl-C."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _show(
    results: dict[str, Any], before: dict[str, Any] | None, json_file: Path | None, html_file: Path | None
) -> None:
    from gatherscatter_conformance import changes, report_page
    from gatherscatter_conformance.report_files import write_json

    _print_table(results)
    if not results["complete"]:
        click.echo("Incomplete: a run ended before its last case.")
    with Bar(description="writing the report"):
        if json_file:
            write_json(results, json_file)
        if html_file:
            report_page.write(results, html_file)
    for file in filter(None, (json_file, html_file)):
        click.echo(f"written: {file}")
    if before:
        click.echo()
        for line in changes.describe_changes(before, results):
            say(line)


def _check_worst(context: click.Context, results: dict[str, Any], fail_on: str | None) -> None:
    from gatherscatter_conformance.verdicts import SEVERITY

    found = {result["verdict"] for each in results["results"].values() for result in each.values()}
    if fail_on is not None and any(SEVERITY[verdict] <= SEVERITY[LEAST_SEVERE[fail_on]] for verdict in found):
        context.exit(FAILED)


def _print_table(results: dict[str, Any]) -> None:
    from gatherscatter.cli.tables import print_table
    from gatherscatter_conformance.report import counts, totals
    from gatherscatter_conformance.report_page import find_look

    names = [info["name"] for info in results["runtimes"]]
    rows = [[op, *(_worst(found.get(name)) for name in names)] for op, found in counts(results).items()]
    print_table(["op version", *names], rows)
    click.echo()
    for info in results["runtimes"]:
        numbers = [Marked(f"{count} {verdict}", find_look(verdict)) for verdict, count in totals(results, info["name"])]
        joined = [part for number in numbers for part in (", ", number)][1:]
        say(f"{info['title']} {info['version']}: ", *(joined or ["no case has run"]), f" ({info['seconds']:g} s)")


def _worst(counter: Counter[str] | None) -> str | Marked:
    """Return the most severe verdict and the number of cases that have it."""
    from gatherscatter_conformance.report_page import find_look
    from gatherscatter_conformance.verdicts import SEVERITY

    if not counter:
        return ""
    verdict = min(counter, key=SEVERITY.__getitem__)
    return Marked(f"{verdict} {counter[verdict]}", find_look(verdict))


def _print_runtimes() -> None:
    from gatherscatter.cli.tables import print_table
    from gatherscatter_conformance import runtimes

    rows = []
    for name in runtimes.NAMES:
        runtime = runtimes.find(name)
        missing = " ".join(runtime.missing())
        rows.append([name, runtime.title, f"none: pip install {missing}" if missing else runtime.version()])
    print_table(["runtime", "description", "version"], rows)
