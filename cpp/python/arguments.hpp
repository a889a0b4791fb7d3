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
    PyObject* values[parameter::count] = {};
};

// Makes the names of functions and parameters as objects. False: an exception is set.
bool make_names();
PyObject* function_name(int function);

// Read the arguments of an array function, or a record of gatherscatter.operation with its inputs and perhaps `out`.
// False: an exception is set.
bool bind(int function, PyObject* const* arguments, Py_ssize_t positional, PyObject* keywords, Arguments&);
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
