// Where in data stretches of the indices lie: indices in some order let threads divide them, though each thread owns
// destinations.
#pragma once

#include <cstdint>
#include <vector>

#include "index.hpp"

namespace gs {

// The least and the greatest row of `span_tuples` consecutive tuples.
struct Span {
    int64_t low, high;
};

// Checks all tuples [0, n) and finds their spans; false: one is bad.
bool find_spans(const Index&, int64_t n, std::vector<Span>&);

// Whether consecutive tuples name rows at most `distance` apart, as far as a few samples show.
bool are_close(const Index&, int64_t n, int64_t distance);

// Rows at which to divide data in `parts` with as many updates each; empty if many spans would be cut.
std::vector<int64_t> dividing_rows(const std::vector<Span>&, int64_t data_rows, int parts);

// Dividing rows for indices in any order, estimated from samples: multiples of `unit`, never empty. `largest_part` is
// the share of the samples in the largest part.
std::vector<int64_t> sampled_dividing_rows(const Index&, int64_t n, int64_t data_rows, int64_t unit, int parts,
                                           double& largest_part);

// What that takes.
inline constexpr int64_t samples_of_rows = 16, tuples_per_sample = tiny ? 4 : 64;
inline int64_t sampling_bytes(int parts) { return (samples_of_rows * tuples_per_sample + parts + 1) * 8; }

// What spans of n tuples take, and the search for dividing rows among them.
inline int64_t span_bytes(int64_t n) { return (n / span_tuples + 1) * static_cast<int64_t>(sizeof(Span) + 8); }

}  // namespace gs
