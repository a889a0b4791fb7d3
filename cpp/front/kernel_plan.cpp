#include "kernel_plan.hpp"

#include "scratch.hpp"

namespace gs {
namespace {

// Updates in place. Returns false and writes nothing if an index is bad.
bool run_in_place(KernelCall& call, const Operation& operation, int64_t data_bytes, int64_t index_bytes,
                  const KernelMemory& memory) {
    if (!is_cheaper_apart(operation, data_bytes, index_bytes))
        return check_indices(call) && run(call, memory.updates, memory.out);
    const Scratch apart(data_bytes, false);
    copy_data(memory.out, apart.get(), data_bytes, false);
    if (!run(call, memory.updates, apart.get())) return false;
    copy_data(apart.get(), memory.out, data_bytes, false);
    return true;
}

}  // namespace

bool run_kernel(const Operation& operation, const Plan& plan, const Tensor& data, const Tensor& indices,
                const KernelMemory& memory) {
    KernelCall call;
    call.plan = plan;
    complete(call, operation, data.dtype, data.item_size, memory.indices, memory.index_type);
    if (!is_scatter(operation.kernel)) return run(call, memory.data, memory.out);
    if (memory.data == memory.out) return run_in_place(call, operation, data.bytes(), indices.bytes(), memory);
    copy_data(memory.data, memory.out, data.bytes(), call.route.stream);
    return run(call, memory.updates, memory.out);
}

}  // namespace gs
