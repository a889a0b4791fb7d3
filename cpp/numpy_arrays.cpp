#define GATHERSCATTER_IMPORTS_ARRAY
#include "numpy_arrays.hpp"

#include <algorithm>
#include <cstring>

namespace gs {
namespace {

// bfloat16 is registered with NumPy by ml_dtypes under a number that is not known in advance.
bool is_bfloat16(PyArray_Descr* descr) {
    return PyTypeNum_ISUSERDEF(descr->type_num) && PyDataType_ELSIZE(descr) == 2 &&
           std::strstr(descr->typeobj->tp_name, "bfloat16") != nullptr;
}

}  // namespace

Shape shape_of(PyArrayObject* array) {
    Shape shape;
    for (int i = 0; i < PyArray_NDIM(array); ++i) shape.push(PyArray_DIM(array, i));
    return shape;
}

DType element_type(PyArray_Descr* descr) {
    const auto sized = [&](DType first) {  // int8, int16, ... stand in order of size
        int log2 = 0;
        while (int64_t{1} << log2 < PyDataType_ELSIZE(descr)) ++log2;
        return static_cast<DType>(static_cast<int>(first) + log2);
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

bool index_type(PyArrayObject* array, IndexType& type) {
    const int number = PyArray_TYPE(array);
    if (!PyTypeNum_ISINTEGER(number) || PyArray_ISBYTESWAPPED(array)) return false;
    type = static_cast<IndexType>(static_cast<int>(element_type(PyArray_DESCR(array))) - static_cast<int>(DType::int8));
    return true;
}

bool is_text(PyArrayObject* array) { return PyArray_TYPE(array) == NPY_UNICODE || PyArray_TYPE(array) == NPY_STRING; }

bool is_plain(PyObject* object) {
    return PyArray_CheckExact(object) && !PyDataType_REFCHK(PyArray_DESCR(array(object)));
}

bool same_type(PyArrayObject* a, PyArrayObject* b) {
    return PyArray_DESCR(a) == PyArray_DESCR(b) || PyArray_EquivTypes(PyArray_DESCR(a), PyArray_DESCR(b));
}

bool overlap(PyArrayObject* a, PyArrayObject* contiguous) {
    if (PyArray_SIZE(a) == 0 || PyArray_SIZE(contiguous) == 0) return false;
    const char *low = PyArray_BYTES(a), *high = low + PyArray_ITEMSIZE(a);
    for (int i = 0; i < PyArray_NDIM(a); ++i) {
        const npy_intp reach = PyArray_STRIDE(a, i) * (PyArray_DIM(a, i) - 1);
        (reach < 0 ? low : high) += reach;
    }
    const char* begin = PyArray_BYTES(contiguous);
    return low < begin + PyArray_NBYTES(contiguous) && begin < high;
}

Ref contiguous(PyObject* object) {
    constexpr int wanted = NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_ALIGNED;
    if (PyArray_CHKFLAGS(array(object), wanted)) return borrow(object);
    return Ref(PyArray_FROM_OF(object, wanted));
}

Ref new_array(PyArray_Descr* descr, const Shape& shape) {
    npy_intp dims[max_rank];
    std::copy(shape.begin(), shape.end(), dims);
    Py_INCREF(descr);
    return Ref(PyArray_NewFromDescr(&PyArray_Type, descr, shape.rank, dims, nullptr, nullptr, 0, nullptr));
}

bool import_numpy() {
    import_array1(false);
    return true;
}

}  // namespace gs
