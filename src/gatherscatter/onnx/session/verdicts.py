"""Which nodes of the family ONNX Runtime gets wrong, refuses, or does slower than this package, and why.

Measured with ONNX Runtime 1.31.1 on the CPU. What it gets right and fast stays with it, so that a graph is cut as
seldom as possible; where sizes are unknown, only what would be wrong or refused is taken from it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from gatherscatter.versions import OpVersion

# So many elements ONNX Runtime scatters on one thread, whatever their type (found: up to 100,000 of four bytes).
SERIAL = 16_384
# From so many elements on, our kernels save more than a hand-over costs.
MANY = 65_536


@dataclass(frozen=True)
class Case:
    """What the rules look at.

    ``elements`` is how many a gather reads or a scatter's updates hold, ``single`` whether each index names one
    element rather than a row, ``may_repeat`` whether indices aren't known to differ; None stands for unknown.
    """

    row: OpVersion
    reduction: str
    element_type: str | None
    elements: int | None
    single: bool
    may_repeat: bool
    threads: int  # of ONNX Runtime; 0: as many as it likes

    @property
    def reductions(self) -> tuple[str, ...]:
        """Those that the version has."""
        choices = [known.choices for known in self.row.attributes if known.name == "reduction"]
        return choices[0] or () if choices else ("none",)

    @property
    def races(self) -> bool:
        """Whether several threads of ONNX Runtime may write to one place."""
        few = self.elements is not None and self.elements <= SERIAL
        return self.may_repeat and self.threads != 1 and not few

    @property
    def many(self) -> bool:
        """Whether it is known that there is much to do."""
        return self.elements is not None and self.elements >= MANY


@dataclass(frozen=True)
class Rule:
    """Nodes that are ours, and the reason, in which {} fields are those of the case."""

    op_types: tuple[str, ...]
    applies: Callable[[Case], bool]
    reason: str


_SCATTERS = ("ScatterND", "ScatterElements")
_HALVES = ("float16", "bfloat16")
_NO_REDUCTION = "ONNX Runtime has no reduction {case.reduction!r} of {case.element_type}"

RULES = (
    Rule(
        ("Gather", "GatherElements", "GatherND", *_SCATTERS),
        lambda case: case.element_type in ("complex64", "complex128"),
        "ONNX Runtime has no {case.element_type}",
    ),
    Rule(
        _SCATTERS,
        lambda case: case.reduction not in case.reductions,
        "{case.row.name} has no reduction {case.reduction!r}; ONNX Runtime runs it",
    ),
    Rule(("Scatter",), lambda case: case.row.deprecated, "ONNX Runtime refuses the deprecated {case.row.name}"),
    Rule(
        ("TensorScatter",),
        lambda case: (case.element_type or "").startswith(("float8", "string")),
        "ONNX Runtime has no {case.row.op_type} of {case.element_type}",
    ),
    Rule(("ScatterND",), lambda case: case.reduction != "none" and case.element_type in _HALVES, _NO_REDUCTION),
    Rule(
        ("ScatterElements",),
        lambda case: case.reduction in ("add", "mul") and case.element_type in _HALVES,
        _NO_REDUCTION,
    ),
    Rule(
        _SCATTERS,
        lambda case: case.reduction in ("min", "max") and case.element_type in ("bool", "bfloat16"),
        _NO_REDUCTION,
    ),
    Rule(
        _SCATTERS,
        lambda case: case.reduction in ("min", "max") and "float" in (case.element_type or "float"),
        "ONNX Runtime's {case.reduction!r} loses NaN in data",
    ),
    Rule(
        ("ScatterND",),
        lambda case: case.reduction != "none" and case.races,
        "ONNX Runtime's threads lose updates where indices repeat",
    ),
    Rule(
        ("ScatterND",),
        lambda case: case.races,
        "ONNX Runtime's threads race where indices repeat: any update may be the last",
    ),
    Rule(("ScatterElements",), lambda case: case.many, "ONNX Runtime takes longer for {case.elements} elements"),
    Rule(
        ("Gather", "GatherND"),
        lambda case: case.single and case.many,
        "ONNX Runtime takes longer for {case.elements} single elements",
    ),
)


def verdict(case: Case) -> str | None:
    """Why a node is ours; None if it is ONNX Runtime's."""
    for rule in RULES:
        if case.row.op_type in rule.op_types and rule.applies(case):
            return rule.reason.format(case=case)
    return None
