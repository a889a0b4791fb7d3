// The kernels: pure functions on plans and pointers. They return false, having met a bad index, when the output is
// not to be used. Buffers are contiguous and as long as the plan says, but for data that a
// gather reads by strides.
#pragma once

#include <cstddef>
#include <cstdint>

#include "dtype.hpp"
#include "index.hpp"
#include "plan.hpp"
#include "reduction.hpp"
#include "spans.hpp"

namespace gs {

// Moves know the size of an element and nothing else.
[[nodiscard]] bool gather_rows(const Rows&, const Index&, const Layout&, const std::byte* data, std::byte* out,
                               int64_t item_size);
[[nodiscard]] bool gather_lanes(const Lanes&, const Index&, const std::byte* data, std::byte* out, int64_t item_size);

// In what floats and complex numbers are added up.
enum class Accumulate : uint8_t {
    step,   // in their own type: rounded after every step
    wide,   // in a wider type: rounded once (halves are multiplied so, too)
    exact,  // in what shows whether it is exact: rounded once, whatever the order
    again,  // exact: those sums that were not, in long sums
};

// How a scatter combines an update with what stands in its place.
struct Combine {
    DType dtype;
    int64_t item_size;
    Reduction reduction = Reduction::none;
    bool include_self = true;  // whether data takes part
    Accumulate accumulate = Accumulate::step;
    void* long_sums = nullptr;  // for Accumulate::again
};
bool knows(DType, Reduction);

// `out` holds data on entry and the result on return; `spans` of the indices, if they are known, else none.
[[nodiscard]] bool scatter_rows(const Rows&, const Index&, const std::vector<Span>& spans, const std::byte* updates,
                                std::byte* out, const Combine&);
[[nodiscard]] bool scatter_lanes(const Lanes&, const Index&, const std::byte* updates, std::byte* out, const Combine&);

// Beam search: follows parents from the last step back to the first. Arrays are [steps, batch, beams].
struct Beams {
    int64_t steps, batch, beams;
};
// The flat position in `parents` of the first parent that is used and outside [0, beams); -1 when all are good.
int64_t gather_tree(const Beams&, DType, const void* step_ids, const void* parent_ids, const void* max_seq_len,
                    const void* end_token, void* out);

}  // namespace gs
