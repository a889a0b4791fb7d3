// How a call is divided between threads: decided before any work, from sizes and a look at some of the
// indices; `gatherscatter.plan` shows it.
#pragma once

#include "kernels.hpp"

namespace gs {

enum class Split : uint8_t {
    nothing,   // one thread does it all
    lines,     // batch and outer dims, or groups of a box
    tuples,    // consecutive index tuples, or rows of a box
    columns,   // parts of each row, or columns of a box
    rows,      // ranges of destination rows; each thread looks at all indices and picks its own
    elements,  // ranges of destinations; elements are sorted by owner first, in batches
    ordered,   // ranges of destinations; stretches of the indices lie in one of them, mostly
};
const char* name(Split);

struct Route {
    Split split = Split::nothing;
    int threads = 1;
    bool far = false;     // memory is asked for in advance
    int64_t tile = 0;     // columns of a box taken at a time; 0: all
    int64_t scratch = 0;  // bytes

    // How many more indices are looked at than are moved.
    int64_t ahead() const { return far ? lookahead : 0; }
};

Route route_gather(const Rows&, int64_t item_size);
Route route_gather(const Lanes&, int64_t item_size);
Route route_scatter(const Rows&, const Combine&);  // but for Split::ordered, which depends on the indices
Route route_scatter(const Lanes&, const Combine&, const Index&);  // looks at some of the indices

// Whether order among the indices could help to divide a scatter.
bool may_be_ordered(const Rows&, const Combine&, const Index&);

}  // namespace gs
