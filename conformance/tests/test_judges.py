"""Every disagreement of a judge with the oracle has an explanation, and every explanation has a disagreement."""

from __future__ import annotations

import re
from collections.abc import Iterator
from hashlib import sha256

import pytest

from conformance.lab.judges import AGREES, JUDGES, NOT_ASKED, Explanation, disagrees, explain, explanations
from conformance.lab.results import read_verdicts
from conformance.lab.rulings_page import TITLE, count_opinions, rewrite
from gatherscatter_conformance import corpus
from gatherscatter_conformance.corpus import Case
from gatherscatter_conformance.rules import RULES
from gatherscatter_conformance.run import conform
from gatherscatter_conformance.runtimes import find
from gatherscatter_conformance.verdicts import VERDICTS
from tests.support.paths import DOCS

pytestmark = pytest.mark.full
MOST = 2000  # the number of cases that fits into a test
SLOW = {"stablehlo": 500}

# Cases that the specification decides and every implementation should get right.
ORDINARY = ("plain", "example", "slices", "axis", "long axis", "batch dims")


def is_ordinary(case: Case) -> bool:
    return case.kind in ORDINARY and case.expected is not None and not case.latitude


def choose_cases(most: int) -> list[Case]:
    """Choose a fixed subset of the corpus that contains every operator with each of its kinds."""
    ordered = sorted(corpus.cases(), key=lambda case: sha256(case.id.encode()).digest())
    groups: dict[tuple[str, str], list[Case]] = {}
    for case in ordered:
        groups.setdefault((case.op.rpartition("-")[0], case.kind), []).append(case)
    first = {cases[0].id: cases[0] for cases in groups.values()}
    return [*first.values(), *(case for case in ordered if case.id not in first)][:most]


# ---------------------------------------------------------------------------------------------------------- the judges


@pytest.mark.timeout(180)
@pytest.mark.parametrize("judge", JUDGES)
def test_every_disagreement_in_a_run_has_an_explanation(judge: str) -> None:
    if missing := find(judge).missing():
        pytest.skip(f"{', '.join(missing)} is not installed")
    cases = choose_cases(SLOW.get(judge, MOST))
    judgements = conform([judge], cases).results[judge]
    unexplained = [
        (case.id, judgements[case.id].verdict, judgements[case.id].message)
        for case in cases
        if disagrees(judgements[case.id].verdict) and explain(judge, case, judgements[case.id].verdict) is None
    ]
    assert unexplained == []
    assert sum(judgement.verdict == AGREES for judgement in judgements.values()) > len(cases) / 8


def test_the_part_of_the_corpus_has_all_operators_and_kinds() -> None:
    chosen = {(case.op.rpartition("-")[0], case.kind) for case in choose_cases(min(SLOW.values()))}
    assert chosen == {(case.op.rpartition("-")[0], case.kind) for case in corpus.cases()}


# ----------------------------------------------------------------------------------------------------- the explanations


@pytest.mark.parametrize("explanation", explanations(), ids=lambda each: each.why)
def test_an_explanation_is_the_first_for_some_case_of_each_judge(explanation: Explanation) -> None:
    for judge in explanation.judges:
        assert any(
            explain(judge, case, verdict) is explanation
            for verdict in explanation.verdicts
            for case in corpus.cases()
        ), judge  # fmt: skip


def test_other_answers_to_ordinary_cases_have_no_explanation() -> None:
    explained = {
        (judge, case.id)
        for case in filter(is_ordinary, corpus.cases())
        for judge in JUDGES
        for verdict in ("crashes", "out-of-bounds memory", "nondeterministic", "narrowed", "differs")
        if explain(judge, case, verdict) is not None
    }
    # This example of Gather-8 has indices out of range. It shows the zeros that only this operator gives.
    assert explained == {("stablehlo", "openvino/Gather-8/int32/none/example/example-7-24a90a")}


def test_explanations_cite_a_sentence() -> None:
    for explanation in explanations():
        assert len(explanation.text) > 10, explanation.why
        assert explanation.source, explanation.why
        assert explanation.why.endswith("."), explanation.why


def test_agreement_needs_no_explanation() -> None:
    case = corpus.cases("onnx/GatherElements-13/float32/none/negative/*")[0]
    assert explain("pytorch", case, AGREES) is None
    assert explain("pytorch", case, NOT_ASKED) is None


# ------------------------------------------------------------------------------------------------ the published results


def published() -> dict[str, dict[str, str]]:
    """Return the published verdicts of the judges."""
    return {judge: read_verdicts()[judge] for judge in JUDGES}


def iterate_explanations(verdicts: dict[str, dict[str, str]]) -> Iterator[tuple[str, str, str, Explanation | None]]:
    for judge, results in verdicts.items():
        for id, verdict in results.items():
            if disagrees(verdict):
                yield judge, id, verdict, explain(judge, corpus.case(id), verdict)


def test_published_disagreements_and_explanations_fit() -> None:
    found = list(iterate_explanations(published()))
    assert [entry[:3] for entry in found if entry[3] is None] == []
    used = {(judge, explanation) for judge, _, _, explanation in found}
    assert [(judge, each.why) for each in explanations() for judge in each.judges if (judge, each) not in used] == []


def test_the_page_is_made_from_the_published_results() -> None:
    page = (DOCS / "rulings.md").read_text(encoding="utf-8")
    assert page == rewrite(page, published())


# ----------------------------------------------------------------------------------------------------------- the page


def test_opinions_of_a_ruling() -> None:
    means = "openvino/ScatterElementsUpdate-12/{}/mean/mean/of-{}".format
    verdicts = {
        means("int32", "m8-m5-m6-5e01c8"): "pass",
        means("int32", "the-largest-ccc5bb"): "differs",
        means("uint16", "1-2-4-8-9fafc9"): "refuses",  # there is no function for this type
        means("float16", "1-and-2-d13632"): "not asked",
    }
    found = {judge: str(opinions) for (rule, judge), opinions in count_opinions({"pytorch": verdicts}).items()
             if rule == "V10"}  # fmt: skip
    assert found == {"pytorch": "1/2"}


def test_rewriting_keeps_what_is_written_by_hand() -> None:
    page = (DOCS / "rulings.md").read_text(encoding="utf-8")
    by_hand = [line for line in page.partition(TITLE)[0].splitlines() if not line.startswith("|")]
    case = corpus.cases("onnx/GatherND-12/int64/none/example/*")[0]
    made = rewrite(page, {"tensorflow": {case.id: "pass"}, "numpy": {case.id: "differs"}})
    assert [line for line in made.partition(TITLE)[0].splitlines() if not line.startswith("|")] == by_hand
    assert "| id | point | ruling | TensorFlow |" in made
    assert "| TensorFlow | 1 | 0 | 0 | 0 | 0 | 0 | 0 |" in made
    assert all(f"| {id} | " in made for id in RULES if re.fullmatch(r"[OVM]\d+", id))
    assert rewrite(f"{made}\n## Another section\n\nby hand\n", {}).endswith("\n\n## Another section\n\nby hand\n")


def test_a_page_without_tables_is_an_error() -> None:
    with pytest.raises(ValueError, match="no table of the rulings O1"):
        rewrite("# Rulings\n", {})


def test_verdicts_of_explanations_are_disagreements() -> None:
    names = {verdict.name for verdict in VERDICTS if disagrees(verdict.name)}
    assert names == {verdict.name for verdict in VERDICTS} - {"pass", "not asked"}
    assert {verdict for each in explanations() for verdict in each.verdicts} <= names
