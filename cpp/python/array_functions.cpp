// The array functions, and the functions with which the layers above run the same calls from a record.
#include <new>

#include "arguments.hpp"
#include "docs.hpp"
#include "numpy_arrays.hpp"

namespace gs {
namespace {

PyObject* fallback;  // runs calls on arguments that are not plain arrays

PyObject* call_fallback(const Arguments& arguments) {
    if (!fallback) return refuse("the package was not imported");
    const Ref given = name_arguments(arguments);
    if (!given) return nullptr;
    PyObject* const parts[] = {function_objects[arguments.function], given.get()};
    PyObject* const result = PyObject_Vectorcall(fallback, parts, 2, nullptr);
    if (!result) name_memory_error(arguments.op);
    return result;
}

// Replaces numbers, and lists of numbers, by arrays that `made` holds. Returns whether there are any. If the first
// argument does not become an array, the result is false. Arguments that were not given are null.
template <size_t n>
bool make_arrays(PyObject** const (&arguments)[n], Ref (&made)[n]) {
    bool any = false;
    for (size_t i = 0; i < n; ++i) {
        PyObject*& argument = *arguments[i];
        if (argument && (made[i] = array_of_numbers(argument))) {
            argument = made[i].get();
            any = true;
        }
        if (i == 0 && !(argument && PyArray_CheckExact(argument))) return false;
    }
    return any;
}

Outcome run_with_lists(Call& call, PyObject*& result) {
    Outcome outcome = run(call, result);
    const bool takes_tuples = call.kernel == Kernel::gather_nd || call.kernel == Kernel::scatter_nd;
    if (outcome == Outcome::not_plain && !(takes_tuples && is_tuple_of_lists(call.indices))) {
        Ref made[3];
        if (make_arrays({&call.data, &call.indices, &call.updates}, made)) outcome = run(call, result);
    }
    return outcome == Outcome::not_plain ? run_on_tensors(call, result) : outcome;
}

Outcome run_with_lists(BagCall& call, PyObject*& result) {
    Outcome outcome = call.inputs[0] ? run(call, result) : Outcome::not_plain;
    if (outcome == Outcome::not_plain) {
        Ref made[bag_input_count];
        PyObject** inputs[bag_input_count];
        for (size_t i = 0; i < bag_input_count; ++i) inputs[i] = &call.inputs[i];
        if (make_arrays(inputs, made)) outcome = run(call, result);
    }
    return outcome == Outcome::not_plain ? run_on_tensors(call, result) : outcome;
}

Outcome run_with_lists(QuantizedCall& call, PyObject*& result) {
    const Outcome outcome = run(call, result);
    if (outcome != Outcome::not_plain) return outcome;
    Ref made[2];
    return make_arrays({&call.data, &call.indices}, made) ? run(call, result) : outcome;
}

bool check_effects(const Call& call) { return check_effects(call.op, call); }
bool check_effects(const BagCall&) { return true; }  // checked with the arguments
bool check_effects(const QuantizedCall&) { return true; }

template <int function, class C>
PyObject* array_function(PyObject*, PyObject* const* given, Py_ssize_t positional, PyObject* keywords) {
    Arguments arguments;
    if (!bind<function>(given, positional, keywords, arguments)) return nullptr;
    if (function == gather_reduce_function && arguments.values[parameter::reduction] &&
        find_name(arguments.values[parameter::reduction], bag_statistics) >= 0)
        return call_fallback(arguments);
    C call;
    if (!read_call(arguments, call) || (arguments.has_options && !check_effects(call))) return nullptr;
    PyObject* result = nullptr;
    return run_with_lists(call, result) == Outcome::not_plain ? call_fallback(arguments) : result;
}

// Reads (operation, inputs, out=None).
bool read_arguments(PyObject* const* given, Py_ssize_t n, Arguments& arguments) {
    if (n != 2 && n != 3) {
        PyErr_SetString(PyExc_TypeError, "a call takes an operation, a dict of inputs, and perhaps out");
        return false;
    }
    return read_record(given[0], arguments) && read_inputs(given[1], n == 3 ? given[2] : nullptr, arguments);
}

struct Run {
    template <class C>
    static Outcome act(const C& call, PyObject*& result) {
        return run(call, result);
    }
};
struct Describe {
    template <class C>
    static Outcome act(const C& call, PyObject*& result) {
        return describe_call(call, result);
    }
};
struct Check {
    static Outcome act(const Call& call, PyObject*& result) { return check_call(call, result); }
    template <class C>
    static Outcome act(const C& call, PyObject*& result) {
        const Outcome described = describe_call(call, result);
        if (described == Outcome::done) Py_SETREF(result, Py_NewRef(Py_None));
        return described;
    }
};
struct RunOnTensors {
    static Outcome act(const QuantizedCall&, PyObject*&) { return Outcome::not_plain; }
    template <class C>
    static Outcome act(const C& call, PyObject*& result) {
        return check_effects(call.op, call) ? run_on_tensors(call, result) : Outcome::failed;
    }
};

// Acts on the call of a record. `not_plain`: `otherwise` makes the result.
template <class Action, PyObject* (*otherwise)()>
PyObject* call_record(PyObject*, PyObject* const* given, Py_ssize_t n) {
    Arguments arguments;
    if (!read_arguments(given, n, arguments)) return nullptr;
    Outcome outcome = Outcome::failed;
    PyObject* result = nullptr;
    if (!has_inputs(arguments)) return otherwise();
    const auto act = [&](auto call) {
        if (read_call(arguments, call)) outcome = Action::act(call, result);
    };
    if (arguments.function == gather_reduce_function)
        act(BagCall());
    else if (arguments.function == gather_quantized_function)
        act(QuantizedCall());
    else
        act(Call());
    return outcome == Outcome::not_plain ? otherwise() : result;
}

PyObject* refuse_arrays() {
    return refuse("the core needs all inputs, as aligned native NumPy arrays of fitting types");
}
PyObject* not_implemented() { return Py_NewRef(Py_NotImplemented); }

template <int function, class C = Call>
PyMethodDef array_method(const char* doc) {
    return {signatures[function].function,
            reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(array_function<function, C>)),
            METH_FASTCALL | METH_KEYWORDS, doc};
}

// connect(fallback, report)
PyObject* connect(PyObject*, PyObject* const* arguments, Py_ssize_t n) {
    if (n != 2) return refuse("connect() takes two functions");
    Py_XSETREF(fallback, Py_NewRef(arguments[0]));
    report_faults_to(arguments[1]);
    Py_RETURN_NONE;
}

}  // namespace

// supports(dtype, reduction)
PyObject* supports_call(PyObject*, PyObject* const* arguments, Py_ssize_t n) {
    const int reduction = n == 2 ? find_name(arguments[1], reduction_names) : -1;
    if (reduction < 0) {
        PyErr_SetString(PyExc_TypeError, "supports() takes a dtype and the name of a reduction");
        return nullptr;
    }
    PyArray_Descr* descr = nullptr;
    if (!PyArray_DescrConverter(arguments[0], &descr)) return nullptr;
    const Ref held(reinterpret_cast<PyObject*>(descr));
    return PyBool_FromLong(supports(element_type(descr), static_cast<Reduction>(reduction)));
}

PyMethodDef* array_functions() {
    static PyMethodDef methods[] = {
        array_method<static_cast<int>(Kernel::gather)>(docs::gather),
        array_method<static_cast<int>(Kernel::gather_elements)>(docs::gather_elements),
        array_method<static_cast<int>(Kernel::gather_nd)>(docs::gather_nd),
        array_method<static_cast<int>(Kernel::scatter_update)>(docs::scatter_update),
        array_method<static_cast<int>(Kernel::scatter_elements)>(docs::scatter_elements),
        array_method<static_cast<int>(Kernel::scatter_nd)>(docs::scatter_nd),
        array_method<gather_reduce_function, BagCall>(docs::gather_reduce),
        array_method<gather_quantized_function, QuantizedCall>(docs::gather_quantized),
        method("connect", connect, docs::connect),
        method("run", call_record<Run, refuse_arrays>, docs::run),
        method("describe", call_record<Describe, refuse_arrays>, docs::describe),
        method("check", call_record<Check, refuse_arrays>, docs::check),
        method("run_on_tensors", call_record<RunOnTensors, not_implemented>, docs::run_on_tensors),
        {nullptr, nullptr, 0, nullptr},
    };
    return make_names() ? methods : nullptr;
}

}  // namespace gs
