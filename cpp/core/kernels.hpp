// The kernels: pure functions of plans, routes and pointers. They return false if an index is bad; the contents of the
// output are then undefined. Buffers are contiguous and have the length that the plan states. Only the data of a gather
// can have strides.
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

// Moves only need the size of an element.
[[nodiscard]] bool gather_rows(const Rows&, const Layout&, const Index&, const Route&, const std::byte* data,
                               std::byte* out, int64_t item_size);
[[nodiscard]] bool gather_lanes(const Lanes&, const Index&, const Route&, const std::byte* data, std::byte* out,
                                int64_t item_size);

// `out` initially holds the data. `spans` are those of the indices if they are known, else empty.
[[nodiscard]] bool scatter_rows(const Rows&, const Index&, const Route&, const std::vector<Span>& spans,
                                const std::byte* updates, std::byte* out, const Combine&);
[[nodiscard]] bool scatter_lanes(const Lanes&, const Index&, const Route&, const std::byte* updates, std::byte* out,
                                 const Combine&);

// Beam search: parents are followed from the last step back to the first. Arrays are [steps, batch, beams].
struct Beams {
    int64_t steps, batch, beams;
};
// Returns the flat position in `parents` of the first used parent outside [0, beams), or -1 if all are valid.
int64_t gather_tree(const Beams&, DType, const void* step_ids, const void* parent_ids, const void* max_seq_len,
                    const void* end_token, void* out);

}  // namespace gs
