// The loops that reduce the members of bags, some columns at a time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "bags.hpp"

namespace gs {

// The rows that members name.
struct BagRows {
    const std::byte* data;
    int64_t count, size;     // how many there are, and the bytes of each
    const std::byte* zeros;  // what member -1 has in the columns of a loop, or null
};

// What one call of a loop reduces.
struct BagRange {
    int64_t begin, end;   // bags
    int64_t first, last;  // their members: part of them if there is only one bag
    int64_t known;        // members up to here are reduced next
    std::byte* sums;      // of the part before, and then of this one: max_sum_bytes
};
inline constexpr int64_t max_sum_bytes = 1024;

// Reduces some columns, from the byte `column` of a row on, of bags into rows of `out`. A bag without members gives
// `empty`. False: bags or rows are out of range, or the call is to stop.
using ReduceColumns = bool (*)(const Bags&, const BagRange&, const BagRows&, int64_t column, const std::byte* empty,
                               std::byte* out, bool mean);

// The loops for an element type: each reduces half as many columns as the one before it, the last a single one.
struct BagLoops {
    int64_t columns = 0;  // of the first loop; 0: there are none
    std::array<ReduceColumns, 11> loop{};
};

// The loops for this processor. There are none for exact sums, nor for weighted members that are integers or not added.
BagLoops bag_loops(const Combine&, bool weighted);

}  // namespace gs
