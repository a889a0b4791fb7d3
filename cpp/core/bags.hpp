// Gather and reduce in one pass: each bag of rows of data becomes one row.
#pragma once

#include <cstddef>
#include <cstdint>

#include "combine.hpp"
#include "quantized.hpp"

namespace gs {

// The members of bag b are starts[b], ..., starts[b + 1] - 1. Each member names a row of data.
struct Bags {
    const int64_t* starts;  // has count + 1 entries
    int64_t count;
    const int64_t* rows;  // the row of data of each member; -1: zeros
    int64_t members;
    const std::byte* weights;  // one element per member, which multiplies its row; or null
    bool may_skip;             // rows can be -1
};

// The rows that members name: rows in memory, or rows of a quantized table, which are decoded.
struct SourceRows {
    const std::byte* data;
    int64_t count;
    const RowDecoder* decoder = nullptr;
};

// out[b, :] = the reduction of the members of bag b, in their order. A bag without members gets `empty`, which is one
// element. If the Combine includes self, out[b, :] initially holds the first member of bag b, and `empty` is not used.
// Reduction::none and sub are not supported. False: bags or rows are out of range, or the call has to stop. The
// contents of `out` are then undefined.
[[nodiscard]] bool reduce_bags(const Bags&, const SourceRows&, int64_t width, const std::byte* empty, std::byte* out,
                               const Combine&);

// How `reduce_bags` divides and combines. This is decided before any work, from sizes and from the starts of bags.
// `gatherscatter.plan` shows it.
struct BagRoute {
    int threads = 1;               // the number of threads that take part
    bool divides_columns = false;  // bags with very many members are divided by columns
    bool gathers_rows = false;     // true: a few rows are gathered or decoded at a time; false: sums stay in registers
    int64_t scratch = 0;           // bytes
};
BagRoute route_bags(const Bags&, const SourceRows&, int64_t width, const Combine&);

}  // namespace gs
