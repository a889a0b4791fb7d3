// The array functions as targets of XLA's foreign functions. Compiled JAX programs call them without Python.
#include <Python.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <new>
#include <optional>
#include <string>
#include <string_view>

#include "bag_plan.hpp"
#include "call.hpp"
#include "float_mode.hpp"
#include "move_plan.hpp"
#include "numpy_arrays.hpp"
#include "parallel.hpp"
#include "xla_ffi.hpp"

namespace gs {
namespace {

// Sets the element type and its size. False: the core does not know the type.
bool read_type(int32_t type, DType& dtype, int64_t& item_size) {
    const auto set = [&](DType known, int64_t size) {
        dtype = known;
        item_size = size;
        return true;
    };
    const auto sized = [&](DType first, int32_t nth) {  // types of one kind are in order of size
        return set(static_cast<DType>(static_cast<int>(first) + nth), int64_t{1} << nth);
    };
    switch (type) {
        case xla::pred: return set(DType::boolean, 1);
        case xla::s8:
        case xla::s16:
        case xla::s32:
        case xla::s64: return sized(DType::int8, type - xla::s8);
        case xla::u8:
        case xla::u16:
        case xla::u32:
        case xla::u64: return sized(DType::uint8, type - xla::u8);
        case xla::f16: return set(DType::float16, 2);
        case xla::bf16: return set(DType::bfloat16, 2);
        case xla::f32: return set(DType::float32, 4);
        case xla::f64: return set(DType::float64, 8);
        case xla::c64: return set(DType::complex64, 8);
        case xla::c128: return set(DType::complex128, 16);
        case xla::f8e5m2:
        case xla::f8e4m3fn:
        case xla::f8e4m3b11fnuz:
        case xla::f8e5m2fnuz:
        case xla::f8e4m3fnuz:
        case xla::f8e4m3:
        case xla::f8e3m4:
        case xla::f8e8m0fnu: return set(DType::opaque, 1);
        default: return false;
    }
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

// One call of a target.
class Frame {
  public:
    explicit Frame(const xla::CallFrame& frame) : frame_(frame) {}

    int64_t argument_count() const { return frame_.arguments.count; }
    const xla::Buffer& argument(int64_t i) const { return *static_cast<xla::Buffer*>(frame_.arguments.buffers[i]); }
    const xla::Buffer& result() const { return *static_cast<xla::Buffer*>(frame_.results.buffers[0]); }

    std::string_view text(std::string_view name) const {
        const auto* const value = static_cast<const xla::Text*>(find(name, xla::string_attribute));
        return value ? std::string_view(value->characters, value->length) : std::string_view();
    }
    int64_t integer(std::string_view name) const {
        const auto* const scalar = static_cast<const xla::Scalar*>(find(name, xla::scalar_attribute));
        if (!scalar) return 0;
        if (scalar->type == xla::pred) return *static_cast<const bool*>(scalar->value);
        return scalar->type == xla::s64 ? *static_cast<const int64_t*>(scalar->value) : 0;
    }

    xla::Error* fail(xla::ErrorCode code, const std::string& message) const {
        xla::ErrorArguments arguments{sizeof arguments, nullptr, message.c_str(), code};
        return frame_.api->create_error(&arguments);
    }

  private:
    const void* find(std::string_view name, int32_t type) const {
        const xla::Attributes& all = frame_.attributes;
        for (int64_t i = 0; i < all.count; ++i)
            if (std::string_view(all.names[i]->characters, all.names[i]->length) == name)
                return all.types[i] == type ? all.values[i] : nullptr;
        return nullptr;
    }

    const xla::CallFrame& frame_;
};

bool read_tensor(const xla::Buffer& buffer, Tensor& tensor) {
    if (buffer.rank > max_rank || !read_type(buffer.type, tensor.dtype, tensor.item_size)) return false;
    tensor.present = true;
    tensor.shape = Shape(buffer.dims, static_cast<int>(buffer.rank));
    return true;
}

// A NumPy array over the memory of a buffer, for the errors of Python.
Ref array_of(const xla::Buffer& buffer, const Tensor& tensor) {
    // NumPy's type numbers, in the order of DType. For types that NumPy lacks, their bits are enough.
    constexpr int numbers[] = {NPY_UINT8, NPY_BOOL,   NPY_INT8,   NPY_INT16,  NPY_INT32, NPY_INT64,
                               NPY_UINT8, NPY_UINT16, NPY_UINT32, NPY_UINT64, NPY_HALF,  NPY_UINT16,
                               NPY_FLOAT, NPY_DOUBLE, NPY_CFLOAT, NPY_CDOUBLE};
    static_assert(std::size(numbers) == std::size(dtype_names));
    const int number = numbers[static_cast<size_t>(tensor.dtype)];
    npy_intp dims[max_rank];
    std::copy(tensor.shape.begin(), tensor.shape.end(), dims);
    return Ref(PyArray_SimpleNewFromData(tensor.shape.rank, dims, number, buffer.data));
}

bool read_options(const Frame& frame, Operation& operation, int& threads) {
    threads = static_cast<int>(std::min<int64_t>(frame.integer("num_threads"), max_threads));
    operation.axis = frame.integer("axis");
    operation.batch_dims = frame.integer("batch_dims");
    return find(reduction_names, frame.text("reduction"), operation.reduction) &&
           find(accumulate_names, frame.text("accumulate"), operation.accumulate) &&
           find(mode_names, frame.text("mode"), operation.rule.mode) &&
           find(negative_names, frame.text("negative"), operation.rule.negative);
}

Ref op_name(const Frame& frame) {
    const std::string_view op = frame.text("op");
    return Ref(PyUnicode_FromStringAndSize(op.data(), static_cast<Py_ssize_t>(op.size())));
}

// ---- Gathers and scatters. gatherscatter.jax has already checked types, attributes and shapes.

// Returns the message of errors.py for an index that is out of range, as Python code would have raised it.
xla::Error* index_error(const Frame& frame, const Operation& operation, const Tensor& data, const Tensor& indices) {
    const GilHold gil;
    Call call;
    static_cast<Operation&>(call) = operation;
    const Ref op = op_name(frame);
    Tensor shape_only = data;
    shape_only.dtype = DType::int8;
    const Ref table = array_of(frame.argument(0), shape_only), values = array_of(frame.argument(1), indices);
    call.op = op.get();
    call.data = table.get();
    call.indices = values.get();
    if (op && table && values) (void)raise_index(call);
    return frame.fail(xla::out_of_range, take_exception());
}

xla::Error* run_kernel_target(const Frame& frame) {
    Operation operation;
    int threads = 0;
    operation.include_self = frame.integer("include_self") != 0;
    if (!read_options(frame, operation, threads) || !find(kernel_names, frame.text("kernel"), operation.kernel))
        return frame.fail(xla::invalid_argument, "no such kernel, reduction, accumulate or mode");
    const bool scatter = is_scatter(operation.kernel);
    Tensor data, indices, updates;
    KernelMemory memory{};
    if (frame.argument_count() != (scatter ? 3 : 2) || !read_tensor(frame.argument(0), data) ||
        !read_tensor(frame.argument(1), indices) || (scatter && !read_tensor(frame.argument(2), updates)) ||
        !index_type_of(indices.dtype, memory.index_type))
        return frame.fail(xla::invalid_argument, "an input has a type that the core does not know");
    Plan plan;
    if (const char* const fault = plan_move(operation, data, indices, updates, {}, plan))
        return frame.fail(xla::invalid_argument, fault);
    memory.data = static_cast<std::byte*>(frame.argument(0).data);
    memory.indices = frame.argument(1).data;
    memory.updates = scatter ? static_cast<std::byte*>(frame.argument(2).data) : nullptr;
    memory.out = static_cast<std::byte*>(frame.result().data);
    const ScopedThreadLimit limit(threads);
    const ScopedDenormals denormals;
    if (run_kernel(operation, plan, data, indices, memory)) return nullptr;
    return index_error(frame, operation, data, indices);
}

// ---- gather_reduce

// Returns the message that the same call of Python raises.
xla::Error* bag_error(const Frame& frame, const BagTensors& tensors, const xla::Buffer* const* buffers, BagCall& call) {
    const GilHold gil;
    const Ref op = op_name(frame);
    Ref arrays[bag_input_count];
    for (size_t i = 0; i < bag_input_count; ++i)
        if (buffers[i]) {
            arrays[i] = array_of(*buffers[i], tensors[i]);
            call.inputs[i] = arrays[i].get();
        }
    call.op = op.get();
    PyObject* result = nullptr;
    if (op && !PyErr_Occurred() && run(call, result) == Outcome::done) {
        Py_DECREF(result);
        return frame.fail(xla::out_of_range, "an input changed during the call");
    }
    return frame.fail(xla::out_of_range, take_exception());
}

// The attribute `inputs` has the names of the buffers, with commas between them.
xla::Error* run_bag_target(const Frame& frame) {
    BagCall call;
    if (!read_options(frame, call, call.threads))
        return frame.fail(xla::invalid_argument, "no such reduction, accumulate or mode");
    if (const int64_t count = frame.integer("num_segments"); count >= 0) call.num_segments = count;
    BagTensors tensors;
    const xla::Buffer *buffers[bag_input_count] = {}, *empty = nullptr;
    Tensor empty_tensor;
    std::string_view names = frame.text("inputs");
    for (int64_t i = 0; i < frame.argument_count(); ++i) {
        const std::string_view name = names.substr(0, names.find(','));
        names.remove_prefix(std::min(name.size() + 1, names.size()));
        size_t input = 0;
        const bool is_input = find(bag_input_names, name, input);
        Tensor& tensor = is_input ? tensors[input] : empty_tensor;
        (is_input ? buffers[input] : empty) = &frame.argument(i);
        if ((!is_input && name != "default") || !read_tensor(frame.argument(i), tensor))
            return frame.fail(xla::invalid_argument, "an input has a name or a type that the core does not know");
    }
    const void* memory[bag_input_count] = {};
    for (size_t i = 0; i < bag_input_count; ++i)
        if (buffers[i]) memory[i] = buffers[i]->data;
    BagPlan plan;
    if (!buffers[0] || !have_fitting_types(tensors, call) || plan_bags(tensors, call, call.num_segments, plan) ||
        plan.call.bags == unknown_bags)
        return bag_error(frame, tensors, buffers, call);
    GatherReduceInputs inputs = inputs_of(tensors, plan, memory);
    if (empty) (empty_tensor.shape.rank == 0 ? inputs.empty : inputs.empty_row) = static_cast<std::byte*>(empty->data);
    const ScopedThreadLimit limit(call.threads);
    const ScopedDenormals denormals;
    const BagFault fault = gather_reduce(plan.call, inputs, static_cast<std::byte*>(frame.result().data));
    return fault == BagFault::none ? nullptr : bag_error(frame, tensors, buffers, call);
}

// ---- Targets

template <xla::Error* (*run)(const Frame&)>
xla::Error* call_target(xla::CallFrame* frame) {
    if (frame->extensions && frame->extensions->type == xla::metadata_extension) {
        // XLA requests the version when a target is registered. It refuses another major version, a minor version above
        // its own, and one below the oldest that it supports. The declarations hold since 0.1, that of JAX 0.5.
        xla::Version& version = reinterpret_cast<xla::MetadataExtension*>(frame->extensions)->metadata->version;
        version.major = 0;
        version.minor = 1;
        return nullptr;
    }
    const Frame call(*frame);
    if (frame->stage != xla::execute_stage || frame->results.count != 1 || frame->arguments.count < 1)
        return call.fail(xla::invalid_argument, "the target has another number of inputs or results");
    try {
        return run(call);
    } catch (const std::bad_alloc&) {
        return call.fail(xla::resource_exhausted, std::string(call.text("op")) + ": out of memory");
    }
}

}  // namespace
}  // namespace gs

// gatherscatter/jax/ffi.py finds them by these names.
extern "C" Py_EXPORTED_SYMBOL void* gatherscatter_jax(void* frame) {
    return gs::call_target<gs::run_kernel_target>(static_cast<gs::xla::CallFrame*>(frame));
}

extern "C" Py_EXPORTED_SYMBOL void* gatherscatter_jax_bags(void* frame) {
    return gs::call_target<gs::run_bag_target>(static_cast<gs::xla::CallFrame*>(frame));
}
