// Gather and reduce in one pass: rows of data, in bags, each of which becomes one row.
#pragma once

#include <cstddef>
#include <cstdint>

#include "combine.hpp"

namespace gs {

// The members of bag b are starts[b], ..., starts[b + 1] - 1. A member is a row of data.
struct Bags {
    const int64_t* starts;  // count + 1
    int64_t count;
    const int64_t* rows;  // the row of data of each member; -1: zeros
    int64_t members;
    const std::byte* weights;  // an element for each member, by which its row is multiplied; or null
    bool may_skip;             // rows may be -1
};

// out[b, :] = the reduction of the members of bag b, in their order; `empty` (one element) where there are none. If the
// Combine includes self, out[b, :] holds a first member of each bag, and `empty` is not used. Not for Reduction::none
// and sub. False: bags or rows are out of range, or the call is to stop; then out is not to be used.
[[nodiscard]] bool reduce_bags(const Bags&, const std::byte* data, int64_t data_rows, int64_t width,
                               const std::byte* empty, std::byte* out, const Combine&);

// How `reduce_bags` divides and combines: decided before any work, from sizes and from where bags begin.
// `gatherscatter.plan` shows it.
struct BagRoute {
    int threads = 1;               // that take part
    bool divides_columns = false;  // of bags with very many members
    bool gathers_rows = false;     // a few at a time; else sums stay in registers
    int64_t scratch = 0;           // bytes
};
BagRoute route_bags(const Bags&, int64_t width, const Combine&);

}  // namespace gs
