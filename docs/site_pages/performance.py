"""The page "Performance", made of the published results of the benchmark, and pages with tables of all workloads."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from benchmarks import report
from benchmarks.results import Results, read_json
from benchmarks.workloads import select

FOLDER = Path(__file__).parents[1] / "performance"

_PAGE = """\
# Performance

This page compares the speed of gatherscatter on the CPU with NumPy, PyTorch, Numba and other libraries. A ratio above
1 means that gatherscatter is faster than the best of them.

On {cpu} with {threads} threads, {date}:

{summary}

The site of this documentation has tables of all workloads. They say for each workload in which a peer is faster why
this is so. Git does not keep these pages. `python -m sphinx -W -E docs build/site` builds the site:

```{{toctree}}
:maxdepth: 1

performance/tables
```

## Repeat the measurement

```console
$ pip install . ./models --group benchmarks                          # in a clone of the repository
$ python -m benchmarks --all --json results.json                     # 50 minutes on two cores
$ python -m benchmarks --quick                                       # {quick} workloads; without an option, about 120
$ python -m benchmarks --from results.json --markdown results.md     # all tables in one page
$ python -m benchmarks --only 'sizes/*' --against COMMIT             # compares with an earlier commit
```

## Method

- **Results are checked first**, in up to three runs. Those of gatherscatter must be bit-for-bit identical to
  those of NumPy. Sums of floats of a peer may differ by the rounding errors of another order. In statistics of groups
  and in published models, results of all contenders may differ by a small tolerance. A peer that is wrong once does not
  count.
- **Contenders alternate** in random order, each in the fastest of its correct ways. Each waits until the threads of the
  previous one are asleep. Compilation is not timed. In workloads of PyTorch's tensors, libraries that take arrays
  convert the tensors, and their result. Indices are valid, so loops and modes that do not check them count as correct.
- **Ratio** is the time of the best correct peer divided by the time of gatherscatter, estimated from pairs of the same
  round. The interval in brackets has 99 % confidence (Wilcoxon's signed-rank test). It reaches at least 2 % to both
  sides. gatherscatter takes part twice, and intervals are widened until the two are even in 98 % of the workloads. The
  best peer has the smallest median, which favours peers a little if several are equally fast. **Even** means that the
  interval includes 1.
- **Of limit** is the least time that the machine allows, as a share of the time of gatherscatter: for copying in order
  (*stream*) or for reading at random positions (*random*), with the cost of fresh memory. These are estimates. Repeated
  or neighbouring elements are faster to read, so the share can exceed 100 %. *call*: the call itself takes most of the
  time.
- **1 to n threads** is the time of gatherscatter on one thread divided by its time on all threads. Times are medians.
- **Names.** *gatherscatter-1* is gatherscatter on one thread. *two-steps* is a gather and a scatter of gatherscatter,
  which `gather_reduce` does in one pass. It counts as a peer. *convert-first* is a call of gatherscatter after its
  arguments were converted, or the simplest other call for the same work. It is the only peer of layouts-and-types.
- All times are of x86-64. On ARM and s390x, only emulators have run gatherscatter (see
  [Platforms](installing.md#platforms)).
"""


def pages() -> Iterator[tuple[str, str]]:
    """The summary and the method."""
    results = _read()
    facts = results.machine
    yield (
        "performance.md",
        _PAGE.format(
            cpu=facts["cpu"],
            threads=results.plan.threads,
            date=facts["date"][:10],
            summary="\n".join(f"- {line}" for line in report.summary(results).lines),
            quick=len(select(among="quick")),
        ),
    )


def tables() -> Iterator[tuple[str, str]]:
    """A page about the run, and one for each group of workloads."""
    results = _read()
    groups = report.groups(results)
    summary = report.summary(results)
    linked = [(f"[{group}]({group}.md)", *cells) for group, *cells in summary.rows]
    sections = (
        report.machine(results),
        summary._replace(title="Groups", lines=(), rows=linked),
        report.behind(results),
        report.spatter(results),
    )
    names = "\n".join(section.title for section in groups)
    yield (
        "performance/tables.md",
        "\n\n".join(
            [
                "# Times of all workloads",
                "[Performance](../performance.md) has a summary, and explains the columns.",
                *(section.to_markdown() for section in sections if section),
                f"```{{toctree}}\n:hidden:\n\n{names}\n```\n",
            ]
        ),
    )
    for section in groups:
        title = section._replace(title=f"Times: {section.title}")
        yield f"performance/{section.title}.md", title.to_markdown(level=1) + "\n"


def _read() -> Results:
    (file,) = FOLDER.glob("*.json")
    return read_json(file)
