"""One of our nodes, ready to run repeatedly."""

from __future__ import annotations

from typing import Any

import numpy as np

from gatherscatter import _core
from gatherscatter.arrays.convert import element_type
from gatherscatter.onnx.session.family_nodes import FamilyNode


class KernelStep:
    """Runs a node as its op version.

    ``in_place``: data is an intermediate result that nobody needs afterwards, so it becomes the result.
    """

    def __init__(self, family_node: FamilyNode, in_place: bool, num_threads: int) -> None:
        self.inputs = tuple(family_node.node.input)
        self.outputs = tuple(family_node.node.output)
        self.in_place = in_place
        site = family_node.site
        self._row, self._attributes, self._label = row, given, _ = site.row, site.attributes, site.label
        plain = row.kernel.startswith(("gather", "scatter")) and not (row.deprecated or row.prepare or row.finish)
        self._direct = plain and all(given[known.name] in known.choices for known in row.attributes if known.choices)
        self._accepted: list[np.dtype[Any]] = []
        self._reduction = given.get("reduction", "none")
        self._axis, self._batch_dims = given.get("axis", 0), given.get("batch_dims", 0)
        self._name, self._negative = row.name, row.index_range != "nonnegative"
        self._num_threads = num_threads or None

    def run(self, values: dict[str, Any], run_options: Any = None) -> None:
        """Add the node's output to the values; an error keeps its type and gets a note that names the node."""
        arrays = [values[name] if name else None for name in self.inputs]
        try:
            result = self._run_core(arrays) if self._direct else None
            values[self.outputs[0]] = self._row(*arrays, **self._attributes) if result is None else result
        except Exception as error:
            error.add_note(f"in node {self._label}")
            raise

    def _run_core(self, arrays: list[Any]) -> np.ndarray | None:
        """The kernel itself, where a microsecond counts; None when anything is unusual or wrong: then the op version
        does it, or says what is wrong."""
        for array in arrays:
            if type(array) is not np.ndarray or not array.flags.aligned:
                return None
        if [array.dtype for array in arrays] != self._accepted and not self._accept(arrays):
            return None
        data, indices = arrays[:2]
        updates = arrays[2] if len(arrays) == 3 else None
        out = data if self.in_place and data.flags.carray else None
        try:
            return _core.apply(
                self._name, self._row.kernel, data, indices, updates, self._axis, self._batch_dims, self._reduction,
                True, "step", "raise", self._negative, out, self._num_threads,
            )  # fmt: skip
        except (IndexError, TypeError, ValueError):
            return None

    def _accept(self, arrays: list[np.ndarray]) -> bool:
        """Whether the op version has these types, and the core a kernel for them."""
        data, indices, *updates = (array.dtype for array in arrays)
        plain = data.kind not in "OSUT" and data.isnative and indices.isnative and updates in ([], [data])
        known = element_type(data) in self._row.element_types and indices.name in self._row.index_types
        if not (plain and known and (self._reduction == "none" or _core.supports(data, self._reduction))):
            return False
        self._accepted = [array.dtype for array in arrays]
        return True
