"""The time of a run of the rewritten model, compared with the original and with gatherscatter's session."""

from __future__ import annotations

import shlex
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from gatherscatter.messages.text import rounded_text, seconds_text
from gatherscatter.system.processes import NoAnswerError
from gatherscatter_models.doctor.fixes.model_process import TURN, ModelProcess
from gatherscatter_models.doctor.fixes.on_targets import same_results, write_inputs
from gatherscatter_models.findings.verdicts import OWN_RUNTIME

ROUNDS = 12  # at most; each model has a turn in a round
SECONDS = 3.0  # total time of turns after which no further round begins
NOISE = 1.2  # a ratio of times; smaller ones are not reported


@dataclass(frozen=True)
class Cost:
    """The cost of a run on one target.

    Attributes
    ----------
    original, rewritten, session : the fewest seconds of a run of the two models, and of the original in
        ``gatherscatter_models.onnx.InferenceSession``; None if it failed or was not tried
    errors : the errors of those that failed, by these names
    right : the names of those with the results of gatherscatter. The target may round other layers in another way.
        Then the session and the rewritten model are right if they agree
    """

    original: float | None = None
    rewritten: float | None = None
    session: float | None = None
    errors: Mapping[str, str] = field(default_factory=dict)
    right: frozenset[str] = frozenset()

    @property
    def is_session_better(self) -> bool:
        """Whether the session is right, and the rewritten model is slower or not right."""
        if self.session is None or "session" not in self.right:
            return False
        return self.rewritten is None or "rewritten" not in self.right or self.rewritten > NOISE * self.session

    def data(self) -> dict[str, Any]:
        """Return everything as JSON values."""
        return {
            "original": self.original,
            "rewritten": self.rewritten,
            "session": self.session,
            "errors": dict(self.errors),
            "right": sorted(self.right),
        }


def measure_cost(
    target: str, original: Path, rewritten: Path, inputs: Mapping[str, Any], expected: Mapping[str, np.ndarray]
) -> Cost:
    """Time both models on an installed target. For ONNX Runtime, also time the original in gatherscatter's session.

    Each runs in a separate process, because the original may crash. They take turns, so a busy machine slows all alike.
    """
    models = {"original": (target, original), "rewritten": (target, rewritten)}
    if target == OWN_RUNTIME:
        models["session"] = ("session", original)
    errors: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        given = write_inputs(Path(folder), inputs)
        processes = {
            name: stack.enter_context(ModelProcess(runtime, model, given, Path(folder, f"{name}.npz")))
            for name, (runtime, model) in models.items()
        }
        seconds = _take_turns(processes, errors)
        results = {name: processes[name].read_results() for name in seconds}
    right = {name for name, made in results.items() if same_results(made, expected)}
    both = {"rewritten", "session"} & results.keys()
    if len(both) == 2 and not right & both and same_results(results["session"], results["rewritten"]):
        right |= both
    return Cost(**seconds, errors=errors, right=frozenset(right))


def _take_turns(processes: Mapping[str, ModelProcess], errors: dict[str, str]) -> dict[str, float]:
    """Return the fewest seconds of each that did not fail. The errors of the others go into ``errors``."""
    least = dict.fromkeys(processes, float("inf"))
    spent = 0.0
    for _ in range(ROUNDS):
        for name in list(least):
            try:
                seconds = processes[name].run()
            except NoAnswerError as error:
                errors[name] = str(error)
                del least[name]
                continue
            least[name] = min(least[name], seconds)
            spent += max(seconds, TURN)
        if spent > SECONDS:
            break
    return {name: float(f"{seconds:.3g}") for name, seconds in least.items()}


def cost_lines(target: str, cost: Cost) -> Iterator[str]:
    """Yield sentences about the time of a run; none if the times hardly differ."""
    if "original" in cost.errors:
        yield f"the original fails in {target}: {cost.errors['original']}"
    if cost.rewritten is None:
        return
    text = f"a run of {target} takes {seconds_text(cost.rewritten)}"
    if cost.original is not None:
        ratio = cost.rewritten / cost.original
        if 1 / NOISE < ratio < NOISE and not cost.is_session_better:
            return
        is_wrong = "original" not in cost.right and "rewritten" in cost.right
        differs = ", but the original gives other results" if is_wrong else ""
        text += f" instead of {seconds_text(cost.original)} ({rounded_text(ratio, 2)} times{differs})"
    if cost.session is not None:
        text += f"; the original in gatherscatter_models.onnx.InferenceSession takes {seconds_text(cost.session)}"
    yield text


def advise(cost: Cost, source: Path | None) -> str:
    """Return the advice to use the session; empty if it is not better. ``source`` is the original's file."""
    if not cost.is_session_better or cost.session is None:
        return ""
    session, file = ("model", "MODEL") if source is None else (repr(str(source)), shlex.quote(str(source)))
    if cost.rewritten is None or "rewritten" not in cost.right:
        why = "its results are correct"
    else:
        why = f"it is {rounded_text(cost.rewritten / cost.session, 2)} times as fast"
    return (
        f"{OWN_RUNTIME}: prefer gatherscatter_models.onnx.InferenceSession({session}) to the rewritten model, or for "
        f"other languages gatherscatter convert {file} FIXED.onnx --for {OWN_RUNTIME}: {why}"
    )
