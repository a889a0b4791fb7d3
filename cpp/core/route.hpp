// How a call is divided between threads. This is decided before any work, from sizes and from samples of the indices.
// `gatherscatter.plan` shows it.
#pragma once

#include <vector>

#include "combine.hpp"
#include "index.hpp"
#include "machine.hpp"
#include "plan.hpp"

namespace gs {

enum class Split : uint8_t {
    serial,    // one thread does all the work
    lines,     // batch and outer dims, or groups of a box
    tuples,    // consecutive index tuples, or rows of a box
    columns,   // parts of each row, or columns of a box
    rows,      // ranges of destination rows; each thread reads all indices and picks its own
    elements,  // ranges of destinations; elements are sorted by owner first, in batches
    ordered,   // ranges of destinations; most stretches of the indices lie within one range
    updates,   // consecutive updates of integers, in any order; each thread has its own copy of the destination
};
const char* name(Split);

// Rows that a scatter writes past the caches begin at multiples of this number of bytes. The lines at both ends of a
// row stay in the caches unless they are whole, so short rows must consist of whole lines.
constexpr int64_t stream_alignment(int64_t row_size) { return row_size >= min_unaligned_row ? 1 : line_size; }

struct Route {
    Split split = Split::serial;
    // The sampled indices are in order. If the spans of all indices can be divided, threads divide the call by these
    // instead of by `split`.
    bool ordered = false;
    int threads = 1;
    bool prefetch = false;          // rows or elements of data, or of the result of a scatter, are prefetched
    bool prefetch_updates = false;  // the rows of updates are prefetched
    bool prefetch_set = false;      // elements are prefetched just before they are set
    Spread spread = Spread::close;  // of the elements, if rows are single elements
    bool stream = false;            // a gather's output, or a scatter's copy of data, is written past the caches
    bool stream_rows = false;       // the rows that a scatter sets are written past the caches, if `out` allows it
    int64_t tile = 0;               // the number of columns of a box per tile; 0: all
    int64_t scratch = 0;            // bytes
    std::vector<int64_t> dividing;  // Split::rows: where the range of each thread begins; the last entry is the end

    // The number of additional indices that are resolved before their rows are moved.
    int64_t prefetch_distance() const { return prefetch ? lookahead : 0; }

    // Whether a gather streams its output to this address.
    bool streams_to(const std::byte* out) const { return stream && is_unit_aligned(out); }

    // Whether a scatter streams rows to this address.
    bool streams_rows_to(const std::byte* out, int64_t row_size) const {
        return stream_rows &&
               reinterpret_cast<uintptr_t>(out) % static_cast<uintptr_t>(stream_alignment(row_size)) == 0;
    }
};

// Whether one loop reads indices and gathers rows of the size of an element.
inline bool gathers_elements(const Rows& rows, const Layout& layout, int64_t row_size) {
    return is_element(row_size) && layout.piece_size == row_size && rows.outer == 1 &&
           (rows.batch == 1 || rows.count >= min_line_elements);
}

Route route_gather(const Rows&, const Layout&, int64_t item_size, const Index&);
Route route_gather(const Lanes&, int64_t item_size, const Index&);
Route route_scatter(const Rows&, const Combine&, const Index&);
Route route_scatter(const Lanes&, const Combine&, const Index&);

}  // namespace gs
