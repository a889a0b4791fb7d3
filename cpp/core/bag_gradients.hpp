// The computations that gradients of bags need, in one pass. They do not store a row for each member.
#pragma once

#include "bags.hpp"

namespace gs {

// Whether sum_matches supports a type. It supports floats.
bool supports_matches(DType);

// The rows of the members, and one target row for each bag to compare them with. `values` has the same number of rows
// as `keys`, or is null. All arrays have the same type.
struct Matches {
    const std::byte *values, *keys, *targets;
    DType dtype;
    int64_t key_rows, width;
};

// out[b, c] = the sum of values[r, c] over the members r of bag b with keys[r, c] == targets[b, c]. NaN equals NaN.
// Members are added in their order; halves are added in float. Without `values`, out holds the number of matches as
// int64. Bags must not have weights. False: bags or rows are out of range, or the call has to stop. The contents of
// `out` are then undefined.
[[nodiscard]] bool sum_matches(const Bags&, const Matches&, std::byte* out);

// Two arrays of rows. Each pair has a row number in both.
struct RowPairs {
    const std::byte *a, *b;
    const int64_t *rows_of_a, *rows_of_b;
    DType dtype;
    int64_t count, a_rows, b_rows, width;
};

// Whether dot_rows supports a type. It supports floats and complex numbers.
bool supports_dots(DType);

// out[m] = the sum of a[rows_of_a[m], c] * b[rows_of_b[m], c] over all columns c. Column c belongs to partial sum c %
// 16. The 16 partial sums are added in pairs, i and i + 8 first. Halves are multiplied and added in float. False: a row
// number is out of range, or the call has to stop. The contents of `out` are then undefined.
[[nodiscard]] bool dot_rows(const RowPairs&, std::byte* out);

}  // namespace gs
