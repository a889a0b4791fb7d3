// From Python's arguments to a Call: positions, keywords and the names of modes and reductions.
#include <algorithm>
#include <cstring>

#include "call.hpp"
#include "docs.hpp"
#include "parallel.hpp"

namespace gs {
namespace {

enum Parameter {
    data,
    indices,
    updates,
    axis,
    batch_dims,
    reduction,
    include_self,
    accumulate,
    mode,
    out,
    num_threads,
    parameter_count
};
const char* const parameter_names[parameter_count] = {"data",       "indices",   "updates",      "axis",
                                                      "batch_dims", "reduction", "include_self", "accumulate",
                                                      "mode",       "out",       "num_threads"};

// Which parameters an array function has: the first `positional` may be given by position, `required` must be given.
struct Signature {
    int required, positional, total;
    Parameter parameters[parameter_count];
};
constexpr Signature signatures[kernel_count] = {
    {2, 3, 7, {data, indices, axis, batch_dims, mode, out, num_threads}},  // gather
    {2, 3, 6, {data, indices, axis, mode, out, num_threads}},              // gather_elements
    {2, 2, 6, {data, indices, batch_dims, mode, out, num_threads}},        // gather_nd
    {3,
     4,
     10,
     {data, indices, updates, axis, reduction, include_self, accumulate, mode, out, num_threads}},  // scatter_update
    {3,
     4,
     10,
     {data, indices, updates, axis, reduction, include_self, accumulate, mode, out, num_threads}},  // scatter_elements
    {3, 3, 9, {data, indices, updates, reduction, include_self, accumulate, mode, out, num_threads}},  // scatter_nd
};

const char* const mode_names[] = {"raise", "wrap", "clip", "fill", "drop"};

PyObject* interned[parameter_count];

int find_parameter(PyObject* keyword, const Signature& signature) {
    for (int i = 0; i < signature.total; ++i)
        if (keyword == interned[signature.parameters[i]]) return signature.parameters[i];
    for (int i = 0; i < signature.total; ++i)
        if (PyUnicode_CompareWithASCIIString(keyword, parameter_names[signature.parameters[i]]) == 0)
            return signature.parameters[i];
    return -1;
}

bool bind(const char* function, const Signature& signature, PyObject* const* arguments, Py_ssize_t positional,
          PyObject* keywords, PyObject** values) {
    if (positional > signature.positional) {
        PyErr_Format(PyExc_TypeError, "%s() takes at most %d positional arguments (%zd given)", function,
                     signature.positional, positional);
        return false;
    }
    for (Py_ssize_t i = 0; i < positional; ++i) values[signature.parameters[i]] = arguments[i];
    const Py_ssize_t count = keywords ? PyTuple_GET_SIZE(keywords) : 0;
    for (Py_ssize_t i = 0; i < count; ++i) {
        PyObject* keyword = PyTuple_GET_ITEM(keywords, i);
        const int parameter = find_parameter(keyword, signature);
        if (parameter < 0) {
            PyErr_Format(PyExc_TypeError, "%s() got an unexpected keyword argument %R", function, keyword);
            return false;
        }
        if (values[parameter]) {
            PyErr_Format(PyExc_TypeError, "%s() got multiple values for argument %R", function, keyword);
            return false;
        }
        values[parameter] = arguments[positional + i];
    }
    for (int i = 0; i < signature.required; ++i)
        if (!values[signature.parameters[i]]) {
            PyErr_Format(PyExc_TypeError, "%s() missing required argument '%s'", function,
                         parameter_names[signature.parameters[i]]);
            return false;
        }
    return true;
}

// Raises: errors.py words it.
bool refuse(const char* function, PyObject* op, Parameter parameter, PyObject* value) {
    PyObject* errors = PyImport_ImportModule("gatherscatter.errors");
    if (errors) Py_XDECREF(PyObject_CallMethod(errors, function, "OsO", op, parameter_names[parameter], value));
    Py_XDECREF(errors);
    return false;
}

// An integer argument; one beyond 64 bits becomes one that is out of any range.
bool read_integer(PyObject* op, Parameter parameter, PyObject* value, int64_t& result) {
    if (!value) return true;
    PyObject* number = PyNumber_Index(value);
    if (!number) {
        if (!PyErr_ExceptionMatches(PyExc_TypeError)) return false;
        PyErr_Clear();
        return refuse("integer_fault", op, parameter, value);
    }
    int overflow = 0;
    result = PyLong_AsLongLongAndOverflow(number, &overflow);
    Py_DECREF(number);
    if (overflow) result = overflow > 0 ? INT64_MAX : INT64_MIN;
    return !(result == -1 && PyErr_Occurred());
}

// Raises: errors.py words it.
bool refuse_choice(PyObject* op, const char* parameter, PyObject* value, bool scatter) {
    PyObject* errors = PyImport_ImportModule("gatherscatter.errors");
    if (errors) {
        PyObject* none = PyObject_CallMethod(errors, "choice_fault", "OsOi", op, parameter, value, scatter);
        Py_XDECREF(none);
        Py_DECREF(errors);
    }
    return false;
}

// The place of a str among `names`; -1 when it is not there.
template <size_t n>
int find_name(PyObject* value, const char* const (&names)[n]) {
    if (!PyUnicode_Check(value)) return -1;
    for (size_t i = 0; i < n; ++i)
        if (PyUnicode_CompareWithASCIIString(value, names[i]) == 0) return static_cast<int>(i);
    return -1;
}

bool read_mode(PyObject* op, PyObject* value, bool scatter, Mode& mode) {
    if (!value) return true;
    const int found = find_name(value, mode_names);
    const bool fill = found == 3, drop = found == 4;
    if (found < 0 || (scatter && fill) || (!scatter && drop)) return refuse_choice(op, "mode", value, scatter);
    mode = fill || drop ? Mode::skip : static_cast<Mode>(found);
    return true;
}

bool read_reduction(PyObject* op, PyObject* value, Reduction& reduction) {
    if (!value) return true;
    const int found = find_name(value, reduction_names);
    if (found < 0) return refuse_choice(op, "reduction", value, true);
    reduction = static_cast<Reduction>(found);
    return true;
}

bool read_accumulate(PyObject* op, PyObject* value, Accumulate& accumulate) {
    if (!value) return true;
    const int found = find_name(value, accumulate_names);
    if (found < 0) return refuse_choice(op, "accumulate", value, true);
    accumulate = static_cast<Accumulate>(found);
    return true;
}

}  // namespace

bool read_flag(PyObject* op, PyObject* value, bool& flag) {
    if (!value) return true;
    const bool is_flag =
        PyBool_Check(value) || PyLong_Check(value) || std::strstr(Py_TYPE(value)->tp_name, "numpy.bool");
    const int truth = is_flag ? PyObject_IsTrue(value) : -1;
    flag = truth > 0;
    return truth >= 0 || refuse("flag_fault", op, include_self, value);
}

bool read_threads(PyObject* op, PyObject* value, int& threads) {
    if (!value || value == Py_None) return true;
    int64_t n = 0;
    if (!read_integer(op, Parameter::num_threads, value, n)) return false;
    threads = static_cast<int>(std::min<int64_t>(n, most_threads));
    return n >= 1 || refuse("threads_fault", op, Parameter::num_threads, value);
}

namespace {

PyObject* or_none(PyObject* value) { return value == Py_None ? nullptr : value; }

bool read_call(Call& call, PyObject** values) {
    call.data = values[data];
    call.indices = values[indices];
    call.updates = values[updates];
    call.out = or_none(values[out]);
    return read_integer(call.op, axis, values[axis], call.axis) &&
           read_integer(call.op, batch_dims, values[batch_dims], call.batch_dims) &&
           read_mode(call.op, values[mode], is_scatter(call.kernel), call.rule.mode) &&
           read_reduction(call.op, values[reduction], call.reduction) &&
           read_flag(call.op, values[include_self], call.include_self) &&
           read_accumulate(call.op, values[accumulate], call.accumulate) &&
           read_threads(call.op, values[num_threads], call.threads);
}

// Whatever is no plain array goes to the function of the same name in _arrays.py.
PyObject* call_arrays(Kernel kernel, PyObject* const* arguments, Py_ssize_t positional, PyObject* keywords) {
    PyObject* module = PyImport_ImportModule("gatherscatter._arrays");
    PyObject* function = module ? PyObject_GetAttrString(module, name(kernel)) : nullptr;
    PyObject* result =
        function ? PyObject_Vectorcall(function, arguments, static_cast<size_t>(positional), keywords) : nullptr;
    Py_XDECREF(function);
    Py_XDECREF(module);
    return result;
}

PyObject* kernel_names[kernel_count];

template <Kernel kernel>
PyObject* array_function(PyObject*, PyObject* const* arguments, Py_ssize_t positional, PyObject* keywords) {
    PyObject* values[parameter_count] = {};
    if (!bind(name(kernel), signatures[static_cast<int>(kernel)], arguments, positional, keywords, values))
        return nullptr;
    Call call{kernel_names[static_cast<int>(kernel)], kernel};
    if (!read_call(call, values)) return nullptr;
    PyObject* result = nullptr;
    if (run(call, result) == Outcome::not_plain) return call_arrays(kernel, arguments, positional, keywords);
    return result;
}

// apply(op, kernel, data, indices, updates, axis, batch_dims, reduction, include_self, accumulate, mode, negative,
//       out, num_threads)
bool read_apply(PyObject* const* arguments, Py_ssize_t n, Call& call) {
    if (n != 14) {
        PyErr_SetString(PyExc_TypeError, "apply() takes 14 arguments");
        return false;
    }
    int kernel = 0;
    while (kernel < kernel_count && PyUnicode_Compare(arguments[1], kernel_names[kernel]) != 0) ++kernel;
    if (kernel == kernel_count) {
        PyErr_Format(PyExc_ValueError, "apply() knows no kernel %R", arguments[1]);
        return false;
    }
    call = Call{arguments[0], static_cast<Kernel>(kernel)};
    PyObject* values[parameter_count] = {};
    values[data] = arguments[2];
    values[indices] = arguments[3];
    values[updates] = or_none(arguments[4]);
    values[axis] = arguments[5];
    values[batch_dims] = arguments[6];
    values[reduction] = arguments[7];
    values[include_self] = arguments[8];
    values[accumulate] = arguments[9];
    values[mode] = arguments[10];
    values[out] = arguments[12];
    values[num_threads] = arguments[13];
    if (is_scatter(call.kernel) != (values[updates] != nullptr)) {
        PyErr_SetString(PyExc_TypeError, "apply() wants updates for a scatter and only then");
        return false;
    }
    return read_call(call, values) && read_flag(call.op, arguments[11], call.rule.negative);
}

template <Outcome (*act)(const Call&, PyObject*&)>
PyObject* apply(PyObject*, PyObject* const* arguments, Py_ssize_t n) {
    Call call{};
    if (!read_apply(arguments, n, call)) return nullptr;
    PyObject* result = nullptr;
    if (act(call, result) == Outcome::not_plain)
        PyErr_SetString(PyExc_TypeError, "apply() wants aligned native NumPy arrays of fitting types");
    return result;
}

// knows(dtype, reduction)
PyObject* knows_call(PyObject*, PyObject* const* arguments, Py_ssize_t n) {
    const int found = n == 2 ? find_name(arguments[1], reduction_names) : -1;
    if (found < 0) {
        PyErr_SetString(PyExc_TypeError, "knows() takes a dtype and the name of a reduction");
        return nullptr;
    }
    bool known = false;
    if (!knows_dtype(arguments[0], static_cast<Reduction>(found), known)) return nullptr;
    return PyBool_FromLong(known);
}

template <Kernel kernel>
PyMethodDef method(const char* doc) {
    return {name(kernel), reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(array_function<kernel>)),
            METH_FASTCALL | METH_KEYWORDS, doc};
}

}  // namespace

int find_reduction(PyObject* name) { return find_name(name, reduction_names); }

PyMethodDef* array_functions() {
    static PyMethodDef methods[] = {
        method<Kernel::gather>(docs::gather),
        method<Kernel::gather_elements>(docs::gather_elements),
        method<Kernel::gather_nd>(docs::gather_nd),
        method<Kernel::scatter_update>(docs::scatter_update),
        method<Kernel::scatter_elements>(docs::scatter_elements),
        method<Kernel::scatter_nd>(docs::scatter_nd),
        {"apply", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(apply<run>)), METH_FASTCALL, docs::apply},
        {"explain", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(apply<explain>)), METH_FASTCALL,
         docs::explain},
        {"knows", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(knows_call)), METH_FASTCALL, docs::knows},
        {"group", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(group_call)), METH_FASTCALL, docs::group},
        {"row_numbers", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(row_numbers_call)), METH_FASTCALL,
         docs::row_numbers},
        {"copied", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(copied_call)), METH_FASTCALL,
         docs::copied},
        {"tensor_array", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(tensor_array_call)), METH_FASTCALL,
         docs::tensor_array},
        {"scatter_groups", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(scatter_groups_call)),
         METH_FASTCALL, docs::scatter_groups},
        {"reduce_groups", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(reduce_groups_call)),
         METH_FASTCALL, docs::reduce_groups},
        {"gather_tree", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(gather_tree_call)), METH_FASTCALL,
         docs::gather_tree},
        {nullptr, nullptr, 0, nullptr},
    };
    for (int i = 0; i < parameter_count; ++i)
        if (!interned[i]) interned[i] = PyUnicode_InternFromString(parameter_names[i]);
    for (int i = 0; i < kernel_count; ++i)
        if (!kernel_names[i]) kernel_names[i] = PyUnicode_InternFromString(name(static_cast<Kernel>(i)));
    return methods;
}

}  // namespace gs
