// The functions of gatherscatter.h that create and run plans.
#include "plans.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <memory>
#include <span>

#include "faults.hpp"
#include "float_mode.hpp"
#include "move_plan.hpp"
#include "parallel.hpp"

using namespace gs;

namespace {

// The inputs of an operation.
struct Signature {
    std::span<const char* const> inputs;
    size_t least;  // inputs behind these are optional
};

Signature signature_of(const gatherscatter_plan& plan) {
    static constexpr const char *kernel_inputs[] = {"data", "indices", "updates"},
                                *table_inputs[] = {"data", "indices", "scales", "zero_points"};
    const size_t count = is_scatter(plan.operation.kernel) ? 3 : 2;
    switch (plan.kind) {
        case PlanKind::gather_reduce: return {bag_input_names, 2};
        case PlanKind::gather_quantized: return {table_inputs, 3};
        default: return {std::span(kernel_inputs).first(count), count};
    }
}
size_t most_inputs(const gatherscatter_plan& plan) { return signature_of(plan).inputs.size(); }

PlanKind kind_of(int32_t kernel) {
    switch (kernel) {
        case GATHERSCATTER_GATHER_REDUCE: return PlanKind::gather_reduce;
        case GATHERSCATTER_GATHER_QUANTIZED: return PlanKind::gather_quantized;
        default: return PlanKind::kernel;
    }
}

gatherscatter_status* read_inputs(gatherscatter_plan& plan, const gatherscatter_tensor* inputs, size_t count) {
    const char* const op = plan.name.c_str();
    const size_t most = most_inputs(plan), least = signature_of(plan).least;
    if (count > most) return make_status("input_count", op, {{"count", count}, {"most", most}});
    if (count > 0 && !inputs) return make_status("null", op, {{"input", "inputs"}});
    for (size_t i = 0; i < most; ++i) {
        const char* const input = input_name(plan, i);
        if (i < count) {
            const bool holds_codes = plan.kind == PlanKind::gather_quantized && (i == 0 || i == 3);
            const gatherscatter_tensor given = holds_codes ? as_bytes(inputs[i]) : inputs[i];
            if (gatherscatter_status* status = read_tensor(op, input, given, plan.inputs[i])) return status;
        }
        if (i < least && !plan.inputs[i].present) return make_status("missing_input", op, {{"input", input}});
    }
    return nullptr;
}

gatherscatter_status* plan_kernel(gatherscatter_plan& plan) {
    const char* const op = plan.name.c_str();
    const Operation& operation = plan.operation;
    const Tensor &data = plan.inputs[0u], &indices = plan.inputs[1u], &updates = plan.inputs[2u];
    const bool scatter = is_scatter(operation.kernel);
    if (gatherscatter_status* status = check_integers(op, "indices", indices, plan.index_type)) return status;
    if (scatter) {
        if (gatherscatter_status* status = check_same_type(op, "updates", updates, data)) return status;
        if (gatherscatter_status* status = check_reduction(op, data.dtype, operation.reduction, operation.accumulate))
            return status;
    }
    const char* const wrong = plan_move(operation, data, indices, updates, {}, plan.plan);
    if (wrong)
        return shape_fault(op, operation, wrong,
                           {data.shape, indices.shape, scatter ? &updates.shape : nullptr, plan.plan.slots});
    plan.output = output_shape(operation, data, plan.plan);
    return nullptr;
}

// Checks everything that can be checked without the memory of the tensors, and makes the plan.
gatherscatter_status* prepare(gatherscatter_plan& plan, const gatherscatter_operation& given,
                              const gatherscatter_tensor* inputs, size_t count) {
    plan.kind = kind_of(given.kernel);
    if (gatherscatter_status* status = read_operation(plan.name.c_str(), given, plan.operation)) return status;
    if (gatherscatter_status* status = read_inputs(plan, inputs, count)) return status;
    switch (plan.kind) {
        case PlanKind::gather_reduce: return plan_gather_reduce(plan, given.num_segments);
        case PlanKind::gather_quantized: return plan_gather_quantized(plan, given, inputs);
        default: return plan_kernel(plan);
    }
}

// Runs tasks on the threads of a host. Up to `count` threads each take one task after another.
void run_on_host(const gatherscatter_threads& host, int count, FunctionRef<void(int)> task, int n) {
    std::atomic<int> next = 0;
    const auto work = [&] {
        for (int i; (i = next.fetch_add(1)) < n;) task(i);
    };
    const auto call = [](void* argument, size_t) { (*static_cast<const decltype(work)*>(argument))(); };
    host.parallel_for(host.context, call, const_cast<void*>(static_cast<const void*>(&work)),
                      static_cast<size_t>(std::min(n, count)));
    work();  // runs the remaining tasks if the host has made fewer calls
}

gatherscatter_status* run_kernel(const gatherscatter_plan& plan, const void* const* inputs, std::byte* out) {
    const Tensor &data = plan.inputs[0u], &indices = plan.inputs[1u];
    const bool scatter = is_scatter(plan.operation.kernel);
    const KernelMemory memory{static_cast<const std::byte*>(inputs[0]), inputs[1], plan.index_type,
                              scatter ? static_cast<const std::byte*>(inputs[2]) : nullptr, out};
    if (gs::run_kernel(plan.operation, plan.plan, data, indices, memory)) return nullptr;
    return index_fault(plan.name.c_str(), plan.operation, data.shape, indices.shape, inputs[1], plan.index_type);
}

// Returns null, or an error if an address is missing.
gatherscatter_status* check_addresses(const gatherscatter_plan& plan, const void* const* inputs, const void* output) {
    const char* const op = plan.name.c_str();
    if (!inputs) return make_status("null", op, {{"input", "inputs"}});
    for (size_t i = 0; i < most_inputs(plan); ++i)
        if (plan.inputs[i].present && plan.inputs[i].bytes() > 0 && !inputs[i])
            return make_status("null", op, {{"input", input_name(plan, i)}});
    if (!output && count_elements(plan.output) > 0) return make_status("null", op, {{"input", "output"}});
    return nullptr;
}

gatherscatter_operation default_operation(int32_t kernel) {
    const int32_t reduction = kernel == GATHERSCATTER_GATHER_REDUCE ? GATHERSCATTER_ADD : GATHERSCATTER_NONE;
    return {sizeof(gatherscatter_operation),
            kernel,
            nullptr,
            0,
            0,
            GATHERSCATTER_RAISE,
            1,
            reduction,
            1,
            GATHERSCATTER_STEP,
            -1,
            -1,
            128,
            4,
            1};
}

// Reads a struct of version 1 of the interface, which has `first_size` bytes, or of this one. Fields that it lacks keep
// their defaults.
template <class T>
gatherscatter_status* read_struct(const char* op, const char* name, const T& given, size_t first_size, T& whole) {
    if (given.struct_size != first_size && given.struct_size != sizeof(T))
        return make_status("struct_size", op, {{"input", name}, {"value", given.struct_size}, {"size", sizeof(T)}});
    std::memcpy(&whole, &given, given.struct_size);
    return nullptr;
}

gatherscatter_status* read_threads(const char* op, const gatherscatter_threads& given, gatherscatter_threads& threads) {
    if (gatherscatter_status* status = read_struct(op, "threads", given, sizeof given, threads)) return status;
    if (threads.count < 0) return make_status("threads", op, {{"input", "threads.count"}, {"value", threads.count}});
    return nullptr;
}

gatherscatter_status* run_plan(const gatherscatter_plan& plan, const void* const* inputs, void* output) {
    const ScopedDenormals denormals;
    auto* const out = static_cast<std::byte*>(output);
    switch (plan.kind) {
        case PlanKind::gather_reduce: return run_gather_reduce(plan, inputs, out);
        case PlanKind::gather_quantized: return run_gather_quantized(plan, inputs, out);
        default: return run_kernel(plan, inputs, out);
    }
}

}  // namespace

const char* gs::input_name(const gatherscatter_plan& plan, size_t i) { return signature_of(plan).inputs[i]; }

uint32_t gatherscatter_c_version(void) { return GATHERSCATTER_C_VERSION; }

void gatherscatter_operation_init(gatherscatter_operation* operation, size_t struct_size, int32_t kernel) {
    if (!operation) return;
    gatherscatter_operation defaults = default_operation(kernel);
    defaults.struct_size = struct_size;
    std::memcpy(operation, &defaults, std::min(struct_size, sizeof defaults));
}

gatherscatter_status* gatherscatter_plan_create(const gatherscatter_operation* operation,
                                                const gatherscatter_tensor* inputs, size_t count,
                                                gatherscatter_plan** plan) {
    if (plan) *plan = nullptr;
    try {
        if (!operation) return make_status("null", "gatherscatter", {{"input", "operation"}});
        gatherscatter_operation whole = default_operation(GATHERSCATTER_GATHER);
        constexpr size_t first_size = offsetof(gatherscatter_operation, quantize_axis);
        if (gatherscatter_status* status = read_struct("gatherscatter", "operation", *operation, first_size, whole))
            return status;
        const char* const op = name_of(whole);
        if (!plan) return make_status("null", op, {{"input", "plan"}});
        auto made = std::make_unique_for_overwrite<gatherscatter_plan>();
        made->name = op;
        if (gatherscatter_status* status = prepare(*made, whole, inputs, count)) return status;
        *plan = made.release();
        return nullptr;
    } catch (...) {  // only std::bad_alloc can be thrown
        return out_of_memory();
    }
}

const int64_t* gatherscatter_plan_shape(const gatherscatter_plan* plan, int32_t* rank) {
    if (rank) *rank = plan ? plan->output.rank : 0;
    return plan ? plan->output.dim : nullptr;
}

void gatherscatter_plan_release(gatherscatter_plan* plan) { delete plan; }

gatherscatter_status* gatherscatter_plan_run(const gatherscatter_plan* plan, const void* const* inputs, void* output,
                                             const gatherscatter_threads* threads) {
    if (!plan) return make_status("null", "gatherscatter", {{"input", "plan"}});
    try {
        if (gatherscatter_status* status = check_addresses(*plan, inputs, output)) return status;
        if (!threads) return run_plan(*plan, inputs, output);
        gatherscatter_threads host{sizeof host, 0, nullptr, nullptr};
        if (gatherscatter_status* status = read_threads(plan->name.c_str(), *threads, host)) return status;
        const ScopedThreadLimit limit(std::min(host.count, max_threads));
        const auto run = [&](FunctionRef<void(int)> task, int n) { run_on_host(host, num_threads(), task, n); };
        const Executor executor(run);
        const ScopedExecutor scope(host.parallel_for ? &executor : nullptr);
        return run_plan(*plan, inputs, output);
    } catch (...) {
        return out_of_memory();
    }
}
