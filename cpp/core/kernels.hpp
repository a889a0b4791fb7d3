// The kernels: pure functions on plans, routes and pointers. They return false, having met a bad index, when the output
// is not to be used. Buffers are contiguous and as long as the plan says. Only a gather's data may have strides.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "combine.hpp"
#include "index.hpp"
#include "plan.hpp"
#include "route.hpp"
#include "spans.hpp"

namespace gs {

// Moves need the size of an element and nothing else.
[[nodiscard]] bool gather_rows(const Rows&, const Layout&, const Index&, const Route&, const std::byte* data,
                               std::byte* out, int64_t item_size);
[[nodiscard]] bool gather_lanes(const Lanes&, const Index&, const Route&, const std::byte* data, std::byte* out,
                                int64_t item_size);

// `out` holds data on entry and the result on return; `spans` of the indices, if they are known, else none.
[[nodiscard]] bool scatter_rows(const Rows&, const Index&, const Route&, const std::vector<Span>& spans,
                                const std::byte* updates, std::byte* out, const Combine&);
[[nodiscard]] bool scatter_lanes(const Lanes&, const Index&, const Route&, const std::byte* updates, std::byte* out,
                                 const Combine&);

// Beam search: follows parents from the last step back to the first. Arrays are [steps, batch, beams].
struct Beams {
    int64_t steps, batch, beams;
};
// The flat position in `parents` of the first parent that is used and outside [0, beams); -1 when all are good.
int64_t gather_tree(const Beams&, DType, const void* step_ids, const void* parent_ids, const void* max_seq_len,
                    const void* end_token, void* out);

}  // namespace gs
