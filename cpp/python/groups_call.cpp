// Converts index values to row numbers, and groups these, on NumPy arrays.
#include <algorithm>
#include <new>
#include <vector>

#include "call.hpp"
#include "groups.hpp"
#include "numpy_arrays.hpp"
#include "parallel.hpp"
#include "signals.hpp"

namespace gs {
namespace {

Shape row_shape(const Shape& shape, int64_t rows) {
    Shape result = shape;
    result.dim[0] = rows;
    return result;
}

bool are_updates(PyObject* updates, int64_t count) {
    return PyArray_CheckExact(updates) && PyArray_ISCARRAY_RO(array(updates)) && PyArray_NDIM(array(updates)) >= 1 &&
           PyArray_DIM(array(updates), 0) == count;
}

// Reads a reduction by its name, including "argmin" and "argmax". False: the name is invalid, or the updates do not
// support it.
bool read_group_reduction(PyObject* name, PyArrayObject* updates, Combine& combine, bool& members) {
    const auto is = [name](const char* text) { return PyUnicode_CompareWithASCIIString(name, text) == 0; };
    members = is("argmin") || is("argmax");
    const int reduction = !members       ? find_name(name, reduction_names)
                          : is("argmin") ? static_cast<int>(Reduction::min)
                                         : static_cast<int>(Reduction::max);
    combine = {element_type(PyArray_DESCR(updates)), PyArray_ITEMSIZE(updates), static_cast<Reduction>(reduction),
               false};
    const bool wanted = reduction > 0 && combine.reduction != Reduction::sub && combine.reduction != Reduction::mean;
    return wanted && supports_group_reduction(combine, members);
}

}  // namespace

PyObject* group_call(PyObject*, PyObject* const* arguments, Py_ssize_t n) {
    if (n != 2 || !is_numbers(arguments[0])) return refuse("group() takes row numbers and the number of rows");
    const int64_t rows = PyLong_AsLongLong(arguments[1]);
    if (rows < 0) return PyErr_Occurred() ? nullptr : refuse("group() takes at least 0 rows");
    if (rows == INT64_MAX) return PyErr_NoMemory();
    const int64_t count = PyArray_SIZE(array(arguments[0]));
    bool good = false;
    Ref starts = new_array(PyArray_DESCR(array(arguments[0])), Shape({rows + 1}));
    Ref order = new_array(PyArray_DESCR(array(arguments[0])), Shape({count}));
    if (!starts || !order) return nullptr;
    try {
        GilRelease gil_release(true);
        InterruptCheck interrupts(gil_release);
        const ScopedStopToken scope(&interrupts);
        good = group(numbers(arguments[0]), count, rows, static_cast<int64_t*>(PyArray_DATA(starts.array())),
                     static_cast<int64_t*>(PyArray_DATA(order.array())));
        if (interrupts.interrupted()) return nullptr;
    } catch (const std::bad_alloc&) {
        return PyErr_NoMemory();
    }
    if (!good) return refuse("group() takes row numbers in [0, rows)");
    PyArray_CLEARFLAGS(starts.array(), NPY_ARRAY_WRITEABLE);
    PyArray_CLEARFLAGS(order.array(), NPY_ARRAY_WRITEABLE);
    return Py_BuildValue("(NN)", starts.release(), order.release());
}

// resolve_indices(tuples, dims, mode, negative): returns the row that each tuple names. In mode "skip", a bad tuple
// gives -1. In the other modes, the result is None if a tuple is bad. A tuple that `negative` skips gives -1, too.
PyObject* resolve_indices_call(PyObject*, PyObject* const* arguments, Py_ssize_t n) {
    IndexType type{};
    const int mode = n == 4 ? find_name(arguments[2], mode_names) : -1,
              negative = n == 4 ? find_name(arguments[3], negative_names) : -1;
    if (n != 4 || !PyArray_CheckExact(arguments[0]) || PyArray_NDIM(array(arguments[0])) < 1 ||
        !index_type(array(arguments[0]), type) || !PyTuple_Check(arguments[1]) || mode < 0 || negative < 0)
        return refuse("resolve_indices() takes index tuples, the sizes that they index, and a rule");
    const Rule rule{static_cast<Mode>(mode), static_cast<Negative>(negative)};
    PyArrayObject* const given = array(arguments[0]);
    const Py_ssize_t columns = PyTuple_GET_SIZE(arguments[1]);
    if (columns != PyArray_DIM(given, PyArray_NDIM(given) - 1) || columns > max_rank)
        return refuse("resolve_indices() takes one size for each column of a tuple");
    Rows rows{};
    for (Py_ssize_t i = 0; i < columns; ++i) {
        const int64_t size = PyLong_AsLongLong(PyTuple_GET_ITEM(arguments[1], i));
        if (size < 0) return PyErr_Occurred() ? nullptr : refuse("resolve_indices() takes sizes of at least 0");
        rows.dims.push(size);
    }
    Layout layout;
    lay_out(rows, 1, layout);
    const Ref tuples = contiguous(arguments[0]), int64(reinterpret_cast<PyObject*>(PyArray_DescrFromType(NPY_INT64)));
    const Shape shape = shape_of(given);
    Ref numbers = new_array(reinterpret_cast<PyArray_Descr*>(int64.get()), Shape(shape.dim, shape.rank - 1));
    if (!tuples || !numbers) return nullptr;
    const int64_t count = PyArray_SIZE(numbers.array());
    int64_t* const out = static_cast<int64_t*>(PyArray_DATA(numbers.array()));
    const Index index(PyArray_DATA(tuples.array()), type, rows.dims, layout.weights, rule);
    bool good = false;
    {
        GilRelease gil_release(count > gil_release_bytes / 8);
        InterruptCheck interrupts(gil_release, 8);
        const ScopedStopToken scope(&interrupts);
        good = index.resolve_all(count, out);
        if (interrupts.interrupted()) return nullptr;
    }
    if (good) return numbers.release();
    Py_RETURN_NONE;
}

// copied(array, dtype)
PyObject* copied_call(PyObject*, PyObject* const* arguments, Py_ssize_t n) {
    if (n != 2 || !PyArray_Check(arguments[0]) || !PyArray_DescrCheck(arguments[1]))
        return refuse("copied() takes an array and a dtype");
    return copied(array(arguments[0]), reinterpret_cast<PyArray_Descr*>(arguments[1])).release();
}

// cast(array, dtype)
PyObject* cast_call(PyObject*, PyObject* const* arguments, Py_ssize_t n) {
    if (n != 2 || !PyArray_Check(arguments[0]) || !PyArray_DescrCheck(arguments[1]))
        return refuse("cast() takes an array and a dtype");
    auto* const descr = reinterpret_cast<PyArray_Descr*>(arguments[1]);
    if (!can_cast(array(arguments[0]), descr)) Py_RETURN_NOTIMPLEMENTED;
    Ref made = cast(array(arguments[0]), descr);
    if (!made && !PyErr_Occurred()) Py_RETURN_NONE;
    return made.release();
}

// scatter_groups(data, starts, order, updates, reduction, include_self, num_threads)
PyObject* scatter_groups_call(PyObject*, PyObject* const* arguments, Py_ssize_t n) {
    if (n != 7 || !is_numbers(arguments[1]) || !is_numbers(arguments[2]))
        return refuse("scatter_groups() takes data, groups, updates, reduction, include_self and num_threads");
    PyObject *const data = arguments[0], *const updates = arguments[3];
    const bool zeros = data == Py_None;
    const int64_t rows = PyArray_SIZE(array(arguments[1])) - 1, count = PyArray_SIZE(array(arguments[2]));
    if (rows < 0 || !are_updates(updates, count))
        return refuse("scatter_groups() takes one contiguous update for each index");
    const Shape shape = row_shape(shape_of(array(updates)), rows);
    if (!zeros &&
        (!PyArray_CheckExact(data) || !(shape_of(array(data)) == shape) || !same_type(array(data), array(updates))))
        return refuse("scatter_groups() takes data of the type and the row shape of updates");
    const Ref op(PyUnicode_FromString("prepare"));
    const int reduction = find_name(arguments[4], reduction_names);
    bool include_self = true;
    int threads = 0;
    if (!op || !read_flag(op.get(), arguments[5], include_self) || !read_threads(op.get(), arguments[6], threads))
        return nullptr;
    const Combine combine{element_type(PyArray_DESCR(array(updates))), PyArray_ITEMSIZE(array(updates)),
                          static_cast<Reduction>(reduction), include_self};
    if (reduction < 0 || !supports_groups(combine)) Py_RETURN_NOTIMPLEMENTED;
    const ScopedThreadLimit limit(threads);
    bool sound = true;
    Ref out = new_array(PyArray_DESCR(array(updates)), shape);
    if (!out) return nullptr;
    try {
        if (!zeros && !copy_data(data, out.array(), OnSignal::stop)) return nullptr;
        const Groups groups{numbers(arguments[1]), numbers(arguments[2]), rows, count};
        const int64_t width = rows > 0 ? PyArray_SIZE(out.array()) / rows : 0;
        GilRelease gil_release(true);
        InterruptCheck interrupts(gil_release, width * combine.item_size);
        const ScopedStopToken scope(&interrupts);
        if (width > 0) sound = scatter_groups(groups, bytes(array(updates)), bytes(out.array()), width, zeros, combine);
        if (interrupts.interrupted()) return nullptr;
    } catch (const std::bad_alloc&) {
        return PyErr_NoMemory();
    }
    return sound ? out.release() : refuse("scatter_groups() takes groups made by group()");
}

// reduce_groups(starts, order, updates, reductions, num_threads)
PyObject* reduce_groups_call(PyObject*, PyObject* const* arguments, Py_ssize_t n) {
    if (n != 5 || !is_numbers(arguments[0]) || !is_numbers(arguments[1]) || !PyTuple_Check(arguments[3]))
        return refuse("reduce_groups() takes groups, updates, reductions and num_threads");
    PyObject *const updates = arguments[2], *const reductions = arguments[3];
    const int64_t rows = PyArray_SIZE(array(arguments[0])) - 1, count = PyArray_SIZE(array(arguments[1]));
    const Py_ssize_t wanted = PyTuple_GET_SIZE(reductions);
    if (rows < 0 || wanted == 0 || !are_updates(updates, count))
        return refuse("reduce_groups() takes one contiguous update for each index, and reductions");
    const Shape shape = row_shape(shape_of(array(updates)), rows);
    const Ref op(PyUnicode_FromString("prepare"));
    int threads = 0;
    if (!op || !read_threads(op.get(), arguments[4], threads)) return nullptr;
    Ref results(PyList_New(wanted));
    if (!results) return nullptr;
    try {
        std::vector<GroupReduction> all;
        for (Py_ssize_t i = 0; i < wanted; ++i) {
            Combine combine{};
            bool members = false;
            PyObject* const name = PyTuple_GET_ITEM(reductions, i);
            if (!PyUnicode_Check(name)) return refuse("reduce_groups() takes names of reductions");
            if (!read_group_reduction(name, array(updates), combine, members)) Py_RETURN_NOTIMPLEMENTED;
            Ref out = new_array(PyArray_DESCR(array(updates)), shape);
            Ref found = members ? new_array(PyArray_DESCR(array(arguments[1])), shape) : Ref();
            if (!out || (members && !found)) return nullptr;
            all.push_back(
                {combine, bytes(out.array()), members ? static_cast<int64_t*>(PyArray_DATA(found.array())) : nullptr});
            PyObject* const result = members ? Py_BuildValue("(NN)", out.release(), found.release()) : out.release();
            if (!result) return nullptr;
            PyList_SET_ITEM(results.get(), i, result);
        }
        const Groups groups{numbers(arguments[0]), numbers(arguments[1]), rows, count};
        int64_t width = 1;
        for (int i = 1; i < shape.rank; ++i) width *= shape[i];
        const ScopedThreadLimit limit(threads);
        bool sound = true;
        {
            GilRelease gil_release(true);
            InterruptCheck interrupts(gil_release, width * all[0].combine.item_size);
            const ScopedStopToken scope(&interrupts);
            if (width > 0) sound = reduce_groups(groups, bytes(array(updates)), width, all);
            if (interrupts.interrupted()) return nullptr;
        }
        if (!sound) return refuse("reduce_groups() takes groups made by group()");
    } catch (const std::bad_alloc&) {
        return PyErr_NoMemory();
    }
    return results.release();
}

}  // namespace gs
