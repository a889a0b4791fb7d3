"""The facts about a call that pictures, pages and texts show."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from gatherscatter.explaining import shapes
from gatherscatter.explaining.call import ExplainedCall
from gatherscatter.explaining.scene import Drawing, drawing
from gatherscatter.explaining.trace import Step, trace

if TYPE_CHECKING:
    from gatherscatter.explaining.equivalents import Equivalent


@dataclass(frozen=True)
class CallFacts:
    """The facts of an explanation.

    Attributes
    ----------
    call : the inputs, attributes and result of the call
    """

    call: ExplainedCall

    @property
    def op(self) -> str:
        """The op version, or the name of the array function."""
        return self.call.op

    @property
    def result(self) -> np.ndarray | None:
        """The result of the call; None if it failed."""
        return self.call.result

    @property
    def error(self) -> Exception | None:
        """The exception that the call raised; None if it succeeded."""
        return self.call.error

    @cached_property
    def drawing(self) -> Drawing:
        """The arrays and arrows of the drawing."""
        return drawing(self.call)

    @cached_property
    def trace(self) -> tuple[Step, ...]:
        """The first 200 steps."""
        return tuple(trace(self.call))

    @cached_property
    def shape_rules(self) -> tuple[str, ...]:
        """The rules for the shapes of the output and of the updates, with numbers."""
        return shapes.shape_rules(self.call)

    @cached_property
    def broken_rule(self) -> str:
        """The sizes of a failed call that disagree; empty if the call fails for another reason."""
        return shapes.broken_rule(self.call)

    @cached_property
    def equivalents(self) -> dict[str, Equivalent]:
        """The call as code for "numpy", "pytorch", "jax", "tensorflow" and "einx".

        >>> import gatherscatter as gs
        >>> print(gs.explain("scatter_nd", [0, 0], [[1], [1]], [2, 3], reduction="add").equivalents["numpy"].code)
        import numpy as np
        at = tuple(np.moveaxis(indices, -1, 0))
        output = data.copy()
        np.add.at(output, at, updates)
        """
        from gatherscatter.explaining.equivalents import equivalents

        return equivalents(self.call)
