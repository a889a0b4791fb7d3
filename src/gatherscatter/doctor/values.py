"""The values at a node, as far as they are known: before a model runs, or when they reach the node."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from gatherscatter.versions import OpVersion, element_type

from .sites import Dims, Site

BY_TUPLE = ("gather_nd", "scatter_nd")
Count = int | None
INDEX_ROLES = ("indices", "write_indices", "parent_ids")
ELEMENTWISE = ("gather_elements", "scatter_elements")


@dataclass(frozen=True)
class Values:
    """Inputs of a node by role. What is unknown is missing in ``arrays``, and None in ``types`` and ``shapes``."""

    row: OpVersion
    attributes: dict[str, Any]
    reduction: str | None
    arrays: dict[str, np.ndarray]
    types: dict[str, str | None]
    shapes: dict[str, Dims]
    sizes: frozenset[str] = frozenset()  # roles of what is known to be sizes of arrays
    constants: frozenset[str] = frozenset()  # roles of constants of the model

    @cached_property
    def axis(self) -> int | None:
        """The axis counted from the front, where there is one and it is known."""
        rank = self.rank
        given = self.arrays.get("axis", self.attributes.get("axis"))
        if rank is None or given is None or np.size(given) != 1:
            return None
        axis = int(np.reshape(given, ()))
        return axis % rank if -rank <= axis < rank else None

    @property
    def rank(self) -> int | None:
        shape = self.shapes.get(self.row.inputs[0].name)
        return None if shape is None else len(shape)

    @cached_property
    def k(self) -> int | None:
        """The length of index tuples; None where unknown, and for operators without tuples."""
        shape = self.shapes.get("indices")
        return shape[-1] if self.row.kernel in BY_TUPLE and shape else None

    @cached_property
    def indexed_sizes(self) -> list[int | None] | None:
        """The sizes of the axes that the columns of the indices go into; None where it isn't known which."""
        shape = self.shapes.get(self.row.inputs[0].name)
        if shape is None:
            return None
        if self.row.kernel in BY_TUPLE:
            batch = self.attributes.get("batch_dims", 0)
            return None if self.k is None else list(shape[batch : batch + self.k])
        if self.row.kernel == "gather_tree":
            return list(shape[2:3])
        if self.row.kernel == "tensor_scatter":
            return [self._cache_positions(shape)]
        return None if self.axis is None else [shape[self.axis]]

    def _cache_positions(self, shape: tuple[int | None, ...]) -> int | None:
        """How many places there are where an update of a cache can begin."""
        update = self.shapes.get("update")
        if self.axis is None or update is None:
            return None
        length, new = shape[self.axis], update[self.axis]
        return None if length is None or new is None else length - new + 1

    @cached_property
    def indices(self) -> np.ndarray | None:
        """The index values; None where unknown, where there are none, and where they are no whole numbers."""
        if self.attributes.get("mode") == "circular":
            return None
        found = next((self.arrays[role] for role in INDEX_ROLES if role in self.arrays), None)
        if found is None or found.dtype.kind in "iu":
            return found
        # A GatherTree may have its parents as floats.
        return found.astype(np.int64) if found.dtype.kind == "f" and np.all(np.abs(found) < 2**53) else None

    @cached_property
    def columns(self) -> np.ndarray | None:
        """The index values as (count, columns)."""
        indices = self.indices
        if indices is None or (self.row.kernel in BY_TUPLE and indices.ndim == 0):
            return None
        if self.row.kernel not in BY_TUPLE:
            return indices.reshape(-1, 1)
        return indices.reshape(math.prod(indices.shape[:-1]), indices.shape[-1])

    @cached_property
    def count(self) -> int | None:
        """How many index tuples there are."""
        if self.columns is not None:
            return len(self.columns)
        shape = self.shapes.get("indices")
        if shape is None:
            return None
        dims = shape[:-1] if self.row.kernel in BY_TUPLE else shape
        return None if None in dims else math.prod(dim for dim in dims if dim is not None)

    @cached_property
    def targets(self) -> np.ndarray | None:
        """A number for the place in data that each tuple of a scatter names; bad indices are left out.

        None where it is unknown: a negative index names a place only where the size is known.
        """
        columns, sizes = self.columns, self.indexed_sizes
        if columns is None or sizes is None or len(sizes) != columns.shape[1]:
            return None
        known: list[int] = []
        for column, size in zip(columns.T, sizes, strict=True):
            if size is None and len(column) and column.min() < 0:
                return None
            known.append(int(column.max(initial=0)) + 1 if size is None else size)
        numbers, good = np.zeros(len(columns), np.int64), np.ones(len(columns), bool)
        for column, size in zip(columns.T, known, strict=True):
            wide = column.astype(np.int64)
            good &= (wide >= -size) & (wide < size)
            numbers = numbers * size + np.where(wide < 0, wide + size, wide)
        if self.row.kernel in ELEMENTWISE:
            numbers = numbers * self._lanes + self._lane
        return numbers[good]

    @property
    def _lanes(self) -> int:
        return math.prod(size for axis, size in enumerate(self.arrays["indices"].shape) if axis != self.axis)

    @property
    def _lane(self) -> np.ndarray:
        """Which line along the axis each element of the indices is in."""
        shape = self.arrays["indices"].shape
        assert self.axis is not None
        off = [1 if axis == self.axis else size for axis, size in enumerate(shape)]
        return np.broadcast_to(np.arange(self._lanes).reshape(off), shape).ravel()


def before_running(site: Site) -> Values:
    """What the file tells."""
    operands = [operand for operand in site.operands if operand is not None]
    return Values(
        site.row,
        site.attributes,
        site.reduction,
        {operand.role: operand.constant() for operand in operands if operand.constant is not None},
        {operand.role: operand.element_type for operand in operands},
        {operand.role: operand.shape for operand in operands},
        frozenset(operand.role for operand in operands if operand.is_size),
        _constants(site),
    )


def on_arrival(site: Site, inputs: tuple[Any, ...], attributes: dict[str, Any]) -> Values:
    """What reached the node."""
    arrays = {
        known.name: np.asarray(value)
        for known, value in zip(site.row.inputs, inputs, strict=False)
        if value is not None
    }
    reduction = attributes.get("reduction", site.reduction)
    if site.row.domain == "openvino" or reduction is None:
        reduction = site.reduction
    return Values(
        site.row,
        site.attributes | attributes,
        reduction,
        arrays,
        {role: element_type(array.dtype) for role, array in arrays.items()},
        {role: array.shape for role, array in arrays.items()},
        constants=_constants(site),
    )


def _constants(site: Site) -> frozenset[str]:
    return frozenset(operand.role for operand in site.operands if operand is not None and operand.constant is not None)
