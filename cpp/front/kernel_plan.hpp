// The front end of gathers and scatters on contiguous tensors: from the tensors of a call to its run.
#pragma once

#include "kernel_call.hpp"
#include "tensor.hpp"

namespace gs {

// Makes the plan of an operation and checks the shape of the updates of a scatter. Returns the name of the fault, or
// null.
inline const char* plan_kernel(const Operation& operation, const Tensor& data, const Tensor& indices,
                               const Tensor& updates, Plan& plan) {
    const Fault fault = make_plan(operation, data.shape, indices.shape, data.item_size, plan);
    if (fault != Fault::none) return name(fault);
    return is_scatter(operation.kernel) && !(updates.shape == plan.slots) ? "updates_shape" : nullptr;
}

// The shape of the result of an operation.
inline const Shape& output_shape(const Operation& operation, const Tensor& data, const Plan& plan) {
    return is_scatter(operation.kernel) ? data.shape : plan.slots;
}

// The addresses of the tensors. `updates` is null for a gather.
struct KernelMemory {
    const std::byte* data;
    const void* indices;
    IndexType index_type;
    const std::byte* updates;
    std::byte* out;
};

// Runs a plan. The output can be the data of a scatter, which is then updated in place. False: an index is bad, or the
// call has to stop. Data that is updated in place has not been written then.
[[nodiscard]] bool run_kernel(const Operation&, const Plan&, const Tensor& data, const Tensor& indices,
                              const KernelMemory&);

}  // namespace gs
