// Statistics of groups on NumPy arrays.
#include <algorithm>
#include <new>

#include "call.hpp"
#include "float_mode.hpp"
#include "numpy_arrays.hpp"
#include "signals.hpp"
#include "statistics.hpp"

namespace gs {
namespace {

int type_number(DType dtype, PyArrayObject* values) {
    switch (dtype) {
        case DType::boolean: return NPY_BOOL;
        case DType::int64: return NPY_INT64;
        case DType::uint64: return NPY_UINT64;
        case DType::float64: return NPY_FLOAT64;
        case DType::complex128: return NPY_COMPLEX128;
        default: return PyArray_TYPE(values);
    }
}

// Returns a new array with elements of the type, or of the type of the values.
Ref new_results(DType dtype, PyArrayObject* values, const Shape& shape) {
    if (values && element_type(PyArray_DESCR(values)) == dtype) return new_array(PyArray_DESCR(values), shape);
    const Ref descr(reinterpret_cast<PyObject*>(PyArray_DescrFromType(type_number(dtype, values))));
    return descr ? new_array(reinterpret_cast<PyArray_Descr*>(descr.get()), shape) : Ref();
}

}  // namespace

// group_statistic(statistic, values, labels, groups, skip_nan, mode, fill, num_threads)
PyObject* group_statistic_call(PyObject*, PyObject* const* arguments, Py_ssize_t n) {
    if (n != 8)
        return refuse(
            "group_statistic() takes a statistic, values, labels, groups, skip_nan, mode, fill and num_threads");
    PyObject *const given = arguments[1], *const labels = arguments[2];
    const int statistic = find_name(arguments[0], statistic_names), mode = find_name(arguments[5], mode_names);
    const int64_t groups = PyLong_AsLongLong(arguments[3]);
    if (groups == -1 && PyErr_Occurred()) return nullptr;
    IndexType type{};
    const bool known_mode = mode == static_cast<int>(Mode::raise) || mode == static_cast<int>(Mode::skip);
    if (statistic < 0 || !known_mode || groups < 0 || !PyBool_Check(arguments[4]) || !is_packed(labels, 1) ||
        !index_type(array(labels), type))
        return refuse("group_statistic() takes the name of a statistic, one label for each member, and a mode");
    const bool skip_nan = arguments[4] == Py_True;
    const Ref op(PyUnicode_FromString("aggregate"));
    int threads = 0;
    if (!op || !read_threads(op.get(), arguments[7], threads)) return nullptr;
    GroupStatistic call{
        static_cast<Statistic>(statistic), DType::uint8, skip_nan, 1, PyArray_SIZE(array(labels)), 1, groups};
    PyArrayObject* values = nullptr;
    if (!reads_labels_only(call.statistic, skip_nan)) {
        if (!is_packed(given, 3) || PyArray_DIM(array(given), 1) != call.members || PyArray_ISBYTESWAPPED(array(given)))
            return refuse("group_statistic() takes contiguous native values of shape (outer, members, columns)");
        values = array(given);
        call.dtype = element_type(PyArray_DESCR(values));
        call.outer = PyArray_DIM(values, 0);
        call.columns = PyArray_DIM(values, 2);
    }
    const DType result = result_type(call.statistic, call.dtype);
    if (result == DType::opaque) Py_RETURN_NOTIMPLEMENTED;
    if (has_fill(call.statistic)) {
        PyObject* const fill = arguments[6];
        if (!is_packed(fill, 0) || element_type(PyArray_DESCR(array(fill))) != result)
            return refuse("group_statistic() takes a fill value of the type of the results");
        call.fill = bytes(array(fill));
    }
    const Shape shape({call.outer, call.results(), call.columns});
    // The slots of several parts must fit, too, even if there is a result for each member.
    const int64_t most = saturating_multiply(saturating_multiply(call.outer, call.columns),
                                             saturating_multiply(std::max(call.members, call.groups), 1024));
    if (most == INT64_MAX) return PyErr_NoMemory();
    Ref out = new_results(result, values, shape);
    Ref counts = out && has_counts(call.statistic) ? new_results(DType::int64, nullptr, shape) : borrow(Py_None);
    const bool moments = call.statistic == Statistic::moments;
    Ref centers = out && moments ? new_results(center_type(call.dtype), nullptr, shape) : borrow(Py_None),
        rests = out && moments ? new_results(rest_type(call.dtype), nullptr, shape) : borrow(Py_None);
    if (!out || !counts || !centers || !rests) return nullptr;
    const Rule rule = static_cast<Mode>(mode) == Mode::skip ? Rule{Mode::skip, Negative::skip} : strict;
    const Index index(PyArray_DATA(array(labels)), type, Shape{groups}, Shape{1}, rule);
    const ScopedThreadLimit limit(threads);
    const ScopedDenormals denormals;
    bool good = false;
    try {
        const int64_t bytes_per_member = call.outer * call.columns * 8;
        const bool large = saturating_multiply(call.members, bytes_per_member) > gil_release_bytes ||
                           PyArray_NBYTES(out.array()) > gil_release_bytes;
        const auto compute = [&] {
            StatisticResults results{bytes(out.array())};
            if (has_counts(call.statistic)) results.counts = static_cast<int64_t*>(PyArray_DATA(counts.array()));
            if (moments) {
                results.centers = bytes(centers.array());
                results.rests = bytes(rests.array());
            }
            good = compute_statistic(call, values ? bytes(values) : nullptr, index, results);
        };
        if (!run_part(large, true, bytes_per_member, compute)) return nullptr;
    } catch (const std::bad_alloc&) {
        return PyErr_NoMemory();
    }
    if (!good) Py_RETURN_NONE;
    if (!moments) return Py_BuildValue("(NN)", out.release(), counts.release());
    return Py_BuildValue("(NNNN)", out.release(), counts.release(), centers.release(), rests.release());
}

// sort_groups(values, starts, ranks, num_threads)
PyObject* sort_groups_call(PyObject*, PyObject* const* arguments, Py_ssize_t n) {
    if (n != 4 || !is_packed(arguments[0], 1) || !PyArray_ISCARRAY(array(arguments[0])) || !is_numbers(arguments[1]) ||
        PyArray_SIZE(array(arguments[1])) == 0)
        return refuse("sort_groups() takes contiguous values, the starts of groups, ranks and num_threads");
    const int64_t groups = PyArray_SIZE(array(arguments[1])) - 1;
    const bool ranked = arguments[2] != Py_None;
    if (ranked && (!is_numbers(arguments[2]) || PyArray_SIZE(array(arguments[2])) != groups))
        return refuse("sort_groups() takes a rank for each group");
    PyArrayObject* const values = array(arguments[0]);
    const DType dtype = element_type(PyArray_DESCR(values));
    if (dtype == DType::opaque) Py_RETURN_NOTIMPLEMENTED;
    const Ref op(PyUnicode_FromString("aggregate"));
    int threads = 0;
    if (!op || !read_threads(op.get(), arguments[3], threads)) return nullptr;
    const ScopedThreadLimit limit(threads);
    bool good = false;
    const auto sort = [&] {
        good = sort_groups(numbers(arguments[1]), groups, PyArray_SIZE(values), dtype, bytes(values),
                           ranked ? numbers(arguments[2]) : nullptr);
    };
    if (!run_part(PyArray_NBYTES(values) > gil_release_bytes, true, 8, sort)) return nullptr;
    if (!good) return refuse("sort_groups() takes starts that ascend, and ranks below the lengths of groups");
    Py_RETURN_NONE;
}

// find_greatest_label(labels)
PyObject* find_greatest_label_call(PyObject*, PyObject* const* arguments, Py_ssize_t n) {
    IndexType type{};
    if (n != 1 || !is_packed(arguments[0], 1) || !index_type(array(arguments[0]), type))
        return refuse("find_greatest_label() takes a line of integers");
    int64_t greatest = -1;
    PyArrayObject* const labels = array(arguments[0]);
    const auto find = [&] {
        if (PyArray_SIZE(labels) > 0) greatest = find_greatest_label(PyArray_DATA(labels), type, PyArray_SIZE(labels));
    };
    if (!run_part(PyArray_NBYTES(labels) > gil_release_bytes, false, 8, find)) return nullptr;
    return PyLong_FromLongLong(greatest);
}

}  // namespace gs
