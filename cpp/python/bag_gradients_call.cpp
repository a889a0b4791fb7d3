// The computations for the gradients of gather_reduce, on NumPy arrays.
#include <algorithm>
#include <new>

#include "bag_gradients.hpp"
#include "call.hpp"
#include "numpy_arrays.hpp"
#include "parallel.hpp"
#include "signals.hpp"

namespace gs {
namespace {

bool are_rows(PyObject* object) {
    return PyArray_CheckExact(object) && PyArray_ISCARRAY_RO(array(object)) && PyArray_NDIM(array(object)) >= 1;
}

// Whether two arrays of rows have the same type and the same row.
bool have_same_rows(PyObject* a, PyObject* b) {
    return same_type(array(a), array(b)) && PyArray_NDIM(array(a)) == PyArray_NDIM(array(b)) &&
           std::equal(PyArray_DIMS(array(a)) + 1, PyArray_DIMS(array(a)) + PyArray_NDIM(array(a)),
                      PyArray_DIMS(array(b)) + 1);
}

int64_t row_width(PyArrayObject* rows) {
    int64_t width = 1;
    for (int i = 1; i < PyArray_NDIM(rows); ++i) width *= PyArray_DIM(rows, i);
    return width;
}

bool read_limit(PyObject* num_threads, int& threads) {
    const Ref op(PyUnicode_FromString("gather_reduce"));
    return op && read_threads(op.get(), num_threads, threads);
}

// Runs a kernel that fills `out`. Returns None if the kernel returns false.
template <class F>
PyObject* fill_by(Ref out, PyObject* num_threads, int64_t bytes_per_row, F&& kernel) {
    int threads = 0;
    if (!out || !read_limit(num_threads, threads)) return nullptr;
    const ScopedThreadLimit limit(threads);
    bool sound = true;
    try {
        GilRelease gil_release(true);
        InterruptCheck interrupts(gil_release, bytes_per_row);
        const ScopedStopToken scope(&interrupts);
        sound = kernel(bytes(out.array()));
        if (interrupts.interrupted()) return nullptr;
    } catch (const std::bad_alloc&) {
        return PyErr_NoMemory();
    }
    if (sound) return out.release();
    Py_RETURN_NONE;
}

}  // namespace

// sum_matches(values, keys, targets, starts, rows, num_threads)
PyObject* sum_matches_call(PyObject*, PyObject* const* arguments, Py_ssize_t n) {
    if (n != 6 || !are_rows(arguments[1]) || !are_rows(arguments[2]) || !is_numbers(arguments[3]) ||
        !is_numbers(arguments[4]) || !have_same_rows(arguments[1], arguments[2]))
        return refuse("sum_matches() takes contiguous keys and targets with the same rows, starts and row numbers");
    PyObject* const values = arguments[0] == Py_None ? nullptr : arguments[0];
    PyArrayObject *const keys = array(arguments[1]), *const targets = array(arguments[2]);
    const int64_t count = PyArray_SIZE(array(arguments[3])) - 1, members = PyArray_SIZE(array(arguments[4]));
    const Bags bags{numbers(arguments[3]), count, numbers(arguments[4]), members, nullptr, false};
    if (count != PyArray_DIM(targets, 0)) return refuse("sum_matches() takes one target for each bag");
    if (values && (!are_rows(values) || !have_same_rows(values, arguments[1]) ||
                   PyArray_DIM(array(values), 0) != PyArray_DIM(keys, 0)))
        return refuse("sum_matches() takes contiguous values of the shape of keys");
    const DType dtype = element_type(PyArray_DESCR(keys));
    if (!supports_matches(dtype)) return refuse("sum_matches() takes floats");
    const Matches matches{values ? bytes(array(values)) : nullptr,
                          bytes(keys),
                          bytes(targets),
                          dtype,
                          PyArray_DIM(keys, 0),
                          row_width(keys)};
    PyArray_Descr* const type = PyArray_DESCR(values ? keys : array(arguments[4]));
    return fill_by(new_array(type, shape_of(targets)), arguments[5], matches.width * PyArray_ITEMSIZE(keys),
                   [&](std::byte* out) { return sum_matches(bags, matches, out); });
}

// dot_rows(a, b, rows_of_a, rows_of_b, num_threads)
PyObject* dot_rows_call(PyObject*, PyObject* const* arguments, Py_ssize_t n) {
    if (n != 5 || !are_rows(arguments[0]) || !are_rows(arguments[1]) || !have_same_rows(arguments[0], arguments[1]))
        return refuse("dot_rows() takes two contiguous arrays with the same rows");
    if (!is_numbers(arguments[2]) || !is_numbers(arguments[3]) ||
        PyArray_SIZE(array(arguments[2])) != PyArray_SIZE(array(arguments[3])))
        return refuse("dot_rows() takes the same number of row numbers for a and b");
    PyArrayObject *const a = array(arguments[0]), *const b = array(arguments[1]);
    const RowPairs pairs{bytes(a),
                         bytes(b),
                         numbers(arguments[2]),
                         numbers(arguments[3]),
                         element_type(PyArray_DESCR(a)),
                         PyArray_SIZE(array(arguments[2])),
                         PyArray_DIM(a, 0),
                         PyArray_DIM(b, 0),
                         row_width(a)};
    if (!supports_dots(pairs.dtype)) return refuse("dot_rows() takes floats or complex numbers");
    return fill_by(new_array(PyArray_DESCR(a), Shape({pairs.count})), arguments[4], pairs.width * PyArray_ITEMSIZE(a),
                   [&](std::byte* out) { return dot_rows(pairs, out); });
}

}  // namespace gs
