#include "kernel.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <unordered_map>
#include <vector>

#include "bad_indices.hpp"
#include "faults.hpp"

namespace gs::ort {
namespace {

constexpr size_t most_inputs = 6;

struct ReleasePlan {
    void operator()(gatherscatter_plan* plan) const { gatherscatter_plan_release(plan); }
};
using PlanPointer = std::unique_ptr<gatherscatter_plan, ReleasePlan>;

// An input of a plan. Its shape must outlive it.
struct Operand {
    gatherscatter_tensor tensor{0, -1, nullptr, 0};  // absent
    const void* memory = nullptr;

    Operand() = default;
    Operand(gatherscatter_type type, const Shape& shape, const void* address, int64_t item_size = 1)
        : tensor{type, shape.rank, shape.dim, item_size}, memory(address) {}
    Operand(const Tensor& given) {
        if (given.value) *this = Operand(given.type->core, given.shape, given.memory);
    }
};
using Operands = std::array<Operand, most_inputs>;

// Returns 1, 2, 3, ... for the elements of a tensor. 0 stands for no element.
std::vector<int64_t> number_elements(const Tensor& tensor) {
    std::vector<int64_t> numbers(static_cast<size_t>(tensor.count()));
    for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<int64_t>(i) + 1;
    return numbers;
}

gatherscatter_kernel gather_of(gatherscatter_kernel scatter) {
    return static_cast<gatherscatter_kernel>(scatter - GATHERSCATTER_SCATTER_UPDATE + GATHERSCATTER_GATHER);
}
static_assert(GATHERSCATTER_SCATTER_ND - GATHERSCATTER_SCATTER_UPDATE == GATHERSCATTER_GATHER_ND);

IndexType index_type_of(const Tensor& tensor) {
    IndexType type{};
    gs::index_type_of(static_cast<DType>(tensor.type->core), type);
    return type;
}

}  // namespace

// One call of a kernel.
struct Kernel::Call {
    const Host& host;
    const Operator& op;
    const Attributes& attributes;
    KernelContext* context;
    ThreadCount& thread_count;
    std::array<Tensor, most_inputs> inputs;
    gatherscatter_operation operation;

    const char* name() const { return attributes.name.c_str(); }

    [[noreturn]] void refuse(const char* error, Values values) const { ort::refuse(error, attributes.name, values); }

    void read_inputs() {
        size_t given = 0;
        host.check(host->KernelContext_GetInputCount(context, &given));
        for (size_t i = 0; i < op.inputs.size(); ++i) {
            const OrtValue* value = nullptr;
            if (i < given) host.check(host->KernelContext_GetInput(context, i, &value));
            if (!value && !op.inputs[i].is_optional) refuse("missing_input", {{"input", op.inputs[i].name}});
            inputs[i] = read_tensor(host, name(), op.inputs[i].name, value);
        }
    }

    void check_types() const {
        for (size_t i = 0; i < op.inputs.size(); ++i)
            if (inputs[i].value) check_type(op.inputs[i], inputs[i]);
        const ElementInfo& type = *inputs[0].type;
        const bool concatenates = type.type == string && operation.reduction == GATHERSCATTER_ADD && op.is_scatter();
        if (operation.reduction != GATHERSCATTER_NONE && type.core == GATHERSCATTER_OPAQUE && !concatenates)
            refuse("reduction",
                   {{"reduction", gs::name(static_cast<Reduction>(operation.reduction))}, {"type", type.name}});
    }

    void check_type(const InputInfo& input, const Tensor& tensor) const {
        const ElementInfo& type = *tensor.type;
        if (input.kind == InputKind::integers) return check_index_type(input, type);
        if (input.kind == InputKind::scales) return;  // ONNX Runtime has selected the operator by this type
        const unsigned allowed = attributes.version->element_types;
        if (!(type.bit() & allowed)) {
            std::string listed;
            for (const ElementInfo& known : element_types)
                if (known.bit() & allowed) add_to_list(listed, known.name);
            refuse("refused_type", {{"input", input.name}, {"type", type.name}, {"allowed", listed}});
        }
        if (&type != inputs[0].type)
            refuse("mixed_types", {{"input", input.name},
                                   {"type", type.name},
                                   {"first", op.inputs[0].name},
                                   {"first_type", inputs[0].type->name}});
    }

    void check_index_type(const InputInfo& input, const ElementInfo& type) const {
        const IndexTypes allowed = attributes.version->index_types;
        if (type.core < GATHERSCATTER_INT8 || type.core > GATHERSCATTER_UINT64)
            refuse("not_integers", {{"input", input.name}, {"type", type.name}});
        if (allowed == IndexTypes::integers || type.type == int64) return;
        if (allowed == IndexTypes::int32_and_int64 && type.type == int32) return;
        const char* const listed = allowed == IndexTypes::int64 ? "int64" : "int32, int64";
        refuse("refused_type", {{"input", input.name},
                                {"type", type.name},
                                {"allowed", listed},
                                {"advice", format_sentence("parts.convert_indices",
                                                           {{"input", input.name}, {"kernel", array_function()}})}});
    }

    // Returns the name of the corresponding array function, for messages.
    const char* array_function() const {
        if (op.is_tensor_scatter()) return "tensor_scatter";
        if (op.is_quantized()) return "gather_quantized";
        return op.kernel == GATHERSCATTER_GATHER_REDUCE ? "gather_reduce"
                                                        : gs::name(static_cast<gs::Kernel>(op.kernel));
    }

    PlanPointer make_plan(const gatherscatter_operation& what, const Operands& operands) const {
        std::array<gatherscatter_tensor, most_inputs> tensors;
        for (size_t i = 0; i < tensors.size(); ++i) tensors[i] = operands[i].tensor;
        const size_t count = what.kernel == GATHERSCATTER_GATHER_QUANTIZED ? 4
                             : what.kernel == GATHERSCATTER_GATHER_REDUCE  ? 6
                             : what.kernel >= GATHERSCATTER_SCATTER_UPDATE ? 3
                                                                           : 2;
        gatherscatter_plan* plan = nullptr;
        require(gatherscatter_plan_create(&what, tensors.data(), count, &plan));
        return PlanPointer(plan);
    }

    void run(const gatherscatter_plan* plan, const Operands& operands, void* output) const {
        std::array<const void*, most_inputs> memory;
        for (size_t i = 0; i < memory.size(); ++i) memory[i] = operands[i].memory;
        Loops loops(host, context, thread_count);
        const gatherscatter_threads threads = loops.threads();
        require(gatherscatter_plan_run(plan, memory.data(), output, &threads));
    }

    // Returns the result of a plan for numbers.
    std::vector<int64_t> run_numbers(const gatherscatter_plan* plan, const Operands& operands) const {
        std::vector<int64_t> result(static_cast<size_t>(count_elements(shape_of(plan))));
        run(plan, operands, result.data());
        return result;
    }

    static Shape shape_of(const gatherscatter_plan* plan) {
        int32_t rank;
        const int64_t* const dims = gatherscatter_plan_shape(plan, &rank);
        return Shape(dims, rank);
    }

    // Returns the shape of the node's output.
    Shape output_shape(Shape shape) const {
        if (!attributes.keeps_dims || inputs[2].value || inputs[3].value) return shape;
        Shape kept(shape.dim, inputs[1].shape.rank - 1);
        kept.push(1);
        kept.append(shape.dim + kept.rank - 1, shape.rank - (kept.rank - 1));
        return kept;
    }

    OrtValue* make_output(const gatherscatter_plan* plan) const {
        const Shape shape = output_shape(shape_of(plan));
        return ort::make_output(host, context, shape.dim, shape.rank);
    }

    void run_all() {
        if (op.is_tensor_scatter()) return run_tensor_scatter();
        if (op.kernel == GATHERSCATTER_GATHER_REDUCE) count_segments();
        Operands operands;
        for (size_t i = 0; i < inputs.size(); ++i) operands[i] = inputs[i];
        if (op.is_quantized()) return run_table(operands);
        run_operands(operands);
    }

    // `operands` are the inputs in the form that the kernel takes.
    void run_operands(Operands& operands) {
        const ElementInfo& type = *inputs[0].type;
        if (type.bits == 0) return op.is_scatter() ? scatter_strings(operands) : gather_strings(operands);
        if (type.bits == 4) return run_packed(operands);
        run_plan(operands);
    }

    void run_plan(const Operands& operands) const {
        const PlanPointer plan = make_plan(operation, operands);
        run(plan.get(), operands, address_of(host, make_output(plan.get())));
    }

    // The kernel reads packed codes.
    void run_table(Operands& operands) const {
        for (Operand* const codes : {&operands[0], &operands[3]}) codes->tensor.type = inputs[0].type->codes;
        run_plan(operands);
    }

    // Without num_segments and init, the largest id determines the number of bags.
    void count_segments() {
        const Tensor& ids = inputs[3];
        if (!ids.value || inputs[5].value || operation.num_segments >= 0) return;
        int64_t bags = 0;
        visit_index_type(index_type_of(ids), [&]<class I>(I) {
            const auto* const values = reinterpret_cast<const I*>(ids.memory);
            for (int64_t i = 0; i < ids.count(); ++i)
                if (values[i] > I{0} && static_cast<uint64_t>(values[i]) < INT64_MAX)
                    bags = std::max(bags, static_cast<int64_t>(values[i]) + 1);
                else if (values[i] == I{0})
                    bags = std::max<int64_t>(bags, 1);
        });
        operation.num_segments = bags;
    }

    const Tensor& updates() const { return inputs[op.is_tensor_scatter() ? 1 : 2]; }

    void run_packed(Operands& operands) const {
        const Bytes data = unpack(inputs[0]), new_elements = op.is_scatter() ? unpack(updates()) : nullptr;
        operands[0] = Operand(GATHERSCATTER_OPAQUE, inputs[0].shape, data.get());
        if (op.is_scatter()) operands[2] = Operand(GATHERSCATTER_OPAQUE, updates().shape, new_elements.get());
        const PlanPointer plan = make_plan(operation, operands);
        const int64_t count = count_elements(shape_of(plan.get()));
        const Bytes result = std::make_unique_for_overwrite<std::byte[]>(static_cast<size_t>(count));
        run(plan.get(), operands, result.get());
        pack(result.get(), count, address_of(host, make_output(plan.get())));
    }

    // The kernels move the numbers of strings. Then the strings are copied according to these numbers.
    void gather_strings(Operands& operands) const {
        const Strings data(host, inputs[0]);
        const std::vector<int64_t> numbers = number_elements(inputs[0]);
        operands[0] = Operand(GATHERSCATTER_INT64, inputs[0].shape, numbers.data());
        const PlanPointer plan = make_plan(operation, operands);
        const std::vector<int64_t> sources = run_numbers(plan.get(), operands);
        OrtValue* const output = make_output(plan.get());
        for (size_t i = 0; i < sources.size(); ++i)
            write_string(host, output, static_cast<int64_t>(i), sources[i] > 0 ? data[sources[i] - 1] : "");
    }

    void scatter_strings(Operands& operands) const {
        const Strings data(host, inputs[0]), new_strings(host, updates());
        const std::vector<int64_t> nothing(static_cast<size_t>(inputs[0].count())),
            numbers = number_elements(updates());
        operands[0] = Operand(GATHERSCATTER_INT64, inputs[0].shape, nothing.data());
        operands[2] = Operand(GATHERSCATTER_INT64, updates().shape, numbers.data());
        gatherscatter_operation move = operation;
        move.reduction = GATHERSCATTER_NONE;
        if (operation.reduction != GATHERSCATTER_NONE) {  // otherwise, options without an effect are refused
            move.include_self = 1;
            move.accumulate = GATHERSCATTER_STEP;
        }
        const PlanPointer plan = make_plan(move, operands);
        const std::vector<int64_t> last_update = run_numbers(plan.get(), operands);
        std::unordered_map<int64_t, std::string> sums;
        const bool adds = operation.reduction == GATHERSCATTER_ADD;
        if (adds) sums = concatenate(operands, data, new_strings);
        OrtValue* const output = make_output(plan.get());
        for (size_t i = 0; i < last_update.size(); ++i) {
            const auto element = static_cast<int64_t>(i);
            if (last_update[i] == 0)
                write_string(host, output, element, data[element]);
            else
                write_string(host, output, element, adds ? sums.at(element) : new_strings[last_update[i] - 1]);
        }
    }

    // Returns the strings that change, by position: the initial string, if it takes part, and then all updates in
    // order.
    std::unordered_map<int64_t, std::string> concatenate(Operands operands, const Strings& data,
                                                         const Strings& updates) const {
        const std::vector<int64_t> numbers = number_elements(inputs[0]);
        operands[0] = Operand(GATHERSCATTER_INT64, inputs[0].shape, numbers.data());
        gatherscatter_operation find = operation;
        find.kernel = gather_of(op.kernel);
        find.reduction = GATHERSCATTER_NONE;
        find.include_self = 1;
        find.accumulate = GATHERSCATTER_STEP;
        const std::vector<int64_t> targets = run_numbers(make_plan(find, operands).get(), operands);
        std::unordered_map<int64_t, std::string> sums;
        for (size_t i = 0; i < targets.size(); ++i) {
            if (targets[i] == 0) continue;
            const int64_t element = targets[i] - 1;
            const auto [at, is_new] = sums.try_emplace(element);
            if (is_new && operation.include_self) at->second = data[element];
            at->second += updates[static_cast<int64_t>(i)];
        }
        return sums;
    }

    // An update of a cache is a scatter along its axis. Its indices are the positions from each start on.
    void run_tensor_scatter() {
        const Tensor &past = inputs[0], &update = inputs[1], &starts = inputs[2];
        const int rank = past.shape.rank;
        int64_t& axis = operation.axis;
        if (rank < 2) refuse("cache_rank", {{"rank", rank}});
        if (axis < -rank || axis >= rank || axis == 0 || axis == -rank)
            refuse("cache_axis", {{"axis", axis}, {"rank", rank}, {"low", 1 - rank}, {"high", rank - 1}});
        if (axis < 0) axis += rank;
        const int64_t size = past.shape.dim[axis], length = update.shape.rank == rank ? update.shape.dim[axis] : 0;
        Shape expected = past.shape;
        expected.dim[axis] = std::min(length, size);
        if (!(expected == update.shape))
            refuse("cache_update", {{"axis", axis}, {"past", past.shape}, {"update", update.shape}});
        const Shape batch(past.shape.dim, 1);
        if (starts.value && !(starts.shape == batch))
            refuse("cache_starts", {{"batch", batch}, {"starts", starts.shape}});
        const Shape shape{past.shape[0], length};
        const std::vector<int64_t> positions = find_positions(length, size);
        operation.batch_dims = 1;
        Operands operands;
        operands[0] = past;
        operands[1] = Operand(GATHERSCATTER_INT64, shape, positions.data());
        operands[2] = update;
        run_operands(operands);
    }

    // Returns the position of each update, for each batch entry.
    std::vector<int64_t> find_positions(int64_t length, int64_t size) const {
        const int64_t batch = inputs[0].shape[0];
        std::vector<int64_t> positions(static_cast<size_t>(saturating_multiply(batch, length)));
        const Tensor& starts = inputs[2];
        if (attributes.is_circular && length == 0) return positions;
        if (starts.value && !attributes.is_circular) check_starts(length, size);
        for (int64_t n = 0; n < batch; ++n) {
            int64_t position = starts.value ? read_start(n, size) : 0;
            for (int64_t t = 0; t < length; ++t) {
                positions[static_cast<size_t>(n * length + t)] = position;
                if (++position == size && attributes.is_circular) position = 0;
            }
        }
        return positions;
    }

    // Returns the start of a batch entry, modulo the size if the cache is circular.
    int64_t read_start(int64_t n, int64_t size) const {
        return visit_index_type(index_type_of(inputs[2]), [&]<class I>(I) {
            const I start = reinterpret_cast<const I*>(inputs[2].memory)[n];
            if (!attributes.is_circular) return static_cast<int64_t>(start);
            if constexpr (std::is_unsigned_v<I>) {
                return static_cast<int64_t>(start % static_cast<uint64_t>(size));
            } else {
                const int64_t remainder = start % size;
                return remainder < 0 ? remainder + size : remainder;
            }
        });
    }

    void check_starts(int64_t length, int64_t size) const {
        const Tensor& starts = inputs[2];
        const int64_t positions = size - length + 1;
        const BadIndices bad =
            find_bad_indices({starts.memory, index_type_of(starts), starts.count(), Shape{positions}, 0, 1}, strict);
        if (bad.count > 0)
            require(index_fault(name(), "write_indices", starts.shape, bad,
                                format_sentence("parts.window", {{"length", length}, {"size", size}}), 0, positions - 1,
                                ""));
    }
};

Kernel::Kernel(const Host& host, const Operator& op, const KernelInfo* info) : host_(host), op_(op) {
    try {
        attributes_ = read_attributes(host_, info, op_);
    } catch (const Refusal& refusal) {
        refusal_ = refusal.message;
    }
}

void Kernel::run(KernelContext* context) {
    if (!refusal_.empty()) throw Refusal{refusal_};
    Call call{host_, op_, attributes_, context, thread_count_, {}, attributes_.operation};
    call.operation.name = attributes_.name.c_str();
    call.read_inputs();
    call.check_types();
    call.run_all();
}

}  // namespace gs::ort
