// A kernel with everything that it needs but memory: plan, layout, index and route. All calls of the four kernels are
// made so, from Python, from JAX and for reports of plans.
#pragma once

#include <optional>
#include <vector>

#include "kernels.hpp"

namespace gs {

// What a caller asks for.
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
    Combine combine;  // gathers use its item_size only
    std::optional<Index> index;
    Route route;
    std::vector<Span> spans;  // of the indices, once they are known

    int64_t tuples() const { return plan.form == Form::rows ? plan.rows.batch * plan.rows.count : plan.lanes.elements; }
};

// The plan of an operation whose result and scratch have sizes that can be counted.
[[nodiscard]] Fault make_plan(const Operation&, const Shape& data, const Shape& indices, int64_t item_size, Plan&);

// Completes a call that has its plan and, if data is not contiguous, its layout. `indices` are contiguous. Some of them
// are read.
void complete(KernelCall&, const Operation&, DType, int64_t item_size, const void* indices, IndexType,
              bool contiguous_data = true);

// Checks all indices before anything is written. False: one is bad.
[[nodiscard]] bool check_indices(KernelCall&);

// Whether the result of a scatter in place is so small beside the indices that it costs less to make it apart and copy
// it than to check all indices before the first write.
inline bool is_cheaper_apart(const Operation& operation, int64_t data_bytes, int64_t index_bytes) {
    return is_scatter(operation.kernel) && operation.rule.mode == Mode::raise && data_bytes <= index_bytes / 4;
}

// Copies the data of a scatter to its output, on several threads if that pays; `stream`: past the caches.
void copy_data(const std::byte* data, std::byte* out, int64_t size, bool stream);

// Runs the kernel. `source` is a gather's data or a scatter's updates. `out` of a scatter holds data. False: an index
// is bad.
[[nodiscard]] bool run(const KernelCall&, const std::byte* source, std::byte* out);

}  // namespace gs
