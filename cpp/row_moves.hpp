// The inner loops of all kernels: between rows named by number and rows that lie one after the other. The lanes form
// uses them with rows of one element.
#pragma once

#include "kernels.hpp"

namespace gs {

// What rows are copied from: the i-th of a call, of number r, lies at data + r * stride + i * step (bytes).
struct Source {
    const std::byte* data;
    int64_t stride, step;
};

// Copies n rows to evenly spaced places; row -1 gives zeros.
using CopyRows = void (*)(std::byte* out, int64_t out_stride, const Source&, const RowNumbers&, int64_t row_size);

// `packed`: both strides are the size of a row, and step is 0; `may_skip`: rows may be -1; `far`: they are spread over
// more memory than caches hold. Rows of elements only may have a step.
CopyRows copier(int64_t row_size, bool packed, bool may_skip, bool far);

// What one thread owns of a destination: rows [first_row, last_row), elements [first, last) of a row. Row -1 is
// nobody's.
struct Share {
    int64_t first_row, last_row, first, last;
    bool operator==(const Share&) const = default;
    bool has(int64_t row) const {
        return static_cast<uint64_t>(row - first_row) < static_cast<uint64_t>(last_row - first_row);
    }
};

// n updates and the rows they go to.
struct Updates {
    std::byte* out;
    const std::byte* updates;
    int64_t* visits;  // counts how often each row was met, or null
    RowNumbers rows;
    int64_t width;
};
using ApplyRows = void (*)(const Updates&, const Share&, const Combine&);

// `whole`: all rows are good, all are in the share, and none is counted; `far` as above.
ApplyRows applier(const Combine&, int64_t width, bool whole, bool far);

// Elements in more memory than this are asked for in advance; in less, processors find them fast enough.
inline constexpr int64_t far_bytes = 16 * 1024 * 1024;

}  // namespace gs
