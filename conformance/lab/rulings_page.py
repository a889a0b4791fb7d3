"""Generate parts of docs/rulings.md: a column for each judge, and the section about them.

The site has more pages: the disagreements of the judges, and the sentences of the specifications.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from conformance.lab.judges import (
    AGREES,
    GROUPS,
    JUDGES,
    NOT_ASKED,
    Explanation,
    disagrees,
    explain,
    explanations,
)
from gatherscatter.messages.text import markdown_table
from gatherscatter_conformance import corpus
from gatherscatter_conformance.rules import RULES

Verdicts = Mapping[str, Mapping[str, str]]
"""Verdicts by runtime, then by the id of a case."""

TITLE = "## What the judges say"
_TABLE = r"^\| id \| point \| ruling \|.*\n\|[-|]+\n(?:\| {letter}\d+ \|.*\n)+"
_INTRODUCTION = """\
Kernels, oracle and rulings have the same authors. If the authors misread a specification, all three could be wrong.
Therefore implementations by other people also run the test vectors, for the operators that they have:

- the corresponding functions of PyTorch and TensorFlow,
- the programs that JAX generates for its functions, in StableHLO's reference interpreter,
- the reference implementations in OpenVINO's core (`Model.evaluate`).

In the tables above, `9/10` means that the judge agrees in 9 of 10 cases. These 10 are the cases that concern the ruling
and for which the judge has a function. It may disagree in the tenth for another reason, such as a negative
index. A dash means that the judge has no function, or was not asked.

`conformance/lab/judges.toml` explains each disagreement with a sentence. The sentence comes from the specification, or
from the judge's own documentation or messages if the judge has another rule. This table counts the cases:
"""
_PAGES = """\
The site of this documentation has a page for each kind of disagreement, and a page with the sentences of the
specifications. Git does not keep these pages. `python -m sphinx -W -E docs build/site` builds the site. The sentences
are also in `conformance/src/gatherscatter_conformance/data/rules.toml`.

```{{toctree}}
:maxdepth: 1

{pages}
```
"""
_DISAGREEMENTS = """\
{meaning}.

[Rulings](../rulings.md#what-the-judges-say) says who the judges are. The last column names the [sentences of
the specification](sentences.md) that decide the cases of a row.
"""
_SENTENCES = """\
The table quotes the specifications on each point, with their source. It also has remarks of this project, such as "NaN
is not mentioned". A number and a colon before a quote, such as `5:`, name the version. [Rulings](../rulings.md) lists
the rulings.
"""
_COLUMNS = {
    AGREES: "agrees",
    "missing": "no function for it",
    "convention": "another convention",
    "open": "open in the specification",
    "fault": "fault of the judge",
    "unexplained": "unexplained",
    NOT_ASKED: "not asked",
}


@dataclass
class Opinions:
    """How often a judge agrees and disagrees with the oracle."""

    agrees: int = 0
    disagrees: int = 0

    def __str__(self) -> str:
        return f"{self.agrees}/{self.agrees + self.disagrees}"


def rewrite(page: str, verdicts: Verdicts) -> str:
    """Return docs/rulings.md with new tables of rulings and a new section about the judges.

    Parameters
    ----------
    page : the text of the page; hand-written parts do not change
    verdicts : by runtime, then by the id of a case; runtimes that are not judges are ignored

    Raises
    ------
    ValueError
        The page lacks a table of rulings.
    LookupError
        There is no such case.

    >>> from conformance.lab.rulings_page import rewrite
    >>> tables = [f"| id | point | ruling |\\n|---|---|---|\\n| {id} | | |\\n" for id in ("O1", "V1", "M1")]
    >>> print(rewrite("\\n".join(tables), {"pytorch": {}}).splitlines()[3])
    | O2 | ScatterND-18: `mul` is described as addition | it multiplies | - |
    """
    judges = [judge for judge in JUDGES if judge in verdicts]
    opinions = count_opinions(verdicts)
    for letter in "OVM":
        pattern = re.compile(_TABLE.format(letter=letter), re.MULTILINE)
        if not pattern.search(page):
            raise ValueError(f"the page has no table of the rulings {letter}1, {letter}2, ...")
        table = _rulings(letter, opinions, judges)
        page = pattern.sub(lambda _, table=table: f"{table}\n", page)  # type: ignore[misc]
    before, found, after = page.partition(TITLE)
    following = re.search(r"^## ", after, re.MULTILINE) if found else None
    rest = after[following.start() :] if following else ""
    return f"{before.rstrip()}\n\n{section(verdicts)}" + (f"\n{rest}" if rest else "")


def count_opinions(verdicts: Verdicts) -> dict[tuple[str, str], Opinions]:
    """Return the opinions by rule and judge. A judge without a function for a case has no opinion about it."""
    found: dict[tuple[str, str], Opinions] = {}
    for judge in JUDGES:
        for id, verdict in verdicts.get(judge, {}).items():
            case = corpus.case(id)
            explanation = explain(judge, case, verdict)
            if verdict == NOT_ASKED or (explanation is not None and explanation.group == "missing"):
                continue
            for rule in case.rules:
                opinions = found.setdefault((rule, judge), Opinions())
                opinions.agrees += verdict == AGREES
                opinions.disagrees += verdict != AGREES
    return found


def section(verdicts: Verdicts) -> str:
    """Return the section about the judges, with the numbers of agreements and disagreements."""
    judges = [judge for judge in JUDGES if judge in verdicts]
    totals = {judge: Counter(column for _, column, _ in _classify(verdicts[judge], judge)) for judge in judges}
    table = markdown_table(
        ["judge", *_COLUMNS.values()],
        ([JUDGES[judge], *(str(totals[judge][column]) for column in _COLUMNS)] for judge in judges),
    )
    pages = "\n".join(name.removesuffix(".md") for name, _ in site_pages(verdicts))
    return f"{TITLE}\n\n{_INTRODUCTION}\n{table}\n\n{_PAGES.format(pages=pages)}"


def site_pages(verdicts: Verdicts) -> Iterator[tuple[str, str]]:
    """Yield the names and the texts of the pages of the site."""
    tables = _disagreements(verdicts)
    for group, meaning in GROUPS.items():
        text = _DISAGREEMENTS.format(meaning=meaning[0].upper() + meaning[1:])
        yield f"rulings/{group}.md", f"# Judges: {_COLUMNS[group]}\n\n{text}\n{tables[group]}\n"
    table = markdown_table(["id", "text", "source"], ([id, rule.text, rule.source] for id, rule in RULES.items()))
    yield "rulings/sentences.md", f"# Sentences of the specifications\n\n{_SENTENCES}\n{table}\n"


def _rulings(letter: str, opinions: Mapping[tuple[str, str], Opinions], judges: list[str]) -> str:
    ids = [id for id in RULES if re.fullmatch(rf"{letter}\d+", id)]
    rows = ([id, RULES[id].title, RULES[id].ruling, *(str(opinions.get((id, judge), "-")) for judge in judges)]
            for id in ids)  # fmt: skip
    return markdown_table(["id", "point", "ruling", *(JUDGES[judge] for judge in judges)], rows)


def _classify(verdicts: Mapping[str, str], judge: str) -> Iterator[tuple[corpus.Case, str, Explanation | None]]:
    """Yield each case with its column in the table of totals, and with the explanation of a disagreement."""
    for id, verdict in verdicts.items():
        case = corpus.case(id)
        explanation = explain(judge, case, verdict)
        column = explanation.group if explanation is not None else "unexplained" if disagrees(verdict) else verdict
        yield case, column, explanation


def _disagreements(verdicts: Verdicts) -> dict[str, str]:
    """Return a table of the disagreements of each group."""
    judges = [judge for judge in JUDGES if judge in verdicts]
    explained: dict[Explanation, Counter[str]] = defaultdict(Counter)
    rules: dict[Explanation, set[str]] = defaultdict(set)
    for judge in judges:
        for case, _, explanation in _classify(verdicts[judge], judge):
            if explanation is not None:
                explained[explanation][JUDGES[judge]] += 1
                rules[explanation] |= {rule for rule in case.rules if rule in RULES}
    head = ["judge and cases", "behaviour", "the sentence that shows it", "specification"]
    return {
        group: markdown_table(
            head,
            (
                [", ".join(f"{judge} {number}" for judge, number in explained[each].items()), each.why,
                 f"“{each.text}” ({each.source})", ", ".join(id for id in RULES if id in rules[each])]
                for each in explanations() if each.group == group and each in explained
            ),
        )
        for group in GROUPS
    }  # fmt: skip
