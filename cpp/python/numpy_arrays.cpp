#define GATHERSCATTER_IMPORTS_ARRAY
#include "numpy_arrays.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "kernel_call.hpp"
#include "output_pool.hpp"
#include "parallel.hpp"
#include "signals.hpp"

namespace gs {
namespace {

// ml_dtypes registers bfloat16 with NumPy under a number that is not known in advance.
bool is_bfloat16(PyArray_Descr* descr) {
    return PyTypeNum_ISUSERDEF(descr->type_num) && PyDataType_ELSIZE(descr) == 2 &&
           std::strstr(descr->typeobj->tp_name, "bfloat16") != nullptr;
}

// NumPy's interface for the memory of arrays (NEP 49).
void* data_allocate(void*, size_t size) { return pool_allocate(size); }

void* data_allocate_zeros(void*, size_t n, size_t size) {
    void* block = pool_allocate(n * size);
    return block ? std::memset(block, 0, n * size) : nullptr;
}

void data_free(void*, void* block, size_t) { pool_free(block); }

void* data_reallocate(void*, void* block, size_t size) {
    void* larger = pool_allocate(size);
    if (larger && block) std::memcpy(larger, block, std::min(size, pool_block_size(block)));
    if (larger) pool_free(block);
    return larger;
}

PyObject* pool_handler;

// The cost of copying an array with NumPy, in elements of a few bytes.
int64_t weight(PyArrayObject* array) { return std::max<int64_t>(PyArray_SIZE(array), PyArray_NBYTES(array) / 32); }

// Makes NumPy copy or convert an array into another of its shape, slice by slice. Checks for signals in between.
bool copy_slices(PyArrayObject* to, PyArrayObject* from) {
    const int rank = PyArray_NDIM(to);
    const int64_t whole = std::max(weight(to), weight(from)), rows = rank > 0 ? PyArray_DIM(to, 0) : 1;
    if (whole <= numpy_weight || rows == 0 || (rank == 1 && rows == 1) || rank == 0)
        return PyArray_CopyInto(to, from) == 0;
    const int64_t parts = whole / numpy_weight + 1, at_once = std::max<int64_t>(rows / parts, 1);
    const auto part = [&](PyArrayObject* all, int64_t begin) {
        PyObject* const object = reinterpret_cast<PyObject*>(all);
        return Ref(at_once == 1 && rank > 1 ? PySequence_GetItem(object, begin)
                                            : PySequence_GetSlice(object, begin, std::min(begin + at_once, rows)));
    };
    for (int64_t begin = 0; begin < rows; begin += at_once) {
        const Ref to_part = part(to, begin), from_part = part(from, begin);
        if (!to_part || !from_part || PyErr_CheckSignals() < 0) return false;
        if (!copy_slices(to_part.array(), from_part.array())) return false;
    }
    return true;
}

// Whether an object is a number or truth value of Python or NumPy. Subclasses of these may mean more.
bool is_number(PyObject* object) {
    if (PyLong_CheckExact(object) || PyFloat_CheckExact(object) || PyBool_Check(object) || PyComplex_CheckExact(object))
        return true;
    return (PyArray_IsScalar(object, Number) || PyArray_IsScalar(object, Bool)) &&
           std::strncmp(Py_TYPE(object)->tp_name, "numpy.", 6) == 0;
}

// Whether an object is a number, or a list or tuple of such objects.
bool holds_numbers(PyObject* object, int depth) {
    if (is_number(object)) return true;
    const bool is_list = PyList_CheckExact(object);
    if ((!is_list && !PyTuple_CheckExact(object)) || depth == max_rank) return false;
    // Nothing here runs Python code, so a list does not change.
    const Py_ssize_t n = is_list ? PyList_GET_SIZE(object) : PyTuple_GET_SIZE(object);
    for (Py_ssize_t i = 0; i < n; ++i)
        if (!holds_numbers(is_list ? PyList_GET_ITEM(object, i) : PyTuple_GET_ITEM(object, i), depth + 1)) return false;
    return n > 0;
}

// Copies memory without the interpreter lock.
bool copy_large(const std::byte* from, std::byte* to, int64_t size, OnSignal on_signal, bool use_stream) {
    GilRelease gil_release(true);
    InterruptCheck interrupts(gil_release);
    const ScopedStopToken scope(on_signal == OnSignal::stop ? &interrupts : nullptr);
    copy_data(from, to, size, use_stream);
    return !interrupts.interrupted();
}

// Casts all elements into a contiguous array of the same shape. False: a value does not fit, or an exception is set.
bool cast_into(PyArrayObject* from, PyArrayObject* to, OnSignal on_signal) {
    // Without the interpreter lock, other threads can change the type and the shape of the caller's array.
    const Elements elements{bytes(from), full_type(PyArray_DESCR(from)), shape_of(from), strides_of(from)};
    const ElementType type = full_type(PyArray_DESCR(to));
    GilRelease gil_release(PyArray_NBYTES(from) + PyArray_NBYTES(to) > gil_release_bytes);
    InterruptCheck interrupts(gil_release);
    const ScopedStopToken scope(on_signal == OnSignal::stop ? &interrupts : nullptr);
    return cast(elements, type, bytes(to));
}

// Whether `cast_into` copies elements to a type without changing their values: the types differ at most in byte order.
bool can_copy(PyArrayObject* from, PyArray_Descr* descr) {
    return can_cast(from, descr) && full_type(PyArray_DESCR(from)).dtype == full_type(descr).dtype;
}

}  // namespace

Shape shape_of(PyArrayObject* array) {
    Shape shape;
    for (int i = 0; i < PyArray_NDIM(array); ++i) shape.push(PyArray_DIM(array, i));
    return shape;
}

Shape strides_of(PyArrayObject* array) {
    Shape strides;
    for (int i = 0; i < PyArray_NDIM(array); ++i) strides.push(PyArray_STRIDE(array, i));
    return strides;
}

DType element_type(PyArray_Descr* descr) {
    const auto sized = [&](DType first) {  // int8, int16, ... are in order of size
        return static_cast<DType>(static_cast<int>(first) +
                                  std::countr_zero(static_cast<size_t>(PyDataType_ELSIZE(descr))));
    };
    if (PyTypeNum_ISSIGNED(descr->type_num)) return sized(DType::int8);
    if (PyTypeNum_ISUNSIGNED(descr->type_num)) return sized(DType::uint8);
    switch (descr->type_num) {
        case NPY_BOOL: return DType::boolean;
        case NPY_HALF: return DType::float16;
        case NPY_FLOAT: return DType::float32;
        case NPY_DOUBLE: return DType::float64;
        case NPY_CFLOAT: return DType::complex64;
        case NPY_CDOUBLE: return DType::complex128;
        default: return is_bfloat16(descr) ? DType::bfloat16 : DType::opaque;
    }
}

ElementType full_type(PyArray_Descr* descr) {
    const DType dtype = element_type(descr);
    return {dtype, PyDataType_ELSIZE(descr), dtype != DType::opaque && !PyArray_ISNBO(descr->byteorder)};
}

bool index_type(PyArrayObject* array, IndexType& type) {
    const int number = PyArray_TYPE(array);
    return PyTypeNum_ISINTEGER(number) && !PyArray_ISBYTESWAPPED(array) &&
           index_type_of(element_type(PyArray_DESCR(array)), type);
}

bool is_text(PyArrayObject* array) { return PyArray_TYPE(array) == NPY_UNICODE || PyArray_TYPE(array) == NPY_STRING; }

bool is_plain(PyObject* object) {
    return PyArray_CheckExact(object) && !PyDataType_REFCHK(PyArray_DESCR(array(object)));
}

bool same_type(PyArrayObject* a, PyArrayObject* b) {
    return PyArray_DESCR(a) == PyArray_DESCR(b) || PyArray_EquivTypes(PyArray_DESCR(a), PyArray_DESCR(b));
}

Tensor tensor_of(PyArrayObject* array) {
    if (!array) return {};
    return {true, element_type(PyArray_DESCR(array)), PyArray_ITEMSIZE(array), shape_of(array)};
}

void describe(PyObject* object, StridedTensor& tensor) {
    PyArrayObject* const given = array(object);
    tensor.present = true;
    tensor.item_size = PyArray_ITEMSIZE(given);
    tensor.size = tensor.item_size;
    tensor.shape.rank = PyArray_NDIM(given);
    for (int d = 0; d < tensor.shape.rank; ++d)
        tensor.size = saturating_multiply(tensor.size, tensor.shape.dim[d] = PyArray_DIM(given, d));
    tensor.memory = bytes(given);
    tensor.is_aligned = PyArray_ISALIGNED(given);
    tensor.is_contiguous = is_contiguous(object);
    tensor.strides = as_int64(PyArray_STRIDES(given));
}

Ref array_of_numbers(PyObject* object) {
#ifndef Py_GIL_DISABLED  // another thread could change the list
    if (holds_numbers(object, 0)) {
        Ref made(PyArray_FROM_O(object));
        if (made && PyTypeNum_ISNUMBER(PyArray_TYPE(made.array()))) return made;
        PyErr_Clear();  // the function in Python raises the error
    }
#endif
    return Ref();
}

bool is_tuple_of_lists(PyObject* object) {
    if (!PyTuple_Check(object)) return false;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(object); ++i)
        if (PyList_Check(PyTuple_GET_ITEM(object, i))) return true;
    return false;
}

bool is_contiguous(PyObject* object) {
    return PyArray_CHKFLAGS(array(object), NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_ALIGNED);
}

Ref contiguous(PyObject* object) {
    if (is_contiguous(object)) return borrow(object);
    return copied(array(object), PyArray_DESCR(array(object)));
}

Ref new_array(PyArray_Descr* descr, const Shape& shape) {
    double size = static_cast<double>(PyDataType_ELSIZE(descr));  // a double cannot overflow for huge sizes
    for (int64_t n : shape) size *= static_cast<double>(n);
    const Ref before(size >= min_pooled_bytes ? PyDataMem_SetHandler(pool_handler) : nullptr);
    if (size >= min_pooled_bytes && !before) return Ref();
    Py_INCREF(descr);
    Ref made(PyArray_NewFromDescr(&PyArray_Type, descr, shape.rank, as_intp(shape.dim), nullptr, nullptr, 0, nullptr));
    if (before) Py_XDECREF(PyDataMem_SetHandler(before.get()));
    return made;
}

bool can_cast(PyArrayObject* array, PyArray_Descr* descr) {
    if (PyDataType_REFCHK(PyArray_DESCR(array)) || PyDataType_REFCHK(descr)) return false;
    const ElementType from = full_type(PyArray_DESCR(array)), to = full_type(descr);
    if (from.dtype == DType::opaque || to.dtype == DType::opaque)
        return PyArray_EquivTypes(PyArray_DESCR(array), descr);
    return can_cast(from, to);
}

Ref cast(PyArrayObject* array, PyArray_Descr* descr) {
    Ref made = new_array(descr, shape_of(array));
    return made && cast_into(array, made.array(), OnSignal::stop) ? std::move(made) : Ref();
}

bool copy_data(PyObject* data, PyArrayObject* out, OnSignal on_signal, bool use_stream) {
    if (!is_contiguous(data) && PyArray_ISCARRAY(out) && can_copy(array(data), PyArray_DESCR(out)))
        return cast_into(array(data), out, on_signal);
    if (!is_contiguous(data) || !PyArray_ISCARRAY(out))
        return on_signal == OnSignal::finish ? PyArray_CopyInto(out, array(data)) == 0 : copy_slices(out, array(data));
    const int64_t size = PyArray_NBYTES(out);
    if (size > gil_release_bytes) return copy_large(bytes(array(data)), bytes(out), size, on_signal, use_stream);
    std::memcpy(bytes(out), bytes(array(data)), static_cast<size_t>(size));
    return true;
}

Ref copied(PyArrayObject* array, PyArray_Descr* descr) {
    Ref made = new_array(descr, shape_of(array));
    const bool whole = made && (can_copy(array, descr) ? cast_into(array, made.array(), OnSignal::stop)
                                                       : copy_slices(made.array(), array));
    return whole ? std::move(made) : Ref();
}

bool import_numpy() {
    import_array1(false);
    static PyDataMem_Handler handler{
        "gatherscatter", 1, {nullptr, data_allocate, data_allocate_zeros, data_reallocate, data_free}};
    pool_handler = PyCapsule_New(&handler, "mem_handler", nullptr);
    return pool_handler != nullptr;
}

}  // namespace gs
