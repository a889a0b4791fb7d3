// The front end of gathers and scatters: from the tensors of a call to its run. NumPy's arrays, PyTorch's tensors,
// XLA's buffers and the C interface use it.
#pragma once

#include "kernel_call.hpp"
#include "tensor.hpp"

namespace gs {

// Makes the plan of an operation, and checks the shapes of the updates of a scatter and of a given output. Returns the
// name of the fault, or null.
const char* plan_move(const Operation&, const Tensor& data, const Tensor& indices, const Tensor& updates,
                      const Tensor& out, Plan&);

// The shape of the result of an operation.
inline const Shape& output_shape(const Operation& operation, const Tensor& data, const Plan& plan) {
    return is_scatter(operation.kernel) ? data.shape : plan.slots;
}

// ---- Tensors that can have strides

struct MoveTensors {
    StridedTensor data, indices, updates, out;  // out is present if the caller gives it
};

// How a call reads and writes its tensors. A tensor that is copied is made contiguous first.
struct Arrangement {
    bool takes_line = false;     // the indices repeated a line, and became this line
    bool reads_strides = false;  // data is read with its strides
    bool copies_data = false, copies_indices = false, copies_updates = false;
    bool made_apart = false;  // the result is copied to `out` at the end
    bool in_place = false;    // a scatter changes its data
    bool writes_out = false;  // the kernel writes to `out`
};

// Decides how the tensors of a planned call are read and written. Indices that repeat one line become that line, and
// the plan changes with them. `casts_updates`: the updates are copied to another type.
Arrangement arrange(const Operation&, bool casts_updates, MoveTensors&, KernelCall&);

// ---- Contiguous tensors

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
