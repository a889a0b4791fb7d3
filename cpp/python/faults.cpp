// Converts a fault to an exception. errors.py gets the facts and writes the message.
#include "call.hpp"
#include "facts.hpp"

namespace gs {
namespace {

Outcome raise(const char* function, PyObject* arguments) {
    raise_fault(function, arguments);
    return Outcome::failed;
}

}  // namespace

void raise_fault(const char* function, PyObject* given) {
    const Ref arguments(given), errors(PyImport_ImportModule("gatherscatter.errors"));
    const Ref callable(errors ? PyObject_GetAttrString(errors.get(), function) : nullptr);
    if (callable && arguments) Ref(PyObject_CallObject(callable.get(), arguments.get()));
    if (!PyErr_Occurred()) PyErr_Format(PyExc_SystemError, "gatherscatter.errors.%s did not raise", function);
}

Outcome raise_shape(const Call& call, const char* fault, const Plan& plan) {
    const auto shape = [](PyObject* object) { return object ? tuple_of(shape_of(array(object))) : borrow(Py_None); };
    const Ref data = shape(call.data), indices = shape(call.indices), updates = shape(call.updates),
              out = shape(call.out);
    const Ref slots = tuple_of(plan.slots);  // complete if the fault is not one of the planner's
    return raise("shape_fault",
                 Py_BuildValue("(OssOOOOOLL)", call.op, name(call.kernel), fault, data.get(), indices.get(),
                               updates.get(), out.get(), slots.get(), static_cast<long long>(call.axis),
                               static_cast<long long>(call.batch_dims)));
}

Outcome raise_index(const Call& call) {
    const Ref data = tuple_of(shape_of(array(call.data)));
    const bool empty_axis_only = call.rule.mode == Mode::wrap || call.rule.mode == Mode::clip;
    return raise("index_fault",
                 Py_BuildValue("(OsOOLLNN)", call.op, name(call.kernel), data.get(), call.indices,
                               static_cast<long long>(call.axis), static_cast<long long>(call.batch_dims),
                               PyBool_FromLong(call.rule.negative), PyBool_FromLong(empty_axis_only)));
}

Outcome raise_reduction(const Call& call) {
    return raise("reduction_fault", Py_BuildValue("(OsO)", call.op, name(call.reduction),
                                                  reinterpret_cast<PyObject*>(PyArray_DESCR(array(call.data)))));
}

Outcome raise_accumulate(const Call& call) {
    return raise("accumulate_fault", Py_BuildValue("(OsO)", call.op, name(call.reduction),
                                                   reinterpret_cast<PyObject*>(PyArray_DESCR(array(call.data)))));
}

Outcome raise_problem(PyObject* op, const Problem& problem, PyObject* type) {
    Facts values;
    for (const auto& [name, value] : problem.values) {
        if (const auto* number = std::get_if<int64_t>(&value)) values.add(name, *number);
        if (const auto* text = std::get_if<std::string>(&value)) values.add(name, text->c_str());
        if (const auto* shape = std::get_if<Shape>(&value)) values.add(name, *shape);
    }
    const Ref known = values.take();
    return raise("problem_fault",
                 known ? Py_BuildValue("(OsOO)", op, problem.error, known.get(), type ? type : Py_None) : nullptr);
}

}  // namespace gs
