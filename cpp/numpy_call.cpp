#include <cstring>
#include <new>

#define PY_ARRAY_UNIQUE_SYMBOL gatherscatter_ARRAY_API
#include "call.hpp"
#include "numpy/arrayobject.h"

namespace gs {

// bfloat16 is registered with NumPy by ml_dtypes under a number that is not known in advance.
static bool is_bfloat16(PyArray_Descr* descr) {
    return PyTypeNum_ISUSERDEF(descr->type_num) && PyDataType_ELSIZE(descr) == 2 &&
           std::strstr(descr->typeobj->tp_name, "bfloat16") != nullptr;
}

DType element_type(PyArray_Descr* descr) {
    const auto sized = [&](DType first) {  // int8, int16, ... stand in order of size
        int log2 = 0;
        while (int64_t{1} << log2 < PyDataType_ELSIZE(descr)) ++log2;
        return static_cast<DType>(static_cast<int>(first) + log2);
    };
    if (PyTypeNum_ISSIGNED(descr->type_num) && descr->kind == 'i') return sized(DType::int8);
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

namespace {

// An owned reference.
class Ref {
  public:
    explicit Ref(PyObject* object = nullptr) : object_(object) {}
    Ref(Ref&& other) noexcept : object_(other.release()) {}
    Ref(const Ref&) = delete;
    ~Ref() { Py_XDECREF(object_); }
    PyObject* release() {
        PyObject* object = object_;
        object_ = nullptr;
        return object;
    }
    PyArrayObject* array() const { return reinterpret_cast<PyArrayObject*>(object_); }
    explicit operator bool() const { return object_ != nullptr; }

  private:
    PyObject* object_;
};

PyArrayObject* array(PyObject* object) { return reinterpret_cast<PyArrayObject*>(object); }

Shape shape_of(PyArrayObject* array) {
    Shape shape;
    for (int i = 0; i < PyArray_NDIM(array); ++i) shape.push(PyArray_DIM(array, i));
    return shape;
}

bool index_type_of(PyArrayObject* array, IndexType& type) {
    const int number = PyArray_TYPE(array);
    if (!PyTypeNum_ISINTEGER(number) || PyArray_DESCR(array)->kind == 'm' || PyArray_ISBYTESWAPPED(array)) return false;
    type = static_cast<IndexType>(static_cast<int>(element_type(PyArray_DESCR(array))) - static_cast<int>(DType::int8));
    return true;
}

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

// A place that kernels can write to directly: like data, contiguous, and apart from all that is read.
bool is_plain_out(const Call& call) {
    if (!is_plain(call.out) || !same_type(array(call.out), array(call.data))) return false;
    constexpr int wanted = NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_ALIGNED | NPY_ARRAY_WRITEABLE;
    if (!PyArray_CHKFLAGS(array(call.out), wanted)) return false;
    if (overlap(array(call.indices), array(call.out))) return false;
    if (call.updates && overlap(array(call.updates), array(call.out))) return false;
    return (is_scatter(call.kernel) && call.out == call.data) || !overlap(array(call.data), array(call.out));
}

Ref tuple_of(const Shape& shape) {
    Ref tuple(PyTuple_New(shape.rank));
    for (int i = 0; tuple && i < shape.rank; ++i)
        PyTuple_SET_ITEM(reinterpret_cast<PyObject*>(tuple.array()), i, PyLong_FromLongLong(shape[i]));
    return tuple;
}

PyObject* object(const Ref& ref) { return reinterpret_cast<PyObject*>(ref.array()); }

Ref op_name(const Call& call) { return Ref(call.op ? Py_NewRef(call.op) : PyUnicode_FromString(name(call.kernel))); }

// errors.py words every message; these hand it the facts.
Outcome raise(const char* function, const Ref& arguments) {
    const Ref errors(PyImport_ImportModule("gatherscatter.errors"));
    const Ref callable(errors ? PyObject_GetAttrString(object(errors), function) : nullptr);
    if (callable && arguments) Ref(PyObject_CallObject(object(callable), object(arguments)));
    if (!PyErr_Occurred()) PyErr_Format(PyExc_SystemError, "gatherscatter.errors.%s did not raise", function);
    return Outcome::failed;
}

Outcome raise_shape(const Call& call, const char* fault, const Plan* plan) {
    const Ref op = op_name(call);
    const auto shape = [](PyObject* object) {
        return object ? tuple_of(shape_of(array(object))) : Ref(Py_NewRef(Py_None));
    };
    const Ref data = shape(call.data), indices = shape(call.indices), updates = shape(call.updates),
              out = shape(call.out);
    const Ref slots = plan ? tuple_of(plan->slots) : Ref(Py_NewRef(Py_None));
    return raise("shape_fault",
                 Ref(Py_BuildValue("(OssOOOOOLL)", object(op), name(call.kernel), fault, object(data), object(indices),
                                   object(updates), object(out), object(slots), static_cast<long long>(call.axis),
                                   static_cast<long long>(call.batch_dims))));
}

Outcome raise_index(const Call& call) {
    const Ref op = op_name(call), data = tuple_of(shape_of(array(call.data)));
    const bool empty_axis_only = call.rule.mode == Mode::wrap || call.rule.mode == Mode::clip;
    return raise("index_fault",
                 Ref(Py_BuildValue("(OsOOLLNN)", object(op), name(call.kernel), object(data), call.indices,
                                   static_cast<long long>(call.axis), static_cast<long long>(call.batch_dims),
                                   PyBool_FromLong(call.rule.negative), PyBool_FromLong(empty_axis_only))));
}

Outcome raise_reduction(const Call& call) {
    static const char* const names[] = {"none", "add", "sub", "mul", "min", "max", "mean"};
    const Ref op = op_name(call);
    return raise("reduction_fault", Ref(Py_BuildValue("(OsO)", object(op), names[static_cast<int>(call.reduction)],
                                                      reinterpret_cast<PyObject*>(PyArray_DESCR(array(call.data))))));
}

// Below this many bytes, releasing the interpreter lock costs more than it gives.
constexpr int64_t gil_bytes = 64 * 1024;

// Runs the kernel; the arrays are contiguous and their shapes agree with the plan.
bool run_kernel(const Call& call, const Plan& plan, const Index& index, const Ref& data, const Ref& updates,
                PyArrayObject* out, DType dtype) {
    const auto bytes = [](PyArrayObject* array) { return reinterpret_cast<std::byte*>(PyArray_BYTES(array)); };
    const int64_t item_size = PyArray_ITEMSIZE(out);
    if (!is_scatter(call.kernel)) {
        return plan.form == Form::rows ? gather_rows(plan.rows, index, bytes(data.array()), bytes(out), item_size)
                                       : gather_lanes(plan.lanes, index, bytes(data.array()), bytes(out), item_size);
    }
    const Combine combine{dtype, item_size, call.reduction, call.include_self, call.wide};
    return plan.form == Form::rows ? scatter_rows(plan.rows, index, bytes(updates.array()), bytes(out), combine)
                                   : scatter_lanes(plan.lanes, index, bytes(updates.array()), bytes(out), combine);
}

Ref contiguous(PyObject* object) { return Ref(PyArray_FROM_OF(object, NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_ALIGNED)); }

// A new array for the result; for a scatter it holds a copy of data.
Ref new_output(const Call& call, const Plan& plan) {
    if (is_scatter(call.kernel)) return Ref(PyArray_NewCopy(array(call.data), NPY_CORDER));
    PyArray_Descr* descr = PyArray_DESCR(array(call.data));
    Py_INCREF(descr);
    return Ref(PyArray_NewFromDescr(&PyArray_Type, descr, plan.slots.rank, const_cast<npy_intp*>(plan.slots.dim),
                                    nullptr, nullptr, 0, nullptr));
}

}  // namespace

const char* name(Kernel kernel) {
    static const char* const names[kernel_count] = {"gather",         "gather_elements",  "gather_nd",
                                                    "scatter_update", "scatter_elements", "scatter_nd"};
    return names[static_cast<int>(kernel)];
}

Fault make_plan(Kernel kernel, const Shape& data, const Shape& indices, int64_t axis, int64_t batch_dims, Plan& plan) {
    switch (kernel) {
        case Kernel::gather_elements:
        case Kernel::scatter_elements: return plan_elements(data, indices, axis, plan);
        case Kernel::gather_nd:
        case Kernel::scatter_nd: return plan_nd(data, indices, batch_dims, plan);
        default: return plan_axis(data, indices, axis, batch_dims, plan);
    }
}

Outcome run(const Call& call, PyObject*& result) {
    const bool scatter = is_scatter(call.kernel);
    IndexType index_type;
    if (!is_plain(call.data) || !is_plain(call.indices) || !index_type_of(array(call.indices), index_type))
        return Outcome::not_plain;
    if (scatter && (!is_plain(call.updates) || !same_type(array(call.data), array(call.updates))))
        return Outcome::not_plain;
    const bool computes = call.reduction != Reduction::none;
    const bool text =
        PyTypeNum_ISFLEXIBLE(PyArray_TYPE(array(call.data))) && PyArray_TYPE(array(call.data)) != NPY_VOID;
    if (computes && (text || PyArray_ISBYTESWAPPED(array(call.data)))) return Outcome::not_plain;
    if (call.out && !is_plain_out(call)) return Outcome::not_plain;

    const DType dtype = element_type(PyArray_DESCR(array(call.data)));
    if (computes && !knows(dtype, call.reduction)) return raise_reduction(call);
    const Shape data_shape = shape_of(array(call.data));
    Plan plan;
    const Fault fault =
        make_plan(call.kernel, data_shape, shape_of(array(call.indices)), call.axis, call.batch_dims, plan);
    if (fault != Fault::none) return raise_shape(call, name(fault), nullptr);
    if (scatter && !(shape_of(array(call.updates)) == plan.slots)) return raise_shape(call, "updates_shape", &plan);
    if (call.out && !(shape_of(array(call.out)) == (scatter ? data_shape : plan.slots)))
        return raise_shape(call, "out_shape", &plan);

    const Ref indices = contiguous(call.indices);
    const Ref data = scatter ? Ref(Py_NewRef(call.data)) : contiguous(call.data);
    const Ref updates = scatter ? contiguous(call.updates) : Ref();
    Ref out = call.out ? Ref(Py_NewRef(call.out)) : new_output(call, plan);
    if (!indices || !data || (scatter && !updates) || !out) return Outcome::failed;

    Shape lane_dims;
    if (plan.form == Form::lanes) lane_dims.push(plan.lanes.size);
    const Index index(PyArray_DATA(indices.array()), index_type, plan.form == Form::rows ? plan.rows.dims : lane_dims,
                      call.rule);
    const int64_t tuples = plan.form == Form::rows ? plan.rows.batch * plan.rows.count : plan.lanes.elements;
    const bool large = PyArray_NBYTES(out.array()) + PyArray_NBYTES(indices.array()) > gil_bytes;
    bool good = true, out_of_memory = false;
    PyThreadState* const state = large ? PyEval_SaveThread() : nullptr;
    if (call.out) good = index.check(tuples);  // the caller's array is not written to before all is known to be well
    if (state) PyEval_RestoreThread(state);
    if (good && call.out && scatter && call.out != call.data && PyArray_CopyInto(out.array(), data.array()) < 0)
        return Outcome::failed;
    if (good) {
        PyThreadState* const state = large ? PyEval_SaveThread() : nullptr;
        try {
            good = run_kernel(call, plan, index, data, updates, out.array(), dtype);
        } catch (const std::bad_alloc&) {
            out_of_memory = true;
        }
        if (state) PyEval_RestoreThread(state);
    }
    if (out_of_memory) {
        PyErr_NoMemory();
        return Outcome::failed;
    }
    if (!good) return raise_index(call);
    result = out.release();
    return Outcome::done;
}

bool knows_dtype(PyObject* dtype, Reduction reduction, bool& known) {
    PyArray_Descr* descr = nullptr;
    if (!PyArray_DescrConverter(dtype, &descr)) return false;
    known = knows(element_type(descr), reduction);
    Py_DECREF(descr);
    return true;
}

bool init_numpy_call() {
    import_array1(false);
    return true;
}

}  // namespace gs
