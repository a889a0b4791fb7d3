// The module: its functions and settings. The array functions take a few hundred nanoseconds. So the module is written
// for Python's own interface, which has the cheapest calls.
#include <Python.h>

#include <algorithm>

#include "call.hpp"
#include "docs.hpp"
#include "numpy_arrays.hpp"
#include "output_pool.hpp"
#include "parallel.hpp"

namespace gs {
namespace {

PyObject* num_threads_call(PyObject*, PyObject*) { return PyLong_FromLong(num_threads()); }

PyObject* set_num_threads_call(PyObject*, PyObject* value) {
    const int64_t n = PyLong_AsLongLong(value);
    if (n == -1 && PyErr_Occurred()) return nullptr;
    if (n < 1) {
        PyErr_SetString(PyExc_ValueError, "the number of threads must be at least 1");
        return nullptr;
    }
    set_num_threads(static_cast<int>(std::min<int64_t>(n, max_threads)));
    Py_RETURN_NONE;
}

PyObject* pool_limit_call(PyObject*, PyObject*) { return PyLong_FromLongLong(pool_limit()); }

PyObject* pool_size_call(PyObject*, PyObject*) { return PyLong_FromLongLong(pool_size()); }

PyObject* set_pool_limit_call(PyObject*, PyObject* value) {
    const int64_t bytes = PyLong_AsLongLong(value);
    if (bytes == -1 && PyErr_Occurred()) return nullptr;
    if (bytes < 0) {
        PyErr_SetString(PyExc_ValueError, "the limit must not be negative");
        return nullptr;
    }
    set_pool_limit(bytes);
    Py_RETURN_NONE;
}

PyMethodDef functions[] = {
    method("plan", plan_call, docs::plan),
    method("bind", bind_operation, docs::bind),
    method("make_call_key", make_call_key, docs::make_call_key),
    method("run_known_call", run_known_call, docs::run_known_call),
    method("supports", supports_call, docs::supports),
    method("resolve_indices", resolve_indices_call, docs::resolve_indices),
    method("find_bad_indices", find_bad_indices_call, docs::find_bad_indices),
    method("find_index_hint", find_index_hint_call, docs::find_index_hint),
    method("group", group_call, docs::group),
    method("scatter_groups", scatter_groups_call, docs::scatter_groups),
    method("reduce_groups", reduce_groups_call, docs::reduce_groups),
    method("group_statistic", group_statistic_call, docs::group_statistic),
    method("sort_groups", sort_groups_call, docs::sort_groups),
    method("find_greatest_label", find_greatest_label_call, docs::find_greatest_label),
    method("find_bags", find_bags_call, docs::find_bags),
    method("sum_matches", sum_matches_call, docs::sum_matches),
    method("dot_rows", dot_rows_call, docs::dot_rows),
    method("gather_tree", gather_tree_call, docs::gather_tree),
    method("copied", copied_call, docs::copied),
    method("cast", cast_call, docs::cast),
    method("tensor_array", tensor_array_call, docs::tensor_array),
    method("register_tensors", register_tensors_call, docs::register_tensors),
    {"num_threads", num_threads_call, METH_NOARGS, docs::num_threads},
    {"set_num_threads", set_num_threads_call, METH_O, docs::set_num_threads},
    {"pool_limit", pool_limit_call, METH_NOARGS, docs::pool_limit},
    {"pool_size", pool_size_call, METH_NOARGS, docs::pool_size},
    {"set_pool_limit", set_pool_limit_call, METH_O, docs::set_pool_limit},
    {nullptr, nullptr, 0, nullptr},
};

PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    "gatherscatter._core",
    "The compiled core: plans, kernels and the array functions.",
    -1,  // the state is global: all interpreters of a process share it
    functions,
    nullptr,
    nullptr,
    nullptr,
    nullptr,
};

}  // namespace
}  // namespace gs

// threadpoolctl recognizes the library by this name.
extern "C" Py_EXPORTED_SYMBOL int gatherscatter_num_threads() { return gs::num_threads(); }

PyMODINIT_FUNC PyInit__core() {
    if (!gs::import_numpy()) return nullptr;
    gs::Ref module(PyModule_Create(&gs::definition));
#ifdef Py_GIL_DISABLED
    if (module && PyUnstable_Module_SetGIL(module.get(), Py_MOD_GIL_NOT_USED) < 0) return nullptr;
#endif
    PyMethodDef* const functions = module ? gs::array_functions() : nullptr;
    if (!functions || PyModule_AddFunctions(module.get(), functions) < 0) return nullptr;
    return module.release();
}
