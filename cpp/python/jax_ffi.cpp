// The operators as a target of XLA's foreign function interface. Compiled JAX programs call them without Python.
// clang-format off
#include <Python.h>  // must be first: it changes the declarations of the standard headers
// clang-format on
#include <xla/ffi/api/ffi.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <new>
#include <string>
#include <string_view>

#include "call.hpp"
#include "float_mode.hpp"
#include "numpy_arrays.hpp"
#include "parallel.hpp"

namespace gs {
namespace {

namespace ffi = xla::ffi;

DType element_type(ffi::DataType type) {
    switch (type) {
        case ffi::PRED: return DType::boolean;
        case ffi::S8: return DType::int8;
        case ffi::S16: return DType::int16;
        case ffi::S32: return DType::int32;
        case ffi::S64: return DType::int64;
        case ffi::U8: return DType::uint8;
        case ffi::U16: return DType::uint16;
        case ffi::U32: return DType::uint32;
        case ffi::U64: return DType::uint64;
        case ffi::F16: return DType::float16;
        case ffi::BF16: return DType::bfloat16;
        case ffi::F32: return DType::float32;
        case ffi::F64: return DType::float64;
        case ffi::C64: return DType::complex64;
        case ffi::C128: return DType::complex128;
        default: return DType::opaque;
    }
}

std::byte* bytes(const ffi::AnyBuffer& buffer) { return static_cast<std::byte*>(buffer.untyped_data()); }

Shape shape_of(const ffi::AnyBuffer& buffer) {
    return {buffer.dimensions().begin(), static_cast<int>(buffer.dimensions().size())};
}

// Finds the position of a name in `names`. False: it is not there.
template <class E, size_t n>
bool find(const char* const (&names)[n], std::string_view name, E& found) {
    const auto at = std::find(std::begin(names), std::end(names), name);
    found = static_cast<E>(at - std::begin(names));
    return at != std::end(names);
}

// While this object lives, a thread of JAX holds the interpreter lock (GIL).
class GilHold {
  public:
    GilHold() : state_(PyGILState_Ensure()) {}
    ~GilHold() { PyGILState_Release(state_); }
    GilHold(const GilHold&) = delete;

  private:
    PyGILState_STATE state_;
};

// Returns the text of the current exception and clears it.
std::string take_exception() {
#if PY_VERSION_HEX >= 0x030c0000
    const Ref error(PyErr_GetRaisedException());
#else
    PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    const Ref held_type(type), error(value), held_trace(trace);
#endif
    const Ref text(error ? PyObject_Str(error.get()) : nullptr);
    const char* const words = text ? PyUnicode_AsUTF8(text.get()) : nullptr;
    PyErr_Clear();
    return words ? words : "an index is out of range";
}

// Returns the message of errors.py for an index that is out of range, as Python code would have raised it.
ffi::Error index_error(std::string_view op, Call call, const ffi::AnyBuffer& data, const ffi::AnyBuffer& indices) {
    const GilHold gil;
    const auto array_of = [](const ffi::AnyBuffer& buffer, DType type) {
        // NumPy's type numbers of integers, in the order of DType.
        constexpr int numbers[] = {NPY_INT8,  NPY_INT16,  NPY_INT32,  NPY_INT64,
                                   NPY_UINT8, NPY_UINT16, NPY_UINT32, NPY_UINT64};
        static_assert(std::size(numbers) == static_cast<size_t>(DType::uint64) - static_cast<size_t>(DType::int8) + 1);
        const Shape shape = shape_of(buffer);
        npy_intp dims[max_rank];
        std::copy(shape.begin(), shape.end(), dims);
        const int number = numbers[static_cast<int>(type) - static_cast<int>(DType::int8)];
        return Ref(PyArray_SimpleNewFromData(shape.rank, dims, number, buffer.untyped_data()));
    };
    const Ref op_name(PyUnicode_FromStringAndSize(op.data(), static_cast<Py_ssize_t>(op.size())));
    const Ref shape_only = array_of(data, DType::int8),
              values = array_of(indices, element_type(indices.element_type()));
    call.op = op_name.get();
    call.data = shape_only.get();
    call.indices = values.get();
    if (op_name && shape_only && values) (void)raise_index(call);
    return {ffi::ErrorCode::kOutOfRange, take_exception()};
}

// Runs a call. gatherscatter.jax has already checked types, attributes and shapes.
ffi::Error carry_out(std::string_view op, const Call& call, const ffi::AnyBuffer& data, const ffi::AnyBuffer& indices,
                     const std::byte* source, const ffi::AnyBuffer& out) {
    KernelCall kernel;
    const Fault fault =
        make_plan(call.kernel, shape_of(data), shape_of(indices), call.axis, call.batch_dims, kernel.plan);
    if (fault != Fault::none) return ffi::Error::InvalidArgument(name(fault));
    IndexType index_type{};
    if (!index_type_of(element_type(indices.element_type()), index_type))
        return ffi::Error::InvalidArgument("indices must be integers");
    const auto item_size = static_cast<int64_t>(ffi::ByteWidth(data.element_type()));
    const ScopedThreadLimit threads(call.threads);
    const ScopedDenormals denormals;
    try {
        if (is_scatter(call.kernel) && out.untyped_data() != data.untyped_data())
            std::memcpy(out.untyped_data(), data.untyped_data(), out.size_bytes());
        complete(kernel, call, element_type(data.element_type()), item_size, indices.untyped_data(), index_type);
        if (run(kernel, source, bytes(out))) return ffi::Error::Success();
    } catch (const std::bad_alloc&) {
        return {ffi::ErrorCode::kResourceExhausted, std::string(op) + ": out of memory"};
    }
    return index_error(op, call, data, indices);
}

ffi::Error handle(ffi::AnyBuffer data, ffi::AnyBuffer indices, ffi::RemainingArgs others,
                  ffi::Result<ffi::AnyBuffer> out, std::string_view op, std::string_view kernel, int64_t axis,
                  int64_t batch_dims, std::string_view reduction, bool include_self, std::string_view accumulate,
                  std::string_view mode, int64_t num_threads) {
    Call call{};
    call.axis = axis;
    call.batch_dims = batch_dims;
    call.include_self = include_self;
    call.threads = static_cast<int>(std::min<int64_t>(num_threads, max_threads));
    if (!find(kernel_names, kernel, call.kernel) || !find(reduction_names, reduction, call.reduction) ||
        !find(accumulate_names, accumulate, call.accumulate) || !find(mode_names, mode, call.rule.mode))
        return ffi::Error::InvalidArgument("no such kernel, reduction, accumulate or mode");
    if (!is_scatter(call.kernel)) return carry_out(op, call, data, indices, bytes(data), *out);
    const auto updates = others.get<ffi::AnyBuffer>(0);
    if (!updates.has_value()) return updates.error();
    return carry_out(op, call, data, indices, bytes(*updates), *out);
}

}  // namespace
}  // namespace gs

// gatherscatter/jax/ffi.py finds it by this name.
extern "C" Py_EXPORTED_SYMBOL XLA_FFI_Error* gatherscatter_jax(XLA_FFI_CallFrame*);

XLA_FFI_DEFINE_HANDLER_SYMBOL(gatherscatter_jax, gs::handle,
                              xla::ffi::Ffi::Bind()
                                  .Arg<xla::ffi::AnyBuffer>()
                                  .Arg<xla::ffi::AnyBuffer>()
                                  .RemainingArgs()
                                  .Ret<xla::ffi::AnyBuffer>()
                                  .Attr<std::string_view>("op")
                                  .Attr<std::string_view>("kernel")
                                  .Attr<int64_t>("axis")
                                  .Attr<int64_t>("batch_dims")
                                  .Attr<std::string_view>("reduction")
                                  .Attr<bool>("include_self")
                                  .Attr<std::string_view>("accumulate")
                                  .Attr<std::string_view>("mode")
                                  .Attr<int64_t>("num_threads"));
