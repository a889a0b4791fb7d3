"""The description of a call, and the parameters of the public functions.

`Operation` is the record of a call. All layers use it: the core, the op versions and the adapters for other libraries.
`FUNCTIONS` is the table of the functions. ``tools/generate_source.py`` makes the signatures of all languages and
libraries from it. Therefore, this module uses only the standard library.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, StrEnum
from typing import Any, NamedTuple

from gatherscatter.messages.choices import ACCUMULATE, BAG_REDUCTIONS, MODES, NEGATIVE, REDUCTIONS


class Form(Enum):
    """The part of data that one index names, and how the shapes of a call follow from each other."""

    ROWS = "a slice of data along the axis"
    LANES = "a position along the axis; the position of the index names the rest"
    TUPLES = "the last dim of indices holds index tuples, which name elements or slices"
    BAGS = "a row of data that is a member of a bag"
    TREE = "the beam of the previous step"


class Kernel(StrEnum):
    """A kernel, by the name of its array function."""

    GATHER = "gather"
    GATHER_ELEMENTS = "gather_elements"
    GATHER_ND = "gather_nd"
    SCATTER_UPDATE = "scatter_update"
    SCATTER_ELEMENTS = "scatter_elements"
    SCATTER_ND = "scatter_nd"
    GATHER_REDUCE = "gather_reduce"
    GATHER_QUANTIZED = "gather_quantized"
    TENSOR_SCATTER = "tensor_scatter"
    GATHER_TREE = "gather_tree"

    __hash__ = str.__hash__  # that of Enum is a function of Python
    __repr__ = str.__repr__

    @property
    def form(self) -> Form:
        """The part of data that one index names."""
        return _FORMS[self]

    @property
    def is_scatter(self) -> bool:
        """Whether the kernel writes updates into data."""
        return self in _SCATTERS

    @property
    def counterpart(self) -> Kernel:
        """The scatter that writes where a gather reads, or the gather that reads where a scatter writes."""
        return _COUNTERPARTS[self]


GATHERS = (Kernel.GATHER, Kernel.GATHER_ELEMENTS, Kernel.GATHER_ND)
SCATTERS = (Kernel.SCATTER_UPDATE, Kernel.SCATTER_ELEMENTS, Kernel.SCATTER_ND)
BY_INDEX = (*GATHERS, *SCATTERS)
"""The kernels that move elements by index."""

_SCATTERS = frozenset((*SCATTERS, Kernel.TENSOR_SCATTER))
_FORMS = {
    Kernel.GATHER: Form.ROWS,
    Kernel.GATHER_ELEMENTS: Form.LANES,
    Kernel.GATHER_ND: Form.TUPLES,
    Kernel.SCATTER_UPDATE: Form.ROWS,
    Kernel.SCATTER_ELEMENTS: Form.LANES,
    Kernel.SCATTER_ND: Form.TUPLES,
    Kernel.GATHER_REDUCE: Form.BAGS,
    Kernel.GATHER_QUANTIZED: Form.ROWS,
    Kernel.TENSOR_SCATTER: Form.ROWS,
    Kernel.GATHER_TREE: Form.TREE,
}
_COUNTERPARTS = dict(zip(BY_INDEX, (*SCATTERS, *GATHERS), strict=True))


class Bags(NamedTuple):
    """The part of an `Operation` that defines bags.

    Attributes
    ----------
    num_segments : the number of bags that segment ids can name; None: the greatest id plus 1
    embedding_rules : whether bags follow the rules of OpenVINO's embedding operators. The first offset can then be
        greater than 0 (V26), and segment ids must be sorted (V28)
    """

    num_segments: int | None = None
    embedding_rules: bool = False


class TableLayout(NamedTuple):
    """The part of an `Operation` that describes a block-quantized table."""

    quantize_axis: int = -1
    block_size: int = 128
    bits: int = 4


class Operation(NamedTuple):
    """The description of a call. Values have the meaning of the parameters with their names.

    Attributes
    ----------
    op : the name of the function or op version in messages
    kernel : the kernel that moves the elements
    negative : "end": negative indices count from the end. "error": they are refused. "skip": they name no row
    bags : for `Kernel.GATHER_REDUCE`
    table : if data is a quantized table
    """

    op: str
    kernel: Kernel
    axis: int = 0
    batch_dims: int = 0
    mode: str = "raise"
    negative: str = "end"
    reduction: str = "none"
    include_self: bool = True
    accumulate: str = "step"
    num_threads: int | None = None
    bags: Bags | None = None
    table: TableLayout | None = None

    @property
    def skips(self) -> bool:
        """Whether indices can be skipped. A gather returns zeros for them."""
        return self.mode in _SKIPPING or self.negative == "skip"

    @property
    def refuses(self) -> bool:
        """Whether indices on axes with elements can be refused."""
        return self.mode == "raise" or self.negative == "error"

    @property
    def rule(self) -> tuple[str, str]:
        """The mode and the rule for negative indices, as the core names them: its mode "skip" is "fill" or "drop"."""
        return "skip" if self.mode in _SKIPPING else self.mode, self.negative

    def make_counterpart(self, **changes: Any) -> Operation:
        """Return the scatter that writes where this gather reads, or the gather that reads where this scatter writes.

        >>> Operation("gather", Kernel.GATHER, mode="fill").make_counterpart(reduction="add").mode
        'drop'
        """
        kernel = self.kernel.counterpart
        plain: dict[str, Any] = {"reduction": "none", "include_self": True, "accumulate": "step"}
        mode = _SKIPPING[kernel.is_scatter] if self.mode in _SKIPPING else self.mode
        return self._replace(kernel=kernel, mode=mode, **plain | changes)


_SKIPPING = (MODES[False][-1], MODES[True][-1])  # of gathers, of scatters


# ------------------------------------------------------------------------------------------- the public functions


class REQUIRED:
    """The default of a parameter or an attribute that must be given."""


class FunctionParameter(NamedTuple):
    """A parameter of an array function.

    Attributes
    ----------
    type : "array", "out" (an array for the result), "number", "int", "bool" or "str"
    default : `REQUIRED`, or the value of a parameter that is not given
    choices : the words that it accepts
    """

    name: str
    type: str
    default: Any = REQUIRED
    choices: tuple[str, ...] = ()


class FunctionSignature(NamedTuple):
    """The parameters of an array function: those that can be given by position, and those given by name only."""

    positional: tuple[FunctionParameter, ...]
    by_name: tuple[FunctionParameter, ...]

    @property
    def parameters(self) -> tuple[FunctionParameter, ...]:
        """All parameters, in their order."""
        return self.positional + self.by_name

    @property
    def inputs(self) -> tuple[str, ...]:
        """The names of the arrays that a call reads."""
        return tuple(each.name for each in self.parameters if each.type in ("array", "number"))


def _optional(name: str) -> FunctionParameter:
    return FunctionParameter(name, "array", None)


_DATA, _INDICES, _UPDATES = (FunctionParameter(name, "array") for name in ("data", "indices", "updates"))
_AXIS, _BATCH_DIMS = FunctionParameter("axis", "int", 0), FunctionParameter("batch_dims", "int", 0)
_ACCUMULATE = FunctionParameter("accumulate", "str", "step", ACCUMULATE)
_GATHER_MODE = FunctionParameter("mode", "str", "raise", MODES[False])
_SCATTER_MODE = FunctionParameter("mode", "str", "raise", MODES[True])
_NEGATIVE = FunctionParameter("negative", "str", "end", NEGATIVE)
_COMMON = (FunctionParameter("out", "out", None), FunctionParameter("num_threads", "int", None))
_OF_GATHERS = (_GATHER_MODE, _NEGATIVE, *_COMMON)
_OF_SCATTERS = (
    FunctionParameter("reduction", "str", "none", REDUCTIONS),
    FunctionParameter("include_self", "bool", True),
    _ACCUMULATE,
    _SCATTER_MODE,
    _NEGATIVE,
    *_COMMON,
)
_OF_BAGS = (
    *map(_optional, ("offsets", "segment_ids", "indptr")),
    FunctionParameter("num_segments", "int", None),
    _optional("weights"),
)
_OF_TABLES = (
    FunctionParameter("quantize_axis", "int", -1),
    FunctionParameter("block_size", "int", 128),
    FunctionParameter("bits", "int", 4),
)

FUNCTIONS = {
    Kernel.GATHER: FunctionSignature((_DATA, _INDICES, _AXIS), (_BATCH_DIMS, *_OF_GATHERS)),
    Kernel.GATHER_ELEMENTS: FunctionSignature((_DATA, _INDICES, _AXIS), _OF_GATHERS),
    Kernel.GATHER_ND: FunctionSignature((_DATA, _INDICES), (_BATCH_DIMS, *_OF_GATHERS)),
    Kernel.SCATTER_UPDATE: FunctionSignature((_DATA, _INDICES, _UPDATES, _AXIS), _OF_SCATTERS),
    Kernel.SCATTER_ELEMENTS: FunctionSignature((_DATA, _INDICES, _UPDATES, _AXIS), _OF_SCATTERS),
    Kernel.SCATTER_ND: FunctionSignature((_DATA, _INDICES, _UPDATES), _OF_SCATTERS),
    Kernel.GATHER_REDUCE: FunctionSignature(
        (_DATA, _optional("indices")),
        (
            *_OF_BAGS,
            *map(_optional, ("scales", "zero_points")),
            *_OF_TABLES,
            FunctionParameter("reduction", "str", "add", BAG_REDUCTIONS),
            FunctionParameter("default", "number", 0),
            _ACCUMULATE,
            *_OF_GATHERS,
        ),
    ),
    Kernel.GATHER_QUANTIZED: FunctionSignature(
        (_DATA, _INDICES, FunctionParameter("scales", "array"), _optional("zero_points")),
        (_AXIS, *_OF_TABLES, *_OF_GATHERS),
    ),
}
"""The array functions of the core."""


def make_operation(function: str, given: Mapping[str, Any], op: str = "") -> Operation:
    """Make the operation of a call of an array function from its arguments. Messages name ``op``.

    >>> make_operation("gather_reduce", {"num_segments": 3, "mode": "clip"}).bags
    Bags(num_segments=3, embedding_rules=False)
    """
    kernel = Kernel(function)
    known = {each.name: given.get(each.name, each.default) for each in FUNCTIONS[kernel].parameters}
    fields = {name: value for name, value in known.items() if name in Operation._fields}
    if "num_segments" in known:
        fields["bags"] = Bags(known["num_segments"])
    if "block_size" in known:
        fields["table"] = TableLayout(*(known[name] for name in TableLayout._fields))
    return Operation(op or str(kernel), kernel, **fields)
