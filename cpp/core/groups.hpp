// Updates grouped by the row that they go to: made once for indices that are used again and again.
#pragma once

#include <cstdint>
#include <vector>

#include "combine.hpp"
#include "index.hpp"

namespace gs {

// The updates of row r are order[starts[r]], ..., order[starts[r + 1] - 1], in their order.
struct Groups {
    const int64_t *starts, *order;
    int64_t rows, count;
};

// Fills `starts` (rows + 1) and `order` (count) from row numbers; false: one is bad, or the call is to stop.
[[nodiscard]] bool group(const int64_t* numbers, int64_t count, int64_t rows, int64_t* starts, int64_t* order);

// Whether groups can be combined: not where sums need another type than the elements have.
bool supports_groups(const Combine&);

// out[r, :] = f(out[r, :], updates[j, :]) for the updates j of row r, in their order; `zeros`: out begins as zeros.
// False: the groups are not those of `group`, or the call is to stop; then out is not to be used.
[[nodiscard]] bool scatter_groups(const Groups&, const std::byte* updates, std::byte* out, int64_t width, bool zeros,
                                  const Combine&);

// One reduction of the updates of every row, and where its results go.
struct GroupReduction {
    Combine combine;
    std::byte* out;    // rows of `width` elements
    int64_t* members;  // which update a minimum or maximum is; or null
};
bool supports_group_reduction(const Combine&, bool members);

// All of it, in one pass over the updates. Of no updates the sum is zero, the product one, the minimum or maximum zero
// and member number `count`. False: as above.
[[nodiscard]] bool reduce_groups(const Groups&, const std::byte* updates, int64_t width,
                                 const std::vector<GroupReduction>&);

}  // namespace gs
