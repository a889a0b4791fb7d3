// What the core needs of NumPy's arrays, and owned references to Python objects.
#pragma once

#include <Python.h>

#include <chrono>
#include <thread>
#include <utility>

#include "kernels.hpp"
#include "parallel.hpp"

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define NPY_TARGET_VERSION NPY_2_0_API_VERSION
#define PY_ARRAY_UNIQUE_SYMBOL gatherscatter_ARRAY_API
#ifndef GATHERSCATTER_IMPORTS_ARRAY  // one file does: numpy_arrays.cpp
#define NO_IMPORT_ARRAY
#endif
#include "numpy/arrayobject.h"

namespace gs {

// An owned reference, or none.
class Ref {
  public:
    explicit Ref(PyObject* object = nullptr) : object_(object) {}
    Ref(Ref&& other) noexcept : object_(other.release()) {}
    Ref(const Ref&) = delete;
    Ref& operator=(Ref&& other) noexcept {
        std::swap(object_, other.object_);
        return *this;
    }
    ~Ref() { Py_XDECREF(object_); }
    PyObject* release() { return std::exchange(object_, nullptr); }
    PyObject* get() const { return object_; }
    PyArrayObject* array() const { return reinterpret_cast<PyArrayObject*>(object_); }
    explicit operator bool() const { return object_ != nullptr; }

  private:
    PyObject* object_;
};
inline Ref borrow(PyObject* object) { return Ref(Py_NewRef(object)); }

inline PyArrayObject* array(PyObject* object) { return reinterpret_cast<PyArrayObject*>(object); }
inline std::byte* bytes(PyArrayObject* array) { return reinterpret_cast<std::byte*>(PyArray_BYTES(array)); }

Shape shape_of(PyArrayObject*);
Shape strides_of(PyArrayObject*);
DType element_type(PyArray_Descr*);
bool index_type(PyArrayObject*, IndexType&);  // false: not native integers
bool is_text(PyArrayObject*);                 // of fixed width

// An exact ndarray whose elements are bytes and nothing else.
bool is_plain(PyObject*);
bool same_type(PyArrayObject*, PyArrayObject*);
bool overlap(PyArrayObject*, PyArrayObject* contiguous);

bool is_contiguous(PyObject* array);  // and aligned

// An exact ndarray in C order of this many dimensions; one of int64 that has one.
inline bool is_packed(PyObject* object, int rank) {
    return PyArray_CheckExact(object) && PyArray_ISCARRAY_RO(array(object)) && PyArray_NDIM(array(object)) == rank;
}
inline bool is_numbers(PyObject* object) {
    return is_packed(object, 1) && element_type(PyArray_DESCR(array(object))) == DType::int64;
}
inline const int64_t* numbers(PyObject* object) { return static_cast<const int64_t*>(PyArray_DATA(array(object))); }

// The array itself if kernels can read it, else a copy that they can.
Ref contiguous(PyObject* array);
Ref new_array(PyArray_Descr*, const Shape&);

// What a copy does when a signal arrives. A copy into a new array stops; one into an array of the caller is finished.
enum class OnSignal : bool { finish, stop };

// Copies data into an array of the same shape and type, past the caches if it is to stream. False: an exception is set.
bool copy_data(PyObject* data, PyArrayObject* out, OnSignal, bool stream = false);

// An array in C order with the elements of another, converted to a type.
Ref copied(PyArrayObject* array, PyArray_Descr*);

// Scoped release of the interpreter lock (GIL): other Python threads run while a large kernel does.
class GilRelease {
  public:
    explicit GilRelease(bool large) : state_(large ? PyEval_SaveThread() : nullptr) {}
    ~GilRelease() { reacquire(); }
    GilRelease(const GilRelease&) = delete;

    // Runs handlers of signals that have arrived. Returns whether one raised an exception, as that of Ctrl-C does, or
    // forked: then this is a child that has lost its threads. Only for the thread that made this.
    bool check_signals(int forks_before) {
        if (!state_) return false;
        reacquire();
        bool raised = PyErr_CheckSignals() < 0;
        if (!raised && forks() != forks_before) {
            PyErr_SetString(PyExc_RuntimeError, "a signal handler has forked the process during this call");
            raised = true;
        }
        state_ = PyEval_SaveThread();
        return raised;
    }

  private:
    void reacquire() {
        if (!state_) return;
        try {
            PyEval_RestoreThread(state_);
        } catch (...) {
            // Before CPython 3.14 a daemon thread is ended here by unwinding, when the interpreter is gone; it must not
            // pass a destructor, nor release references without the lock.
            for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
        }
    }

    PyThreadState* state_;
};

bool import_numpy();

}  // namespace gs
