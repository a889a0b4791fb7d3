// A kernel with everything that it needs except memory: plan, layout, index and route. All calls of the four gather and
// scatter kernels are made this way: from Python, from JAX, and for reports of plans.
#pragma once

#include <optional>
#include <vector>

#include "kernels.hpp"
#include "machine.hpp"

namespace gs {

// The operation of a call, as the caller specifies it.
struct Operation {
    Kernel kernel = Kernel::gather;
    int64_t axis = 0, batch_dims = 0;
    Rule rule;
    Reduction reduction = Reduction::none;
    bool include_self = true;
    Accumulate accumulate = Accumulate::step;
};

struct KernelCall {
    Kernel kernel;
    Plan plan;
    Layout layout;    // of the rows of data
    Combine combine;  // gathers only use its item_size
    std::optional<Index> index;
    Route route;
    std::vector<Span> spans;  // the spans of the indices, if they are known

    int64_t tuples() const { return plan.form == Form::rows ? plan.rows.batch * plan.rows.count : plan.lanes.elements; }
};

// Makes the plan of an operation. Fails if the size of the result or of the scratch overflows.
[[nodiscard]] Fault make_plan(const Operation&, const Shape& data, const Shape& indices, int64_t item_size, Plan&);

// Completes a call that has its plan and, if data is not contiguous, its layout. `indices` must be contiguous. Some of
// them are read.
void complete(KernelCall&, const Operation&, DType, int64_t item_size, const void* indices, IndexType,
              bool contiguous_data = true);

// Checks all indices before anything is written. False: an index is bad.
[[nodiscard]] bool check_indices(KernelCall&);

// Whether a scatter in place should make its result in separate memory and copy it. This costs less than checking all
// indices before the first write if the result is small compared with the indices.
inline bool is_cheaper_apart(const Operation& operation, int64_t data_bytes, int64_t index_bytes) {
    return is_scatter(operation.kernel) && operation.rule.may_fail() && data_bytes <= index_bytes / 4;
}

// Copies the data of a scatter to its output, on several threads if that is faster. `stream`: write past the caches.
void copy_data(const std::byte* data, std::byte* out, int64_t size, bool stream);

// Runs the kernel. `source` is the data of a gather or the updates of a scatter. For a scatter, `out` initially holds
// the data. False: an index is bad.
[[nodiscard]] bool run(const KernelCall&, const std::byte* source, std::byte* out);

}  // namespace gs
