// Converts Python's arguments to a Call: positions, keywords, and the names of modes and reductions.
#include <algorithm>
#include <cstring>
#include <iterator>
#include <string>

#include "call.hpp"
#include "docs.hpp"
#include "numpy_arrays.hpp"
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
    offsets,
    segment_ids,
    indptr,
    num_segments,
    weights,
    default_value,
    scales,
    zero_points,
    quantize_axis,
    block_size,
    bits,
    parameter_count
};
const char* const parameter_names[] = {
    "data",    "indices", "updates",     "axis",          "batch_dims",  "reduction", "include_self", "accumulate",
    "mode",    "out",     "num_threads", "offsets",       "segment_ids", "indptr",    "num_segments", "weights",
    "default", "scales",  "zero_points", "quantize_axis", "block_size",  "bits"};
static_assert(std::size(parameter_names) == parameter_count);

// The parameters of an array function. The first `positional` can be passed by position, and the first `required` must
// be passed.
struct Signature {
    int required, positional, total;
    Parameter parameters[parameter_count];
};
// clang-format off
constexpr Signature signatures[] = {
    /* gather           */ {2, 3,  7, {data, indices, axis, batch_dims, mode, out, num_threads}},
    /* gather_elements  */ {2, 3,  6, {data, indices, axis, mode, out, num_threads}},
    /* gather_nd        */ {2, 2,  6, {data, indices, batch_dims, mode, out, num_threads}},
    /* scatter_update   */ {3, 4, 10, {data, indices, updates, axis, reduction, include_self, accumulate, mode, out, num_threads}},
    /* scatter_elements */ {3, 4, 10, {data, indices, updates, axis, reduction, include_self, accumulate, mode, out, num_threads}},
    /* scatter_nd       */ {3, 3,  9, {data, indices, updates, reduction, include_self, accumulate, mode, out, num_threads}},
};
constexpr Signature bag_signature =
                            {1, 2, 18, {data, indices, offsets, segment_ids, indptr, num_segments, weights, scales, zero_points, quantize_axis, block_size, bits, reduction, default_value, accumulate, mode, out, num_threads}};
constexpr Signature quantized_signature =
                            {3, 4, 11, {data, indices, scales, zero_points, axis, quantize_axis, block_size, bits, mode, out, num_threads}};
// clang-format on
static_assert(std::size(signatures) == kernel_count);

PyObject* interned[parameter_count];

int find_parameter(PyObject* keyword, const Signature& signature) {
    for (int i = 0; i < signature.total; ++i)
        if (keyword == interned[signature.parameters[i]]) return signature.parameters[i];
    for (int i = 0; i < signature.total; ++i)
        if (PyUnicode_CompareWithASCIIString(keyword, parameter_names[signature.parameters[i]]) == 0)
            return signature.parameters[i];
    return -1;
}

void refuse_keyword(const char* function, const Signature& signature, PyObject* keyword) {
    const Ref names(PyTuple_New(signature.total));
    if (!names) return;
    for (int i = 0; i < signature.total; ++i) {
        PyObject* const known = interned[signature.parameters[i]];
        Py_INCREF(known);
        PyTuple_SET_ITEM(names.get(), i, known);
    }
    raise_fault("keyword_fault", Py_BuildValue("(sOO)", function, keyword, names.get()));
}

bool bind(const char* function, const Signature& signature, PyObject* const* arguments, Py_ssize_t positional,
          PyObject* keywords, PyObject** values) {
    if (positional > signature.positional) {
        std::string names;
        for (int i = signature.positional; i < signature.total; ++i)
            names.append(i > signature.positional ? ", " : "").append(parameter_names[signature.parameters[i]]);
        PyErr_Format(PyExc_TypeError, "%s() takes at most %d positional arguments (%zd given); pass by name: %s",
                     function, signature.positional, positional, names.c_str());
        return false;
    }
    for (Py_ssize_t i = 0; i < positional; ++i) values[signature.parameters[i]] = arguments[i];
    const Py_ssize_t count = keywords ? PyTuple_GET_SIZE(keywords) : 0;
    for (Py_ssize_t i = 0; i < count; ++i) {
        PyObject* keyword = PyTuple_GET_ITEM(keywords, i);
        const int parameter = find_parameter(keyword, signature);
        if (parameter < 0) {
            refuse_keyword(function, signature, keyword);
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

bool refuse(const char* function, PyObject* op, Parameter parameter, PyObject* value) {
    raise_fault(function, Py_BuildValue("(OsO)", op, parameter_names[parameter], value));
    return false;
}

// Reads an integer argument. An integer beyond 64 bits becomes one that is out of every range.
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

// Raises the error for a name that does not exist.
bool refuse_choice(PyObject* op, Parameter parameter, PyObject* value, bool scatter) {
    raise_fault("choice_fault",
                Py_BuildValue("(OsOO)", op, parameter_names[parameter], value, scatter ? Py_True : Py_False));
    return false;
}

// Reads one of several names into an enum with the same order.
template <class E, size_t n>
bool read_choice(PyObject* op, Parameter parameter, PyObject* value, const char* const (&names)[n], E& choice) {
    if (!value) return true;
    const int found = find_name(value, names);
    if (found >= 0) choice = static_cast<E>(found);
    return found >= 0 || refuse_choice(op, parameter, value, true);
}

// In Python, Mode::skip has two names that describe its effect: "fill" for a gather, "drop" for a scatter.
bool read_mode(PyObject* op, PyObject* value, bool scatter, Mode& mode) {
    if (!value) return true;
    const char* const names[] = {"raise", "wrap", "clip", scatter ? "drop" : "fill"};
    static_assert(std::size(names) == std::size(mode_names));
    const int found = find_name(value, names);
    if (found >= 0) mode = static_cast<Mode>(found);
    return found >= 0 || refuse_choice(op, Parameter::mode, value, scatter);
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

bool read_axis(PyObject* op, PyObject* value, int64_t& result) { return read_integer(op, axis, value, result); }

bool read_num_segments(PyObject* op, PyObject* value, std::optional<int64_t>& num_segments) {
    if (!value || value == Py_None) return true;
    int64_t n = 0;
    if (!read_integer(op, Parameter::num_segments, value, n)) return false;
    num_segments = n;
    return true;
}

bool read_threads(PyObject* op, PyObject* value, int& threads) {
    if (!value || value == Py_None) return true;
    int64_t n = 0;
    if (!read_integer(op, Parameter::num_threads, value, n)) return false;
    threads = static_cast<int>(std::min<int64_t>(n, max_threads));
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
           read_choice(call.op, reduction, values[reduction], reduction_names, call.reduction) &&
           read_flag(call.op, values[include_self], call.include_self) &&
           read_choice(call.op, accumulate, values[accumulate], accumulate_names, call.accumulate) &&
           read_threads(call.op, values[num_threads], call.threads);
}

}  // namespace

bool check_effects(PyObject* op, const Operation& call) {
    const bool accumulates =
        call.reduction != Reduction::none && call.reduction != Reduction::min && call.reduction != Reduction::max;
    if ((call.include_self || call.reduction != Reduction::none) &&
        (call.accumulate == Accumulate::step || accumulates))
        return true;
    raise_fault("check_effects",
                Py_BuildValue("(OsOs)", op, name(call.reduction), call.include_self ? Py_True : Py_False,
                              accumulate_names[static_cast<int>(call.accumulate)]));
    return false;
}

namespace {

bool read_table(PyObject* op, PyObject** values, QuantizedArguments& table) {
    table.scales = or_none(values[scales]);
    table.zero_points = or_none(values[zero_points]);
    return read_integer(op, quantize_axis, values[quantize_axis], table.operation.quantize_axis) &&
           read_integer(op, block_size, values[block_size], table.operation.block_size) &&
           read_integer(op, bits, values[bits], table.bits);
}

bool check_table(const BagCall& call) {
    if (call.table.scales || !call.table.zero_points) return true;
    raise_problem(call.op, {"scales_missing"}, nullptr);
    return false;
}

bool read_bags(BagCall& call, PyObject** values) {
    constexpr Parameter parameters[] = {data, indices, offsets, segment_ids, weights, parameter_count, indptr};
    static_assert(std::size(parameters) == bag_input_count);
    for (size_t i = 0; i < bag_input_count; ++i)
        if (parameters[i] != parameter_count) call.inputs[i] = or_none(values[parameters[i]]);
    call.empty = values[default_value];
    call.out = or_none(values[out]);
    call.reduction = Reduction::add;
    if (values[reduction]) {
        const int found = find_name(values[reduction], reduction_names);
        call.reduction = static_cast<Reduction>(found);
        if (found <= 0 || call.reduction == Reduction::sub)
            return refuse_choice(call.op, reduction, values[reduction], false);
    }
    return read_choice(call.op, accumulate, values[accumulate], accumulate_names, call.accumulate) &&
           check_effects(call.op, call) && read_mode(call.op, values[mode], false, call.rule.mode) &&
           read_table(call.op, values, call.table) && check_table(call) &&
           read_num_segments(call.op, values[num_segments], call.num_segments) &&
           read_threads(call.op, values[num_threads], call.threads);
}

bool read_quantized(QuantizedCall& call, PyObject** values) {
    call.data = values[data];
    call.indices = values[indices];
    call.out = or_none(values[out]);
    return read_integer(call.op, axis, values[axis], call.operation.axis) && read_table(call.op, values, call) &&
           read_mode(call.op, values[mode], false, call.operation.rule.mode) &&
           read_threads(call.op, values[num_threads], call.threads);
}

// Arguments that are not plain arrays are passed to a function in Python.
PyObject* call_python(PyObject* op, const char* module_name, const char* name, PyObject* const* arguments,
                      Py_ssize_t positional, PyObject* keywords) {
    const Ref module(PyImport_ImportModule(module_name));
    const Ref function(module ? PyObject_GetAttrString(module.get(), name) : nullptr);
    if (!function) return nullptr;
    PyObject* const result = PyObject_Vectorcall(function.get(), arguments, static_cast<size_t>(positional), keywords);
    if (!result) name_memory_error(op);
    return result;
}

// Replaces numbers, and lists of numbers, by arrays that `made` holds. Returns whether there are any. If the first
// argument does not become an array, the result is false. Arguments that were not given are null.
template <size_t n>
bool make_arrays(PyObject** const (&arguments)[n], Ref (&made)[n]) {
    bool any = false;
    for (size_t i = 0; i < n; ++i) {
        PyObject*& argument = *arguments[i];
        if (argument && (made[i] = array_of_numbers(argument))) {
            argument = made[i].get();
            any = true;
        }
        if (i == 0 && !(argument && PyArray_CheckExact(argument))) return false;
    }
    return any;
}

PyObject* op_names[kernel_count];  // as str

template <Kernel kernel>
PyObject* array_function(PyObject*, PyObject* const* arguments, Py_ssize_t positional, PyObject* keywords) {
    PyObject* values[parameter_count] = {};
    if (!bind(name(kernel), signatures[static_cast<int>(kernel)], arguments, positional, keywords, values))
        return nullptr;
    Call call;
    call.kernel = kernel;
    call.op = op_names[static_cast<int>(kernel)];
    if (!read_call(call, values) || !check_effects(call.op, call)) return nullptr;
    PyObject* result = nullptr;
    Outcome outcome = run(call, result);
    constexpr bool is_nd = kernel == Kernel::gather_nd || kernel == Kernel::scatter_nd;
    if (outcome == Outcome::not_plain && !(is_nd && is_tuple_of_lists(call.indices))) {
        Ref made[3];
        if (make_arrays({&call.data, &call.indices, &call.updates}, made)) outcome = run(call, result);
    }
    if (outcome == Outcome::not_plain) outcome = run_on_tensors(call, result);
    if (outcome == Outcome::not_plain)
        return call_python(call.op, "gatherscatter.arrays.convert", name(kernel), arguments, positional, keywords);
    return result;
}

// The statistics of bags, which a function in Python computes.
constexpr const char* bag_statistics[] = {"var", "std", "first", "last", "any", "all", "argmin", "argmax", "count"};

constexpr const char* gather_reduce_name = "gather_reduce";
PyObject* gather_reduce_op;  // as str

PyObject* gather_reduce_function(PyObject*, PyObject* const* arguments, Py_ssize_t positional, PyObject* keywords) {
    PyObject* values[parameter_count] = {};
    if (!bind(gather_reduce_name, bag_signature, arguments, positional, keywords, values)) return nullptr;
    BagCall call;
    call.op = gather_reduce_op;
    if (values[reduction] && find_name(values[reduction], bag_statistics) >= 0)
        return call_python(call.op, "gatherscatter.functions.gather_reduce", "gather_statistic", arguments, positional,
                           keywords);
    if (!read_bags(call, values)) return nullptr;
    PyObject* result = nullptr;
    Outcome outcome = call.inputs[0] ? run(call, result) : Outcome::not_plain;
    if (outcome == Outcome::not_plain) {
        Ref made[bag_input_count];
        PyObject** inputs[bag_input_count];
        for (size_t i = 0; i < bag_input_count; ++i) inputs[i] = &call.inputs[i];
        if (make_arrays(inputs, made)) outcome = run(call, result);
    }
    if (outcome == Outcome::not_plain) outcome = run_on_tensors(call, result);
    if (outcome == Outcome::not_plain)
        return call_python(call.op, "gatherscatter.functions.gather_reduce", "gather_reduce", arguments, positional,
                           keywords);
    return result;
}

constexpr const char* gather_quantized_name = "gather_quantized";
PyObject* gather_quantized_op;  // as str

PyObject* gather_quantized_function(PyObject*, PyObject* const* arguments, Py_ssize_t positional, PyObject* keywords) {
    PyObject* values[parameter_count] = {};
    if (!bind(gather_quantized_name, quantized_signature, arguments, positional, keywords, values)) return nullptr;
    QuantizedCall call;
    call.op = gather_quantized_op;
    if (!read_quantized(call, values)) return nullptr;
    PyObject* result = nullptr;
    Outcome outcome = run(call, result);
    if (outcome == Outcome::not_plain) {
        Ref made[2];
        if (make_arrays({&call.data, &call.indices}, made)) outcome = run(call, result);
    }
    if (outcome == Outcome::not_plain)
        return call_python(call.op, "gatherscatter.functions.gather_quantized", "gather_quantized", arguments,
                           positional, keywords);
    return result;
}

}  // namespace

bool read_options(PyObject* op, PyObject* kernel, PyObject* const* options, Call& call) {
    const int found = find_name(kernel, kernel_names);
    if (found < 0) {
        PyErr_Format(PyExc_ValueError, "%R is not a kernel", kernel);
        return false;
    }
    call.op = op;
    call.kernel = static_cast<Kernel>(found);
    PyObject* values[parameter_count] = {};
    constexpr Parameter order[] = {axis, batch_dims, reduction, include_self, accumulate, mode};
    for (size_t i = 0; i < std::size(order); ++i) values[order[i]] = options[i];
    return read_call(call, values) && read_flag(op, options[std::size(order)], call.rule.negative);
}

// apply(op, kernel, data, indices, updates, axis, batch_dims, reduction, include_self, accumulate, mode, negative,
//       out, num_threads)
bool read_apply(PyObject* const* arguments, Py_ssize_t n, Call& call) {
    if (n != 14) {
        PyErr_SetString(PyExc_TypeError, "apply() takes 14 arguments");
        return false;
    }
    if (!read_options(arguments[0], arguments[1], arguments + 5, call)) return false;
    call.data = arguments[2];
    call.indices = arguments[3];
    call.updates = or_none(arguments[4]);
    call.out = or_none(arguments[12]);
    if (is_scatter(call.kernel) != (call.updates != nullptr)) {
        PyErr_SetString(PyExc_TypeError, "apply() wants updates for a scatter and only then");
        return false;
    }
    return read_threads(call.op, arguments[13], call.threads);
}

// apply_bags(op, data, indices, offsets, segment_ids, indptr, num_segments, weights, init, reduction, default,
//            accumulate, mode, negative, embedding_rules, out, num_threads, [table])
// `table`: None, or the scales, zero points, quantize_axis, block_size and bits of a quantized table
bool read_apply_bags(PyObject* const* arguments, Py_ssize_t n, BagCall& call) {
    PyObject* const table = n == 18 ? or_none(arguments[17]) : nullptr;
    if ((n != 17 && n != 18) || (table && (!PyTuple_Check(table) || PyTuple_GET_SIZE(table) != 5))) {
        PyErr_SetString(PyExc_TypeError, "apply_bags() takes 17 arguments, and perhaps a tuple of 5");
        return false;
    }
    constexpr Parameter order[] = {data,
                                   indices,
                                   offsets,
                                   segment_ids,
                                   indptr,
                                   num_segments,
                                   weights,
                                   parameter_count,
                                   reduction,
                                   default_value,
                                   accumulate,
                                   mode,
                                   parameter_count,
                                   parameter_count,
                                   out,
                                   Parameter::num_threads};
    PyObject* values[parameter_count + 1] = {};
    for (size_t i = 0; i < std::size(order); ++i) values[order[i]] = arguments[i + 1];
    constexpr Parameter of_table[] = {scales, zero_points, quantize_axis, block_size, bits};
    for (int i = 0; table && i < 5; ++i) values[of_table[i]] = PyTuple_GET_ITEM(table, i);
    call.op = arguments[0];
    if (!read_bags(call, values)) return false;
    call.inputs[static_cast<size_t>(BagInput::init)] = or_none(arguments[8]);
    return read_flag(call.op, arguments[13], call.rule.negative) &&
           read_flag(call.op, arguments[14], call.embedding_rules);
}

// apply_quantized(op, data, indices, scales, zero_points, axis, quantize_axis, block_size, bits, mode, out,
// num_threads)
bool read_apply_quantized(PyObject* const* arguments, Py_ssize_t n, QuantizedCall& call) {
    constexpr Parameter order[] = {data, indices, scales, zero_points,           axis, quantize_axis, block_size,
                                   bits, mode,    out,    Parameter::num_threads};
    if (n != std::size(order) + 1) {
        PyErr_SetString(PyExc_TypeError, "apply_quantized() takes 12 arguments");
        return false;
    }
    PyObject* values[parameter_count] = {};
    for (size_t i = 0; i < std::size(order); ++i) values[order[i]] = arguments[i + 1];
    call.op = arguments[0];
    return read_quantized(call, values);
}

namespace {

template <Outcome (*act)(const QuantizedCall&, PyObject*&)>
PyObject* apply_quantized(PyObject*, PyObject* const* arguments, Py_ssize_t n) {
    QuantizedCall call;
    if (!read_apply_quantized(arguments, n, call)) return nullptr;
    PyObject* result = nullptr;
    if (act(call, result) == Outcome::not_plain) Py_RETURN_NOTIMPLEMENTED;
    return result;
}

template <Outcome (*act)(const BagCall&, PyObject*&)>
PyObject* apply_bags(PyObject*, PyObject* const* arguments, Py_ssize_t n) {
    BagCall call;
    if (!read_apply_bags(arguments, n, call)) return nullptr;
    PyObject* result = nullptr;
    if (!call.inputs[0] || act(call, result) == Outcome::not_plain) Py_RETURN_NOTIMPLEMENTED;
    return result;
}

template <Outcome (*act)(const Call&, PyObject*&)>
PyObject* apply(PyObject*, PyObject* const* arguments, Py_ssize_t n) {
    Call call;
    if (!read_apply(arguments, n, call)) return nullptr;
    PyObject* result = nullptr;
    if (act(call, result) == Outcome::not_plain)
        PyErr_SetString(PyExc_TypeError, "apply() wants aligned native NumPy arrays of fitting types");
    return result;
}

PyObject* apply_to_tensors(PyObject*, PyObject* const* arguments, Py_ssize_t n) {
    Call call;
    if (!read_apply(arguments, n, call) || !check_effects(call.op, call)) return nullptr;
    PyObject* result = nullptr;
    if (run_on_tensors(call, result) == Outcome::not_plain) Py_RETURN_NOTIMPLEMENTED;
    return result;
}

template <Kernel kernel>
PyMethodDef array_method(const char* doc) {
    return {name(kernel), reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(array_function<kernel>)),
            METH_FASTCALL | METH_KEYWORDS, doc};
}

}  // namespace

// supports(dtype, reduction)
PyObject* supports_call(PyObject*, PyObject* const* arguments, Py_ssize_t n) {
    const int reduction = n == 2 ? find_name(arguments[1], reduction_names) : -1;
    if (reduction < 0) {
        PyErr_SetString(PyExc_TypeError, "supports() takes a dtype and the name of a reduction");
        return nullptr;
    }
    PyArray_Descr* descr = nullptr;
    if (!PyArray_DescrConverter(arguments[0], &descr)) return nullptr;
    const Ref held(reinterpret_cast<PyObject*>(descr));
    return PyBool_FromLong(supports(element_type(descr), static_cast<Reduction>(reduction)));
}

PyMethodDef* array_functions() {
    static PyMethodDef methods[] = {
        array_method<Kernel::gather>(docs::gather),
        array_method<Kernel::gather_elements>(docs::gather_elements),
        array_method<Kernel::gather_nd>(docs::gather_nd),
        array_method<Kernel::scatter_update>(docs::scatter_update),
        array_method<Kernel::scatter_elements>(docs::scatter_elements),
        array_method<Kernel::scatter_nd>(docs::scatter_nd),
        {gather_reduce_name, reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(gather_reduce_function)),
         METH_FASTCALL | METH_KEYWORDS, docs::gather_reduce},
        {gather_quantized_name, reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(gather_quantized_function)),
         METH_FASTCALL | METH_KEYWORDS, docs::gather_quantized},
        method("apply_quantized", apply_quantized<run>, docs::apply_quantized),
        method("describe_quantized", apply_quantized<describe_call>, docs::describe_quantized),
        method("apply_bags", apply_bags<run>, docs::apply_bags),
        method("describe_bags", apply_bags<describe_call>, docs::describe_bags),
        method("apply", apply<run>, docs::apply),
        method("apply_to_tensors", apply_to_tensors, docs::apply_to_tensors),
        method("apply_bags_to_tensors", apply_bags<run_on_tensors>, docs::apply_bags_to_tensors),
        method("describe_call", apply<describe_call>, docs::describe_call),
        method("check_call", apply<check_call>, docs::check_call),
        {nullptr, nullptr, 0, nullptr},
    };
    for (int i = 0; i < parameter_count; ++i)
        if (!interned[i]) interned[i] = PyUnicode_InternFromString(parameter_names[i]);
    for (int i = 0; i < kernel_count; ++i)
        if (!op_names[i]) op_names[i] = PyUnicode_InternFromString(kernel_names[i]);
    if (!gather_reduce_op) gather_reduce_op = PyUnicode_InternFromString(gather_reduce_name);
    if (!gather_quantized_op) gather_quantized_op = PyUnicode_InternFromString(gather_quantized_name);
    return methods;
}

}  // namespace gs
