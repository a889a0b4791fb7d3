"""Infer the shapes of a node's outputs, and the elements of small integer outputs, from the facts about its inputs.

`SHAPES` and `VALUES` have a rule for each supported operator. A rule reads a `Node` and never an array, so its cost
does not depend on the sizes that a model declares. A rule returns None for unknown facts. It raises `ValueError` if the
operator would refuse the inputs.

Source: the operators in the ONNX specification. ``onnx.shape_inference`` is not used, because it aborts the process on
some malformed models and allocates arrays of declared sizes.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gatherscatter.specs import table
from gatherscatter.specs.own_operators import DOMAIN, OWN_OPERATORS
from gatherscatter.specs.table import OpVersion, result_shape

Dim = int | str | None  # a size, the name of one, or unknown
Shape = tuple[Dim, ...] | None
Element = int | None
Values = tuple[Element, ...] | None  # in row-major order

MAX_RANK = 64  # of a NumPy array
MAX_VALUES = 64  # elements of a tensor whose values may be a shape or axes
MAX_DIMS = 1 << 20  # of all outputs of a node
_INT64 = range(-(2**63), 2**63)


class UnknownError(Exception):
    """A fact that a rule needs is not known."""


@dataclass(frozen=True)
class Node:
    """A node, for the rules. An omitted input has shape and values None, and False in ``present``."""

    op_type: str
    opset: int
    present: Sequence[bool]
    shapes: Sequence[Shape]
    values: Sequence[Values]
    attributes: Mapping[str, Any]  # a tensor is given by its Values
    unknown: frozenset[str]  # names of attributes with unknown values
    outputs: int

    def has(self, position: int) -> bool:
        """Whether the node has this input."""
        return position < len(self.present) and self.present[position]

    def shape(self, position: int) -> tuple[Dim, ...]:
        """Return the shape of an input."""
        shape = self.shapes[position] if self.has(position) else None
        if shape is None:
            raise UnknownError
        return shape

    def rank(self, position: int) -> int:
        return len(self.shape(position))

    def known(self, position: int) -> tuple[Element, ...]:
        """Return the elements of an input. Unknown ones are None."""
        values = self.values[position] if self.has(position) else None
        if values is None:
            raise UnknownError
        return values

    def integers(self, position: int) -> tuple[int, ...]:
        """Return the elements of an input, all of which must be known."""
        found = tuple(value for value in self.known(position) if value is not None)
        if len(found) < len(self.known(position)):
            raise UnknownError
        return found

    def element(self, position: int) -> Element:
        """Return the only element of an input."""
        values = self.values[position] if self.has(position) else None
        return values[0] if values is not None and len(values) == 1 else None

    def attribute(self, name: str, default: Any = None) -> Any:
        """Return an attribute of the node, which must have the type of ``default``."""
        if name in self.unknown:
            raise UnknownError
        value = self.attributes.get(name, default)
        if default is not None and type(value) is not type(default):
            raise ValueError(f"attribute {name!r} must be of type {type(default).__name__}")
        return value

    def given(self, position: int, name: str) -> tuple[int, ...] | None:
        """Return axes or similar numbers: an input in newer versions, an attribute in older ones; None if absent."""
        if self.has(position):
            return self.integers(position)
        value = self.attribute(name)
        return None if value is None else _integers(name, value)


Rule = Callable[[Node], list[Shape]]
ValueRule = Callable[[Node], Values]


def infer_shapes(node: Node) -> list[Shape]:
    """Return the shape of every output of a node; ValueError if the operator would refuse the inputs."""
    rule = SHAPES.get(node.op_type)
    try:
        found = [] if rule is None else rule(node)
    except (UnknownError, LookupError, ArithmeticError):  # LookupError: an input is missing
        found = []
    shapes = [*found[: node.outputs], *[None] * (node.outputs - len(found))]
    for shape in shapes:
        if shape is not None and any(isinstance(dim, int) and not 0 <= dim < 2**63 for dim in shape):
            raise ValueError(f"the shape of its output would be {list(shape)}")
    return [None if shape is None or len(shape) > MAX_RANK else shape for shape in shapes]


def infer_values(node: Node) -> Values:
    """Return the elements of the first output if it is a small tensor of integers; None if they are unknown."""
    rule = VALUES.get(node.op_type)
    if rule is None:
        return None
    try:
        values = rule(node)
    except (UnknownError, LookupError, TypeError, ValueError, ArithmeticError):  # TypeError: an input is missing
        return None
    if values is None or len(values) > MAX_VALUES:
        return None
    return tuple(value if value is not None and value in _INT64 else None for value in values)


# ------------------------------------------------------------------------------------------------------------- parts


def _integers(name: str, value: Any) -> tuple[int, ...]:
    values = value if isinstance(value, list | tuple) else [value]
    if not all(isinstance(each, int) for each in values):
        raise ValueError(f"attribute {name!r} must be integers")
    return tuple(values)


def _axis(axis: int, rank: int) -> int:
    if not -rank <= axis < rank:
        raise ValueError(f"axis {axis} is out of range for rank {rank}")
    return axis % rank


def _axes(axes: Sequence[int], rank: int) -> list[int]:
    found = [_axis(axis, rank) for axis in axes]
    if len(set(found)) < len(found):
        raise ValueError(f"axes {list(axes)} name an axis twice")
    return found


def _product(dims: Sequence[Dim]) -> Dim:
    if len(dims) == 1:
        return dims[0]
    if 0 in dims:
        return 0
    sizes = [dim for dim in dims if isinstance(dim, int)]
    return math.prod(sizes) if len(sizes) == len(dims) else None


def _require_equal(a: Dim, b: Dim, what: str) -> Dim:
    """Return the size of two axes whose sizes must be equal."""
    if isinstance(a, int) and isinstance(b, int) and a != b:
        raise ValueError(f"{what} of sizes {a} and {b} do not fit")
    return a if isinstance(a, int) or b is None else b


def broadcast(shapes: Sequence[tuple[Dim, ...]]) -> tuple[Dim, ...]:
    """Return the shape to which these shapes are broadcast.

    >>> broadcast([(3, 1), ("n",), (None, 2)])
    (3, 2)
    """
    shapes = _drop_repeated(shapes)
    rank = max(map(len, shapes), default=0)
    columns = zip(*[(1,) * (rank - len(shape)) + shape for shape in shapes], strict=True)
    return tuple(_broadcast_dim(column, shapes) for column in columns)


def _broadcast_dim(column: Sequence[Dim], shapes: Sequence[tuple[Dim, ...]]) -> Dim:
    dims = {dim for dim in column if dim != 1}
    sizes = [dim for dim in dims if isinstance(dim, int)]
    if len(sizes) > 1:
        raise ValueError(f"shapes {', '.join(str(list(shape)) for shape in shapes)} can't be broadcast")
    if sizes:
        return sizes[0]
    return dims.pop() if len(dims) == 1 else (None if dims else 1)


# ------------------------------------------------------------------------------------------------------------ shapes


def _keep_shape(node: Node) -> list[Shape]:
    return [node.shape(0)]


def _keep_shape_twice(node: Node) -> list[Shape]:
    return [node.shape(0)] * 2


def _broadcast(node: Node) -> list[Shape]:
    if node.opset < 7:
        return [node.shape(0)]  # in this version, the second input is broadcast to the first
    return [broadcast([node.shape(position) for position in range(len(node.shapes))])]


def _scalar(node: Node) -> list[Shape]:
    return [()]


def _quantized(node: Node) -> list[Shape]:
    return [node.shape(0), (), ()]


def _shape(node: Node) -> list[Shape]:
    return [(len(_shape_values(node)),)]


def _family(node: Node) -> list[Shape]:
    return _gather_or_scatter(node, table.find("onnx", node.op_type, node.opset))


def _own_operator(node: Node) -> list[Shape]:
    return _gather_or_scatter(node, OWN_OPERATORS[node.op_type.removeprefix(f"{DOMAIN}.")])


def _gather_or_scatter(node: Node, row: OpVersion) -> list[Shape]:
    numbers = {"axis": node.attribute("axis", 0), "batch_dims": node.attribute("batch_dims", 0)}
    made = result_shape(row, node.shapes, numbers, numbers["axis"])
    return [None if made is None else tuple(made)]


def _gather_reduce(node: Node) -> list[Shape]:
    """Infer a GatherReduce. Bags come from ``offsets``, ``segment_ids``, or the last dimension of the indices."""
    indices, offsets, segment_ids, init = 1, 2, 3, 5
    bags: tuple[Dim, ...]
    if node.has(segment_ids):
        count = node.attribute("num_segments", -1)
        bags = (node.shape(init)[0] if node.has(init) else count if count >= 0 else None,)
    elif node.has(offsets):
        bags = node.shape(offsets)
    else:
        bags = (*node.shape(indices)[:-1], *[1] * bool(node.attribute("keepdims", 0)))
    return [(*bags, *node.shape(0)[1:])]


def _reshape(node: Node) -> list[Shape]:
    whole = node.shapes[0]
    if node.has(1) and node.values[1] is None:
        return [_unknown_dims(node, 1)]
    wanted = node.known(1) if node.has(1) else node.given(1, "shape") or ()
    if len(wanted) > MAX_RANK:
        raise UnknownError
    dims: list[Dim] = []
    for position, size in enumerate(wanted):
        if size == 0 and not node.attribute("allowzero", 0):
            if whole is not None and position >= len(whole):
                raise ValueError(f"dim {position} is to stay, but the input has rank {len(whole)}")
            dims.append(None if whole is None else whole[position])
        else:
            dims.append(None if size is None or size == -1 else size)
    if wanted.count(-1) > 1:
        raise ValueError("the shape has more than one -1")
    elements = None if whole is None else _product(whole)
    if -1 in wanted and isinstance(elements, int):
        place = wanted.index(-1)
        others = _product([1, *dims[:place], *dims[place + 1 :]])
        if isinstance(others, int) and others > 0:
            if elements % others:
                raise ValueError(f"{elements} elements can't be reshaped to {list(wanted)}")
            dims[place] = elements // others
    made = _product([1, *dims])
    if isinstance(elements, int) and isinstance(made, int) and elements != made:
        raise ValueError(f"{elements} elements can't be reshaped to {list(wanted)}")
    return [tuple(dims)]


def _transpose(node: Node) -> list[Shape]:
    shape = node.shape(0)
    perm = node.given(1, "perm")
    order = range(len(shape))[::-1] if perm is None else perm
    if sorted(order) != list(range(len(shape))):
        raise ValueError(f"perm {list(order)} does not fit rank {len(shape)}")
    return [tuple(shape[axis] for axis in order)]


def _squeeze(node: Node) -> list[Shape]:
    shape = node.shape(0)
    given = node.given(1, "axes")
    if given is None:
        if any(not isinstance(dim, int) for dim in shape):
            raise UnknownError
        return [tuple(dim for dim in shape if dim != 1)]
    axes = _axes(given, len(shape))
    for axis in axes:
        _require_equal(shape[axis], 1, f"axis {axis} and what can be squeezed")
    return [tuple(dim for axis, dim in enumerate(shape) if axis not in axes)]


def _unsqueeze(node: Node) -> list[Shape]:
    shape = node.shape(0)
    given = node.given(1, "axes") or ()
    axes = set(_axes(given, len(shape) + len(given)))
    rest = iter(shape)
    return [tuple(1 if axis in axes else next(rest) for axis in range(len(shape) + len(given)))]


def _concat(node: Node) -> list[Shape]:
    shapes = [node.shape(position) for position in range(len(node.shapes))]
    rank = len(shapes[0])
    if any(len(shape) != rank for shape in shapes):
        raise ValueError("ranks differ")
    joined = _axis(node.attribute("axis", 1) if node.opset < 4 else node.attribute("axis", 0), rank)
    dims: list[Dim] = list(shapes[0])
    for shape in _drop_repeated(shapes):
        for axis in range(rank):
            dims[axis] = _require_equal(dims[axis], shape[axis], f"axis {axis}") if axis != joined else None
    sizes = [size for shape in shapes if isinstance(size := shape[joined], int)]
    dims[joined] = sum(sizes) if len(sizes) == len(shapes) else None
    return [tuple(dims)]


def _drop_repeated(shapes: Sequence[tuple[Dim, ...]]) -> list[tuple[Dim, ...]]:
    """Return the shapes, each object once, because a node may read the same value many times."""
    return list({id(shape): shape for shape in shapes}.values())


def _sum(a: Dim, b: Dim) -> Dim:
    return a + b if isinstance(a, int) and isinstance(b, int) else None


def _split(node: Node) -> list[Shape]:
    shape = node.shape(0)
    axis = _axis(node.attribute("axis", 0), len(shape))
    size = shape[axis]
    parts: list[Dim]
    try:
        lengths = node.given(1, "split")
    except UnknownError:
        parts = [None] * node.outputs
    else:
        count = node.attribute("num_outputs", node.outputs)
        if lengths is None and count != node.outputs:
            raise ValueError(f"num_outputs is {count}, but the node has {node.outputs} outputs")
        if lengths is not None and len(lengths) != node.outputs:
            raise ValueError(f"split has {len(lengths)} lengths, but the node has {node.outputs} outputs")
        if lengths is not None:
            parts = list(lengths)
            if isinstance(size, int) and sum(lengths) != size:
                raise ValueError(f"lengths {list(lengths)} do not add up to {size}")
        elif not isinstance(size, int) or (size % count and node.opset < 18):
            parts = [None] * count
        else:
            each = -(-size // count)
            last = size - each * (count - 1)
            # The specification has no rule for a negative size of the last part.
            parts = [*[each] * (count - 1), last] if last >= 0 else [None] * count
    if len(parts) * len(shape) > MAX_DIMS:
        raise UnknownError
    return [(*shape[:axis], part, *shape[axis + 1 :]) for part in parts]


def _slice(node: Node) -> list[Shape]:
    shape = node.shape(0)
    try:
        bounds = _slices(node, shape)
    except UnknownError:
        return [_slice_axes_known(node, shape)]
    dims = list(shape)
    for axis, start, end, step in bounds:
        size = shape[axis]
        dims[axis] = len(range(size)[_clamp_slice(start, end, step, size)]) if isinstance(size, int) else None
        if (start, step) == (0, 1) and end == _INT64[-1]:
            dims[axis] = size
    return [tuple(dims)]


def _slice_axes_known(node: Node, shape: tuple[Dim, ...]) -> Shape:
    """Return the shape of a Slice with unknown bounds: the known sizes of axes that are not sliced stay."""
    try:
        axes = node.given(3, "axes")
    except UnknownError:
        axes = None
    sliced = set(range(len(shape)) if axes is None else _axes(axes, len(shape)))
    return tuple(None if axis in sliced else dim for axis, dim in enumerate(shape))


def _slices(node: Node, shape: tuple[Dim, ...]) -> list[tuple[int, int, int, int]]:
    starts, ends = node.given(1, "starts") or (), node.given(2, "ends") or ()
    named, steps = node.given(3, "axes"), node.given(4, "steps") or (1,) * len(starts)
    axes = _axes(range(len(starts)) if named is None else named, len(shape))
    if not len(starts) == len(ends) == len(axes) == len(steps) or 0 in steps:
        raise ValueError(f"starts {starts}, ends {ends}, axes {axes} and steps {steps} do not fit")
    return list(zip(axes, starts, ends, steps, strict=True))


def _clamp_slice(start: int, end: int, step: int, size: int) -> slice:
    """Clamp a slice as the specification says: add the size to negative positions once, then clamp all to the axis."""
    start += size if start < 0 else 0
    end += size if end < 0 else 0
    if step > 0:
        return slice(min(max(start, 0), size), min(max(end, 0), size), step)
    if start < 0 and size:
        raise UnknownError  # implementations differ
    start, end = min(start, size - 1), min(max(end, -1), size - 1)
    return slice(start, None if end < 0 else end, step) if size else slice(0, 0)


def _expand(node: Node) -> list[Shape]:
    wanted = _unknown_dims(node, 1) if node.values[1] is None else _dims(node.known(1))
    return [broadcast([node.shape(0), wanted])]


def _unknown_dims(node: Node, position: int) -> tuple[Dim, ...]:
    """Return the shape that an input holds, if only the number of its dims is known."""
    lengths = node.shape(position)
    if len(lengths) != 1 or not isinstance(lengths[0], int) or lengths[0] > MAX_RANK:
        raise UnknownError
    return (None,) * lengths[0]


def _dims(values: Sequence[Element]) -> tuple[Dim, ...]:
    """Return the elements of a shape as dims."""
    if any(value is not None and value < 0 for value in values):
        raise ValueError(f"shape {list(values)} has a negative size")
    return tuple(values)


def _constant_of_shape(node: Node) -> list[Shape]:
    return [_unknown_dims(node, 0) if node.values[0] is None else _dims(node.known(0))]


def _shape_attribute(node: Node) -> list[Shape]:
    return [_integers("shape", node.attribute("shape", []))]


def _tile(node: Node) -> list[Shape]:
    shape = node.shape(0)
    if node.opset < 6 or node.values[1] is None:
        return [(None,) * len(shape)]
    repeats = node.known(1)
    if len(repeats) != len(shape):
        raise ValueError(f"{len(repeats)} repeats do not fit rank {len(shape)}")
    return [
        tuple(dim if count == 1 else _product((dim, count)) for dim, count in zip(shape, _dims(repeats), strict=True))
    ]


def _flatten(node: Node) -> list[Shape]:
    shape = node.shape(0)
    axis = node.attribute("axis", 1)
    if not -len(shape) <= axis <= len(shape):
        raise ValueError(f"axis {axis} is out of range for rank {len(shape)}")
    axis += len(shape) if axis < 0 else 0
    return [(_product([1, *shape[:axis]]), _product([1, *shape[axis:]]))]


def _range(node: Node) -> list[Shape]:
    try:
        (start,), (limit,), (delta,) = (node.integers(position) for position in range(3))
    except (UnknownError, ValueError):
        return [(None,)]
    if delta == 0:
        raise ValueError("delta is 0")
    return [(len(range(start, limit, delta)),)]


def _one_hot(node: Node) -> list[Shape]:
    shape = node.shape(0)
    axis = _axis(node.attribute("axis", -1), len(shape) + 1)
    return [(*shape[:axis], node.element(1), *shape[axis:])]


def _top_k(node: Node) -> list[Shape]:
    shape = node.shape(0)
    axis = _axis(node.attribute("axis", -1), len(shape))
    count = node.attribute("k", 0) if node.opset < 10 else node.element(1)
    return [(*shape[:axis], count, *shape[axis + 1 :])] * 2


def _arg(node: Node) -> list[Shape]:
    shape = node.shape(0)
    axis = _axis(node.attribute("axis", 0), len(shape))
    return [(*shape[:axis], *((1,) if node.attribute("keepdims", 1) else ()), *shape[axis + 1 :])]


def _reduce(node: Node) -> list[Shape]:
    shape, keep = node.shape(0), node.attribute("keepdims", 1)
    try:
        axes = node.given(1, "axes")
    except UnknownError:
        if keep:
            return [(None,) * len(shape)]
        raise
    if not axes:
        if axes is not None and not node.has(1):
            raise UnknownError  # implementations differ on an attribute without axes
        if node.attribute("noop_with_empty_axes", 0):
            return [shape]
        axes = None
    reduced = set(range(len(shape)) if axes is None else _axes(axes, len(shape)))
    return [tuple(1 if axis in reduced else dim for axis, dim in enumerate(shape) if keep or axis not in reduced)]


def _matmul_of(first: int, second: int) -> Rule:
    def rule(node: Node) -> list[Shape]:
        a, b = node.shape(first), node.shape(second)
        if not a or not b:
            raise ValueError("MatMul takes no scalars")
        rows, columns = a[-2:-1], b[-1:] if len(b) > 1 else ()
        _require_equal(a[-1], b[-2] if len(b) > 1 else b[0], "the axes that are summed")
        return [(*broadcast([a[:-2], b[:-2]]), *rows, *columns)]

    return rule


def _gemm(node: Node) -> list[Shape]:
    a, b = node.shape(0), node.shape(1)
    if len(a) != 2 or len(b) != 2:
        raise ValueError(f"Gemm takes matrices, not ranks {len(a)} and {len(b)}")
    a = a[::-1] if node.attribute("transA", 0) else a
    b = b[::-1] if node.attribute("transB", 0) else b
    _require_equal(a[1], b[0], "the axes that are summed")
    return [(a[0], b[1])]


def _einsum(node: Node) -> list[Shape]:
    equation = node.attribute("equation", b"")
    inputs, arrow, output = equation.decode("ascii", "replace").replace(" ", "").partition("->")
    terms = inputs.split(",")
    if not arrow or "." in equation.decode("ascii", "replace") or len(terms) != len(node.shapes):
        raise UnknownError
    sizes: dict[str, Dim] = {}
    for position, term in enumerate(terms):
        shape = node.shape(position)
        if len(term) != len(shape):
            raise ValueError(f"term {term!r} does not fit rank {len(shape)}")
        for letter, dim in zip(term, shape, strict=True):
            sizes[letter] = _require_equal(sizes.get(letter), dim, f"axes {letter!r}")
    return [tuple(sizes.get(letter) for letter in output)]


def _pad(node: Node) -> list[Shape]:
    shape = node.shape(0)
    try:
        pads = node.given(1, "paddings" if node.opset < 2 else "pads") or ()
        axes = _axes(node.integers(3) if node.has(3) else range(len(shape)), len(shape))
    except UnknownError:
        return [(None,) * len(shape)]
    if len(pads) != 2 * len(axes):
        raise ValueError(f"{len(pads)} pads do not fit {len(axes)} axes")
    dims = list(shape)
    for number, axis in enumerate(axes):
        added = pads[number] + pads[number + len(axes)]
        dims[axis] = _sum(dims[axis], added) if added else dims[axis]
    return [tuple(dims)]


def _non_zero(node: Node) -> list[Shape]:
    # ONNX Runtime treats a scalar as a tensor with one axis; other runtimes do not.
    return [(node.rank(0) or None, None)]


def _unique(node: Node) -> list[Shape]:
    lines: list[Shape] = [(None,)] * 3
    if node.attribute("axis") is None and "axis" not in node.attributes:
        return [(None,), *lines]
    shape = node.shape(0)
    axis = _axis(node.attribute("axis", 0), len(shape))
    return [(*shape[:axis], None, *shape[axis + 1 :]), *lines]


def _compress(node: Node) -> list[Shape]:
    if "axis" not in node.attributes and "axis" not in node.unknown:
        return [(None,)]
    shape = node.shape(0)
    axis = _axis(node.attribute("axis", 0), len(shape))
    return [(*shape[:axis], None, *shape[axis + 1 :])]


def _depth_to_space(node: Node) -> list[Shape]:
    n, c, h, w = _images(node)
    block = node.attribute("blocksize", 1)
    return [(n, _divide_dim(c, block * block), _product((h, block)), _product((w, block)))]


def _space_to_depth(node: Node) -> list[Shape]:
    n, c, h, w = _images(node)
    block = node.attribute("blocksize", 1)
    return [(n, _product((c, block, block)), _divide_dim(h, block), _divide_dim(w, block))]


def _images(node: Node) -> tuple[Dim, ...]:
    if node.rank(0) != 4 or node.attribute("blocksize", 1) < 1:
        raise ValueError("it needs images (N, C, H, W) and a positive blocksize")
    return node.shape(0)


def _divide_dim(dim: Dim, by: int) -> Dim:
    return dim // by if isinstance(dim, int) else None


def _global_pool(node: Node) -> list[Shape]:
    shape = node.shape(0)
    return [(*shape[:2], *[1] * (len(shape) - 2))]


def _pool(node: Node) -> list[Shape]:
    shape = node.shape(0)
    kernel = _integers("kernel_shape", node.attribute("kernel_shape", []))
    return [(*shape[:2], *_windows(node, shape[2:], kernel))] * 2


def _conv_of(data: int, weight: int) -> Rule:
    def rule(node: Node) -> list[Shape]:
        shape, weights = node.shape(data), node.shape(weight)
        if len(shape) != len(weights) or len(shape) < 3:
            raise ValueError(f"data of rank {len(shape)} and weights of rank {len(weights)} do not fit")
        return [(shape[0], weights[0], *_windows(node, shape[2:], weights[2:]))]

    return rule


def _windows(node: Node, dims: Sequence[Dim], kernel: Sequence[Dim]) -> list[Dim]:
    """Return the number of windows along each axis of a convolution or pooling."""
    rank, auto = len(dims), node.attribute("auto_pad", b"NOTSET")
    strides = _per_axis(node, "strides", rank, 1)
    dilations = _per_axis(node, "dilations", rank, 1)
    pads = _per_axis(node, "pads", 2 * rank, 0)
    if len(kernel) != rank or 0 in strides:
        raise ValueError(f"a kernel of shape {list(kernel)} does not fit {rank} axes")
    windows: list[Dim] = []
    for axis, (dim, size, stride) in enumerate(zip(dims, kernel, strides, strict=True)):
        if not isinstance(dim, int) or not isinstance(size, int):
            windows.append(None)
        elif auto in (b"SAME_UPPER", b"SAME_LOWER"):
            windows.append(-(-dim // stride))
        else:
            padding = 0 if auto == b"VALID" else pads[axis] + pads[axis + rank]
            room = dim + padding - (size - 1) * dilations[axis] - 1
            # Specifications and implementations differ on windows that begin in the padding.
            up = node.attribute("ceil_mode", 0) and room % stride
            windows.append(None if up or room < 0 else room // stride + 1)
    return windows


def _per_axis(node: Node, name: str, length: int, default: int) -> tuple[int, ...]:
    values = _integers(name, node.attribute(name) or [default] * length)
    if len(values) != length:
        raise ValueError(f"{name} {list(values)} must have {length} elements")
    return values


def _conv_transpose(node: Node) -> list[Shape]:
    shape, weights = node.shape(0), node.shape(1)
    rank = len(shape) - 2
    if len(weights) != len(shape) or rank < 1:
        raise ValueError(f"data of rank {len(shape)} and weights of rank {len(weights)} do not fit")
    channels = _product((weights[1], node.attribute("group", 1)))
    given = node.attribute("output_shape")
    if given:
        return [(shape[0], channels, *_integers("output_shape", given)[-rank:])]
    if node.attribute("auto_pad", b"NOTSET") not in (b"NOTSET", b"VALID"):
        return [(shape[0], channels, *[None] * rank)]
    strides, dilations = _per_axis(node, "strides", rank, 1), _per_axis(node, "dilations", rank, 1)
    pads, extra = _per_axis(node, "pads", 2 * rank, 0), _per_axis(node, "output_padding", rank, 0)
    dims: list[Dim] = []
    for axis, (dim, size) in enumerate(zip(shape[2:], weights[2:], strict=True)):
        if isinstance(dim, int) and isinstance(size, int):
            reach = strides[axis] * (dim - 1) + (size - 1) * dilations[axis] + 1
            dims.append(reach + extra[axis] - pads[axis] - pads[axis + rank])
        else:
            dims.append(None)
    return [(shape[0], channels, *dims)]


def _resize(node: Node) -> list[Shape]:
    shape = node.shape(0)
    if node.has(3) and node.values[3] is not None and node.attribute("axes") is None:
        sizes = _dims(node.known(3))
        policy = node.attribute("keep_aspect_ratio_policy", b"stretch")
        if len(sizes) == len(shape) and policy == b"stretch":
            return [sizes]
    return [(None,) * len(shape)]


def _recurrent(node: Node) -> list[Shape]:
    x, recurrence = node.shape(0), node.shapes[2]
    if len(x) != 3:
        raise ValueError(f"its input must have rank 3, not {len(x)}")
    hidden: Dim = node.attribute("hidden_size", 0) or None
    if hidden is None and recurrence is not None and len(recurrence) == 3:
        hidden = recurrence[2]
    ways = 2 if node.attribute("direction", b"forward") == b"bidirectional" else 1
    if node.attribute("layout", 0):
        batch, length = x[:2]
        return [(batch, length, ways, hidden), *[(batch, ways, hidden)] * 2]
    length, batch = x[:2]
    return [(length, ways, batch, hidden), *[(ways, batch, hidden)] * 2]


def _attention(node: Node) -> list[Shape]:
    query, value = node.shape(0), node.shape(2)
    if len(query) == 4 and len(value) == 4:
        return [(*query[:3], value[3])]
    heads, value_heads = node.attribute("q_num_heads", 0), node.attribute("kv_num_heads", 0)
    if len(query) != 3 or len(value) != 3 or heads < 1 or value_heads < 1:
        raise UnknownError
    return [(*query[:2], _product((heads, _divide_dim(value[2], value_heads))))]


def _grid_sample(node: Node) -> list[Shape]:
    return [(*node.shape(0)[:2], *node.shape(1)[1:-1])]


def _roi_align(node: Node) -> list[Shape]:
    regions, channels = node.shape(1)[0], node.shape(0)[1]
    return [(regions, channels, node.attribute("output_height", 1), node.attribute("output_width", 1))]


def _multinomial(node: Node) -> list[Shape]:
    return [(node.shape(0)[0], node.attribute("sample_size", 1))]


def _determinant(node: Node) -> list[Shape]:
    return [node.shape(0)[:-2]]


def _batch_normalization(node: Node) -> list[Shape]:
    return [node.shape(0), *node.shapes[3:5]]


# The shape of the first input.
_SAME = """
Abs Acos Acosh Asin Asinh Atan Atanh Bernoulli BitCast BitwiseNot Cast CastLike Ceil Celu Clip Cos Cosh CumProd CumSum
DequantizeLinear Elu Erf Exp EyeLike Floor Gelu GroupNormalization HardSigmoid HardSwish Hardmax Identity
InstanceNormalization IsInf IsNaN LRN LayerNormalization LeakyRelu Log LogSoftmax LpNormalization
MeanVarianceNormalization Mish Neg Not PRelu QuantizeLinear RMSNormalization RandomNormalLike RandomUniformLike
Reciprocal RegexFullMatch Relu ReverseSequence RotaryEmbedding Round Selu Shrink Sigmoid
Sign Sin Sinh Softmax Softplus Softsign Sqrt Swish Tan Tanh ThresholdedRelu Trilu
"""
_BROADCAST = """
Add And BitShift BitwiseAnd BitwiseOr BitwiseXor Div Equal Greater GreaterOrEqual Less LessOrEqual Max Mean Min Mod Mul
Or Pow StringConcat Sub Sum Where Xor
"""
_REDUCTIONS = ("L1", "L2", "LogSum", "LogSumExp", "Max", "Mean", "Min", "Prod", "Sum", "SumSquare")

SHAPES: dict[str, Rule] = {
    **dict.fromkeys(_SAME.split(), _keep_shape),
    **dict.fromkeys(_BROADCAST.split(), _broadcast),
    **{f"Reduce{name}": _reduce for name in _REDUCTIONS},
    **dict.fromkeys((row.op_type for row in table.ops() if row.domain == "onnx"), _family),
    **dict.fromkeys((row.name for row in OWN_OPERATORS.values()), _own_operator),
    OWN_OPERATORS["GatherReduce"].name: _gather_reduce,
    **dict.fromkeys(("GlobalAveragePool", "GlobalLpPool", "GlobalMaxPool"), _global_pool),
    **dict.fromkeys(("AveragePool", "LpPool", "MaxPool"), _pool),
    **dict.fromkeys(("GRU", "LSTM", "RNN"), _recurrent),
    **dict.fromkeys(("RandomNormal", "RandomUniform"), _shape_attribute),
    "ArgMax": _arg,
    "ArgMin": _arg,
    "Attention": _attention,
    "BatchNormalization": _batch_normalization,
    "Compress": _compress,
    "Concat": _concat,
    "ConstantOfShape": _constant_of_shape,
    "Conv": _conv_of(0, 1),
    "ConvInteger": _conv_of(0, 1),
    "ConvTranspose": _conv_transpose,
    "DepthToSpace": _depth_to_space,
    "Det": _determinant,
    "Dropout": _keep_shape_twice,
    "DynamicQuantizeLinear": _quantized,
    "Einsum": _einsum,
    "Expand": _expand,
    "Flatten": _flatten,
    "Gemm": _gemm,
    "GridSample": _grid_sample,
    "MatMul": _matmul_of(0, 1),
    "MatMulInteger": _matmul_of(0, 1),
    "Multinomial": _multinomial,
    "NonMaxSuppression": lambda node: [(None, 3)],
    "NonZero": _non_zero,
    "OneHot": _one_hot,
    "Pad": _pad,
    "QLinearConv": _conv_of(0, 3),
    "QLinearMatMul": _matmul_of(0, 3),
    "Range": _range,
    "Reshape": _reshape,
    "Resize": _resize,
    "RoiAlign": _roi_align,
    "SequenceLength": _scalar,
    "Shape": _shape,
    "Size": _scalar,
    "Slice": _slice,
    "SpaceToDepth": _space_to_depth,
    "Split": _split,
    "Squeeze": _squeeze,
    "Tile": _tile,
    "TopK": _top_k,
    "Transpose": _transpose,
    "Unique": _unique,
    "Unsqueeze": _unsqueeze,
}

# ------------------------------------------------------------------------------------------------------------ values


def _shape_values(node: Node) -> tuple[Element, ...]:
    start, end = node.attribute("start", 0), node.attribute("end")
    shape = node.shape(0)
    return tuple(dim if isinstance(dim, int) else None for dim in shape[slice(start, end)])


def _size_value(node: Node) -> Values:
    elements = _product([1, *node.shape(0)])
    return (elements if isinstance(elements, int) else None,)


def _copied_values(node: Node) -> Values:
    return node.known(0)


def _concat_values(node: Node) -> Values:
    parts = [node.known(position) for position in range(len(node.values))]
    if any(node.rank(position) != 1 for position in range(len(parts))) or sum(map(len, parts)) > MAX_VALUES:
        return None
    return tuple(value for part in parts for value in part)


def _gather_values(node: Node) -> Values:
    line = node.known(0)
    if node.rank(0) != 1:
        return None
    return tuple(None if index is None else line[_axis(index, len(line))] for index in node.known(1))


def _slice_values(node: Node) -> Values:
    line = node.known(0)
    if node.rank(0) != 1:
        return None
    for _, start, end, step in _slices(node, node.shape(0)):
        line = line[_clamp_slice(start, end, step, len(line))]
    return line


def _make_elementwise(function: Callable[..., Element]) -> ValueRule:
    """Return a rule for an element-wise operator on vectors of one length, or on scalars."""

    def rule(node: Node) -> Values:
        if len(node.values) > MAX_VALUES or any(node.rank(position) > 1 for position in range(len(node.values))):
            return None
        inputs = [node.known(position) for position in range(len(node.values))]
        (length,) = {len(values) for values in inputs if len(values) != 1} or {1}
        lines = [values * length if len(values) == 1 else values for values in inputs]
        return tuple(None if None in elements else function(*elements) for elements in zip(*lines, strict=True))

    return rule


def _where(condition: int, chosen: int, other: int) -> int:
    return chosen if condition else other


def _quotient(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)  # integers are rounded towards zero


def _full_values(node: Node) -> Values:
    shape = _constant_of_shape(node)[0]
    count = None if shape is None else _product([1, *shape])
    fill = node.attribute("value", (0,))
    return fill * count if isinstance(count, int) and count <= MAX_VALUES else None


def _range_values(node: Node) -> Values:
    (start,), (limit,), (delta,) = (node.integers(position) for position in range(3))
    steps = range(start, limit, delta)
    return tuple(steps) if len(steps) <= MAX_VALUES else None


def _product_value(node: Node) -> Values:
    if node.rank(0) != 1 or infer_shapes(node)[0] not in ((), (1,)):  # the axis may be kept, or not reduced
        return None
    return (math.prod(node.integers(0)),)


VALUES: dict[str, ValueRule] = {
    **dict.fromkeys(("Cast", "Identity", "Reshape", "Squeeze", "Unsqueeze", "Flatten"), _copied_values),
    "Abs": _make_elementwise(abs),
    "Add": _make_elementwise(operator.add),
    "Concat": _concat_values,
    "ConstantOfShape": _full_values,
    "Div": _make_elementwise(_quotient),
    "Equal": _make_elementwise(lambda a, b: int(a == b)),
    "Expand": lambda node: node.known(0) if infer_shapes(node)[0] == node.shape(0) else None,
    "Gather": _gather_values,
    "Max": _make_elementwise(max),
    "Min": _make_elementwise(min),
    "Mul": _make_elementwise(operator.mul),
    "Neg": _make_elementwise(operator.neg),
    "Range": _range_values,
    "ReduceProd": _product_value,
    "Shape": _shape_values,
    "Size": _size_value,
    "Slice": _slice_values,
    "Sub": _make_elementwise(operator.sub),
    "Where": _make_elementwise(_where),
}
