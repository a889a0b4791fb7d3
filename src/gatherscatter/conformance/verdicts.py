"""What the observations of a case amount to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gatherscatter.arrays.convert import element_type
from gatherscatter.conformance.case import Case, same
from gatherscatter.conformance.narrowing import describe_narrowing
from gatherscatter.conformance.observations import Crashed, Hung, Outputs, Refused, Returned, Runs, Skipped, raw
from gatherscatter.conformance.out_of_bounds import out_of_bounds_memory
from gatherscatter.conformance.unspecified import REASONS


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
            ("out-of-bounds memory", "the result holds, or the call changes, memory that is not the call's"),
            ("hangs", "no answer within the time limit"),
            ("nondeterministic", "the same call gives different results"),
            ("narrowed", "computed in 32 bits what was given in 64, without a word"),
            ("differs", "another result than the specification's"),
            ("accepts", "a result for a call that the specification wants refused"),
            ("refuses", "an error for a call that is legal"),
            ("allowed", "another result, where the specification leaves it open"),
            ("pass", "the result of the specification, or an error where it wants one"),
            ("not asked", "the runtime has no way to say this call"),
        ),
        start=1,
    )
)
"""All verdicts, the most severe first."""

SEVERITY = {verdict.name: verdict.severity for verdict in VERDICTS}


# Where the specification leaves open which result there is, but not that there is one.
_OPEN_RESULTS = {
    REASONS[key] for key in ("order of writes", "order of sums", "halves", "overflow", "nan", "pairwise mean", "zero")
}


@dataclass(frozen=True)
class Judgement:
    """A verdict, what the runtime returned if it did, and what was observed, in words."""

    verdict: str
    got: Outputs | None = None
    message: str = ""


def judge(case: Case, runs: Sequence[Runs]) -> Judgement:
    """What the observations of one case amount to."""
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
    """A wrong result, whose memory is the call's own."""
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
