"""Judge the observations of a case."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gatherscatter.specs import element_type
from gatherscatter_conformance.case import Case, same
from gatherscatter_conformance.narrowing import describe_narrowing
from gatherscatter_conformance.observations import Crashed, Hung, Outputs, Refused, Returned, Runs, Skipped, raw
from gatherscatter_conformance.out_of_bounds import out_of_bounds_memory
from gatherscatter_conformance.unspecified import REASONS


@dataclass(frozen=True)
class VerdictKind:
    """A verdict; ``severity`` 1 is the worst."""

    name: str
    title: str
    severity: int


VERDICTS = tuple(
    VerdictKind(name, title, severity)
    for severity, (name, title) in enumerate(
        (
            ("crashes", "the process ends"),
            (
                "out-of-bounds memory",
                "the result contains memory outside the arrays of the call, or the call changes it",
            ),
            ("hangs", "no answer within the time limit"),
            ("nondeterministic", "the same call gives different results"),
            ("narrowed", "64-bit values were silently computed in 32 bits"),
            ("differs", "a result different from the specification"),
            ("accepts", "a result for a call that the specification requires to be refused"),
            ("refuses", "an error for a legal call"),
            ("allowed", "a different result or an error, which the specification leaves open"),
            ("pass", "the result or the error that the specification requires"),
            ("not asked", "the runtime cannot express the call"),
        ),
        start=1,
    )
)
"""All verdicts, the most severe first."""

SEVERITY = {verdict.name: verdict.severity for verdict in VERDICTS}


# Reasons for which the specification leaves the result open, but requires a result.
_OPEN_RESULTS = {
    REASONS[key] for key in ("order of writes", "order of sums", "halves", "overflow", "nan", "pairwise mean", "zero")
}


@dataclass(frozen=True)
class Judgement:
    """A verdict, the result of the runtime (if any), and a description of the observation."""

    verdict: str
    got: Outputs | None = None
    message: str = ""


def judge(case: Case, runs: Sequence[Runs]) -> Judgement:
    """Return the judgement of the observations of one case."""
    seen = [observation for each in runs for observation in each.seen]
    for observation in seen:
        if isinstance(observation, Crashed):
            return Judgement("crashes", message=observation.how)
        if isinstance(observation, Hung):
            return Judgement("hangs", message=f"no answer within {observation.seconds:g} s")
        if isinstance(observation, Skipped):
            return Judgement("not asked", message=observation.reason)
    refused = [one for one in seen if isinstance(one, Refused)]
    returned = [one for one in seen if isinstance(one, Returned)]
    if not returned:
        return _judge_refusal(case, refused[0])
    if not refused and all(same(one.outputs, case) and not one.damage for one in returned):
        return Judgement("pass", returned[0].outputs)
    got = next((one for one in returned if one.damage or not same(one.outputs, case)), returned[0])
    evidence = out_of_bounds_memory(case, runs)
    if evidence:
        return Judgement("out-of-bounds memory", got.outputs, evidence)
    if refused:
        message = f"refused {len(refused)} of {len(seen)} times: {_wording(refused[0])}"
        return Judgement("nondeterministic", got.outputs, message)
    return _judge_result(case, got.outputs, returned)


def _judge_refusal(case: Case, refusal: Refused) -> Judgement:
    wording = _wording(refusal)
    if case.expected is None:
        return Judgement("pass", message=wording)
    legal = not case.latitude or case.latitude in _OPEN_RESULTS
    return Judgement("refuses" if legal else "allowed", message=wording)


def _judge_result(case: Case, got: Outputs, returned: Sequence[Returned]) -> Judgement:
    """Judge a wrong result without out-of-bounds memory."""
    different = len({raw(one.outputs) for one in returned})
    varying = f"{different} different results in {len(returned)} runs" if different > 1 else ""
    if varying and not case.latitude:
        return Judgement("nondeterministic", got, varying)
    narrow = describe_narrowing(case, got)
    if narrow:
        return Judgement("narrowed", got, narrow)
    if case.latitude:
        return Judgement("allowed", got, varying or case.latitude)
    if case.expected is None:
        return Judgement("accepts", got, f"must be refused ({case.error})")
    return Judgement("differs", got, _difference(case, got))


def _difference(case: Case, got: Outputs) -> str:
    for result, expected in zip(got, case.expected or (), strict=False):
        if result.dtype != expected.dtype:
            return f"type {element_type(result.dtype)}, not {element_type(expected.dtype)}"
        if result.shape != expected.shape:
            return f"shape {list(result.shape)}, not {list(expected.shape)}"
        equal = [a == b or (a != a and b != b) for a, b in zip(result.flat, expected.flat, strict=True)]
        if all(equal):
            return "the sign of a zero differs"
        return f"{len(equal) - sum(equal)} of {len(equal)} elements differ"
    return ""


def _wording(refusal: Refused) -> str:
    return f"{refusal.kind}: {refusal.message}"


Verdict = VerdictKind  # its public name
