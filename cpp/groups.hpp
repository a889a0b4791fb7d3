// Updates grouped by the row that they go to: made once for indices that are used again and again.
#pragma once

#include <cstdint>

#include "index.hpp"
#include "kernels.hpp"

namespace gs {

// The updates of row r are order[starts[r]], ..., order[starts[r + 1] - 1], in their order.
struct Groups {
    const int64_t *starts, *order;
    int64_t rows, count;
};

// Fills `starts` (rows + 1) and `order` (count) from row numbers; false: one is bad.
[[nodiscard]] bool group(const int64_t* numbers, int64_t count, int64_t rows, int64_t* starts, int64_t* order);

// Whether groups can be combined: not where sums need another type than the elements have.
bool knows_groups(const Combine&);

// out[r, :] = f(out[r, :], updates[j, :]) for the updates j of row r, in their order; `zeros`: out begins as zeros.
// False: the groups are not those of `group`, or to give up; and out is of no use.
[[nodiscard]] bool scatter_groups(const Groups&, const std::byte* updates, std::byte* out, int64_t width, bool zeros,
                                  const Combine&, Watch&);

}  // namespace gs
