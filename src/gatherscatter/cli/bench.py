"""``gatherscatter bench``: this package beside its peers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from gatherscatter.cli.failures import traceback_option
from gatherscatter.cli.files import InputFile, OutputFile, WritingCommand

if TYPE_CHECKING:
    from gatherscatter.bench.results import Results
    from gatherscatter.bench.workload import Workload

RESULTS = OutputFile(freely=True)  # results of a benchmark are written again and again


@click.command(
    "bench",
    cls=WritingCommand,
    short_help="Compare speed with NumPy, PyTorch, JAX, ONNX Runtime and OpenVINO.",
    epilog="""\b
Examples:
  gatherscatter bench --list
  gatherscatter bench --quick --only tiny/take --peers numpy --json results.json --html results.html
""",
)
@click.option("--quick", is_flag=True, help="The most telling workloads only, in less than two minutes.")
@click.option(
    "--only", "patterns", metavar="PATTERN", multiple=True, help="Workloads by id or group: 'main', 'sizes/add-*'."
)
@click.option("--peers", metavar="NAMES", help="Compare with these only, as in numpy,torch. Default: all installed.")
@click.option("--threads", type=click.IntRange(min=1), help="Threads for everybody. Default: one per core.")
@click.option("--repeat", type=click.IntRange(min=1), help="Rounds, at most. Default: 7; with --quick 5.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of the random arrays.")
@click.option("--huge", is_flag=True, help="Workloads of 4 GB, too: they need 16 GB of memory.")
@click.option("--list", "as_list", is_flag=True, help="List the workloads and run none.")
@click.option("--json", "json_file", metavar="FILE", type=RESULTS, help="Write machine, limits and every sample.")
@click.option("--html", "html_file", metavar="FILE", type=RESULTS, help="Write one page with tables and plots.")
@click.option("--markdown", "markdown_file", metavar="FILE", type=RESULTS, help="Write a page of documentation.")
@click.option("--from", "earlier", metavar="FILE", type=InputFile(), help="Show results of --json; measure nothing.")
@traceback_option
def command(
    quick: bool,
    patterns: tuple[str, ...],
    peers: str | None,
    threads: int | None,
    repeat: int | None,
    seed: int,
    huge: bool,
    as_list: bool,
    json_file: Path | None,
    html_file: Path | None,
    markdown_file: Path | None,
    earlier: Path | None,
) -> None:
    """Run the benchmark.

    Every contender's result is checked before it is timed, contenders take turns, and the best correct peer is what
    the ratio compares with: above 1 we are faster. "of limit" is the time that the machine's own limits, measured in
    the same run, allow at least, as a share of ours; "scaling" is one thread's time over that of all threads.
    """
    from gatherscatter.bench.workloads import select

    if earlier:
        from gatherscatter.bench.results import read_json

        _report(read_json(earlier), json_file, html_file, markdown_file)
        return
    workloads = select(patterns, quick=quick, huge=huge)
    if as_list:
        _print_list(workloads)
        return

    from dataclasses import replace

    from gatherscatter.bench import session
    from gatherscatter.bench.measure import Effort
    from gatherscatter.bench.progress import BenchProgress

    effort = session.QUICK if quick else Effort()
    if repeat:
        effort = replace(effort, rounds=repeat, least=min(effort.least, repeat))
    names = None if peers is None else [name.strip() for name in peers.split(",") if name.strip()]
    with BenchProgress(len(workloads)) as progress:
        results = session.benchmark(
            workloads, peers=names, threads=threads, effort=effort, seed=seed, report=progress.say, done=progress.done
        )
    _report(results, json_file, html_file, markdown_file)


def _report(results: Results, json_file: Path | None, html_file: Path | None, markdown_file: Path | None) -> None:
    from gatherscatter.bench.markdown import write_markdown
    from gatherscatter.bench.page import write_page
    from gatherscatter.bench.terminal import show
    from gatherscatter.cli.tables import console

    show(results, console())
    for file, write in (
        (json_file, type(results).write_json),
        (html_file, write_page),
        (markdown_file, write_markdown),
    ):
        if file:
            write(results, file)
            click.echo(f"\nwritten: {file}")


def _print_list(workloads: list[Workload]) -> None:
    from gatherscatter.cli.tables import print_table

    rows = [
        [row.id, row.title, row.dtype, row.distribution, f"{row.useful_bytes / 1e6:.6g}", "quick" if row.quick else ""]
        for row in workloads
    ]
    print_table(["id", "workload", "type", "indices", "MB moved", ""], rows)
