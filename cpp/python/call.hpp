// A call of one array function: what Python asks for.
#pragma once

#include <Python.h>

#include "kernel_call.hpp"

namespace gs {

struct Call : Operation {
    PyObject* op = nullptr;  // a borrowed str: what messages call it
    PyObject *data = nullptr, *indices = nullptr, *updates = nullptr, *out = nullptr;  // borrowed
    int threads = 0;  // for this call; 0: as many as usual
};

enum class Outcome { done, failed, not_plain, bad_index };

// `not_plain`: an argument is not an aligned native NumPy array of a fitting type. arrays/convert.py handles these.
Outcome run(const Call&, PyObject*& result);

// What `run` would do, as a dict of facts.
Outcome describe_call(const Call&, PyObject*& facts);

// Raises what `run` raises for types, shapes and attributes; the result is None.
Outcome check_call(const Call&, PyObject*& result);

// What is wrong with a call, as an exception.
Outcome raise_shape(const Call&, const char* fault, const Plan&);
Outcome raise_index(const Call&);
Outcome raise_reduction(const Call&);
Outcome raise_accumulate(const Call&);

// Has a function of errors.py raise. Takes the reference to its arguments, a tuple or null if there is an exception.
void raise_fault(const char* function, PyObject* arguments);

// Raises TypeError for arguments that the layers above do not give.
inline PyObject* refuse(const char* text) {
    PyErr_SetString(PyExc_TypeError, text);
    return nullptr;
}

// Arguments as values; false: an exception is set, in the name of `op`. Absent ones leave the value alone.
bool read_flag(PyObject* op, PyObject* value, bool& flag);
bool read_threads(PyObject* op, PyObject* value, int& threads);

// The place of a str in a list of names; -1: it is not there.
template <size_t n>
int find_name(PyObject* value, const char* const (&names)[n]) {
    if (!PyUnicode_Check(value)) return -1;
    for (size_t i = 0; i < n; ++i)
        if (PyUnicode_CompareWithASCIIString(value, names[i]) == 0) return static_cast<int>(i);
    return -1;
}

// The functions of the module. Those of arrays are the array functions of the package root; the others serve the
// layers above.
using Function = PyObject*(PyObject* module, PyObject* const* arguments, Py_ssize_t n);
Function plan_call, supports_call, group_call, scatter_groups_call, reduce_groups_call, reduce_bags_call,
    describe_bags_call, sum_matches_call, dot_rows_call, resolve_indices_call, copied_call, tensor_array_call,
    gather_tree_call, find_bad_indices_call, find_index_hint_call;
PyMethodDef* array_functions();  // and apply, describe_call, check_call

// A function as an entry of a list of methods.
inline PyMethodDef method(const char* name, Function* function, const char* doc) {
    return {name, reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function)), METH_FASTCALL, doc};
}

}  // namespace gs
