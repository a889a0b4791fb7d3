// Calls with fixed options, for the op versions: their options are read once, and a call reads only arrays.
#include <memory>
#include <new>

#include "arguments.hpp"
#include "numpy_arrays.hpp"

namespace gs {
namespace {

constexpr const char* capsule_name = "gatherscatter._core.BoundCall";

struct BoundCall {
    Call call;  // without arrays
    Ref op;
};

// (data, indices, [updates], [axis], [out]), with updates for a scatter. An axis replaces the one of the bound call.
PyObject* call_bound(PyObject* capsule, PyObject* const* arguments, Py_ssize_t n) {
    const auto* const bound = static_cast<const BoundCall*>(PyCapsule_GetPointer(capsule, capsule_name));
    if (!bound) return nullptr;
    Call call = bound->call;
    const Py_ssize_t arrays = is_scatter(call.kernel) ? 3 : 2;
    if (n < arrays || n > arrays + 2) return refuse("a bound call takes its arrays, and perhaps an axis and out");
    call.data = arguments[0];
    call.indices = arguments[1];
    if (arrays == 3) call.updates = arguments[2];
    if (n > arrays && !read_axis(call.op, arguments[arrays], call.axis)) return nullptr;
    if (n == arrays + 2 && arguments[arrays + 1] != Py_None) call.out = arguments[arrays + 1];
    PyObject* result = nullptr;
    if (run(call, result) != Outcome::not_plain) return result;
    return call.quiet ? Py_NewRef(Py_NotImplemented) : refuse("a bound call takes plain arrays only");
}

// Whether equal values of this type have the same effect. 1.0 equals 1, but is not an integer.
bool can_be_in_key(PyObject* value) {
    return PyLong_CheckExact(value) || PyBool_Check(value) || PyUnicode_CheckExact(value);
}

// Whether a call with these options can be known.
bool can_be_known(PyObject* accumulate, PyObject* attributes) {
    if (!(accumulate == Py_None || PyUnicode_CheckExact(accumulate)) || !PyDict_Check(attributes)) return false;
    PyObject *name = nullptr, *value = nullptr;
    for (Py_ssize_t position = 0; PyDict_Next(attributes, &position, &name, &value);)
        if (!can_be_in_key(value)) return false;
    return true;
}

// Returns the value of a key, or none. Another thread may change the dict at any time.
Ref find(PyObject* dict, PyObject* key) {
    PyObject* found = nullptr;
#if PY_VERSION_HEX >= 0x030D0000
    PyDict_GetItemRef(dict, key, &found);
#else
    found = Py_XNewRef(PyDict_GetItemWithError(dict, key));
#endif
    return Ref(found);
}

bool is_array_or_none(PyObject* input) { return input == Py_None || PyArray_CheckExact(input); }

// Returns the inputs, with arrays instead of numbers and lists of numbers. Without an exception, no reference means
// that an input is something else.
Ref with_arrays(PyObject* inputs) {
    if (!PyTuple_Check(inputs)) return Ref();
    const Py_ssize_t n = PyTuple_GET_SIZE(inputs);
    Py_ssize_t i = 0;
    while (i < n && is_array_or_none(PyTuple_GET_ITEM(inputs, i))) ++i;
    if (i == n) return borrow(inputs);
    Ref made(PyTuple_New(n));
    for (i = 0; made && i < n; ++i) {
        PyObject* const input = PyTuple_GET_ITEM(inputs, i);
        Ref part = is_array_or_none(input)    ? borrow(input)
                   : is_tuple_of_lists(input) ? Ref()  // it may be refused
                                              : array_of_numbers(input);
        if (!part) return Ref();
        PyTuple_SET_ITEM(made.get(), i, part.release());
    }
    return made;
}

// Returns the key of a call that can be known; null: an exception is set, or an input is not an array.
Ref make_key(PyObject* op, PyObject* accumulate, PyObject* inputs, PyObject* attributes) {
    const Py_ssize_t count = PyTuple_GET_SIZE(inputs);
    Ref key(PyTuple_New(2 + count + 2 * PyDict_GET_SIZE(attributes)));
    if (!key) return Ref();
    Py_ssize_t at = 0;
    const auto append = [&](PyObject* part) { PyTuple_SET_ITEM(key.get(), at++, Py_NewRef(part)); };
    append(op);
    append(accumulate);
    for (Py_ssize_t i = 0; i < count; ++i) {
        PyObject* const input = PyTuple_GET_ITEM(inputs, i);
        if (!is_array_or_none(input)) return Ref();
        append(input == Py_None ? input : reinterpret_cast<PyObject*>(PyArray_DESCR(array(input))));
    }
    PyObject *name = nullptr, *value = nullptr;
    for (Py_ssize_t position = 0; PyDict_Next(attributes, &position, &name, &value);) {
        append(name);
        append(value);
    }
    return key;
}

}  // namespace

// bind(operation, quiet=False)
PyObject* bind_operation(PyObject*, PyObject* const* given, Py_ssize_t n) {
    if ((n != 1 && n != 2) || (n == 2 && !PyBool_Check(given[1])))
        return refuse("bind() takes an operation, and perhaps a bool");
    std::unique_ptr<BoundCall> bound(new (std::nothrow) BoundCall);
    if (!bound) return PyErr_NoMemory();
    Arguments arguments;
    if (!read_record(given[0], arguments)) return nullptr;
    if (arguments.function >= kernel_count) return refuse("bind() takes operations that move elements by index");
    if (!read_call(arguments, bound->call)) return nullptr;
    bound->op = borrow(bound->call.op);
    bound->call.quiet = n == 2 && given[1] == Py_True;
    const Ref capsule(PyCapsule_New(bound.get(), capsule_name, [](PyObject* object) {
        delete static_cast<BoundCall*>(PyCapsule_GetPointer(object, capsule_name));
    }));
    if (!capsule) return nullptr;
    bound.release();
    static PyMethodDef definition = method("bound_call", call_bound, nullptr);
    return PyCFunction_New(&definition, capsule.get());
}

// run_known_call(known, op, accumulate, inputs, attributes)
PyObject* run_known_call(PyObject*, PyObject* const* arguments, Py_ssize_t n) {
    if (n != 5 || !PyDict_Check(arguments[0])) return refuse("run_known_call() takes a dict and four arguments");
    if (!can_be_known(arguments[2], arguments[4])) Py_RETURN_NOTIMPLEMENTED;
    const Ref inputs = with_arrays(arguments[3]);
    if (!inputs) return PyErr_Occurred() ? nullptr : Py_NewRef(Py_NotImplemented);
    const Ref key = make_key(arguments[1], arguments[2], inputs.get(), arguments[4]);
    const Ref run = key ? find(arguments[0], key.get()) : Ref();
    if (!run) return PyErr_Occurred() ? nullptr : Py_NewRef(Py_NotImplemented);
    return PyObject_Vectorcall(run.get(), &PyTuple_GET_ITEM(inputs.get(), 0),
                               static_cast<size_t>(PyTuple_GET_SIZE(inputs.get())), nullptr);
}

// make_call_key(op, accumulate, inputs, attributes)
PyObject* make_call_key(PyObject*, PyObject* const* arguments, Py_ssize_t n) {
    if (n != 4) return refuse("make_call_key() takes an operator, accumulate, inputs and attributes");
    PyObject *const inputs = arguments[2], *const attributes = arguments[3];
    if (!PyTuple_Check(inputs) || !can_be_known(arguments[1], attributes)) Py_RETURN_NONE;
    Ref key = make_key(arguments[0], arguments[1], inputs, attributes);
    if (!key && !PyErr_Occurred()) Py_RETURN_NONE;
    return key.release();
}

}  // namespace gs
