// How a call is divided between threads: decided before any work, from sizes and samples of the indices.
// `gatherscatter.plan` shows it.
#pragma once

#include <vector>

#include "combine.hpp"
#include "index.hpp"
#include "plan.hpp"

namespace gs {

enum class Split : uint8_t {
    serial,    // one thread does it all
    lines,     // batch and outer dims, or groups of a box
    tuples,    // consecutive index tuples, or rows of a box
    columns,   // parts of each row, or columns of a box
    rows,      // ranges of destination rows; each thread looks at all indices and picks its own
    elements,  // ranges of destinations; elements are sorted by owner first, in batches
    ordered,   // ranges of destinations; stretches of the indices lie in one of them, mostly
};
const char* name(Split);

struct Route {
    Split split = Split::serial;
    // Samples of the indices are in order. If the spans of all indices can be divided, threads divide by these instead
    // of by `split`.
    bool ordered = false;
    int threads = 1;
    bool prefetch = false;          // memory is prefetched
    bool stream = false;            // a gather's output, or a scatter's copy of data, is written past the caches
    int64_t tile = 0;               // columns of a box taken at a time; 0: all
    int64_t scratch = 0;            // bytes
    std::vector<int64_t> dividing;  // Split::rows: where the range of each thread begins; the last entry is the end

    // How many more indices are resolved than rows are moved.
    int64_t prefetch_distance() const { return prefetch ? lookahead : 0; }
};

Route route_gather(const Rows&, int64_t item_size, const Index&);
Route route_gather(const Lanes&, int64_t item_size);
Route route_scatter(const Rows&, const Combine&, const Index&);
Route route_scatter(const Lanes&, const Combine&, const Index&);

}  // namespace gs
