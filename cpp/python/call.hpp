// A call of one array function, as Python specifies it.
#pragma once

#include <Python.h>

#include <optional>

#include "bag_plan.hpp"
#include "kernel_call.hpp"
#include "numpy_arrays.hpp"
#include "quantized_plan.hpp"

namespace gs {

struct Call : Operation {
    PyObject* op = nullptr;  // a borrowed str: the name of the function in messages
    PyObject *data = nullptr, *indices = nullptr, *updates = nullptr, *out = nullptr;  // borrowed
    int threads = 0;     // for this call; 0: the configured number
    bool quiet = false;  // whether a call that is not valid raises no error, and is `not_plain`
};

// The arguments that make the data of a call a quantized table. All objects are borrowed; null: not given.
struct QuantizedArguments {
    PyObject *scales = nullptr, *zero_points = nullptr;
    int64_t bits = 4;              // of codes in an array of uint8
    QuantizedOperation operation;  // without the type of the codes
};

// A call of gather_reduce. All objects are borrowed; null: not given.
struct BagCall : Operation {
    PyObject* op = nullptr;
    PyObject* inputs[bag_input_count] = {};  // in the order of BagInput
    PyObject *empty = nullptr, *out = nullptr;
    QuantizedArguments table;  // without scales, data are ordinary elements
    std::optional<int64_t> num_segments;
    bool embedding_rules = false;
    int threads = 0;
};

// A call of gather_quantized. All objects are borrowed; null: not given.
struct QuantizedCall : QuantizedArguments {
    PyObject* op = nullptr;
    PyObject *data = nullptr, *indices = nullptr, *out = nullptr;
    int threads = 0;
};

enum class Outcome { done, failed, not_plain, bad_index };

// `not_plain`: an argument is not an aligned native NumPy array of a suitable type. The layers above convert it.
Outcome run(const Call&, PyObject*& result);

// Describes the steps of `run` as a dict of facts.
Outcome describe_call(const Call&, PyObject*& facts);

// Raises the errors of `run` for types, shapes and attributes. The result is None.
Outcome check_call(const Call&, PyObject*& result);

// The same for gather_reduce. The values of indices do not matter to the facts, but those of offsets and ids do.
Outcome run(const BagCall&, PyObject*& result);
Outcome describe_call(const BagCall&, PyObject*& facts);

// Run calls on contiguous tensors of PyTorch as new tensors. `not_plain`: a tensor is unusual, something observes it, a
// gradient would be lost, or anything is wrong.
Outcome run_on_tensors(const Call&, PyObject*& result);
Outcome run_on_tensors(const BagCall&, PyObject*& result);

// The same for gather_quantized.
Outcome run(const QuantizedCall&, PyObject*& result);
Outcome describe_call(const QuantizedCall&, PyObject*& facts);

// A quantized table with contiguous arrays, checked and described.
struct PreparedTable {
    Ref scales, zero_points;
    QuantizedPlan plan;

    QuantizedMemory memory(PyArrayObject* data) const;
};

// Checks the types of a table, and finds how its codes are stored. False: its arrays are not plain.
bool accepts_table(PyObject* data, const QuantizedArguments&, CodeType&);

// Holds the arrays of a table and plans a gather from it. `data` is contiguous.
Outcome prepare_table(PyObject* op, PyObject* data, const Tensor& indices, const QuantizedArguments&, PreparedTable&);

// Raise the exception for an invalid call, unless it is quiet.
Outcome raise_shape(const Call&, const char* fault, const Plan&);
Outcome raise_index(const Call&);
Outcome raise_reduction(const Call&);
Outcome raise_accumulate(const Call&);
Outcome raise_problem(PyObject* op, const Problem&, PyObject* type);  // a dtype, or null

// Raises the exception for a result for which there is not enough memory. `values`: those of the input or argument
// `name` that decide the size of the result, or null.
Outcome raise_memory(PyObject* op, const Shape& result, PyObject* type, const char* name, PyObject* values);

// The layers above check results with more bytes, if values of an input decide their size.
inline constexpr int64_t checked_result_bytes = int64_t{1} << 30;

// Raises it instead of an exception about memory that is set and that does not name the operator.
void name_memory_error(PyObject* op);

// Sets the function of the layers above that raises errors: report(fault, *facts).
void report_faults_to(PyObject* report);

// Raises the error about a fault. Steals the reference to the facts: a tuple, or null if an exception is already set.
void raise_fault(const char* fault, PyObject* facts);

// Reports something that need not be a fault. Steals the reference to the facts. False: an exception is set.
bool report(const char* name, PyObject* facts);

// Raises TypeError for arguments that the layers above never pass.
inline PyObject* refuse(const char* text) {
    PyErr_SetString(PyExc_TypeError, text);
    return nullptr;
}

// Read arguments as values. False: an exception is set, with `op` in its message. Absent arguments do not change the
// value.
bool read_flag(PyObject* op, PyObject* value, bool& flag);
bool read_axis(PyObject* op, PyObject* value, int64_t& axis);
bool read_num_segments(PyObject* op, PyObject* value, std::optional<int64_t>& num_segments);
bool read_threads(PyObject* op, PyObject* value, int& threads);

// The name of a mode in Python, where Mode::skip has the name of its effect.
const char* name_of(Mode, bool scatter);

// Refuses options that the reduction ignores. False: an exception is set.
bool check_effects(PyObject* op, const Operation&);

// Returns the position of a str in a list of names; -1: it is not there.
template <size_t n>
int find_name(PyObject* value, const char* const (&names)[n]) {
    if (!PyUnicode_Check(value)) return -1;
    for (size_t i = 0; i < n; ++i)
        if (PyUnicode_CompareWithASCIIString(value, names[i]) == 0) return static_cast<int>(i);
    return -1;
}

// The functions of the module. Functions that take arrays are the array functions of the package root. The others serve
// the layers above.
using Function = PyObject*(PyObject* module, PyObject* const* arguments, Py_ssize_t n);
Function bind_operation, make_call_key, run_known_call, plan_call, supports_call, group_call, scatter_groups_call,
    reduce_groups_call, find_bags_call, sum_matches_call, dot_rows_call, resolve_indices_call, copied_call, cast_call,
    tensor_array_call, register_tensors_call, gather_tree_call, find_bad_indices_call, find_index_hint_call,
    group_statistic_call, sort_groups_call, find_greatest_label_call;
PyMethodDef* array_functions();  // also those that run records; null: an exception is set

// Makes the entry of a function for a list of methods.
inline PyMethodDef method(const char* name, Function* function, const char* doc) {
    return {name, reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function)), METH_FASTCALL, doc};
}

}  // namespace gs
