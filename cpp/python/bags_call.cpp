// Gather and reduce in one pass, on NumPy arrays.
#include <new>

#include "bags.hpp"
#include "call.hpp"
#include "numpy_arrays.hpp"
#include "parallel.hpp"
#include "signals.hpp"

namespace gs {
namespace {

PyObject* refuse(const char* text) {
    PyErr_SetString(PyExc_TypeError, text);
    return nullptr;
}

bool is_packed(PyObject* object, int rank) {
    return PyArray_CheckExact(object) && PyArray_ISCARRAY_RO(array(object)) && PyArray_NDIM(array(object)) == rank;
}

bool is_numbers(PyObject* object) {
    return is_packed(object, 1) && element_type(PyArray_DESCR(array(object))) == DType::int64;
}

const int64_t* numbers(PyObject* object) { return static_cast<const int64_t*>(PyArray_DATA(array(object))); }

}  // namespace

// reduce_bags(data, starts, rows, weights, empty, reduction, accumulate, may_skip, num_threads)
PyObject* reduce_bags_call(PyObject*, PyObject* const* arguments, Py_ssize_t n) {
    if (n != 9 || !PyBool_Check(arguments[7]) || !PyArray_CheckExact(arguments[0]) ||
        !PyArray_ISCARRAY_RO(array(arguments[0])) || PyArray_NDIM(array(arguments[0])) < 1 ||
        !is_numbers(arguments[1]) || !is_numbers(arguments[2]))
        return refuse("reduce_bags() wants contiguous data, starts, rows and a bool");
    PyArrayObject* const data = array(arguments[0]);
    PyObject *const weights = arguments[3] == Py_None ? nullptr : arguments[3], *const empty = arguments[4];
    const int64_t count = PyArray_SIZE(array(arguments[1])) - 1, members = PyArray_SIZE(array(arguments[2]));
    if (count < 0 || (weights && (!is_packed(weights, 1) || PyArray_SIZE(array(weights)) != members ||
                                  !same_type(array(weights), data))))
        return refuse("reduce_bags() wants a weight for each row, of data's type");
    if (!is_packed(empty, 0) || !same_type(array(empty), data))
        return refuse("reduce_bags() wants an element of data's type for empty bags");
    const int reduction = find_name(arguments[5], reduction_names),
              accumulate = find_name(arguments[6], accumulate_names);
    const Ref op(PyUnicode_FromString("gather_reduce"));
    int threads = 0;
    if (!op || !read_threads(op.get(), arguments[8], threads)) return nullptr;
    const Combine combine{element_type(PyArray_DESCR(data)), PyArray_ITEMSIZE(data), static_cast<Reduction>(reduction),
                          false, static_cast<Accumulate>(accumulate)};
    const bool wanted = reduction > 0 && combine.reduction != Reduction::sub && accumulate >= 0;
    if (!wanted || !supports(combine.dtype, combine.reduction))
        return refuse("reduce_bags() wants a reduction and a way to accumulate that the elements have");
    Shape shape = shape_of(data);
    const int64_t data_rows = shape.dim[0];
    shape.dim[0] = count;
    int64_t width = 1;
    for (int i = 1; i < shape.rank; ++i) width *= shape[i];
    const ScopedThreadLimit limit(threads);
    bool sound = true;
    Ref out = new_array(PyArray_DESCR(data), shape);
    if (!out) return nullptr;
    try {
        const Bags bags{
            numbers(arguments[1]),  count, numbers(arguments[2]), members, weights ? bytes(array(weights)) : nullptr,
            arguments[7] == Py_True};
        GilRelease gil_release(true);
        InterruptCheck interrupts(gil_release, width * combine.item_size);
        const ScopedStopToken scope(&interrupts);
        sound = reduce_bags(bags, bytes(data), data_rows, width, bytes(array(empty)), bytes(out.array()), combine);
        if (interrupts.interrupted()) return nullptr;
    } catch (const std::bad_alloc&) {
        return PyErr_NoMemory();
    }
    if (sound) return out.release();
    Py_RETURN_NONE;
}

}  // namespace gs
