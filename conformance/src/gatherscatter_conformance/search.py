"""Run random calls on one runtime, and shrink every new kind of departure to a minimal call.

Hypothesis draws the calls, as in the tests of gatherscatter, and the oracle gives the expected results.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fnmatch import fnmatchcase
from random import Random
from time import monotonic
from typing import NamedTuple

import numpy as np

from gatherscatter.oracle import ROWS, OracleRow
from gatherscatter_conformance import TIMEOUT, corpus
from gatherscatter_conformance.build import make_case
from gatherscatter_conformance.case import Case, element_type
from gatherscatter_conformance.edge_classes import kind_of
from gatherscatter_conformance.random_calls import version_call
from gatherscatter_conformance.random_source import HypothesisChoices
from gatherscatter_conformance.run import Examiner
from gatherscatter_conformance.runtimes import find
from gatherscatter_conformance.shrink import iterate_smaller_calls
from gatherscatter_conformance.themes.draft import CaseDraft, DraftedCall, section
from gatherscatter_conformance.verdicts import Judgement

NO_DEPARTURE = ("pass", "allowed", "not asked")
SHRINKING = 60.0  # seconds for one departure
AT_A_TIME = 300  # calls that are drawn before Hypothesis is restarted

Signature = tuple[str, str, str]
Progress = Callable[[str, Case, Judgement], None]


class Departure(NamedTuple):
    """A minimal call, and the judgement of the runtime's result."""

    case: Case
    judgement: Judgement

    @property
    def signature(self) -> Signature:
        """Verdict, op version and kind. One departure is shown for each signature."""
        return self.judgement.verdict, self.case.op, self.case.kind


def search(
    runtime: str,
    minutes: float,
    progress: Progress | None = None,
    *,
    ops: Sequence[str] = ("*",),
    timeout: float = TIMEOUT,
    seed: int | None = None,
) -> Iterator[Departure]:
    """Search for departures, and yield each one when it has been found and shrunk.

    Parameters
    ----------
    runtime : a name (see `gatherscatter_conformance.runtimes`)
    minutes : time limit of the search
    progress : called with the runtime's name, each case and its judgement
    ops : patterns of op versions
    timeout : time limit of a call, in seconds
    seed : repeats the same draws, as far as time allows; default: different draws each time

    Raises
    ------
    ImportError
        Hypothesis, or the runtime's package, is not installed.
    LookupError
        There is no such runtime, or it has none of these op versions.
    ValueError
        ``minutes`` is not a positive number.
    """
    if not minutes > 0:
        raise ValueError(f"minutes must be a positive number, not {minutes}")
    rows = _rows(runtime, ops)
    with Examiner(runtime, timeout) as examiner:
        hunt = _DepartureSearch(runtime, examiner, monotonic() + 60 * minutes, progress)
        random = Random(seed)
        while not hunt.is_over():
            yield from hunt.departures(rows, random)


def _rows(runtime: str, ops: Sequence[str]) -> list[OracleRow]:
    """Return the op versions that the runtime can express."""
    asked = find(runtime)
    rows = [
        row
        for name, row in ROWS.items()
        if any(fnmatchcase(fitting, op) for op in ops for fitting in (name, name.rpartition("-")[0]))
        and any(asked.supports(case) is None for case in corpus.cases(op=name, kind="plain"))
    ]
    if not rows:
        raise LookupError(f"{runtime} has no op version like {', '.join(ops)}")
    return rows


class _DepartureSearch:
    """The state of a search. Every call runs once only, because Hypothesis must see the same answer again."""

    def __init__(self, runtime: str, examiner: Examiner, deadline: float, progress: Progress | None) -> None:
        self._runtime = runtime
        self._examiner = examiner
        self._deadline = deadline
        self._progress = progress
        self._judgements: dict[str, Judgement] = {}
        self._known: set[Signature] = set()
        self._broke: list[Departure] = []
        self._target: Signature | None = None
        self._until = deadline

    def is_over(self) -> bool:
        return monotonic() >= self._deadline

    def departures(self, rows: list[OracleRow], random: Random) -> Iterator[Departure]:
        """Yield at most one shrunk departure, and earlier calls that turned out to have broken a worker."""
        import hypothesis  # here, because it takes long to import

        self._target, self._until = None, self._deadline
        drawn = hypothesis.strategies.composite(lambda draw: _draw(HypothesisChoices(draw), rows))()
        settings = hypothesis.settings(
            max_examples=AT_A_TIME,
            database=None,
            deadline=None,
            phases=(hypothesis.Phase.generate, hypothesis.Phase.shrink),
            suppress_health_check=list(hypothesis.HealthCheck),
        )
        try:
            smallest = hypothesis.find(drawn, self._is_new, settings=settings, random=random)
        except hypothesis.errors.NoSuchExample:
            smallest = None
        found = [] if smallest is None else [self._smallest(Departure(smallest, self._judgements[smallest.id]))]
        for departure in (*found, *self._broke):
            if departure.signature not in self._known:
                self._known.add(departure.signature)
                yield departure
        self._broke = []

    def _smallest(self, departure: Departure) -> Departure:
        """Return the smallest departure with the same signature."""
        row = ROWS[departure.case.op]
        call = DraftedCall(list(departure.case.inputs), departure.case.attributes)
        for candidate in iterate_smaller_calls(row, call):
            case = case_of(row, candidate)
            same = (case.kind, case.error) == (departure.case.kind, departure.case.error)
            if same and self._is_new(case):
                return self._smallest(Departure(case, self._judgements[case.id]))
        return departure

    def _is_new(self, case: Case) -> bool:
        """Whether the case departs in a new way or, during shrinking, in the same way."""
        judgement = self._judge(case)
        if judgement is None or judgement.verdict in NO_DEPARTURE:
            return False
        signature = Departure(case, judgement).signature
        if self._target is None and signature not in self._known:
            self._target = signature
            self._until = min(self._deadline, monotonic() + SHRINKING)
        return signature == self._target

    def _judge(self, case: Case) -> Judgement | None:
        """Return the judgement of the case; None if there is no time left to run it."""
        if case.id not in self._judgements:
            if monotonic() >= self._until:
                return None
            for examined, judgement in self._examiner.examine(case):
                if examined.id != case.id:
                    self._broke.append(Departure(examined, judgement))
                else:
                    self._judgements[case.id] = judgement
            if self._progress is not None:
                self._progress(self._runtime, case, self._judgements[case.id])
        return self._judgements[case.id]


def _draw(choices: HypothesisChoices, rows: list[OracleRow]) -> Case:
    row = choices.pick(rows)
    call = version_call(choices, row)
    inputs = [None if array is None else _plain(array) for array in call.inputs]
    return case_of(row, DraftedCall([*inputs, *[None] * (len(row.inputs) - len(inputs))], call.attributes))


def case_of(row: OracleRow, call: DraftedCall) -> Case:
    """Make a case from a random call."""
    return make_case(CaseDraft(row.name, kind_of(row, call), "found", call, (section(row),)))


def _plain(array: np.ndarray) -> np.ndarray:
    """Return the values in plain form: contiguous, in the machine's byte order, text as objects."""
    if element_type(array) == "string":
        texts = [text.decode() if isinstance(text, bytes) else str(text) for text in array.reshape(-1).tolist()]
        plain = np.empty(array.size, object)
        plain[:] = texts
        return plain.reshape(array.shape)
    return np.array(array, array.dtype.newbyteorder("="), order="C")
