// GatherTree on NumPy arrays that arrays/convert.py has prepared.
#include <new>

#include "call.hpp"
#include "numpy_arrays.hpp"
#include "signals.hpp"

namespace gs {

PyObject* gather_tree_call(PyObject*, PyObject* const* arguments, Py_ssize_t n) {
    const auto array = [&](int i) { return gs::array(arguments[i]); };
    bool ready = n == 5;
    for (int i = 0; ready && i < 5; ++i)
        ready = PyArray_CheckExact(arguments[i]) && PyArray_ISCARRAY_RO(array(i)) &&
                PyArray_EquivTypes(PyArray_DESCR(array(i)), PyArray_DESCR(array(0)));
    ready = ready && PyArray_NDIM(array(0)) == 3 && PyArray_ISWRITEABLE(array(4)) &&
            PyArray_SAMESHAPE(array(0), array(1)) && PyArray_SAMESHAPE(array(0), array(4)) &&
            PyArray_NDIM(array(2)) == 1 && PyArray_DIM(array(2), 0) == PyArray_DIM(array(0), 1) &&
            PyArray_NDIM(array(3)) == 0 && element_type(PyArray_DESCR(array(0))) != DType::opaque;
    if (!ready) {
        PyErr_SetString(PyExc_TypeError, "gather_tree() takes contiguous arrays of one type and fitting shapes");
        return nullptr;
    }
    const Beams beams{PyArray_DIM(array(0), 0), PyArray_DIM(array(0), 1), PyArray_DIM(array(0), 2)};
    const DType dtype = element_type(PyArray_DESCR(array(0)));
    int64_t bad;
    try {
        GilRelease gil_release(true);
        InterruptCheck interrupts(gil_release);
        const ScopedStopToken scope(&interrupts);
        bad = gather_tree(beams, dtype, PyArray_DATA(array(0)), PyArray_DATA(array(1)), PyArray_DATA(array(2)),
                          PyArray_DATA(array(3)), PyArray_DATA(array(4)));
        if (interrupts.interrupted()) return nullptr;
    } catch (const std::bad_alloc&) {
        return PyErr_NoMemory();
    }
    return PyLong_FromLongLong(bad);
}

}  // namespace gs
