// The parts of NumPy's arrays that the core needs, and owned references to Python objects.
#pragma once

#include <Python.h>

#include <chrono>
#include <thread>
#include <utility>

#include "casts.hpp"
#include "kernels.hpp"
#include "parallel.hpp"
#include "tensor.hpp"

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define NPY_TARGET_VERSION NPY_2_0_API_VERSION
#define PY_ARRAY_UNIQUE_SYMBOL gatherscatter_ARRAY_API
#ifndef GATHERSCATTER_IMPORTS_ARRAY  // only numpy_arrays.cpp defines it
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

// NumPy's sizes and strides have a separate type on some systems, with the same 64 bits.
static_assert(sizeof(npy_intp) == sizeof(int64_t));
inline const int64_t* as_int64(const npy_intp* sizes) { return reinterpret_cast<const int64_t*>(sizes); }
inline const npy_intp* as_intp(const int64_t* sizes) { return reinterpret_cast<const npy_intp*>(sizes); }

// The bytes of all elements. In contrast to PyArray_NBYTES, it is not a call to NumPy.
inline int64_t size_in_bytes(PyArrayObject* array) {
    int64_t size = PyArray_ITEMSIZE(array);
    for (int d = 0; d < PyArray_NDIM(array); ++d) size *= PyArray_DIM(array, d);
    return size;
}

Shape shape_of(PyArrayObject*);
Shape strides_of(PyArrayObject*);
DType element_type(PyArray_Descr*);
ElementType full_type(PyArray_Descr*);        // with size and byte order
bool index_type(PyArrayObject*, IndexType&);  // false: the elements are not native integers
bool is_text(PyArrayObject*);                 // text of fixed width

// Whether an object is an exact ndarray whose elements are plain bytes.
bool is_plain(PyObject*);
bool same_type(PyArrayObject*, PyArrayObject*);

// Descriptions of arrays for the front end. `describe` does not set the element type.
Tensor tensor_of(PyArrayObject*);  // not present for null
void describe(PyObject*, StridedTensor&);

// Returns an array for a number of Python or NumPy, or for a list or tuple of numbers, which can be nested. Without an
// exception, no reference means that the object is something else.
Ref array_of_numbers(PyObject*);

// Whether an object is a tuple with a list. As indices of an nd function, it may be one list of indices for each axis,
// which convert.py refuses.
bool is_tuple_of_lists(PyObject*);

bool is_contiguous(PyObject* array);  // and aligned

// Whether an object is an exact ndarray in C order with this number of dimensions. The second function also requires
// int64 and one dimension.
inline bool is_packed(PyObject* object, int rank) {
    return PyArray_CheckExact(object) && PyArray_ISCARRAY_RO(array(object)) && PyArray_NDIM(array(object)) == rank;
}
inline bool is_numbers(PyObject* object) {
    return is_packed(object, 1) && element_type(PyArray_DESCR(array(object))) == DType::int64;
}
inline const int64_t* numbers(PyObject* object) { return static_cast<const int64_t*>(PyArray_DATA(array(object))); }

// Returns the array itself if kernels can read it, otherwise a copy that they can read.
Ref contiguous(PyObject* array);
Ref new_array(PyArray_Descr*, const Shape&);

// The effect of a signal on a copy. A copy into a new array stops. A copy into an array of the caller is finished.
enum class OnSignal : bool { finish, stop };

// Copies data into an array of the same shape and type. `stream`: past the caches. False: an exception is set.
bool copy_data(PyObject* data, PyArrayObject* out, OnSignal, bool stream = false);

// Returns a new array in C order with the elements of another, converted to a type.
Ref copied(PyArrayObject* array, PyArray_Descr*);

// Whether `cast` supports these types.
bool can_cast(PyArrayObject*, PyArray_Descr*);
// Returns a new array in C order with the elements of another, cast to a type. Without an exception, no reference means
// that a value does not fit.
Ref cast(PyArrayObject* array, PyArray_Descr*);

// While this object lives, the interpreter lock (GIL) is released: other Python threads run while a large kernel does.
class GilRelease {
  public:
    explicit GilRelease(bool large) : state_(large ? PyEval_SaveThread() : nullptr) {}
    ~GilRelease() { reacquire(); }
    GilRelease(const GilRelease&) = delete;

    // Runs handlers of signals that have arrived. Returns whether a handler raised an exception, as that of Ctrl-C
    // does, or forked. After a fork, this is a child that has lost its threads. Only the thread that made this object
    // can call it.
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
            // Before CPython 3.14, a daemon thread is unwound here when the interpreter has shut down. Unwinding must
            // not run destructors or release references without the lock, so the thread sleeps forever.
            for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
        }
    }

    PyThreadState* state_;
};

bool import_numpy();

}  // namespace gs
