// The loops that reduce the members of bags, several columns at a time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "bags.hpp"

namespace gs {

// The rows that members name.
struct BagRows {
    const std::byte* data;
    int64_t count, size;     // the number of rows, and the bytes of each
    const std::byte* zeros;  // the values of member -1 in the columns of a loop, or null
    const CodedRows* coded;  // of a quantized table, instead of data
    bool prefetch;           // whether to prefetch rows
    bool rounds;             // whether sums of halves are rounded after each step
};

// The range of bags and members that one call of a loop reduces.
struct BagRange {
    int64_t begin, end;   // bags
    int64_t first, last;  // their members: only some of them if there is only one bag
    int64_t known;        // members up to this one are reduced next
    std::byte* sums;      // max_sum_bytes bytes: the sums of the previous part, replaced by those of this part
};
inline constexpr int64_t max_sum_bytes = 1024;

// Reduces some columns of bags into rows of `out`, starting at the byte `column` of each row. A bag without members
// becomes `empty`. False: bags or rows are out of range, or the call has to stop.
using ReduceColumns = bool (*)(const Bags&, const BagRange&, const BagRows&, int64_t column, const std::byte* empty,
                               std::byte* out, bool mean);

// The loops for an element type. Each loop reduces half as many columns as the one before it. The last reduces one
// column.
struct BagLoops {
    int64_t columns = 0;  // the columns of the first loop; 0: there are no loops
    std::array<ReduceColumns, 9> loop{};
};

// Returns the loops for this processor. There are none for exact sums, for weighted integers, or for weighted members
// with a reduction other than a sum. On x86-64 without AVX2, there are none for halves.
BagLoops bag_loops(const Combine&, bool weighted);
BagLoops float_bag_loops(const Combine&, bool weighted);  // those of floats and halves, which take as long to compile

// The same for the rows of a quantized table. There are loops for sums. On x86-64, they need AVX2.
BagLoops coded_bag_loops(const Combine&, bool weighted);

}  // namespace gs
