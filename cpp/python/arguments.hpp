// The arguments of a call by parameter, as Python passes them, and their conversion to calls.
#pragma once

#include "call.hpp"
#include "signatures.hpp"

namespace gs {

inline constexpr int function_count = static_cast<int>(std::size(signatures));
inline constexpr int gather_reduce_function = kernel_count, gather_quantized_function = kernel_count + 1;

// The arguments of a call. All objects are borrowed; null: not given.
struct Arguments {
    int function = 0;  // its position in `signatures`
    PyObject* op = nullptr;
    bool has_options = true;  // whether others than the required arguments and `out` are given
    PyObject* values[parameter::count] = {};
};

// Makes the names of functions and parameters as objects. False: an exception is set.
bool make_names();
extern PyObject* function_objects[function_count];

// Parts of `bind`.
bool bind_keyword(int function, PyObject* keyword, PyObject* value, Arguments&);
bool refuse_count(int function, Py_ssize_t positional);
bool refuse_missing(int function, Parameter);

// Reads the arguments of an array function. False: an exception is set.
template <int function>
bool bind(PyObject* const* given, Py_ssize_t positional, PyObject* keywords, Arguments& arguments) {
    constexpr const Signature& signature = signatures[function];
    arguments.function = function;
    arguments.op = function_objects[function];
    if (positional > signature.positional) return refuse_count(function, positional);
    for (Py_ssize_t i = 0; i < positional; ++i) arguments.values[signature.parameters[i]] = given[i];
    const Py_ssize_t count = keywords ? PyTuple_GET_SIZE(keywords) : 0;
    for (Py_ssize_t i = 0; i < count; ++i)
        if (!bind_keyword(function, PyTuple_GET_ITEM(keywords, i), given[positional + i], arguments)) return false;
    arguments.has_options = positional > signature.required || count > (arguments.values[parameter::out] ? 1 : 0);
    for (int i = 0; i < signature.required; ++i)
        if (!arguments.values[signature.parameters[i]]) return refuse_missing(function, signature.parameters[i]);
    return true;
}

// Read a record of gatherscatter.operation, a dict of inputs and perhaps `out`. False: an exception is set.
bool read_record(PyObject* record, Arguments&);
bool read_inputs(PyObject* inputs, PyObject* out, Arguments&);

// Whether the inputs that a call needs are given.
bool has_inputs(const Arguments&);

// Returns the given arguments by name.
Ref name_arguments(const Arguments&);

// Convert arguments. False: an exception is set, with `op` in its message.
bool read_call(const Arguments&, Call&);
bool read_call(const Arguments&, BagCall&);
bool read_call(const Arguments&, QuantizedCall&);

}  // namespace gs
