// Gather and reduce in one pass, and the computations for its gradients, on NumPy arrays.
#include <algorithm>
#include <new>

#include "bag_gradients.hpp"
#include "bags.hpp"
#include "call.hpp"
#include "facts.hpp"
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

// Reads a reduction of bags by its names. False: elements of the type do not support it.
bool read_combine(PyArray_Descr* descr, PyObject* reduction, PyObject* accumulate, Combine& combine) {
    const int how = find_name(reduction, reduction_names), in = find_name(accumulate, accumulate_names);
    combine = {element_type(descr), PyDataType_ELSIZE(descr), static_cast<Reduction>(how), false,
               static_cast<Accumulate>(in)};
    return how > 0 && combine.reduction != Reduction::sub && in >= 0 && supports(combine.dtype, combine.reduction);
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

// reduce_bags(data, starts, rows, weights, empty, reduction, accumulate, may_skip, num_threads)
PyObject* reduce_bags_call(PyObject*, PyObject* const* arguments, Py_ssize_t n) {
    if (n != 9 || !PyBool_Check(arguments[7]) || !are_rows(arguments[0]) || !is_numbers(arguments[1]) ||
        !is_numbers(arguments[2]))
        return refuse("reduce_bags() wants contiguous data, starts, rows and a bool");
    PyArrayObject* const data = array(arguments[0]);
    PyObject *const weights = arguments[3] == Py_None ? nullptr : arguments[3], *const empty = arguments[4];
    const int64_t count = PyArray_SIZE(array(arguments[1])) - 1, members = PyArray_SIZE(array(arguments[2]));
    if (count < 0 || (weights && (!is_packed(weights, 1) || PyArray_SIZE(array(weights)) != members ||
                                  !same_type(array(weights), data))))
        return refuse("reduce_bags() wants a weight for each row, of data's type");
    if (!is_packed(empty, 0) || !same_type(array(empty), data))
        return refuse("reduce_bags() wants an element of data's type for empty bags");
    Combine combine{};
    if (!read_combine(PyArray_DESCR(data), arguments[5], arguments[6], combine))
        return refuse("reduce_bags() wants a reduction and a way to accumulate that the elements have");
    Shape shape = shape_of(data);
    const int64_t data_rows = shape.dim[0];
    shape.dim[0] = count;
    const int64_t width = row_width(data);
    const Bags bags{
        numbers(arguments[1]),  count, numbers(arguments[2]), members, weights ? bytes(array(weights)) : nullptr,
        arguments[7] == Py_True};
    const std::byte *const table = bytes(data), *const none = bytes(array(empty));
    return fill_by(new_array(PyArray_DESCR(data), shape), arguments[8], width * combine.item_size,
                   [&](std::byte* out) { return reduce_bags(bags, table, data_rows, width, none, out, combine); });
}

// describe_bags(dtype, width, starts, weighted, reduction, accumulate, may_skip, num_threads)
PyObject* describe_bags_call(PyObject*, PyObject* const* arguments, Py_ssize_t n) {
    if (n != 8 || !PyArray_DescrCheck(arguments[0]) || !is_numbers(arguments[2]) || !PyBool_Check(arguments[3]) ||
        !PyBool_Check(arguments[6]))
        return refuse("describe_bags() wants a dtype, a width, starts and two bools");
    Combine combine{};
    if (!read_combine(reinterpret_cast<PyArray_Descr*>(arguments[0]), arguments[4], arguments[5], combine))
        return refuse("describe_bags() wants a reduction and a way to accumulate that the elements have");
    const int64_t width = PyLong_AsLongLong(arguments[1]), count = PyArray_SIZE(array(arguments[2])) - 1;
    int threads = 0;
    if (PyErr_Occurred() || !read_limit(arguments[7], threads)) return nullptr;
    const int64_t* const starts = numbers(arguments[2]);
    if (width < 0 || count < 0 || starts[0] < 0 || !std::is_sorted(starts, starts + count + 1))
        return refuse("describe_bags() wants a width of at least 0, and starts that do not descend");
    // Only the presence of weights matters, not their address.
    static constexpr std::byte somewhere{};
    const Bags bags{
        starts, count, nullptr, starts[count], arguments[3] == Py_True ? &somewhere : nullptr, arguments[6] == Py_True};
    const ScopedThreadLimit limit(threads);
    Facts facts;
    try {
        const BagRoute route = route_bags(bags, width, combine);
        facts.add("threads", route.threads);
        facts.add("divides_columns", route.divides_columns);
        facts.add("gathers_rows", route.gathers_rows);
        facts.add("kernel_bytes", route.scratch);
    } catch (const std::bad_alloc&) {
        return PyErr_NoMemory();
    }
    add_processor(facts);
    return facts.take().release();
}

// sum_matches(values, keys, targets, starts, rows, num_threads)
PyObject* sum_matches_call(PyObject*, PyObject* const* arguments, Py_ssize_t n) {
    if (n != 6 || !are_rows(arguments[1]) || !are_rows(arguments[2]) || !is_numbers(arguments[3]) ||
        !is_numbers(arguments[4]) || !have_same_rows(arguments[1], arguments[2]))
        return refuse("sum_matches() wants contiguous keys and targets with the same rows, starts and row numbers");
    PyObject* const values = arguments[0] == Py_None ? nullptr : arguments[0];
    PyArrayObject *const keys = array(arguments[1]), *const targets = array(arguments[2]);
    const int64_t count = PyArray_SIZE(array(arguments[3])) - 1, members = PyArray_SIZE(array(arguments[4]));
    const Bags bags{numbers(arguments[3]), count, numbers(arguments[4]), members, nullptr, false};
    if (count != PyArray_DIM(targets, 0)) return refuse("sum_matches() wants a target for each bag");
    if (values && (!are_rows(values) || !have_same_rows(values, arguments[1]) ||
                   PyArray_DIM(array(values), 0) != PyArray_DIM(keys, 0)))
        return refuse("sum_matches() wants contiguous values of the shape of keys");
    const DType dtype = element_type(PyArray_DESCR(keys));
    if (!supports_matches(dtype)) return refuse("sum_matches() wants floats");
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
        return refuse("dot_rows() wants two contiguous arrays with the same rows");
    if (!is_numbers(arguments[2]) || !is_numbers(arguments[3]) ||
        PyArray_SIZE(array(arguments[2])) != PyArray_SIZE(array(arguments[3])))
        return refuse("dot_rows() wants as many row numbers of a as of b");
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
    if (!supports_dots(pairs.dtype)) return refuse("dot_rows() wants floats or complex numbers");
    return fill_by(new_array(PyArray_DESCR(a), Shape({pairs.count})), arguments[4], pairs.width * PyArray_ITEMSIZE(a),
                   [&](std::byte* out) { return dot_rows(pairs, out); });
}

}  // namespace gs
