// A call of one operator on NumPy arrays: from arguments to a result, in as few steps as a small array deserves.
#pragma once

#include <Python.h>

#include "kernels.hpp"

namespace gs {

// The array functions with a plan of their own.
enum class Kernel : uint8_t { gather, gather_elements, gather_nd, scatter_update, scatter_elements, scatter_nd };
inline constexpr int kernel_count = 6;
const char* name(Kernel);
inline bool is_scatter(Kernel kernel) { return kernel >= Kernel::scatter_update; }

[[nodiscard]] Fault make_plan(Kernel, const Shape& data, const Shape& indices, int64_t axis, int64_t batch_dims, Plan&);

// In the order of Reduction.
inline constexpr const char* reduction_names[] = {"none", "add", "sub", "mul", "min", "max", "mean"};

// In the order of Accumulate.
inline constexpr const char* accumulate_names[] = {"step", "wide", "exact"};

struct Call {
    PyObject* op;  // a borrowed str: what messages call it
    Kernel kernel;
    PyObject *data = nullptr, *indices = nullptr, *updates = nullptr, *out = nullptr;  // borrowed
    int64_t axis = 0, batch_dims = 0;
    Rule rule;
    Reduction reduction = Reduction::none;
    bool include_self = true;
    Accumulate accumulate = Accumulate::step;
    int threads = 0;  // for this call; 0: as many as usual
};

enum class Outcome { done, failed, not_plain, bad_index };

// `not_plain`: an argument is not an aligned native NumPy array of fitting type; _arrays.py knows what to do with it.
Outcome run(const Call&, PyObject*& result);

// How `run` would go about it, as a dict of facts.
Outcome explain(const Call&, PyObject*& facts);

// What is wrong with a call, as an exception.
Outcome raise_shape(const Call&, const char* fault, const Plan&);
Outcome raise_index(const Call&);
Outcome raise_reduction(const Call&);
Outcome raise_accumulate(const Call&);

// Whether elements of a NumPy dtype have a reduction; false as the result: `dtype` is none.
bool knows_dtype(PyObject* dtype, Reduction, bool& known);

// Arguments as values; false: an exception is set, in the name of `op`. Absent ones leave the value alone.
bool read_flag(PyObject* op, PyObject* value, bool& flag);
bool read_threads(PyObject* op, PyObject* value, int& threads);

// The number of a reduction by its name, a str; -1 when there is none.
int find_reduction(PyObject* name);

PyObject* group_call(PyObject*, PyObject* const* arguments, Py_ssize_t n);
PyObject* scatter_groups_call(PyObject*, PyObject* const* arguments, Py_ssize_t n);
PyObject* reduce_groups_call(PyObject*, PyObject* const* arguments, Py_ssize_t n);
PyObject* row_numbers_call(PyObject*, PyObject* const* arguments, Py_ssize_t n);
PyObject* copied_call(PyObject*, PyObject* const* arguments, Py_ssize_t n);
PyObject* tensor_array_call(PyObject*, PyObject* const* arguments, Py_ssize_t n);
PyObject* gather_tree_call(PyObject*, PyObject* const* arguments, Py_ssize_t n);

// The array functions of the package root, and `apply`, their common form for the layers above.
PyMethodDef* array_functions();

}  // namespace gs
