// The inner loops of all kernels: between rows named by number and rows that lie one after the other. The lanes form
// uses them with rows of one element.
#pragma once

#include <algorithm>
#include <cstring>

#include "combine.hpp"
#include "index.hpp"
#include "machine.hpp"

namespace gs {

// What rows are copied from: the i-th of a call, of number r, lies at data + r * stride + i * step (bytes).
struct Source {
    const std::byte* data;
    int64_t stride, step;
};

// Copies the first n and the last n of `size` bytes, n <= size <= 2 * n: two moves of a fixed size, which may overlap.
template <size_t n>
GS_LOOP void copy_ends(std::byte* to, const std::byte* from, int64_t size) {
    std::memcpy(to, from, n);
    std::memcpy(to + size - n, from + size - n, n);
}

// Copies a row, without a call unless it is long.
GS_LOOP void copy_row(std::byte* to, const std::byte* from, int64_t size) {
    if (size > max_inlined_row) {
        std::memcpy(to, from, static_cast<size_t>(size));
    } else if (size > 2 * line_size) {
        int64_t i = 0;
        for (; i + line_size <= size; i += line_size) std::memcpy(to + i, from + i, line_size);
        if (i < size) std::memcpy(to + size - line_size, from + size - line_size, line_size);
    } else if (size >= line_size) {
        copy_ends<line_size>(to, from, size);
    } else if (size >= 32) {
        copy_ends<32>(to, from, size);
    } else if (size >= 16) {
        copy_ends<16>(to, from, size);
    } else if (size >= 8) {
        copy_ends<8>(to, from, size);
    } else if (size >= 4) {
        copy_ends<4>(to, from, size);
    } else {
        for (int64_t i = 0; i < size; ++i) to[i] = from[i];
    }
}

// The first lines of a row: processors find the others themselves.
GS_LOOP void prefetch_row(const std::byte* row, int64_t size) {
    for (int64_t line = 0; line < std::min<int64_t>(size, 512); line += line_size) prefetch(row + line);
}

// Copies n rows to evenly spaced places; row -1 gives zeros.
using CopyRows = void (*)(std::byte* out, int64_t out_stride, const Source&, const RowNumbers&, int64_t row_size);

struct CopyOptions {
    bool packed;    // both strides are the size of a row, and step is 0
    bool may_skip;  // rows may be -1
    bool prefetch;  // rows are spread over more memory than caches hold
    bool stream;    // copies are whole lines of cache, which go past the caches
};
CopyRows copier(int64_t row_size, const CopyOptions&);

// Copies n pieces of one row, which lie `step` bytes apart, to consecutive places.
using CopySpaced = void (*)(std::byte* to, const std::byte* from, int64_t step, int64_t n, int64_t size);
CopySpaced spaced_copier(int64_t size);

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
    int64_t width, row_stride;  // elements of an update; from one row of out to the next
};
using ApplyRows = void (*)(const Updates&, const Share&, const Combine&);

// Whether the processor can pick elements of this size many at a time. Then a thread can afford to look at all updates
// and pick its own.
inline bool can_compress(int64_t item_size) {
    return instruction_set == InstructionSet::avx512 && (item_size == 4 || item_size == 8);
}

// What all calls of an ApplyRows have in common.
struct ApplyOptions {
    bool all;       // all rows are good and in the share
    bool counted;   // there are visits
    bool prefetch;  // as above
};
ApplyRows applier(const Combine&, int64_t width, const ApplyOptions&);

// Combines the updates of one row, which `order` names: n of them, and those up to `known` come next; there are `count`
// updates in all. False: order names another.
struct Members {
    const int64_t* order;
    int64_t n, known, count;
};
using CombineGroup = bool (*)(std::byte* row, const std::byte* updates, const Members&, int64_t width, bool replace);
CombineGroup group_combiner(const Combine&);

// The minimum or maximum of a group, and which member it is, the first of equal ones; `replace`: row and member begin
// with this group. Null: the type has no order.
using ExtremumOfGroup = bool (*)(std::byte* row, int64_t* member, const std::byte* updates, const Members&,
                                 int64_t width, bool replace);
ExtremumOfGroup extremum_finder(const Combine&);

// How many lines of batch and outer take turns with the same block of indices: all of them if that is the only one.
inline int64_t lines_per_block(int64_t count) { return count <= block ? INT64_MAX / 2 : max_lines; }

}  // namespace gs
