// Reads positions, keywords and records, and the names of modes and reductions.
#include "arguments.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>

#include "numpy_arrays.hpp"
#include "parallel.hpp"

namespace gs {
namespace {

constexpr bool are_kernels_first() {
    for (int i = 0; i < kernel_count; ++i)
        if (std::string_view(signatures[i].function) != kernel_names[i]) return false;
    return true;
}
static_assert(are_kernels_first());
static_assert(std::string_view(signatures[gather_reduce_function].function) == "gather_reduce");
static_assert(std::string_view(signatures[gather_quantized_function].function) == "gather_quantized");

PyObject* parameter_objects[parameter::count];

int find_parameter(PyObject* keyword) {
    for (int i = 0; i < parameter::count; ++i)
        if (keyword == parameter_objects[i]) return i;
    return find_name(keyword, parameter::names);
}

void refuse_keyword(const Signature& signature, PyObject* keyword) {
    const Ref names(PyTuple_New(signature.total));
    if (!names) return;
    for (int i = 0; i < signature.total; ++i)
        PyTuple_SET_ITEM(names.get(), i, Py_NewRef(parameter_objects[signature.parameters[i]]));
    raise_fault("keyword_fault", Py_BuildValue("(sOO)", signature.function, keyword, names.get()));
}

bool refuse_argument(const char* fault, PyObject* op, Parameter parameter, PyObject* value) {
    raise_fault(fault, Py_BuildValue("(OsO)", op, parameter::names[parameter], value));
    return false;
}

// Reads an integer argument. An integer beyond 64 bits becomes one that is out of every range.
bool read_integer(PyObject* op, Parameter parameter, PyObject* value, int64_t& result) {
    if (!value) return true;
    PyObject* number = PyNumber_Index(value);
    if (!number) {
        if (!PyErr_ExceptionMatches(PyExc_TypeError)) return false;
        PyErr_Clear();
        return refuse_argument("integer_fault", op, parameter, value);
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
                Py_BuildValue("(OsOO)", op, parameter::names[parameter], value, scatter ? Py_True : Py_False));
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

constexpr const char* gather_modes[] = {"raise", "wrap", "clip", "fill"};
constexpr const char* scatter_modes[] = {"raise", "wrap", "clip", "drop"};
static_assert(std::size(gather_modes) == std::size(mode_names) && std::size(scatter_modes) == std::size(mode_names));

bool read_mode(PyObject* op, PyObject* value, bool scatter, Mode& mode) {
    if (!value) return true;
    const auto& names = scatter ? scatter_modes : gather_modes;
    const int found = find_name(value, names);
    if (found >= 0) mode = static_cast<Mode>(found);
    return found >= 0 || refuse_choice(op, parameter::mode, value, scatter);
}

bool read_flag(PyObject* op, Parameter parameter, PyObject* value, bool& flag) {
    if (!value) return true;
    const bool is_flag =
        PyBool_Check(value) || PyLong_Check(value) || std::strstr(Py_TYPE(value)->tp_name, "numpy.bool");
    const int truth = is_flag ? PyObject_IsTrue(value) : -1;
    flag = truth > 0;
    return truth >= 0 || refuse_argument("flag_fault", op, parameter, value);
}

PyObject* or_none(PyObject* value) { return value == Py_None ? nullptr : value; }

bool read_table(const Arguments& arguments, QuantizedArguments& table) {
    PyObject* const* const values = arguments.values;
    table.scales = or_none(values[parameter::scales]);
    table.zero_points = or_none(values[parameter::zero_points]);
    return read_integer(arguments.op, parameter::quantize_axis, values[parameter::quantize_axis],
                        table.operation.quantize_axis) &&
           read_integer(arguments.op, parameter::block_size, values[parameter::block_size],
                        table.operation.block_size) &&
           read_integer(arguments.op, parameter::bits, values[parameter::bits], table.bits);
}

bool check_table(const BagCall& call) {
    if (call.table.scales || !call.table.zero_points) return true;
    raise_problem(call.op, {"scales_missing"}, nullptr);
    return false;
}

// Sets the parameters in the fields of a record from the position `first` on.
template <size_t n>
bool read_fields(PyObject* record, Py_ssize_t first, const Parameter (&fields)[n], PyObject** values) {
    if (record == Py_None) return true;
    if (!PyTuple_Check(record) || PyTuple_GET_SIZE(record) < first + static_cast<Py_ssize_t>(n)) {
        PyErr_SetString(PyExc_TypeError, "an Operation has records of gatherscatter.operation");
        return false;
    }
    for (size_t i = 0; i < n; ++i) values[fields[i]] = PyTuple_GET_ITEM(record, first + static_cast<Py_ssize_t>(i));
    return true;
}

bool read_options(const Arguments& arguments, Call& call) {
    PyObject* const* const values = arguments.values;
    return read_integer(call.op, parameter::axis, values[parameter::axis], call.axis) &&
           read_integer(call.op, parameter::batch_dims, values[parameter::batch_dims], call.batch_dims) &&
           read_mode(call.op, values[parameter::mode], is_scatter(call.kernel), call.rule.mode) &&
           read_choice(call.op, parameter::reduction, values[parameter::reduction], reduction_names, call.reduction) &&
           read_flag(call.op, parameter::include_self, values[parameter::include_self], call.include_self) &&
           read_choice(call.op, parameter::accumulate, values[parameter::accumulate], accumulate_names,
                       call.accumulate) &&
           read_choice(call.op, parameter::negative, values[parameter::negative], negative_names, call.rule.negative) &&
           read_threads(call.op, values[parameter::num_threads], call.threads);
}

}  // namespace

const char* name_of(Mode mode, bool scatter) {
    return (scatter ? scatter_modes : gather_modes)[static_cast<int>(mode)];
}

PyObject* function_objects[function_count];

bool make_names() {
    for (int i = 0; i < parameter::count; ++i)
        if (!(parameter_objects[i] = PyUnicode_InternFromString(parameter::names[i]))) return false;
    for (int i = 0; i < function_count; ++i)
        if (!(function_objects[i] = PyUnicode_InternFromString(signatures[i].function))) return false;
    return true;
}

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

bool bind_keyword(int function, PyObject* keyword, PyObject* value, Arguments& arguments) {
    const Signature& signature = signatures[function];
    const int parameter = find_parameter(keyword);
    if (parameter < 0 || !(signature.known >> parameter & 1)) {
        refuse_keyword(signature, keyword);
        return false;
    }
    if (arguments.values[parameter]) {
        PyErr_Format(PyExc_TypeError, "%s() got multiple values for argument %R", signature.function, keyword);
        return false;
    }
    arguments.values[parameter] = value;
    return true;
}

bool refuse_count(int function, Py_ssize_t positional) {
    const Signature& signature = signatures[function];
    std::string names;
    for (int i = signature.positional; i < signature.total; ++i)
        names.append(i > signature.positional ? ", " : "").append(parameter::names[signature.parameters[i]]);
    PyErr_Format(PyExc_TypeError, "%s() takes at most %d positional arguments (%zd given); pass by name: %s",
                 signature.function, signature.positional, positional, names.c_str());
    return false;
}

bool refuse_missing(int function, Parameter parameter) {
    PyErr_Format(PyExc_TypeError, "%s() missing required argument '%s'", signatures[function].function,
                 parameter::names[parameter]);
    return false;
}

bool read_record(PyObject* record, Arguments& arguments) {
    constexpr Py_ssize_t first = 2, after = first + static_cast<Py_ssize_t>(std::size(parameter::operation_fields));
    if (!PyTuple_Check(record) || PyTuple_GET_SIZE(record) != after + 2) {
        PyErr_SetString(PyExc_TypeError, "a call needs a record of the class gatherscatter.operation.Operation");
        return false;
    }
    PyObject* const kernel = PyTuple_GET_ITEM(record, 1);
    arguments.op = PyTuple_GET_ITEM(record, 0);
    for (int i = 0; i < function_count && PyUnicode_Check(kernel); ++i)
        if (PyUnicode_CompareWithASCIIString(kernel, signatures[i].function) == 0) {
            arguments.function = i;
            return read_fields(record, first, parameter::operation_fields, arguments.values) &&
                   read_fields(PyTuple_GET_ITEM(record, after), 0, parameter::bags_fields, arguments.values) &&
                   read_fields(PyTuple_GET_ITEM(record, after + 1), 0, parameter::table_fields, arguments.values);
        }
    PyErr_Format(PyExc_ValueError, "%R is not a kernel of the core", kernel);
    return false;
}

bool read_inputs(PyObject* inputs, PyObject* out, Arguments& arguments) {
    if (!PyDict_Check(inputs)) {
        PyErr_SetString(PyExc_TypeError, "the inputs of a call are a dict");
        return false;
    }
    PyObject *name = nullptr, *value = nullptr;
    for (Py_ssize_t position = 0; PyDict_Next(inputs, &position, &name, &value);) {
        const int parameter = find_parameter(name);
        if (parameter < 0) {
            PyErr_Format(PyExc_TypeError, "%R is not an input of a call", name);
            return false;
        }
        arguments.values[parameter] = or_none(value);
    }
    arguments.values[parameter::out] = or_none(out);
    return true;
}

bool has_inputs(const Arguments& arguments) {
    PyObject* const* const values = arguments.values;
    if (!values[parameter::data] || arguments.function == gather_reduce_function) return values[parameter::data];
    if (!values[parameter::indices] || arguments.function == gather_quantized_function)
        return values[parameter::indices] && values[parameter::scales];
    return is_scatter(static_cast<Kernel>(arguments.function)) == (values[parameter::updates] != nullptr);
}

Ref name_arguments(const Arguments& arguments) {
    Ref named(PyDict_New());
    for (int i = 0; named && i < parameter::count; ++i)
        if (arguments.values[i] && PyDict_SetItem(named.get(), parameter_objects[i], arguments.values[i]) < 0)
            return Ref();
    return named;
}

bool read_axis(PyObject* op, PyObject* value, int64_t& result) {
    return read_integer(op, parameter::axis, value, result);
}

bool read_num_segments(PyObject* op, PyObject* value, std::optional<int64_t>& num_segments) {
    if (!value || value == Py_None) return true;
    int64_t n = 0;
    if (!read_integer(op, parameter::num_segments, value, n)) return false;
    num_segments = n;
    return true;
}

bool read_flag(PyObject* op, PyObject* value, bool& flag) {
    return read_flag(op, parameter::include_self, value, flag);
}

bool read_threads(PyObject* op, PyObject* value, int& threads) {
    if (!value || value == Py_None) return true;
    int64_t n = 0;
    if (!read_integer(op, parameter::num_threads, value, n)) return false;
    threads = static_cast<int>(std::min<int64_t>(n, max_threads));
    return n >= 1 || refuse_argument("threads_fault", op, parameter::num_threads, value);
}

bool read_call(const Arguments& arguments, Call& call) {
    PyObject* const* const values = arguments.values;
    call.kernel = static_cast<Kernel>(arguments.function);
    call.op = arguments.op;
    call.data = values[parameter::data];
    call.indices = values[parameter::indices];
    call.updates = values[parameter::updates];
    call.out = or_none(values[parameter::out]);
    return !arguments.has_options || read_options(arguments, call);
}

bool read_call(const Arguments& arguments, BagCall& call) {
    PyObject* const* const values = arguments.values;
    constexpr Parameter inputs[] = {parameter::data,    parameter::indices, parameter::offsets, parameter::segment_ids,
                                    parameter::weights, parameter::init,    parameter::indptr};
    static_assert(std::size(inputs) == bag_input_count);
    for (size_t i = 0; i < bag_input_count; ++i) call.inputs[i] = or_none(values[inputs[i]]);
    call.op = arguments.op;
    call.empty = values[parameter::default_value];
    call.out = or_none(values[parameter::out]);
    call.reduction = Reduction::add;
    if (values[parameter::reduction]) {
        const int found = find_name(values[parameter::reduction], reduction_names);
        call.reduction = static_cast<Reduction>(found);
        if (found <= 0 || call.reduction == Reduction::sub)
            return refuse_choice(call.op, parameter::reduction, values[parameter::reduction], false);
    }
    return read_choice(call.op, parameter::accumulate, values[parameter::accumulate], accumulate_names,
                       call.accumulate) &&
           check_effects(call.op, call) && read_mode(call.op, values[parameter::mode], false, call.rule.mode) &&
           read_table(arguments, call.table) && check_table(call) &&
           read_num_segments(call.op, values[parameter::num_segments], call.num_segments) &&
           read_choice(call.op, parameter::negative, values[parameter::negative], negative_names, call.rule.negative) &&
           read_flag(call.op, parameter::embedding_rules, values[parameter::embedding_rules], call.embedding_rules) &&
           read_threads(call.op, values[parameter::num_threads], call.threads);
}

bool read_call(const Arguments& arguments, QuantizedCall& call) {
    PyObject* const* const values = arguments.values;
    call.op = arguments.op;
    call.data = values[parameter::data];
    call.indices = values[parameter::indices];
    call.out = or_none(values[parameter::out]);
    return read_integer(call.op, parameter::axis, values[parameter::axis], call.operation.axis) &&
           read_table(arguments, call) &&
           read_mode(call.op, values[parameter::mode], false, call.operation.rule.mode) &&
           read_choice(call.op, parameter::negative, values[parameter::negative], negative_names,
                       call.operation.rule.negative) &&
           read_threads(call.op, values[parameter::num_threads], call.threads);
}

}  // namespace gs
