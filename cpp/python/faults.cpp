// Converts a fault to an exception. The layers above get the facts and write the message.
#include "call.hpp"
#include "facts.hpp"

namespace gs {
namespace {

PyObject* reporter;  // raises the error of a name

Outcome raise(const char* function, PyObject* arguments) {
    raise_fault(function, arguments);
    return Outcome::failed;
}

}  // namespace

void report_faults_to(PyObject* report) { Py_XSETREF(reporter, Py_NewRef(report)); }

bool report(const char* name, PyObject* facts) {
    const Ref held(facts), first(Py_BuildValue("(s)", name));
    if (!reporter) return refuse("the package was not imported");
    const Ref arguments(held && first ? PySequence_Concat(first.get(), held.get()) : nullptr);
    return arguments && Ref(PyObject_CallObject(reporter, arguments.get()));
}

void raise_fault(const char* fault, PyObject* facts) {
    report(fault, facts);
    if (!PyErr_Occurred()) PyErr_Format(PyExc_SystemError, "the report of %s did not raise an error", fault);
}

namespace {

// The first fact about the fault of a call.
PyObject* describe_operation(const Call& call) {
    return Py_BuildValue("(OsLLss)", call.op, name(call.kernel), static_cast<long long>(call.axis),
                         static_cast<long long>(call.batch_dims), name_of(call.rule.mode, is_scatter(call.kernel)),
                         name(call.rule.negative));
}

}  // namespace

Outcome raise_shape(const Call& call, const char* fault, const Plan& plan) {
    if (call.quiet) return Outcome::not_plain;
    const auto shape = [](PyObject* object) { return object ? tuple_of(shape_of(array(object))) : borrow(Py_None); };
    const Ref data = shape(call.data), indices = shape(call.indices), updates = shape(call.updates),
              out = shape(call.out);
    const Ref slots = tuple_of(plan.slots);  // complete if the fault is not one of the planner's
    return raise("shape_fault", Py_BuildValue("(Ns(OOOOO))", describe_operation(call), fault, data.get(), indices.get(),
                                              updates.get(), out.get(), slots.get()));
}

Outcome raise_index(const Call& call) {
    if (call.quiet) return Outcome::not_plain;
    const Ref data = tuple_of(shape_of(array(call.data)));
    const Ref others(call.updates ? Py_BuildValue("{sOsO}", "data", call.data, "updates", call.updates)
                                  : Py_BuildValue("{sO}", "data", call.data));
    return raise(
        "index_fault",
        others ? Py_BuildValue("(NOOO)", describe_operation(call), data.get(), call.indices, others.get()) : nullptr);
}

Outcome raise_reduction(const Call& call) {
    if (call.quiet) return Outcome::not_plain;
    return raise("reduction_fault", Py_BuildValue("(OsO)", call.op, name(call.reduction),
                                                  reinterpret_cast<PyObject*>(PyArray_DESCR(array(call.data)))));
}

Outcome raise_accumulate(const Call& call) {
    if (call.quiet) return Outcome::not_plain;
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

Outcome raise_memory(PyObject* op, const Shape& result, PyObject* type, const char* name, PyObject* values) {
    PyErr_Clear();
    const Ref shape = tuple_of(result);
    return raise("memory_fault",
                 shape ? Py_BuildValue("(OOOsO)", op, shape.get(), type, name, values ? values : Py_None) : nullptr);
}

void name_memory_error(PyObject* op) {
    if (!PyErr_Occurred() || !PyErr_ExceptionMatches(PyExc_MemoryError)) return;
    PyObject *type = nullptr, *error = nullptr, *traceback = nullptr;
    PyErr_Fetch(&type, &error, &traceback);
    PyErr_NormalizeException(&type, &error, &traceback);
    const Ref held_type(type), held(error), held_traceback(traceback);
    raise_fault("name_memory_error", Py_BuildValue("(OO)", op, error ? error : Py_None));
}

}  // namespace gs
