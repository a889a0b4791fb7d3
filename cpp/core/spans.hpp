// Spans: the range of rows that each block of `span_tuples` consecutive tuples names. If the indices are partly in
// order, most spans belong to one owner. Threads can then divide the indices as well as the destinations.
#pragma once

#include <cstdint>
#include <vector>

#include "index.hpp"

namespace gs {

// The lowest and the highest row of `span_tuples` consecutive tuples.
struct Span {
    int64_t low, high;
};

// Checks all tuples [0, n) and finds their spans. False: a tuple is bad.
bool find_spans(const Index&, int64_t n, std::vector<Span>&);

// Whether consecutive tuples name rows at most `distance` apart. Only a few samples are read.
bool are_close(const Index&, int64_t n, int64_t distance);

// Whether at least three quarters of a few samples name the same row. Ranges of rows would not divide the updates then.
bool name_one_row(const Index&, int64_t n);

// Whether samples of the tuples repeat rows no more often than random ones of `rows` rows would. False: a sampled tuple
// is bad.
bool are_distinct(const Index&, int64_t n, int64_t rows);

// Returns the rows that divide data into `parts` with equal numbers of updates. Empty: too many spans would be cut.
std::vector<int64_t> dividing_rows(const std::vector<Span>&, int64_t data_rows, int parts);

// Estimates dividing rows from samples, for indices in any order. They are multiples of `unit`, and the result is never
// empty. `largest_part` is the share of the samples in the largest part.
std::vector<int64_t> sampled_dividing_rows(const Index&, int64_t n, int64_t data_rows, int64_t unit, int parts,
                                           double& largest_part);

// The number of samples, and the tuples in each. Sorted indices need several samples for each thread.
inline constexpr int64_t samples_of_rows = 64, tuples_per_sample = tiny ? 4 : 16;
inline int64_t sampling_bytes(int parts) { return (samples_of_rows * tuples_per_sample + parts + 1) * 8; }

// The bytes that the spans of n tuples take, and the search for dividing rows among them.
inline int64_t span_bytes(int64_t n) { return (n / span_tuples + 1) * static_cast<int64_t>(sizeof(Span) + 8); }

}  // namespace gs
