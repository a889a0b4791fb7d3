// Groups on NumPy arrays that prepared.py has made ready.
#include <new>

#include "call.hpp"
#include "groups.hpp"
#include "numpy_arrays.hpp"
#include "parallel.hpp"
#include "signals.hpp"

namespace gs {
namespace {

PyObject* refuse(const char* text) {
    PyErr_SetString(PyExc_TypeError, text);
    return nullptr;
}

bool is_numbers(PyObject* object) {
    return PyArray_CheckExact(object) && PyArray_ISCARRAY_RO(array(object)) && PyArray_NDIM(array(object)) == 1 &&
           element_type(PyArray_DESCR(array(object))) == DType::int64;
}

const int64_t* numbers(PyObject* object) { return static_cast<const int64_t*>(PyArray_DATA(array(object))); }

Shape row_shape(const Shape& shape, int64_t rows) {
    Shape result = shape;
    result.dim[0] = rows;
    return result;
}

}  // namespace

PyObject* group_call(PyObject*, PyObject* const* arguments, Py_ssize_t n) {
    if (n != 2 || !is_numbers(arguments[0])) return refuse("group() wants row numbers and how many rows there are");
    const int64_t rows = PyLong_AsLongLong(arguments[1]);
    if (rows < 0) return PyErr_Occurred() ? nullptr : refuse("group() wants at least 0 rows");
    if (rows == INT64_MAX) return PyErr_NoMemory();
    const int64_t count = PyArray_SIZE(array(arguments[0]));
    bool good = false;
    Ref starts = new_array(PyArray_DESCR(array(arguments[0])), Shape({rows + 1}));
    Ref order = new_array(PyArray_DESCR(array(arguments[0])), Shape({count}));
    if (!starts || !order) return nullptr;
    try {
        const Unlocked unlocked(true);
        good = group(numbers(arguments[0]), count, rows, static_cast<int64_t*>(PyArray_DATA(starts.array())),
                     static_cast<int64_t*>(PyArray_DATA(order.array())));
    } catch (const std::bad_alloc&) {
        return PyErr_NoMemory();
    }
    if (!good) return refuse("group() wants good row numbers");
    PyArray_CLEARFLAGS(starts.array(), NPY_ARRAY_WRITEABLE);
    PyArray_CLEARFLAGS(order.array(), NPY_ARRAY_WRITEABLE);
    return Py_BuildValue("(NN)", starts.release(), order.release());
}

// scatter_groups(data, starts, order, updates, reduction, include_self, num_threads)
PyObject* scatter_groups_call(PyObject*, PyObject* const* arguments, Py_ssize_t n) {
    if (n != 7 || !is_numbers(arguments[1]) || !is_numbers(arguments[2]))
        return refuse("scatter_groups() wants data, groups, updates, reduction, include_self and num_threads");
    PyObject *const data = arguments[0], *const updates = arguments[3];
    const bool zeros = data == Py_None;
    const int64_t rows = PyArray_SIZE(array(arguments[1])) - 1, count = PyArray_SIZE(array(arguments[2]));
    bool ready = PyArray_CheckExact(updates) && PyArray_ISCARRAY_RO(array(updates)) &&
                 PyArray_NDIM(array(updates)) >= 1 && PyArray_DIM(array(updates), 0) == count && rows >= 0;
    if (!ready) return refuse("scatter_groups() wants one contiguous update an index");
    const Shape shape = row_shape(shape_of(array(updates)), rows);
    if (!zeros &&
        (!PyArray_CheckExact(data) || !(shape_of(array(data)) == shape) || !same_type(array(data), array(updates))))
        return refuse("scatter_groups() wants data of the type and the row shape of updates");
    const Ref op(PyUnicode_FromString("prepare"));
    const int reduction = find_reduction(arguments[4]);
    bool include_self = true;
    int threads = 0;
    if (!op || !read_flag(op.get(), arguments[5], include_self) || !read_threads(op.get(), arguments[6], threads))
        return nullptr;
    const Combine combine{element_type(PyArray_DESCR(array(updates))), PyArray_ITEMSIZE(array(updates)),
                          static_cast<Reduction>(reduction), include_self};
    if (reduction < 0 || !knows_groups(combine)) Py_RETURN_NOTIMPLEMENTED;
    const ThreadsForCall limit(threads);
    bool sound = true;
    Ref out = new_array(PyArray_DESCR(array(updates)), shape);
    if (!out) return nullptr;
    try {
        if (!zeros && !copy_data(data, out.array())) return nullptr;
        const Groups groups{numbers(arguments[1]), numbers(arguments[2]), rows, count};
        const int64_t width = rows > 0 ? PyArray_SIZE(out.array()) / rows : 0;
        Unlocked unlocked(true);
        Signals signals(unlocked, width * combine.item_size);
        if (width > 0)
            sound = scatter_groups(groups, bytes(array(updates)), bytes(out.array()), width, zeros, combine, signals);
        if (signals.stopped()) return nullptr;
    } catch (const std::bad_alloc&) {
        return PyErr_NoMemory();
    }
    return sound ? out.release() : refuse("scatter_groups() wants groups made by group()");
}

}  // namespace gs
