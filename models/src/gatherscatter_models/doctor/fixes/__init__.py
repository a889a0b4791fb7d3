"""`fix`: rewrite a model so that runtimes agree about its gathers and scatters, prove it equal, and write it."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gatherscatter_models.doctor.examine import Diagnosis, Inputs, check_targets, examine
from gatherscatter_models.doctor.fixes.costs import Cost, advise, cost_lines, measure_cost
from gatherscatter_models.doctor.fixes.files import (
    as_file,
    as_onnx,
    check_converted,
    count_nodes,
    expand_family_functions,
    write_model,
)
from gatherscatter_models.doctor.fixes.on_targets import RUNNERS, compare_on, why_not_run
from gatherscatter_models.doctor.fixes.proof import Proof, prove
from gatherscatter_models.doctor.fixes.rewrite import Change, Needs, rewrite
from gatherscatter_models.doctor.fixes.table import REPAIRS, REWRITINGS, WIDEN_HALVES
from gatherscatter_models.doctor.onnx_nodes import OnnxSource
from gatherscatter_models.doctor.report import NodeReport
from gatherscatter_models.findings.catalog import CONDITIONS
from gatherscatter_models.findings.nodes import Key
from gatherscatter_models.findings.verdicts import DEPARTURES, judge
from gatherscatter_models.interface import ModelError
from gatherscatter_models.onnx.model_files import refuse_own_input

if TYPE_CHECKING:
    from gatherscatter_models.loading import ModelSource

__all__ = ["Change", "Cost", "Fixed", "Proof", "fix"]

# The conditions about which any two runtimes may differ, whether or not a finding about a target has them.
EVERYWHERE = tuple({name: None for each in REWRITINGS for name in each.conditions})


@dataclass(frozen=True)
class Fixed:
    """The result of `fix`.

    Attributes
    ----------
    path : the file that was written; None if there was nothing to rewrite
    made, left : the changes made, and those that were not possible, with the reason
    proof : the runs that showed both models equal; None if nothing was written
    widened : whether halves are added or multiplied in float32. The original did this too in the runs of the proof
    on_targets : how the results of the written model compare on the runtimes that are installed
    after : the diagnosis of the rewritten nodes, with the inputs given for the original
    risks : the problems that targets may have with nodes that were added
    nodes : the numbers of nodes of the original (with its functions expanded) and of the written model
    costs : for each target that is installed, the `Cost` of a run
    source : the file of the original, if it has one
    """

    path: Path | None
    made: tuple[Change, ...]
    left: tuple[Change, ...]
    proof: Proof | None
    on_targets: dict[str, str]
    after: Diagnosis | None
    risks: tuple[str, ...] = ()
    nodes: tuple[int, int] | None = None
    costs: Mapping[str, Cost] = field(default_factory=dict)
    source: Path | None = None
    widened: bool = False

    @property
    def proof_line(self) -> str:
        """A line that names the file written and the runs that proved it equal to the original."""
        if self.path is None or self.proof is None:
            return "nothing to rewrite; no file was written"
        proof = self.proof
        runs = [(proof.given, "with your inputs"), (proof.random, "with generated inputs")]
        counted = " and ".join(f"{count} run{'s' if count != 1 else ''} {which}" for count, which in runs if count)
        refused = f"; {proof.refused} more failed in both models" if proof.refused else ""
        legal = "; legal shapes of updates are assumed"
        widened = " with sums and products of halves in float32" if self.widened else ""
        return f"written: {self.path}; bit-for-bit identical to the original{widened} in {counted}{refused}{legal}"

    @property
    def cost_summary(self) -> list[str]:
        """A line with the numbers of nodes, and a line for each target with run times that differ clearly."""
        if self.nodes is None or self.proof is None:
            return []
        before, after = self.nodes
        inputs = "your inputs" if self.proof.given else "generated inputs"
        lines = (line for target, cost in self.costs.items() for line in cost_lines(target, cost))
        return [f"nodes: {after} instead of {before}", *(f"with {inputs}, {line}" for line in lines)]

    @property
    def advice(self) -> list[str]:
        """A line for each target on which `InferenceSession` is better than the written model."""
        return [line for cost in self.costs.values() if (line := advise(cost, self.source))]

    def data(self) -> dict[str, Any]:
        """Return everything as JSON values."""
        changes = {"made": self.made, "left": self.left}
        return {
            "written": None if self.path is None else str(self.path),
            **{
                what: [{"node": each.label, "conditions": list(each.conditions), "text": each.text} for each in these]
                for what, these in changes.items()
            },
            "widened": self.widened,
            "proof": self.proof
            and {"given": self.proof.given, "random": self.proof.random, "refused": self.proof.refused},
            "targets": self.on_targets,
            "summary": self.after and self.after.summary,
            "risks": list(self.risks),
            "nodes": self.nodes and dict(zip(("original", "rewritten"), self.nodes, strict=True)),
            "costs": {target: cost.data() for target, cost in self.costs.items()},
            "cost_summary": self.cost_summary,
            "advice": self.advice,
        }


def fix(
    model: ModelSource,
    out: str | os.PathLike[str],
    inputs: Inputs | None = None,
    *,
    targets: Sequence[str] | None = None,
    leave: Iterable[str] = (),
    widen_halves: bool = False,
    run_on: Sequence[str] | None = None,
    seed: int = 0,
) -> Fixed:
    """Rewrite a model so that runtimes agree about its gathers and scatters, prove it equal, and write it.

    The rewritten model must give the same results for all inputs. So a node is also rewritten if runtimes differ for
    some values only. To prove both models equal, gatherscatter runs them with the inputs given and with generated
    inputs, and compares the results bit for bit. Functions that contain such nodes are expanded. An IR is converted to
    ONNX first, and back if ``out`` is an ``.xml``.

    Parameters
    ----------
    model : path or onnx.ModelProto
        As for `examine`.
    out : path
        Where to write the model: ``.onnx``, or ``.xml`` with its ``.bin``.
    inputs : mapping of str to array, or sequence of arrays, optional
        Inputs of one run. Generated inputs have the same shapes.
    targets : sequence of str, optional
        Rewrite only the nodes that these runtimes get wrong or refuse. By default, all nodes about which runtimes may
        differ are rewritten, and the nodes left are judged for ONNX Runtime and OpenVINO.
    leave : names of conditions, optional
        Conditions to ignore, such as "nan" if you know that there are no NaN.
    widen_halves : bool
        Compute sums and products of float16 and bfloat16 in float32 and round the result once. The specification's loop
        rounds after each update, so results differ in the last bits. Without it, such nodes are rewritten only if no
        index is repeated, which keeps results the same.
    run_on : sequence of str, optional
        The runtimes on which to run and time the rewritten model. Default: the targets that are installed. With ``()``,
        nothing is run or timed there.
    seed : int
        Seed of the generated inputs.

    Returns
    -------
    Fixed
        ``made`` lists the changes, ``left`` those that were not possible and why. ``costs`` has the seconds of a run.

    Raises
    ------
    ModelError
        The model can't be read or run here, ``out`` would overwrite it, or the rewritten model is not proven equal.
        Nothing is written then.
    FileNotFoundError
        The folder of ``out`` does not exist.

    >>> import numpy as np, onnx
    >>> from gatherscatter_models.doctor import fix
    >>> model = onnx.parser.parse_model('''<ir_version: 10, opset_import: ["": 18]>
    ...     put (float[4] data, float[3] updates) => (float[4] out) <int64[3, 1] rows = {3, 0, -1}>
    ...     { out = ScatterND (data, rows, updates) }''')
    >>> fixed = fix(model, "fixed.onnx")
    >>> [change.text for change in fixed.made]
    ['for repeated indices, only the last update was kept']
    >>> import gatherscatter_models as gm
    >>> gm.run("fixed.onnx", [np.zeros(4, np.float32), np.array([1, 2, 4], np.float32)])
    {'out': array([2., 0., 0., 4.], dtype=float32)}
    """
    path = Path(out)
    if not path.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path.parent))
    refuse_own_input(path, model)
    chosen = check_targets(targets)
    left_alone = _check_conditions(leave)
    original = as_onnx(model, path)
    source = expand_family_functions(original)
    repaired = OnnxSource(source.proto)
    legal = {site.key: Needs((), ("always",)) for site in source.sites}
    first = (*REPAIRS, WIDEN_HALVES) if widen_halves else REPAIRS
    repairs = rewrite(repaired, examine(source.proto).nodes, legal, first)
    baseline = OnnxSource(repaired.proto)
    diagnosis = examine(baseline.proto, inputs, targets=chosen)
    if diagnosis.error:
        raise ModelError(f"a rewritten model can't be proven equal: {diagnosis.error}")
    fixed = OnnxSource(baseline.proto)
    needs = _needs(diagnosis.nodes, () if targets else EVERYWHERE, left_alone)
    outcome = rewrite(fixed, diagnosis.nodes, needs, REWRITINGS)
    made, left = (*repairs.made, *outcome.made), tuple(outcome.left)
    if not made:
        return Fixed(None, (), left, None, {}, None)
    proof = prove(baseline if repairs.made else original, fixed, inputs, seed)
    with write_model(fixed.proto, path) as draft:
        if isinstance(model, str | os.PathLike) and Path(model).suffix.lower() == ".xml":
            check_converted(Path(model), draft, proof.inputs)
        tried = [each for each in (chosen if run_on is None else run_on) if each in RUNNERS]
        compared = {each: compare_on(each, draft, proof.inputs, proof.results) for each in tried}
        costs = _measure_costs([each for each in tried if not why_not_run(each, draft)], model, draft, proof)
        # With the inputs given for the original only: generated values say nothing about others.
        after = examine(fixed.proto, None if inputs is None else proof.inputs, targets=chosen)
    own = [_settle_conditions(node, outcome.settled) for node in after.nodes if node.site.name not in outcome.added]
    own.sort(key=lambda node: node.rank)
    risks = tuple(_risks(node for node in after.nodes if node.site.name in outcome.added))
    return Fixed(
        path,
        made,
        left,
        proof,
        compared,
        replace(after, model=path.name, nodes=tuple(own)),
        risks,
        (count_nodes(source.proto), count_nodes(fixed.proto)),
        costs,
        Path(model) if isinstance(model, str | os.PathLike) else None,
        any(change.text == WIDEN_HALVES.title for change in repairs.made),
    )


def _measure_costs(targets: Sequence[str], original: ModelSource, rewritten: Path, proof: Proof) -> dict[str, Cost]:
    if not targets:  # `as_file` would write a model in memory, which may be large
        return {}
    with as_file(original) as file:
        return {each: measure_cost(each, file, rewritten, proof.inputs, proof.results) for each in targets}


def _settle_conditions(node: NodeReport, settled: Mapping[str, set[str]]) -> NodeReport:
    """Return the report without the conditions that the rewriting excludes. The file alone does not show this."""
    never: dict[str, int | None] = dict.fromkeys(settled.get(node.site.name, ()), 0)
    told = replace(node.told, counts=node.told.counts | never)
    seen = node.seen and replace(node.seen, counts=node.seen.counts | never)
    verdicts = {target: judge(target, node.site.row, told, seen) for target in node.verdicts}
    return NodeReport(node.site, told, seen, verdicts)


def _risks(added: Iterable[NodeReport]) -> Iterator[str]:
    """Yield a line for each added node that a target may get wrong. Nodes that look up sizes are safe."""
    for node in added:
        data = node.site.operand("data")
        for target, verdict in node.verdicts.items():
            if verdict.status in DEPARTURES and not (data and data.is_size):
                yield f"{target}: added node {node.site.label}: {verdict}"


def _check_conditions(leave: Iterable[str]) -> frozenset[str]:
    chosen = frozenset(leave)
    for name in chosen - CONDITIONS.keys():
        raise ValueError(f"there is no condition {name!r}; there are {', '.join(CONDITIONS)}")
    return chosen


def _needs(nodes: Iterable[NodeReport], welcome: Sequence[str], leave: frozenset[str]) -> dict[Key, Needs]:
    """Return for each node the conditions that hold with these inputs, and those that may hold with others."""
    needs = {}
    for node in nodes:
        with_others = [judge(target, node.site.row, node.told) for target in node.verdicts]
        verdicts = (*node.verdicts.values(), *with_others)
        asked = dict.fromkeys(reason.finding.condition for verdict in verdicts for reason in verdict.reasons)
        possible = (name for name in welcome if node.told.counts[name] != 0 and name not in asked)
        chosen = (tuple(name for name in names if name not in leave) for names in (asked, possible))
        needs[node.site.key] = Needs(*chosen)
    return needs
