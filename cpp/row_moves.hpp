// The inner loops of all kernels: between rows named by number and rows that lie one after the other. The lanes form
// uses them with rows of one element.
#pragma once

#include "kernels.hpp"

namespace gs {

// Copies n rows to consecutive places; row -1 gives zeros.
using CopyRows = void (*)(std::byte* out, const std::byte* data, const int64_t* rows, int64_t n, int64_t row_size);

// `may_skip`: rows may be -1; `far`: they are spread over more memory than the nearest caches hold.
CopyRows copier(int64_t row_size, bool may_skip, bool far);

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
    const int64_t* rows;
    int64_t n, width;
};
using ApplyRows = void (*)(const Updates&, const Share&, const Combine&);

// `whole`: all rows are good, all are in the share, and none is counted.
ApplyRows applier(const Combine&, int64_t width, bool whole);

// Memory beyond the nearest caches is asked for in advance.
inline constexpr int64_t near_bytes = 256 * 1024;

}  // namespace gs
