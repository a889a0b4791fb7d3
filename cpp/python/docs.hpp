// Docstrings of the functions of the core. The first line is the signature that Python shows.
// Made by tools/generate_source.py from src/gatherscatter/_core.pyi.
#pragma once

// clang-format off
namespace gs::docs {

inline constexpr const char* gather =
    R"(gather($module, /, data, indices, axis=0, *, batch_dims=0, mode='raise', negative='end', out=None, num_threads=None)
--

Take whole slices of ``data`` along ``axis``.

``out[B + O + I] = data[B + O + (indices[B + I],)]``. B, O and I are tuples of positions: B in the batch dims, O in
the dims of ``data`` between the batch dims and the axis, and I in the remaining dims of ``indices``.

Parameters
----------
data : array of rank r >= 1, any element type
indices : array of any integer type, any shape; a scalar drops the axis
axis : int in [-r, r-1]
batch_dims : int
    The number of leading dims that ``data`` and ``indices`` share: entry i of ``indices`` reads only from
    ``data[i]``. It is at most ``axis``. A negative value counts from the rank of ``indices``.
mode : {'raise', 'wrap', 'clip', 'fill'}
    How to treat an index outside [-size, size-1], where size is that of the axis. 'raise': raise an error. 'fill':
    return zeros for it. 'wrap': take every index modulo the size. 'clip': move every index to the nearest of
    0..size-1. Negative indices count from the end, except with 'clip', which moves them to 0.
negative : {'end', 'error', 'skip'}
    How to treat a negative index. 'end': it counts from the end, as ``mode`` describes. 'error': raise an error.
    'skip': it names nothing, so the result is zeros there. ``mode`` then only treats indices that are too large.
out : array, optional
    The array to write the result to, of exactly its shape and type. It does not change if the call raises an error.
num_threads : int >= 1, optional
    The largest number of threads for this call; the default is `gatherscatter.num_threads()`. The result does not
    depend on it.

Returns
-------
array of data's type, shape ``data.shape[:axis] + indices.shape[batch_dims:] + data.shape[axis+1:]``

Raises
------
IndexError
    An index is out of range. The message names its position.
ValueError
    A shape, an axis or an option is not valid.
TypeError
    An element type or the type of an argument is not valid.

Sources: ONNX Gather-13; OpenVINO Gather-8.

>>> import numpy as np, gatherscatter as gs
>>> gs.gather(np.array([[1, 2], [3, 4], [5, 6]]), [2, 0, -1])
array([[5, 6],
       [1, 2],
       [5, 6]])

With ``batch_dims=1``, each row of ``indices`` picks from one row of ``data``:

>>> gs.gather(np.array([[10, 11, 12], [20, 21, 22]]), [[2, 0], [1, 1]], axis=1, batch_dims=1)
array([[12, 10],
       [21, 21]])
)";

inline constexpr const char* gather_elements =
    R"(gather_elements($module, /, data, indices, axis=0, *, mode='raise', negative='end', out=None, num_threads=None)
--

Take single elements: each index names its own position along ``axis``.

For axis 0 of a matrix, ``out[i][j] = data[indices[i][j]][j]``. Other axes and ranks work in the same way.

Parameters
----------
data : array of rank r >= 1, any element type
indices : array of rank r, any integer type
    It may have any length along the axis. Along the other axes, it must not be longer than ``data``.
axis : int in [-r, r-1]
mode, negative, out, num_threads : see `gather`

Returns
-------
array with the shape of ``indices`` and the type of ``data``

Raises
------
IndexError, ValueError, TypeError : see `gather`

Sources: ONNX GatherElements-13; OpenVINO GatherElements-6.

>>> import numpy as np, gatherscatter as gs
>>> gs.gather_elements(np.array([[1, 2], [3, 4]]), np.array([[0, 0], [1, 0]]), axis=1)
array([[1, 1],
       [4, 3]])
)";

inline constexpr const char* gather_nd =
    R"(gather_nd($module, /, data, indices, *, batch_dims=0, mode='raise', negative='end', out=None, num_threads=None)
--

Take elements or slices named by index tuples.

``out[B + J] = data[B + tuple(indices[B + J])]``. The last dim of ``indices`` holds the index tuples. B and J are
tuples of positions: B in the batch dims, and J in the dims of ``indices`` between the batch dims and the last dim.
An empty index tuple names all of ``data[B]``.

Parameters
----------
data : array of rank r >= 1, any element type
indices : array of rank >= 1, any integer type, shape (..., k) with k <= r - batch_dims
batch_dims : int in [0, min(r, indices.ndim) - 1]
    The number of leading dims that ``data`` and ``indices`` share: entry i of ``indices`` reads only from
    ``data[i]``.
mode, negative, out, num_threads : see `gather`

Returns
-------
array of data's type, shape ``indices.shape[:-1] + data.shape[batch_dims + k:]``

Raises
------
IndexError, ValueError, TypeError : see `gather`

Sources: ONNX GatherND-13; OpenVINO GatherND-8.

>>> import numpy as np, gatherscatter as gs
>>> gs.gather_nd(np.array([[1, 2], [3, 4]]), np.array([[0, 0], [1, 0]]))
array([1, 3])

With ``batch_dims=1``, entry i of ``indices`` reads only from ``data[i]``:

>>> gs.gather_nd(np.array([[10, 11, 12], [20, 21, 22]]), np.array([[2], [0]]), batch_dims=1)
array([12, 20])
)";

inline constexpr const char* scatter_update =
    R"(scatter_update($module, /, data, indices, updates, axis=0, *, reduction='none', include_self=True, accumulate='step', mode='raise', negative='end', out=None, num_threads=None)
--

Write whole slices along ``axis``: the reverse of `gather`.

For every index ``i = indices[I]``, in row-major order of the positions I:
``out[..., i, ...] = f(out[..., i, ...], updates[..., I, ...])``. ``reduction`` chooses f.

Parameters
----------
data : array of rank r >= 1, any element type; it does not change, except with ``out=data``
indices : array of any integer type, any shape
updates : array, shape exactly ``data.shape[:axis] + indices.shape + data.shape[axis+1:]``
axis : int in [-r, r-1]
reduction : {'none', 'add', 'sub', 'mul', 'min', 'max', 'mean'}
    How an element and its updates are combined. 'none': the last update in row-major order replaces the element.
    The other reductions combine all contributions in row-major order, and round to the element type after each.
    Integers wrap. 'mean' adds up all contributions and divides once. The mean of integers is exact, and then
    rounded down. 'min' and 'max' propagate NaN. For bool, 'add' is or, 'mul' is and, 'sub' is xor. For strings,
    'add' concatenates.
include_self : bool
    Whether the element of ``data`` is one of the contributions. Elements without updates keep their value in any
    case.
accumulate : {'step', 'wide', 'exact'}
    How 'add', 'sub' and 'mean' add up floats. 'step': in the element type, rounded after each contribution. 'wide':
    in a wider type, and the sum or mean is rounded once. The wider type is float32 for float16 and bfloat16,
    float64 for float32, and a pair of float64 for float64. 'mul' of float16 and bfloat16 is then computed in
    float32. 'exact': the sum or mean of the real numbers, rounded once to nearest even, for any order of the
    contributions. 'exact' is not defined for complex numbers, nor for 'mul' of floats. Integers are always exact,
    modulo 2^N.
mode : {'raise', 'wrap', 'clip', 'drop'}
    How to treat an index that is out of range: as in `gather`, or 'drop' to skip its update.
negative : {'end', 'error', 'skip'}
    How to treat a negative index: as in `gather`. 'skip' skips its update.
out : array, optional
    The array to write the result to, of the shape and type of ``data``. It does not change if the call raises an
    error. ``out=data`` updates ``data`` in place. If ``data`` is small compared with the indices, the result is
    first computed in a copy.
num_threads : int >= 1, optional
    The largest number of threads for this call; the default is `gatherscatter.num_threads()`. The result does not
    depend on it.

Returns
-------
array with the shape and type of ``data``

Raises
------
IndexError
    An index is out of range. The message names its position.
ValueError
    A shape, an axis or an option is not valid.
TypeError
    An element type or the type of an argument is not valid.

Sources: OpenVINO ScatterUpdate-3; for the reductions, ONNX ScatterND-18 and OpenVINO ScatterElementsUpdate-12.

>>> import numpy as np, gatherscatter as gs
>>> gs.scatter_update(np.zeros(4), [3, 1, 3], np.array([1.0, 2.0, 4.0]), reduction="add")
array([0., 2., 0., 5.])
)";

inline constexpr const char* scatter_elements =
    R"(scatter_elements($module, /, data, indices, updates, axis=0, *, reduction='none', include_self=True, accumulate='step', mode='raise', negative='end', out=None, num_threads=None)
--

Write single elements: each index names its own position along ``axis``. This reverses `gather_elements`.

For axis 0 of a matrix and every position (i, j) of ``indices``, in row-major order:
``out[indices[i][j]][j] = f(out[indices[i][j]][j], updates[i][j])``. Other axes and ranks work in the same way.

Parameters
----------
data : array of rank r >= 1, any element type; it does not change, except with ``out=data``
indices : array of rank r, any integer type
    It may have any length along the axis. Along the other axes, it must not be longer than ``data``.
updates : array with the shape of ``indices``
axis : int in [-r, r-1]
reduction, include_self, accumulate, mode, negative, out, num_threads : see `scatter_update`

Returns
-------
array with the shape and type of ``data``

Raises
------
IndexError, ValueError, TypeError : see `scatter_update`

Sources: ONNX ScatterElements-18; OpenVINO ScatterElementsUpdate-12.

>>> import numpy as np, gatherscatter as gs
>>> gs.scatter_elements(np.zeros((2, 3)), np.array([[1, 0, 1]]), np.array([[1.0, 2.0, 3.0]]))
array([[0., 2., 0.],
       [1., 0., 3.]])
)";

inline constexpr const char* scatter_nd =
    R"(scatter_nd($module, /, data, indices, updates, *, reduction='none', include_self=True, accumulate='step', mode='raise', negative='end', out=None, num_threads=None)
--

Write elements or slices named by index tuples: the reverse of `gather_nd`.

The last dim of ``indices`` holds the index tuples. For every position J in the other dims, in row-major order:
``out[tuple(indices[J])] = f(out[tuple(indices[J])], updates[J])``. ``reduction`` chooses f. An empty tuple names
all of ``data``.

Parameters
----------
data : array of rank r >= 1, any element type; it does not change, except with ``out=data``
indices : array of rank >= 1, any integer type, shape (..., k) with k <= r
updates : array, shape exactly ``indices.shape[:-1] + data.shape[k:]``
reduction, include_self, accumulate, mode, negative, out, num_threads : see `scatter_update`

Returns
-------
array with the shape and type of ``data``

Raises
------
IndexError, ValueError, TypeError : see `scatter_update`

Sources: ONNX ScatterND-18; OpenVINO ScatterNDUpdate-15.

>>> import numpy as np, gatherscatter as gs
>>> gs.scatter_nd(np.arange(1, 9), np.array([[4], [3], [1], [7]]), np.array([9, 10, 11, 12]))
array([ 1, 11,  3, 10,  9,  6,  7, 12])
)";

inline constexpr const char* gather_reduce =
    R"(gather_reduce($module, /, data, indices=None, *, offsets=None, segment_ids=None, indptr=None, num_segments=None, weights=None, scales=None, zero_points=None, quantize_axis=-1, block_size=128, bits=4, reduction='add', default=0, accumulate='step', mode='raise', negative='end', out=None, num_threads=None)
--

Gather rows of ``data`` and reduce the rows of each bag to one row. The gathered rows are not stored.

A bag is a group of rows, which are its members. Define the bags in exactly one of four ways: by ``indices`` of two
or more dimensions, by ``offsets``, by ``indptr``, or by ``segment_ids``.

Parameters
----------
data : array of numbers, shape (R, ...)
indices : array of integers in [-R, R-1], optional
    The rows of data that are members of bags; by default all rows, in order. With two or more dimensions, the last
    one holds the members of a bag.
offsets : array of integers, shape (B,), optional
    The position in one-dimensional indices where each bag begins. The first is 0, and they do not decrease. The
    last bag ends with the last index. For positions with this end at the end, as in a CSR matrix, use ``indptr``.
segment_ids : array of integers in [0, num_segments-1], the shape of one-dimensional indices, optional
    The bag of each member, in any order.
indptr : array of integers, shape (B+1,), optional
    The position where each bag begins, then the number of members: the ``indptr`` of a CSR matrix of SciPy, or the
    offsets of PyTorch with ``include_last_offset=True``.
num_segments : int >= 0, optional
    The number of bags that ``segment_ids`` can name. The default is the greatest id plus 1.
weights : array of data's type, the shape of indices, optional
    The factor for each member's row. Rows are multiplied before they are reduced.
scales, zero_points, quantize_axis, block_size, bits : optional
    With ``scales``, ``data`` is a block-quantized table, as in `gather_quantized`. Its rows are computed a few at a
    time. "data" then means the numbers of the table everywhere on this page, and their type is that of ``scales``.
reduction : {'add', 'mul', 'min', 'max', 'mean'}, or a statistic
    The statistics are 'var', 'std', 'first', 'last', 'any', 'all', 'argmin', 'argmax' and 'count', as in
    `Prepared.reduce`. They gather the rows first, and take neither weights nor quantized tables.
default : scalar of data's type, or array of shape data.shape[1:]
    The result for a bag without members. ``default=data[i]`` has the effect of ``default_index=i`` in OpenVINO.
accumulate : {'step', 'wide', 'exact'}
    How floats are added up, as in `scatter_update`.
mode : {'raise', 'wrap', 'clip', 'fill'}
    How to treat an index that is out of range, as in `gather`. With 'fill', its row is zeros.
negative : {'end', 'error', 'skip'}
    How to treat a negative index: as in `gather`. With 'skip', a member whose index or segment id is negative is in
    no bag. Otherwise, a negative segment id is an error.
out : array, optional
    The array to write the result to. The result is computed in a separate array first, so ``out`` does not change
    if the call raises an error.
num_threads : int >= 1, optional
    The largest number of threads for this call; the default is `gatherscatter.num_threads()`. The result does not
    depend on it.

Returns
-------
array of data's type, shape ``bags + data.shape[1:]``
    Of the statistics, 'argmin' and 'argmax' are int64, 'any' and 'all' are bool, and 'var' and 'std' of integers
    are float64. 'count' is int64 and has the shape ``bags``. Positions are numbers of members. ``bags`` is
    ``indices.shape[:-1]``, (B,) or (num_segments,). Members are reduced in their order. The result is bit-for-bit
    identical to this sequence: gather, multiply, and `scatter_update` with ``include_self=False`` into an array
    full of ``default``. If two NaN are combined, the result may be either of them.

Raises
------
IndexError
    An index, offset or segment id is out of range. The message names its position.
ValueError, TypeError
    The bags are not defined in exactly one way, or a shape, an option or a type is not valid.

Sources: OpenVINO EmbeddingBagOffsets-15, EmbeddingBagPacked-15, EmbeddingSegmentsSum-3.

>>> import numpy as np, gatherscatter as gs
>>> table = np.array([[1.0, 2.0], [10.0, 20.0], [100.0, 200.0]])
>>> gs.gather_reduce(table, [[0, 1], [2, 2]])
array([[ 11.,  22.],
       [200., 400.]])
>>> gs.gather_reduce(table, [0, 1, 2], offsets=[0, 2, 2], weights=[1.0, 0.5, 1.0], reduction="add", default=-1.0)
array([[  6.,  12.],
       [ -1.,  -1.],
       [100., 200.]])
>>> gs.gather_reduce(table, [0, 1, 2], indptr=[0, 2, 2, 3])
array([[ 11.,  22.],
       [  0.,   0.],
       [100., 200.]])
>>> gs.gather_reduce(np.array([4.0, 7.0, 5.0]), segment_ids=[1, 0, 1], reduction="max")
array([7., 5.])
)";

inline constexpr const char* gather_quantized =
    R"(gather_quantized($module, /, data, indices, scales, zero_points=None, *, axis=0, quantize_axis=-1, block_size=128, bits=4, mode='raise', negative='end', out=None, num_threads=None)
--

Take slices of a block-quantized table along ``axis``, as floats. The table is not unpacked.

A number of the table is ``(data[p] - zero_points[q]) * scales[q]``. Here p is its position, and q is the same
position with ``p[quantize_axis] // block_size`` instead of ``p[quantize_axis]``. The product is computed as float32
and rounded once to the type of ``scales``. The numbers are gathered as `gather` does it.

Parameters
----------
data : array of rank r >= 1
    The codes of the numbers. In an array of uint8, a byte holds 8 / ``bits`` codes along the last axis, from the
    lowest bits to the highest. All other types have one code in each element: int8, and those of ml_dtypes: int4,
    uint4, float8_e4m3fn, float8_e4m3fnuz, float8_e5m2, float8_e5m2fnuz, float4_e2m1fn. Their names decide the
    number of bits.
indices : array of any integer type, any shape; a scalar drops the axis
scales : array of float32, float16 or bfloat16
    Its shape is that of the table, with ``ceil(size / block_size)`` at ``quantize_axis``. Along any other axis, the
    length can also be 1: one scale for all.
zero_points : array of data's type and of the shape of ``scales``, optional
    Zero points of uint8 are packed along the last axis, as ``data`` is. The default is ``2 ** (bits - 1)`` for
    uint8 and 0 for all other types. Types of floats have no zero points.
axis : int in [-r, r-1]
    Codes that are packed can't be gathered along the last axis.
quantize_axis : int in [-r, r-1]
    The axis along which blocks of numbers share a scale.
block_size : int >= 0
    The length of a block. The last block may be shorter. 0: the whole axis is one block.
bits : {2, 4, 8}
    The number of bits of a code in an array of uint8. It has no effect on other types.
mode : {'raise', 'wrap', 'clip', 'fill'}
    How to treat an index outside [-size, size-1], as in `gather`. 'fill' returns zeros for it.
negative : {'end', 'error', 'skip'}
    How to treat a negative index: as in `gather`.
out : array, optional
    The array to write the result to, of exactly its shape and type. It does not change if the call raises an error.
num_threads : int >= 1, optional
    The largest number of threads for this call; the default is `gatherscatter.num_threads()`. The result does not
    depend on it.

Returns ------- array of the type of ``scales``, shape ``table[:axis] + indices.shape + table[axis+1:]``, where
table is the shape of the table in numbers

Raises
------
IndexError
    An index is out of range. The message names its position.
ValueError
    A shape, an axis or an option is not valid.
TypeError
    An element type or the type of an argument is not valid.

Source: GatherBlockQuantized-1 of the domain com.microsoft.

Two rows of four numbers, with 4 bits each. Blocks of two numbers share a scale:

>>> import numpy as np, gatherscatter as gs
>>> table = np.array([[0x98, 0xBA], [0x08, 0x80]], np.uint8)
>>> scales = np.array([[1.0, 10.0], [0.5, 0.25]], np.float32)
>>> gs.gather_quantized(table, [0, 1, 0], scales, block_size=2)
array([[ 0.,  1., 20., 30.],
       [ 0., -4., -2.,  0.],
       [ 0.,  1., 20., 30.]], dtype=float32)
)";

inline constexpr const char* connect =
    R"(connect($module, fallback, report, /)
--

Set the functions of the layers above that the core calls.

``fallback(function, arguments)`` runs an array function on arguments that are not plain arrays.
``report(fault, *facts)`` raises the error of this name.
)";

inline constexpr const char* run =
    R"(run($module, operation, inputs, out=None, /)
--

Run a call on plain arrays. TypeError if an array is not plain.
)";

inline constexpr const char* describe =
    R"(describe($module, operation, inputs, out=None, /)
--

Describe how `run` would run the call. Nothing is run.
)";

inline constexpr const char* check =
    R"(check($module, operation, inputs, /)
--

Raise the errors of `run` about types, shapes and attributes. The values of indices are not read.
)";

inline constexpr const char* run_on_tensors =
    R"(run_on_tensors($module, operation, inputs, /)
--

Run a call on contiguous tensors of PyTorch, as a new tensor.

NotImplemented if a tensor is unusual, something observes it, a gradient would be lost, or anything is wrong.
)";

inline constexpr const char* bind =
    R"(bind($module, operation, quiet=False, /)
--

Return a function of data, indices, the updates of a scatter, and perhaps an axis and out. It runs the operation.

With ``quiet``, the function returns NotImplemented for arrays that are not plain, and for a call that is not valid.
)";

inline constexpr const char* make_call_key =
    R"(make_call_key($module, op, accumulate, inputs, attributes, /)
--

Return what determines all checks of a call that do not depend on shapes and values, as a tuple.

None: an input is not an ndarray, or an attribute is not an int, a bool or a str.
)";

inline constexpr const char* run_known_call =
    R"(run_known_call($module, known, op, accumulate, inputs, attributes, /)
--

Run the function that a dict has for the key of a call. NotImplemented if it has none.
)";

inline constexpr const char* supports =
    R"(supports($module, dtype, reduction, /)
--

Whether elements of a dtype support a reduction.
)";

inline constexpr const char* group =
    R"(group($module, rows, count, /)
--

Group updates by their rows, int64 numbers below count: (starts, order).
)";

inline constexpr const char* find_bad_indices =
    R"(find_bad_indices($module, tuples, shape, first_axis, mode, negative, may_be_batched, /)
--

Find the indices that a rule refuses.

Index tuples [..., k] index the axes of ``shape`` from ``first_axis`` on. The result holds the number of bad
indices, the positions and values of the first ten, the least and the greatest value, the axis of the first, and
a hint as of find_index_hint(). It is None if there are none. ``may_be_batched``: the shapes also fit a call with
one batch dimension.
)";

inline constexpr const char* find_index_hint =
    R"(find_index_hint($module, tuples, shape, first_axis, negative, /)
--

Find the probable mistake in index tuples: the name of a sentence and its numbers.

The name is empty if nothing is certain.
)";

inline constexpr const char* resolve_indices =
    R"(resolve_indices($module, tuples, dims, mode, negative, /)
--

The row that each index tuple names, as int64: its position in ``dims`` in row-major order.

Mode is 'raise', 'wrap', 'clip' or 'skip', and ``negative`` is 'end', 'error' or 'skip'. A tuple that is skipped
gives -1. The result is None if a tuple is bad.
)";

inline constexpr const char* copied =
    R"(copied($module, array, dtype, /)
--

Copy the elements in C order, converted to a dtype as astype() does. A signal can interrupt it.
)";

inline constexpr const char* cast =
    R"(cast($module, array, dtype, /)
--

Cast numbers to another type, in C order.

None if a value does not fit. NotImplemented if the types are not numbers of the core, or if one of them can't
be cast to the other.
)";

inline constexpr const char* register_tensors =
    R"(register_tensors($module, tensor, parameter, is_observed, is_grad_enabled, /)
--

Set PyTorch's types of plain tensors, and functions that say whether something observes tensors, and whether
gradients are recorded. Returns whether tensors can be read without NumPy's arrays.
)";

inline constexpr const char* tensor_array =
    R"(tensor_array($module, op, input, tensor, /)
--

The memory of a PyTorch tensor as a NumPy array. ValueError if the storage is smaller than the tensor.
)";

inline constexpr const char* scatter_groups =
    R"(scatter_groups($module, data, starts, order, updates, reduction, include_self, num_threads, /)
--

Combine groups of updates with data, or with zeros if it is None.

NotImplemented if this element type is not summed here.
)";

inline constexpr const char* reduce_groups =
    R"(reduce_groups($module, starts, order, updates, reductions, num_threads, /)
--

Reduce the updates of each group: a list with an array for each reduction (add, mul, min, max).

argmin and argmax give pairs of values and numbers of updates. NotImplemented if elements do not support the
reduction.
)";

inline constexpr const char* group_statistic =
    R"(group_statistic($module, statistic, values, labels, groups, skip_nan, mode, fill, num_threads, /)
--

A statistic of the values of each group.

Values have the shape (outer, members, columns); labels are the groups of the members. The result is a pair: the
statistics, and the numbers of members or None. For 'moments', the centers and their distances from the mean
follow. It is None if a label is bad, and NotImplemented if values of this type have no such statistic.
)";

inline constexpr const char* sort_groups =
    R"(sort_groups($module, values, starts, ranks, num_threads, /)
--

Sort the values of each group in place.

With ranks, only the values with the rank of each group and the next one get to their positions, and NaN to the
last ones. NotImplemented if values of this type can't be sorted here.
)";

inline constexpr const char* find_greatest_label =
    R"(find_greatest_label($module, labels, /)
--

The greatest label. It is negative if a label is negative or does not fit, or if there is none.
)";

inline constexpr const char* find_bags =
    R"(find_bags($module, op, members, has_indices, offsets, segment_ids, indptr, num_segments, embedding_rules, negative, /)
--

The shape of the bags, the start of each bag and the end of the last, and the members in the order of their
bags, or None if they are in that order. If ``negative`` is 'skip', members with a negative segment id are skipped.
)";

inline constexpr const char* sum_matches =
    R"(sum_matches($module, values, keys, targets, starts, rows, num_threads, /)
--

Each bag has a row of targets.

For each target, sum the values of the bag's members in this column whose keys are equal to the target. If
values is None, count these members. The result is None if starts or rows are out of range.
)";

inline constexpr const char* dot_rows =
    R"(dot_rows($module, a, b, rows_of_a, rows_of_b, num_threads, /)
--

The dot product of a row of a and a row of b, for each pair of row numbers. None if one is out of range.
)";

inline constexpr const char* gather_tree =
    R"(gather_tree($module, step_ids, parent_ids, max_seq_len, end_token, out, /)
--

The kernel of GatherTree.

Returns -1, or the flat position of a parent that is out of range. Accepts only contiguous arrays of one type.
)";

inline constexpr const char* plan =
    R"(plan($module, kernel, data_shape, indices_shape, axis=0, batch_dims=0, /)
--

The facts of a plan as a dict. ValueError names the fault in the shapes.
)";

inline constexpr const char* num_threads =
    R"(num_threads($module, /)
--

The number of threads that a large call uses.
)";

inline constexpr const char* set_num_threads =
    R"(set_num_threads($module, n, /)
--

Set the number of threads that a large call uses.
)";

inline constexpr const char* pool_limit =
    R"(pool_limit($module, /)
--

The largest number of bytes of freed results that are kept for new ones.
)";

inline constexpr const char* pool_size =
    R"(pool_size($module, /)
--

The number of bytes of freed results that are kept now.
)";

inline constexpr const char* set_pool_limit =
    R"(set_pool_limit($module, bytes, /)
--

Set the largest number of bytes of freed results that are kept for new ones. With 0, all are given back.
)";

}  // namespace gs::docs
