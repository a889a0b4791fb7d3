// From a fault to an exception: the facts go to errors.py, which words them.
#include "call.hpp"
#include "numpy_arrays.hpp"

namespace gs {
namespace {

Ref tuple_of(const Shape& shape) {
    Ref tuple(PyTuple_New(shape.rank));
    for (int i = 0; tuple && i < shape.rank; ++i) {
        PyObject* const size = PyLong_FromLongLong(shape[i]);
        if (!size) return Ref();
        PyTuple_SET_ITEM(tuple.get(), i, size);
    }
    return tuple;
}

// errors.py words every message; these hand it the facts.
Outcome raise(const char* function, const Ref& arguments) {
    const Ref errors(PyImport_ImportModule("gatherscatter.errors"));
    const Ref callable(errors ? PyObject_GetAttrString(errors.get(), function) : nullptr);
    if (callable && arguments) Ref(PyObject_CallObject(callable.get(), arguments.get()));
    if (!PyErr_Occurred()) PyErr_Format(PyExc_SystemError, "gatherscatter.errors.%s did not raise", function);
    return Outcome::failed;
}

}  // namespace

Outcome raise_shape(const Call& call, const char* fault, const Plan& plan) {
    const auto shape = [](PyObject* object) { return object ? tuple_of(shape_of(array(object))) : borrow(Py_None); };
    const Ref data = shape(call.data), indices = shape(call.indices), updates = shape(call.updates),
              out = shape(call.out);
    const Ref slots = tuple_of(plan.slots);  // complete when the fault is not the planner's
    return raise("shape_fault",
                 Ref(Py_BuildValue("(OssOOOOOLL)", call.op, name(call.kernel), fault, data.get(), indices.get(),
                                   updates.get(), out.get(), slots.get(), static_cast<long long>(call.axis),
                                   static_cast<long long>(call.batch_dims))));
}

Outcome raise_index(const Call& call) {
    const Ref data = tuple_of(shape_of(array(call.data)));
    const bool empty_axis_only = call.rule.mode == Mode::wrap || call.rule.mode == Mode::clip;
    return raise("index_fault",
                 Ref(Py_BuildValue("(OsOOLLNN)", call.op, name(call.kernel), data.get(), call.indices,
                                   static_cast<long long>(call.axis), static_cast<long long>(call.batch_dims),
                                   PyBool_FromLong(call.rule.negative), PyBool_FromLong(empty_axis_only))));
}

Outcome raise_reduction(const Call& call) {
    return raise("reduction_fault",
                 Ref(Py_BuildValue("(OsO)", call.op, reduction_names[static_cast<int>(call.reduction)],
                                   reinterpret_cast<PyObject*>(PyArray_DESCR(array(call.data))))));
}

Outcome raise_accumulate(const Call& call) {
    return raise("accumulate_fault",
                 Ref(Py_BuildValue("(OsO)", call.op, reduction_names[static_cast<int>(call.reduction)],
                                   reinterpret_cast<PyObject*>(PyArray_DESCR(array(call.data))))));
}

}  // namespace gs
