// What the gradients of bags need, in one pass: no row is stored for each member.
#pragma once

#include "bags.hpp"

namespace gs {

// Whether elements are floats: sum_matches is for these only.
bool supports_matches(DType);

// The rows that members have, and what these are compared with: a row for each bag. `values` has as many rows as
// `keys`, or is null. All of one type.
struct Matches {
    const std::byte *values, *keys, *targets;
    DType dtype;
    int64_t key_rows, width;
};

// out[b, c] = the sum of values[r, c] over those members r of bag b with keys[r, c] == targets[b, c]; NaN equals NaN.
// Members are added up in their order, halves in float. Without values: how many there are, as int64. Bags have no
// weights. False: bags or rows are out of range, or the call is to stop; then out is not to be used.
[[nodiscard]] bool sum_matches(const Bags&, const Matches&, std::byte* out);

// Two arrays of rows, and a row number in each for every pair.
struct RowPairs {
    const std::byte *a, *b;
    const int64_t *rows_of_a, *rows_of_b;
    DType dtype;
    int64_t count, a_rows, b_rows, width;
};

// Whether elements are floats or complex numbers: dot_rows is for these only.
bool supports_dots(DType);

// out[m] = the sum of a[rows_of_a[m], c] * b[rows_of_b[m], c] over all columns c. Column c belongs to sum c % 16, and
// the sixteen sums are added up in pairs, i and i + 8 first. Halves are multiplied and added up in float. False: as
// above.
[[nodiscard]] bool dot_rows(const RowPairs&, std::byte* out);

}  // namespace gs
