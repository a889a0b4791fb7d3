// Calls on tensors of PyTorch. Most read the tensors with DLPack and return new ones, without NumPy's arrays. The
// others convert tensors to NumPy arrays. A tensor can be larger than its storage: code that resizes a storage, as
// sharded training does to save memory, does not change its tensors.
#include <algorithm>
#include <new>

#include "bag_plan.hpp"
#include "call.hpp"
#include "dlpack.hpp"
#include "float_mode.hpp"
#include "move_plan.hpp"
#include "numpy_arrays.hpp"
#include "output_pool.hpp"
#include "signals.hpp"

namespace gs {
namespace {

// The names of attributes and methods, created once.
struct Names {
    PyObject *numpy, *storage, *size, *offset, *address, *is_neg, *is_conj, *requires_grad;
};

const Names* names() {
    static const Names all{PyUnicode_InternFromString("numpy"),    PyUnicode_InternFromString("untyped_storage"),
                           PyUnicode_InternFromString("nbytes"),   PyUnicode_InternFromString("storage_offset"),
                           PyUnicode_InternFromString("data_ptr"), PyUnicode_InternFromString("is_neg"),
                           PyUnicode_InternFromString("is_conj"),  PyUnicode_InternFromString("requires_grad")};
    return all.requires_grad ? &all : nullptr;
}

// Calls a method that returns a number; -1: an exception is set.
int64_t call_integer_method(PyObject* object, PyObject* method) {
    const Ref answer(PyObject_CallMethodNoArgs(object, method));
    return answer ? PyLong_AsLongLong(answer.get()) : -1;
}

// Calls data_ptr() of a tensor or a storage. Null: it has no memory, or an exception is set.
const std::byte* address_of(PyObject* object) {
    const Ref answer(PyObject_CallMethodNoArgs(object, names()->address));
    return answer ? static_cast<const std::byte*>(PyLong_AsVoidPtr(answer.get())) : nullptr;
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

// Returns tensor.numpy() if it is in the memory of the tensor, and the storage holds all of it. No element is read. A
// tensor that wraps another one has no memory, and the mode of a tracer makes a new array.
Ref tensor_array(PyObject* op, PyObject* input, PyObject* tensor) {
    Ref made(PyObject_CallMethodNoArgs(tensor, names()->numpy));
    if (!made) return Ref();
    const Ref storage(PyObject_CallMethodNoArgs(tensor, names()->storage));
    if (!storage || !PyArray_Check(made.get())) return Ref();
    const int64_t there = call_integer_method(storage.get(), names()->size),
                  offset = call_integer_method(tensor, names()->offset);
    if (there < 0 || offset < 0) return Ref();
    const int64_t size = extent(made.array());
    if (size > 0 && there > 0) {
        const std::byte* const address = address_of(tensor);
        if (PyErr_Occurred()) return Ref();
        if (address != static_cast<const std::byte*>(PyArray_DATA(made.array()))) {
            PyErr_SetString(PyExc_TypeError, "it has no separate memory, because code that transforms it wraps it");
            return Ref();
        }
    }
    const int64_t needed = size > 0 ? offset * PyArray_ITEMSIZE(made.array()) + size : 0;
    return needed <= there ? std::move(made) : raise_storage(op, input, needed, there);
}

// ---- Direct calls

// What `register_tensors` has set: the types of plain tensors, two functions that say how tensors are used, and the
// functions of DLPack.
PyObject *tensor_types[2], *is_observed, *is_grad_enabled;
const dlpack::ExchangeApi* exchange;

bool is_of_tensor_type(PyObject* object) {
    PyObject* const type = reinterpret_cast<PyObject*>(Py_TYPE(object));
    return type == tensor_types[0] || type == tensor_types[1];
}

bool read_dtype(dlpack::DataType type, DType& dtype, int64_t& item_size) {
    if (type.lanes != 1 || type.bits % 8 != 0) return false;
    item_size = type.bits / 8;
    const auto sized = [&](DType first, int least) {  // types of one kind are in order of size
        int log2 = 0;
        while (least << log2 < type.bits) ++log2;
        dtype = static_cast<DType>(static_cast<int>(first) + log2);
        return least << log2 == type.bits;
    };
    switch (type.code) {
        case dlpack::integers: return sized(DType::int8, 8);
        case dlpack::unsigned_integers: return sized(DType::uint8, 8);
        case dlpack::floats:
            dtype = item_size == 2 ? DType::float16 : item_size == 4 ? DType::float32 : DType::float64;
            return item_size == 2 || item_size == 4 || item_size == 8;
        case dlpack::bfloats: dtype = DType::bfloat16; return true;
        case dlpack::complexes:
            dtype = item_size == 8 ? DType::complex64 : DType::complex128;
            return item_size == 8 || item_size == 16;
        case dlpack::booleans: dtype = DType::boolean; return true;
        default: dtype = DType::opaque; return type.code > dlpack::booleans;
    }
}

// Whether a method or an attribute is False. If it raises, the exception is cleared.
bool is_false(const Ref& answer) {
    if (!answer) PyErr_Clear();
    return answer.get() == Py_False;
}

// A contiguous tensor in the memory of the CPU. Its storage is kept, because another thread may give the tensor another
// one during the call.
struct DirectTensor {
    Tensor tensor;
    std::byte* memory = nullptr;
    dlpack::DataType type{};
    Ref storage;
};

// `done`: calls on this object can be direct, and `may_have_gradient` says whether gradients are not recorded.
Outcome check_use(PyObject* data, bool& may_have_gradient) {
    if (!exchange || !data || !is_of_tensor_type(data) || !names()) return Outcome::not_plain;
    const Ref observed(PyObject_CallNoArgs(is_observed));
    if (!observed && !PyErr_ExceptionMatches(PyExc_Exception)) return Outcome::failed;  // an interrupt
    if (!is_false(observed)) return Outcome::not_plain;
    may_have_gradient = is_false(Ref(PyObject_CallNoArgs(is_grad_enabled)));
    return Outcome::done;
}

// Reads a tensor. False: use the general path. No exception is set.
bool read_tensor(PyObject* object, bool may_have_gradient, DirectTensor& read) {
    if (!is_of_tensor_type(object)) return false;
    if (!may_have_gradient && !is_false(Ref(PyObject_GetAttr(object, names()->requires_grad)))) return false;
    dlpack::Tensor given;
    if (exchange->tensor_from_object(object, &given) != 0) {
        PyErr_Clear();
        return false;
    }
    Tensor& tensor = read.tensor;
    if (given.device_type != dlpack::cpu || given.rank > max_rank) return false;
    if (!read_dtype(given.type, tensor.dtype, tensor.item_size)) return false;
    // The memory of negated or conjugated tensors does not hold their values.
    if (!is_false(Ref(PyObject_CallMethodNoArgs(object, names()->is_neg)))) return false;
    if (given.type.code == dlpack::complexes && !is_false(Ref(PyObject_CallMethodNoArgs(object, names()->is_conj))))
        return false;
    tensor.present = true;
    tensor.shape = Shape(given.shape, given.rank);
    int64_t stride = 1;
    for (int i = given.rank - 1; i >= 0 && given.strides; --i) {
        if (given.shape[i] != 1 && given.strides[i] != stride && count_elements(tensor.shape) > 0) return false;
        stride *= given.shape[i];
    }
    read.memory = static_cast<std::byte*>(given.data) + given.byte_offset;
    read.type = given.type;
    const int64_t size = tensor.bytes();
    if (size == 0) return true;
    const bool is_aligned = reinterpret_cast<uintptr_t>(read.memory) % std::min<uintptr_t>(tensor.item_size, 8) == 0;
    if (!given.data || !is_aligned) return false;  // some tensors have no memory, such as those of zeros
    read.storage = Ref(PyObject_CallMethodNoArgs(object, names()->storage));
    const int64_t there = read.storage ? call_integer_method(read.storage.get(), names()->size) : -1;
    const std::byte* const begin = there < 0 ? nullptr : address_of(read.storage.get());
    if (PyErr_Occurred()) PyErr_Clear();
    return begin && read.memory >= begin && read.memory - begin + size <= there;
}

// A new tensor, and its memory until PyTorch owns it.
class NewTensor {
  public:
    NewTensor(const Shape& shape, const DirectTensor& like) : owned_(new Owned) {
        Owned& owned = *owned_;
        owned.shape = shape;
        owned.strides = shape;
        int64_t stride = 1;
        for (int i = shape.rank - 1; i >= 0; --i) {
            owned.strides.dim[i] = stride;
            stride *= std::max<int64_t>(shape[i], 1);
        }
        owned.size = static_cast<size_t>(saturating_multiply(count_elements(shape), like.tensor.item_size));
        if (owned.size > 0) owned.memory = owned.is_pooled() ? pool_allocate(owned.size) : allocate(owned.size);
        owned.managed = {{1, 0},
                         &owned,
                         [](dlpack::ManagedTensor* managed) { delete static_cast<Owned*>(managed->context); },
                         0,
                         {owned.memory, dlpack::cpu, 0, shape.rank, like.type, owned.shape.dim, owned.strides.dim, 0}};
        if (owned.size > 0 && !owned.memory) {
            delete owned_;
            throw std::bad_alloc();
        }
    }
    NewTensor(const NewTensor&) = delete;
    ~NewTensor() { delete owned_; }

    std::byte* memory() const { return static_cast<std::byte*>(owned_->memory); }

    // Returns the tensor as an object; null: an exception is set.
    PyObject* release() {
        void* object = nullptr;
        dlpack::ManagedTensor* const managed = &owned_->managed;
        if (exchange->managed_to_object(managed, &object) != 0) return nullptr;
        owned_ = nullptr;
        return static_cast<PyObject*>(object);
    }

  private:
    static constexpr std::align_val_t alignment{64};

    static void* allocate(size_t size) { return ::operator new(size, alignment, std::nothrow); }

    struct Owned {
        dlpack::ManagedTensor managed;
        Shape shape, strides;
        size_t size = 0;
        void* memory = nullptr;

        bool is_pooled() const { return size >= min_pooled_bytes; }
        ~Owned() {
            if (is_pooled())
                pool_free(memory);
            else
                ::operator delete(memory, alignment);
        }
    };
    Owned* owned_;
};

bool is_large(int64_t bytes) { return bytes > gil_release_bytes; }

// Makes the result. `not_plain`: use the general path, which raises the errors.
Outcome run_direct(const Operation& operation, const DirectTensor& data, const DirectTensor& indices,
                   const DirectTensor& updates, PyObject*& result) {
    KernelMemory memory{data.memory, indices.memory, {}, updates.memory, nullptr};
    const bool scatter = is_scatter(operation.kernel);
    Plan plan;
    if (!index_type_of(indices.tensor.dtype, memory.index_type) || !supports(data.tensor.dtype, operation.reduction) ||
        (operation.accumulate == Accumulate::exact && !supports_exact(data.tensor.dtype, operation.reduction)) ||
        (scatter && (updates.tensor.dtype != data.tensor.dtype || updates.type.code != data.type.code ||
                     updates.type.bits != data.type.bits)) ||
        plan_move(operation, data.tensor, indices.tensor, updates.tensor, {}, plan))
        return Outcome::not_plain;
    NewTensor out(output_shape(operation, data.tensor, plan), data);
    memory.out = out.memory();
    const int64_t item_size = data.tensor.item_size;
    const int64_t moved = saturating_multiply(count_elements(plan.slots), item_size);
    const int64_t width = plan.form == Form::rows ? plan.rows.width : 1;
    bool good = false;
    if (!run_part(is_large(saturating_add(moved, (scatter ? data.tensor.bytes() : 0) + indices.tensor.bytes())), true,
                  width * item_size, [&] { good = run_kernel(operation, plan, data.tensor, indices.tensor, memory); }))
        return Outcome::failed;
    if (!good) return Outcome::not_plain;
    result = out.release();
    return result ? Outcome::done : Outcome::failed;
}

Outcome run_direct(const BagCall& call, const DirectTensor (&given)[bag_input_count], PyObject*& result) {
    BagTensors tensors;
    const void* memory[bag_input_count] = {};
    for (size_t i = 0; i < bag_input_count; ++i) {
        if (!given[i].tensor.present) continue;
        tensors[i] = given[i].tensor;
        memory[i] = given[i].memory;
    }
    BagPlan plan;
    if (!have_fitting_types(tensors, call) || plan_bags(tensors, call, call.num_segments, plan))
        return Outcome::not_plain;
    const GatherReduceInputs inputs = inputs_of(tensors, plan, memory);
    const Tensor& data = tensors[BagInput::data];
    GatherReduce& bags = plan.call;
    const int64_t row_size = saturating_multiply(bags.width, data.item_size);
    const bool large = is_large(saturating_add(saturating_multiply(bags.members, saturating_add(row_size, 16)),
                                               saturating_multiply(std::max<int64_t>(bags.bags, 0), 8)));
    const bool were_unknown = bags.bags == unknown_bags;
    FoundBags found;
    BagFault fault = BagFault::none;
    if (bags.width == 0) return Outcome::not_plain;
    if (!run_part(large, true, 8, [&] { fault = find_bags(bags, inputs, found); })) return Outcome::failed;
    if (fault != BagFault::none || (were_unknown && set_bags(tensors, bags.bags, plan))) return Outcome::not_plain;
    const int64_t size = saturating_multiply(count_elements(plan.output), data.item_size);
    if (were_unknown && size > checked_result_bytes) return Outcome::not_plain;  // the other way checks the size
    NewTensor out(plan.output, given[0]);
    const bool is_large_result = is_large(size);
    if (!run_part(large || is_large_result, true, row_size,
                  [&] { fault = reduce_found(bags, inputs, found, out.memory()); }))
        return Outcome::failed;
    if (fault != BagFault::none) return Outcome::not_plain;
    result = out.release();
    return result ? Outcome::done : Outcome::failed;
}

}  // namespace

// tensor_array(op, name, tensor)
PyObject* tensor_array_call(PyObject*, PyObject* const* arguments, Py_ssize_t n) {
    if (n == 3) return names() ? tensor_array(arguments[0], arguments[1], arguments[2]).release() : nullptr;
    PyErr_SetString(PyExc_TypeError, "tensor_array() takes an operator, the name of an input, and a tensor");
    return nullptr;
}

// register_tensors(Tensor, Parameter, is_observed, is_grad_enabled)
PyObject* register_tensors_call(PyObject*, PyObject* const* arguments, Py_ssize_t n) {
    if (n != 4) return refuse("register_tensors() takes two types and two functions");
    const Ref capsule(PyObject_GetAttrString(arguments[0], "__dlpack_c_exchange_api__"));
    if (!capsule) PyErr_Clear();  // PyTorch is older than 2.10
    void* const given = capsule ? PyCapsule_GetPointer(capsule.get(), "dlpack_exchange_api") : nullptr;
    if (capsule && !given) return nullptr;
    auto* api = static_cast<const dlpack::ExchangeApi*>(given);
    while (api && api->version.major > 1) api = api->previous;
    exchange = api && api->version.major == 1 && api->tensor_from_object ? api : nullptr;
    PyObject** const known[] = {&tensor_types[0], &tensor_types[1], &is_observed, &is_grad_enabled};
    for (int i = 0; i < 4; ++i) Py_XSETREF(*known[i], Py_NewRef(arguments[i]));
    return PyBool_FromLong(exchange != nullptr);
}

Outcome run_on_tensors(const Call& call, PyObject*& result) {
    bool may_have_gradient = false;
    DirectTensor data, indices, updates;
    const Outcome use = call.out ? Outcome::not_plain : check_use(call.data, may_have_gradient);
    if (use != Outcome::done) return use;
    if (!read_tensor(call.data, may_have_gradient, data) || !read_tensor(call.indices, may_have_gradient, indices) ||
        (call.updates && !read_tensor(call.updates, may_have_gradient, updates)))
        return Outcome::not_plain;
    const ScopedThreadLimit threads(call.threads);
    const ScopedDenormals denormals;
    try {
        return run_direct(call, data, indices, updates, result);
    } catch (const std::bad_alloc&) {
        return Outcome::not_plain;
    }
}

Outcome run_on_tensors(const BagCall& call, PyObject*& result) {
    const bool is_zero = !call.empty || (PyLong_CheckExact(call.empty) && PyObject_Not(call.empty));
    bool may_have_gradient = false;
    if (call.out || call.table.scales || call.inputs[static_cast<size_t>(BagInput::init)] || !is_zero)
        return Outcome::not_plain;
    const Outcome use = check_use(call.inputs[0], may_have_gradient);
    if (use != Outcome::done) return use;
    DirectTensor tensors[bag_input_count];
    for (size_t i = 0; i < bag_input_count; ++i)
        if (call.inputs[i] && !read_tensor(call.inputs[i], may_have_gradient, tensors[i])) return Outcome::not_plain;
    const ScopedThreadLimit threads(call.threads);
    const ScopedDenormals denormals;
    try {
        return run_direct(call, tensors, result);
    } catch (const std::bad_alloc&) {
        return Outcome::not_plain;
    }
}

}  // namespace gs
