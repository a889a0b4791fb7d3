// Docstrings of the array functions; the first line is the signature that Python shows.
#pragma once

namespace gs::docs {

inline constexpr const char* gather =
    R"(gather($module, /, data, indices, axis=0, *, batch_dims=0, mode='raise', out=None, num_threads=None)
--

Take whole slices of ``data`` along ``axis``.

``out[B + O + I] = data[B + O + (indices[B + I],)]`` for every position B in the batch dims, O in the dims between
them and the axis, I in the remaining dims of ``indices``.

Parameters
----------
data : array, shape (d0, ..., dn), rank >= 1, any element type
indices : array of any integer type, any shape; a scalar drops the axis
axis : int in [-r, r-1], r the rank of ``data``
batch_dims : int
    How many leading dims ``data`` and ``indices`` share; at most ``axis``. Negative counts from the rank of ``indices``.
mode : {'raise', 'wrap', 'clip', 'fill'}
    What becomes of a bad index. 'raise': -1 counts from the end, what is outside [-size, size-1] is an error;
    'fill': the same, but gives zeros instead of an error; 'wrap': modulo the size; 'clip': the nearest of 0..size-1.
out : array, optional
    Where to write the result: its exact shape and type. Untouched when anything is wrong.
num_threads : int >= 1, optional
    At most so many threads for this call, instead of `gatherscatter.num_threads()`. Results do not depend on it.

Returns
-------
array, shape ``data.shape[:axis] + indices.shape[batch_dims:] + data.shape[axis+1:]``, of data's type

Raises
------
IndexError
    An index is out of range; the message says where.
ValueError, TypeError
    Shapes or attributes, or types, don't fit.

Sources: ONNX Gather-13; OpenVINO Gather-8.

>>> import numpy as np, gatherscatter as gs
>>> gs.gather(np.array([[1, 2], [3, 4], [5, 6]]), [2, 0, -1])
array([[5, 6],
       [1, 2],
       [5, 6]])
)";

inline constexpr const char* gather_elements =
    R"(gather_elements($module, /, data, indices, axis=0, *, mode='raise', out=None, num_threads=None)
--

Take single elements: each index names its own position along ``axis``.

``out[i][j] = data[indices[i][j]][j]`` for axis 0 of a matrix, and so on for other axes and ranks.

Parameters
----------
data : array of rank r >= 1, any element type
indices : array of rank r and any integer type, off the axis no longer than ``data``; along it of any length
axis : int in [-r, r-1]
mode, out, num_threads : see `gather`

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
    R"(gather_nd($module, /, data, indices, *, batch_dims=0, mode='raise', out=None, num_threads=None)
--

Take elements or slices named by index tuples.

``out[B + J] = data[B + tuple(indices[B + J])]`` with B in the batch dims and J in the other dims of ``indices`` but
the last, which holds the tuples. An empty tuple names everything.

Parameters
----------
data : array of rank r >= 1, any element type
indices : array of rank >= 1, any integer type, shape (..., k) with k <= r - batch_dims
batch_dims : int in [0, min(r, rank of indices)), leading dims that ``data`` and ``indices`` share
mode, out, num_threads : see `gather`

Returns
-------
array, shape ``indices.shape[:-1] + data.shape[batch_dims + k:]``, of data's type

Raises
------
IndexError, ValueError, TypeError : see `gather`

Sources: ONNX GatherND-13; OpenVINO GatherND-8.

>>> import numpy as np, gatherscatter as gs
>>> gs.gather_nd(np.array([[1, 2], [3, 4]]), np.array([[0, 0], [1, 0]]))
array([1, 3])
)";

inline constexpr const char* scatter_update =
    R"(scatter_update($module, /, data, indices, updates, axis=0, *, reduction='none', include_self=True, accumulate='step', mode='raise', out=None, num_threads=None)
--

Write whole slices along ``axis``: the reverse of `gather`.

For every index i, in row-major order: ``out[..., i, ...] = f(out[..., i, ...], updates[..., I, ...])``, I being where
i stands in ``indices``, and f as ``reduction`` says.

Parameters
----------
data : array of rank r >= 1, any element type; it is not changed (but see ``out``)
indices : array of any integer type, any shape
updates : array, shape exactly ``data.shape[:axis] + indices.shape + data.shape[axis+1:]``
axis : int in [-r, r-1]
reduction : {'none', 'add', 'sub', 'mul', 'min', 'max', 'mean'}
    'none' overwrites; of several updates to one place the last in row-major order wins. The others combine all
    contributions in row-major order, rounding to the element type after each; integers wrap; 'mean' divides once by
    the number of contributions (integers: exactly, rounded down). NaN passes through 'min' and 'max'. For bool, 'add'
    is or, 'mul' is and, 'sub' is xor. For strings, 'add' concatenates.
include_self : bool
    Whether the element of ``data`` is one of the contributions. Places that no update names keep it in any case.
accumulate : {'step', 'wide', 'exact'}
    How floats are added up by 'add', 'sub' and 'mean'. 'step': in their own type, rounded after each contribution;
    'wide': in a wider type (float32 for halves, float64 for float32, pairs of float64 for float64), whose sum is
    rounded once; a mean divides it; halves are multiplied so, too. 'exact': the sum, or the mean, of the real numbers,
    rounded once to nearest even, whatever the order; not for complex numbers, nor for 'mul' of floats. Integers are
    exact, modulo 2^N, in any case.
mode : {'raise', 'wrap', 'clip', 'drop'}
    What becomes of a bad index: see `gather`; 'drop' skips its update.
out : array, optional
    Where to write the result: shape and type of ``data``. ``out=data`` updates in place; what is small beside the
    indices goes by way of a copy. Untouched when anything is wrong.
num_threads : int >= 1, optional
    At most so many threads for this call. Results do not depend on it.

Returns
-------
array with the shape and type of ``data``

Raises
------
IndexError
    An index is out of range; the message says where.
ValueError, TypeError
    Shapes or attributes, or types, don't fit.

Sources: OpenVINO ScatterUpdate-3; the reductions as in ONNX ScatterND-18 and OpenVINO ScatterElementsUpdate-12.

>>> import numpy as np, gatherscatter as gs
>>> gs.scatter_update(np.zeros(4), [3, 1, 3], np.array([1.0, 2.0, 4.0]), reduction="add")
array([0., 2., 0., 5.])
)";

inline constexpr const char* scatter_elements =
    R"(scatter_elements($module, /, data, indices, updates, axis=0, *, reduction='none', include_self=True, accumulate='step', mode='raise', out=None, num_threads=None)
--

Write single elements: each index names its own position along ``axis``. The reverse of `gather_elements`.

For every position (i, j) of a matrix, in row-major order, and axis 0:
``out[indices[i][j]][j] = f(out[indices[i][j]][j], updates[i][j])``; so on for other axes and ranks.

Parameters
----------
data : array of rank r >= 1, any element type; it is not changed (but see ``out``)
indices : array of rank r and any integer type, off the axis no longer than ``data``; along it of any length
updates : array with the shape of ``indices``
axis : int in [-r, r-1]
reduction, include_self, accumulate, mode, out, num_threads : see `scatter_update`

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
    R"(scatter_nd($module, /, data, indices, updates, *, reduction='none', include_self=True, accumulate='step', mode='raise', out=None, num_threads=None)
--

Write elements or slices named by index tuples: the reverse of `gather_nd`.

For every J in the dims of ``indices`` but the last, in row-major order:
``out[tuple(indices[J])] = f(out[tuple(indices[J])], updates[J])``. An empty tuple names everything.

Parameters
----------
data : array of rank r >= 1, any element type; it is not changed (but see ``out``)
indices : array of rank >= 1, any integer type, shape (..., k) with k <= r
updates : array, shape exactly ``indices.shape[:-1] + data.shape[k:]``
reduction, include_self, accumulate, mode, out, num_threads : see `scatter_update`

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

inline constexpr const char* apply =
    R"(apply($module, op, kernel, data, indices, updates, axis, batch_dims, reduction, include_self, accumulate, mode, negative,
      out, num_threads, /)
--

The common form of the array functions, for the layers above: `op` is what messages say, `negative` whether negative
indices count from the end. Plain arrays only.
)";

inline constexpr const char* supports = R"(supports($module, dtype, reduction, /)
--

Whether elements of a dtype support a reduction.
)";

inline constexpr const char* describe_call =
    "describe_call($module, op, kernel, data, indices, updates, axis, batch_dims, reduction, include_self, accumulate, "
    "mode,\n"
    "              negative, out, num_threads, /)\n--\n\nHow `apply` would carry out the call, as a dict; nothing is "
    "run.";

inline constexpr const char* group =
    "group($module, rows, count, /)\n--\n\nWhere each row's updates are: (starts, order), of int64 row numbers below "
    "count.";

inline constexpr const char* find_bad_indices =
    "find_bad_indices($module, tuples, shape, first_axis, negative, only_empty, /)\n--\n\nThe index tuples [..., k] "
    "into "
    "the axes of ``shape`` from ``first_axis`` on that are out of range: how many indices, the positions and values of "
    "the first ten, the least and the greatest, the axis of the first, and a hint as of find_index_hint(). None: all "
    "are in range. ``only_empty``: just indices into axes without elements are out of range.";

inline constexpr const char* find_index_hint =
    "find_index_hint($module, tuples, shape, first_axis, negative, /)\n--\n\nWhat index tuples probably mean: the name "
    "of a sentence and its numbers; an empty name where nothing is certain.";

inline constexpr const char* resolve_indices =
    "resolve_indices($module, tuples, dims, mode, negative, /)\n--\n\nThe row that each index tuple names, as int64: "
    "its place among ``dims`` in row-major order. Mode is 'raise', 'wrap', 'clip' or 'skip'. A bad tuple gives -1 in "
    "mode 'skip'; in the other modes the result is None.";

inline constexpr const char* check_call =
    "check_call($module, op, kernel, data, indices, updates, axis, batch_dims, reduction, include_self, accumulate, "
    "mode, negative, out, num_threads, /)\n--\n\nRaises what apply() raises for types, shapes and attributes. The "
    "values of indices are not read.";

inline constexpr const char* plan =
    "plan($module, kernel, data_shape, indices_shape, axis=0, batch_dims=0, /)\n--\n\nThe facts of a plan as a dict. "
    "ValueError names the fault of the shapes.";

inline constexpr const char* num_threads = "num_threads($module, /)\n--\n\nHow many threads a large call uses.";

inline constexpr const char* set_num_threads =
    "set_num_threads($module, n, /)\n--\n\nSets how many threads a large call uses.";

inline constexpr const char* pool_limit =
    "pool_limit($module, /)\n--\n\nHow many bytes of former results are kept for new ones.";

inline constexpr const char* pool_size =
    "pool_size($module, /)\n--\n\nHow many bytes of former results are kept at present.";

inline constexpr const char* set_pool_limit =
    "set_pool_limit($module, bytes, /)\n--\n\nSets how many bytes of former results are kept for new ones. With 0, all "
    "are given back.";

inline constexpr const char* copied =
    "copied($module, array, dtype, /)\n--\n\nThe elements in C order, converted to a dtype as astype() does; signals "
    "end "
    "it on the way.";

inline constexpr const char* tensor_array =
    "tensor_array($module, op, input, tensor, /)\n--\n\nThe memory of a PyTorch tensor as a NumPy array; ValueError if "
    "the "
    "storage is smaller than the tensor.";

inline constexpr const char* scatter_groups =
    "scatter_groups($module, data, starts, order, updates, reduction, include_self, num_threads, /)\n--\n\n"
    "Combine groups of updates with data, or with zeros if it is None; NotImplemented if elements sum up elsewhere.";

inline constexpr const char* reduce_groups =
    "reduce_groups($module, starts, order, updates, reductions, num_threads, /)\n--\n\n"
    "A list with what each reduction (add, mul, min, max) makes of the updates of each group; argmin and argmax give\n"
    "pairs of values and numbers of updates. NotImplemented if elements have no such reduction.";

inline constexpr const char* reduce_bags =
    "reduce_bags($module, data, starts, rows, weights, empty, reduction, accumulate, may_skip, num_threads, /)\n--\n\n"
    "Gather rows of data and reduce those of each bag. A bag without rows gives `empty`. With `may_skip`, row -1 "
    "stands\n"
    "for zeros. None if starts or rows are out of range; NotImplemented if elements have no such reduction.";

inline constexpr const char* describe_bags =
    "describe_bags($module, dtype, width, starts, weighted, reduction, accumulate, may_skip, num_threads, /)\n--\n\n"
    "How `reduce_bags` would reduce members that begin at `starts`, as a dict; nothing is run.";

inline constexpr const char* sum_matches =
    "sum_matches($module, values, keys, targets, starts, rows, num_threads, /)\n--\n\n"
    "For each element of targets, a row of which belongs to each bag: the sum of the values whose keys are equal to it "
    "among the rows of the bag. Without values: how many these are. None if starts or rows are out of range.";

inline constexpr const char* dot_rows =
    "dot_rows($module, a, b, rows_of_a, rows_of_b, num_threads, /)\n--\n\n"
    "The product of a row of a with a row of b, for each pair of row numbers. None if one is out of range.";

inline constexpr const char* gather_tree = R"(gather_tree($module, step_ids, parent_ids, max_seq_len, end_token, out, /)
--

The kernel of GatherTree; -1, or the flat position of a parent out of range. Contiguous arrays of one type only.
)";

}  // namespace gs::docs
