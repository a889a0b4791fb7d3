"""A node of a model: the facts about its inputs in the file, and the values of its inputs in a run."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from gatherscatter.arrays.convert import element_type, number_elements, number_tuples
from gatherscatter.operation import Kernel
from gatherscatter.specs.calls import GENERIC_REDUCTIONS
from gatherscatter.specs.table import OpVersion, gather_axis_name

BY_TUPLE = ("gather_nd", "scatter_nd")
Count = int | None
Dims = tuple[int | None, ...] | None
INDEX_ROLES = ("indices", "write_indices", "parent_ids")
ELEMENTWISE = ("gather_elements", "scatter_elements")


Key = tuple[Any, ...]


@dataclass(frozen=True)
class Operand:
    """An input of a node.

    Attributes
    ----------
    role : its name in the specification: "data", "indices", "updates", "axis", ...
    tensor : its name in the graph
    element_type : None if unknown
    shape : an unknown size is None. If the rank is unknown, the shape is None
    constant : returns the value; None if the value is computed at run time
    is_size : whether all elements are known to be sizes of arrays. They are then small and not negative
    """

    role: str
    tensor: str
    element_type: str | None = None
    shape: Dims = None
    constant: Callable[[], np.ndarray] | None = field(default=None, repr=False, compare=False)
    is_size: bool = False


@dataclass(frozen=True)
class Site:
    """One node.

    ``key`` identifies the node within the model, ``label`` names it in messages, and ``graph`` its graph. An
    attribute that a function takes from its caller is missing in ``attributes``.
    """

    key: Key
    name: str
    label: str
    graph: str
    row: OpVersion
    operands: tuple[Operand | None, ...]
    attributes: dict[str, Any]

    @property
    def reduction(self) -> str | None:
        """In the names of this package; None where it is not known before the model runs."""
        if all(known.name != "reduction" for known in self.row.attributes):
            return self.row.reduction or "none"
        value = self.attributes.get("reduction")
        return None if value is None else GENERIC_REDUCTIONS.get(value, value)

    def operand(self, role: str) -> Operand | None:
        """The input of that role; None if it is omitted, or the operator has none."""
        return next((each for each in self.operands if each is not None and each.role == role), None)


# Called with the key of a node, its version, its inputs and its attributes, before it runs.
Observer = Callable[[Key, OpVersion, tuple[Any, ...], dict[str, Any]], None]


@dataclass(frozen=True)
class NodeValues:
    """The inputs of a node, by role. Unknown values are missing in ``arrays``. Unknown types and shapes are None."""

    row: OpVersion
    attributes: dict[str, Any]
    reduction: str | None
    arrays: Mapping[str, np.ndarray]
    types: dict[str, str | None]
    shapes: dict[str, Dims]
    sizes: frozenset[str] = frozenset()  # roles of what is known to be sizes of arrays
    constants: frozenset[str] = frozenset()  # roles of constants of the model

    @cached_property
    def axis(self) -> int | None:
        """The axis counted from the front, where there is one and it is known."""
        name = gather_axis_name(self.row)
        return self._normalise(self.arrays.get(name, self.attributes.get(name)))

    @cached_property
    def quantize_axis(self) -> int | None:
        """The axis of the blocks of a quantized table, counted from the front; None if it is unknown."""
        return self._normalise(self.attributes.get("quantize_axis"))

    def _normalise(self, given: Any) -> int | None:
        rank = self.rank
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
        """The sizes of the axes that the columns of the indices index. None if it is unknown which axes these are."""
        shape = self.shapes.get(self.row.inputs[0].name)
        if shape is None:
            return None
        if self.row.kernel in BY_TUPLE:
            batch = self.attributes.get("batch_dims", 0)
            return None if self.k is None else list(shape[batch : batch + self.k])
        if self.row.kernel == Kernel.GATHER_TREE:
            return list(shape[2:3])
        if self.row.kernel == Kernel.GATHER_REDUCE:
            return list(shape[:1])
        if self.row.kernel == Kernel.TENSOR_SCATTER:
            return [self._cache_positions(shape)]
        return None if self.axis is None else [shape[self.axis]]

    def _cache_positions(self, shape: tuple[int | None, ...]) -> int | None:
        """The number of positions where an update of a cache can begin. None if it is unknown or not limited."""
        update = self.shapes.get("update")
        if self.axis is None or update is None or self.is_circular:
            return None
        length, new = shape[self.axis], update[self.axis]
        return None if length is None or new is None else length - new + 1

    @property
    def is_circular(self) -> bool:
        """Whether positions are taken modulo the length of a cache."""
        return self.attributes.get("mode") == "circular"

    @cached_property
    def indices(self) -> np.ndarray | None:
        """The index values. None if they are unknown or not whole numbers, or if the operator has no indices."""
        found = next((self.arrays[role] for role in INDEX_ROLES if role in self.arrays), None)
        if found is None or found.dtype.kind in "iu":
            return found
        # A GatherTree may have its parents as floats. A float16 can't be compared with a limit that it doesn't hold.
        is_whole = found.dtype.kind == "f" and np.all(np.abs(found.astype(np.float64)) < 2**53)
        return found.astype(np.int64) if is_whole else None

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

    @property
    def elements(self) -> int | None:
        """How many elements the updates of a scatter or the indices of a gather have; None where unknown."""
        shape = self.shapes.get("updates" if self.row.kernel.is_scatter else "indices")
        return None if shape is None or None in shape else math.prod(dim for dim in shape if dim is not None)

    @property
    def slice_shape(self) -> Dims:
        """The dims of the slice of data that an index names, without those before the axis.

        None if they are unknown, and for GatherElements and the scatters of elements, which have no slices.
        """
        data = self.shapes.get("data")
        if data is None or self.indexed_sizes is None or self.row.kernel in ELEMENTWISE:
            return None
        end = self.attributes.get("batch_dims", 0) + (self.k or 0)
        if self.row.kernel == Kernel.SCATTER_UPDATE and self.axis is not None:
            return data[: self.axis] + data[self.axis + 1 :]
        return data[end if self.row.kernel in BY_TUPLE else (self.axis or 0) + 1 :]

    @cached_property
    def targets(self) -> np.ndarray | None:
        """The number of the element of data that each tuple of a scatter names, without bad indices.

        None if the numbers are unknown. The element of a negative index is unknown if the size of its axis is unknown.
        """
        columns, sizes = self.columns, self.indexed_sizes
        if columns is None or sizes is None or len(sizes) != columns.shape[1]:
            return None
        numbers = number_tuples(columns, sizes)
        if numbers is None:
            return None
        if self.row.kernel in ELEMENTWISE:
            assert self.axis is not None
            numbers = number_elements(numbers, self.arrays["indices"].shape, self.axis)
        return numbers[numbers >= 0]


class ConstantArrays(Mapping[str, np.ndarray]):
    """Constants by role, each read when it is first used: a table in a file may be large."""

    def __init__(self, loads: Mapping[str, Callable[[], np.ndarray]]) -> None:
        self._loads = loads
        self._arrays: dict[str, np.ndarray] = {}

    def __getitem__(self, role: str) -> np.ndarray:
        if role not in self._arrays:
            self._arrays[role] = self._loads[role]()
        return self._arrays[role]

    def __contains__(self, role: object) -> bool:
        return role in self._loads

    def __iter__(self) -> Iterator[str]:
        return iter(self._loads)

    def __len__(self) -> int:
        return len(self._loads)


def collect_static_values(site: Site) -> NodeValues:
    """Return the facts about a node that follow from the file."""
    operands = [operand for operand in site.operands if operand is not None]
    types = {operand.role: operand.element_type for operand in operands}
    of_data = [known.name for known in site.row.inputs if known.kind == "data" and known.name in types]
    shared = {types[role] for role in of_data} - {None}
    if len(shared) == 1:  # the specifications demand one type of data and updates
        types |= dict.fromkeys(of_data, *shared)
    return NodeValues(
        site.row,
        site.attributes,
        site.reduction,
        ConstantArrays({operand.role: operand.constant for operand in operands if operand.constant is not None}),
        types,
        {operand.role: operand.shape for operand in operands},
        frozenset(operand.role for operand in operands if operand.is_size),
        _constants(site),
    )


def collect_call_values(site: Site, inputs: tuple[Any, ...], attributes: dict[str, Any]) -> NodeValues:
    """Return the facts about a node in a run: the arrays that the node received."""
    arrays = {
        known.name: np.asarray(value)
        for known, value in zip(site.row.inputs, inputs, strict=False)
        if value is not None
    }
    reduction = attributes.get("reduction", site.reduction)
    if site.row.domain == "openvino" or reduction is None:
        reduction = site.reduction
    return NodeValues(
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
