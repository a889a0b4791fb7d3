// Converts tensors of PyTorch to NumPy arrays. A tensor can be larger than its storage: code that resizes a storage, as
// sharded training does to save memory, does not change its tensors.
#include "call.hpp"
#include "numpy_arrays.hpp"

namespace gs {
namespace {

// The names of methods, created once.
PyObject *numpy_name, *storage_name, *size_name, *offset_name;

bool make_names() {
    if (offset_name) return true;
    numpy_name = PyUnicode_InternFromString("numpy");
    storage_name = PyUnicode_InternFromString("untyped_storage");
    size_name = PyUnicode_InternFromString("nbytes");
    offset_name = PyUnicode_InternFromString("storage_offset");
    return numpy_name && storage_name && size_name && offset_name;
}

// Calls a method that returns a number; -1: an exception is set.
int64_t call_integer_method(PyObject* object, PyObject* method) {
    const Ref answer(PyObject_CallMethodNoArgs(object, method));
    return answer ? PyLong_AsLongLong(answer.get()) : -1;
}

// Returns the bytes from the first element to the end of the last one.
int64_t extent(PyArrayObject* array) {
    if (PyArray_SIZE(array) == 0) return 0;
    int64_t last = 0;
    for (int i = 0; i < PyArray_NDIM(array); ++i) last += (PyArray_DIM(array, i) - 1) * PyArray_STRIDE(array, i);
    return last + PyArray_ITEMSIZE(array);
}

Ref raise_storage(PyObject* op, PyObject* input, int64_t needed, int64_t there) {
    raise_fault("storage_fault",
                Py_BuildValue("(OOLL)", op, input, static_cast<long long>(needed), static_cast<long long>(there)));
    return Ref();
}

// Returns tensor.numpy() if the storage holds all of it. No element is read.
Ref tensor_array(PyObject* op, PyObject* input, PyObject* tensor) {
    Ref made(PyObject_CallMethodNoArgs(tensor, numpy_name));
    if (!made) return Ref();
    const Ref storage(PyObject_CallMethodNoArgs(tensor, storage_name));
    if (!storage || !PyArray_Check(made.get())) return Ref();
    const int64_t there = call_integer_method(storage.get(), size_name),
                  offset = call_integer_method(tensor, offset_name);
    if (there < 0 || offset < 0) return Ref();
    const int64_t size = extent(made.array());
    const int64_t needed = size > 0 ? offset * PyArray_ITEMSIZE(made.array()) + size : 0;
    return needed <= there ? std::move(made) : raise_storage(op, input, needed, there);
}

}  // namespace

// tensor_array(op, name, tensor)
PyObject* tensor_array_call(PyObject*, PyObject* const* arguments, Py_ssize_t n) {
    if (n == 3) return make_names() ? tensor_array(arguments[0], arguments[1], arguments[2]).release() : nullptr;
    PyErr_SetString(PyExc_TypeError, "tensor_array() wants an operator, the name of an input, and a tensor");
    return nullptr;
}

}  // namespace gs
