// The inner loops of all kernels. They move data between numbered rows and consecutive rows. The lanes form uses them
// with rows of one element.
#pragma once

#include <algorithm>
#include <cstring>

#include "combine.hpp"
#include "index.hpp"
#include "machine.hpp"

namespace gs {

// The source of a copy. Row i of a call, with number r, lies at data + r * stride + i * step (in bytes).
struct Source {
    const std::byte* data;
    int64_t stride, step;
};

// Copies `size` bytes, n <= size <= 2 * n, as the first n and the last n. These are two moves of a fixed size, which
// may overlap.
template <size_t n>
GS_LOOP void copy_ends(std::byte* to, const std::byte* from, int64_t size) {
    std::memcpy(to, from, n);
    std::memcpy(to + size - n, from + size - n, n);
}

// Copies a row. Only long rows need a function call.
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

// Copies whole cache lines past the caches. A few lines are copied without a function call.
GS_LOOP void stream_whole_lines(std::byte* to, const std::byte* from, int64_t size) {
    if (size >= 4 * line_size)
        stream_lines(to, from, size);
    else
        stream_units(to, from, size);
}

// Copies a row of whole units past the caches. The next row follows it, so all lines become complete.
GS_LOOP void stream_packed_row(std::byte* to, const std::byte* from, int64_t size) {
    if (size % line_size == 0 && is_line_aligned(to))
        stream_whole_lines(to, from, size);
    else
        stream_units(to, from, size);
}

// Copies any number of bytes to any address. Whole cache lines bypass the caches. The incomplete lines at both ends do
// not, because a part of a line takes longer than a whole one.
GS_LOOP void stream_copy(std::byte* to, const std::byte* from, int64_t size) {
    const int64_t past = static_cast<int64_t>(reinterpret_cast<uintptr_t>(to) % line_size);
    const int64_t head = std::min(size, past ? line_size - past : 0);
    const int64_t body = (size - head) / line_size * line_size, tail = size - head - body;
    copy_row(to, from, head);
    stream_whole_lines(to + head, from + head, body);
    copy_row(to + head + body, from + head + body, tail);
}

// Prefetches the first lines of a row. Processors prefetch the others themselves.
GS_LOOP void prefetch_lines(const std::byte* row, int64_t size) {
    for (int64_t byte = 0; byte < std::min<int64_t>(size, 512); byte += line_size) prefetch(row + byte);
}

// The same for rows at random positions. Few rows begin at a line, so the last byte is usually in one line more.
GS_LOOP void prefetch_row(const std::byte* row, int64_t size) {
    prefetch_lines(row, size);
    if (size > 16) prefetch(row + std::min<int64_t>(size, 512) - 1);
}

// Prefetches the lines that `stream_copy` does not write past the caches.
GS_LOOP void prefetch_ends(const std::byte* row, int64_t size) {
    if (!is_line_aligned(row)) prefetch(row);
    if (!is_line_aligned(row + size)) prefetch(row + size - 1);
}

// Copies n rows to evenly spaced positions. Row -1 gives zeros.
using CopyRows = void (*)(std::byte* out, int64_t out_stride, const Source&, const RowNumbers&, int64_t row_size);

struct CopyOptions {
    bool packed;    // both strides are the size of a row, and step is 0
    bool may_skip;  // rows can be -1
    bool prefetch;  // rows are spread over more memory than the caches hold
    bool stream;    // copies bypass the caches, if rows are whole units
};
CopyRows copier(int64_t row_size, const CopyOptions&);

// Copies n pieces of one row, which are `step` bytes apart, to consecutive elements.
using CopySpaced = void (*)(std::byte* to, const std::byte* from, int64_t step, int64_t n, int64_t size);
CopySpaced spaced_copier(int64_t size, int64_t step);

// The part of a destination that one thread owns: rows [first_row, last_row), elements [first, last) of a row. Row -1
// has no owner.
struct Share {
    int64_t first_row, last_row, first, last;
    static Share all(int64_t width) { return {0, INT64_MAX, 0, width}; }
    bool has_all_rows() const { return last_row == INT64_MAX; }
    bool is_all(int64_t width) const { return *this == all(width); }
    bool operator==(const Share&) const = default;
    bool has(int64_t row) const {
        return static_cast<uint64_t>(row - first_row) < static_cast<uint64_t>(last_row - first_row);
    }
};

// n updates and their destination rows.
struct Updates {
    std::byte* out;
    const std::byte* updates;
    int64_t* visits;  // counts the visits of each row, or null
    RowNumbers rows;
    int64_t width, row_stride;  // the elements of an update, and the distance between rows of `out`
    bool prefetch = false;      // whether to prefetch rows
    bool prefetch_updates = false;
    bool stream = false;  // rows that are set are written past the caches
};
using ApplyRows = void (*)(const Updates&, const Share&, const Combine&);

// The options that all calls of an ApplyRows share.
struct ApplyOptions {
    bool all;                   // all rows are valid and in the share
    bool counted;               // `visits` is not null
    bool prefetch_set = false;  // elements are prefetched just before they are set; ignored unless `all`
};
ApplyRows applier(const Combine&, int64_t width, const ApplyOptions&);

// Combines single updates with the elements that indices name, as long as the indices are in [0, rows). Returns the
// number of updates that were combined. `visits`: as in Updates. `prefetches`: indices and updates are prefetched.
using ApplyByIndex = int64_t (*)(const std::byte* indices, int64_t n, uint64_t rows, std::byte* out,
                                 const std::byte* updates, int64_t* visits, bool include_self, bool prefetches);

using WidenIndices = void (*)(const std::byte* indices, int64_t n, int32_t* wide);

// Scatters single elements into a line of elements, with one loop that checks each index and uses it at once. Narrow
// indices are widened first.
class ElementScatter {
  public:
    ElementScatter(const Index&, const Combine&, const ApplyOptions&, Spread);
    explicit operator bool() const { return by_index_ != nullptr; }  // whether there is a loop for this call

    // Handles the tuples [first, first + n). False: a tuple is bad, or the call has to stop.
    bool scatter(int64_t first, int64_t n, std::byte* line, const std::byte* updates, int64_t* visits) const;

  private:
    bool scatter_blocks(int64_t first, int64_t n, std::byte* line, const std::byte* updates, int64_t* visits) const;

    const Index& index_;
    const Combine& combine_;
    ApplyByIndex by_index_;
    WidenIndices widen_;
    bool prefetches_;
    ApplyRows apply_, apply_or_skip_;
};

// The updates of one row: order[0] to order[n - 1] are their numbers. order[n] to order[known - 1] are the numbers of
// the next updates, which are prefetched. All numbers must be below `count`, the number of all updates.
struct Members {
    const int64_t* order;
    int64_t n, known, count;
};

// Combines the updates of one row. False: a number in `order` is out of range.
using CombineGroup = bool (*)(std::byte* row, const std::byte* updates, const Members&, int64_t width, bool replace);
CombineGroup group_combiner(const Combine&);

// Finds the minimum or maximum of a group, and the number of the first member that has it. `replace`: row and member
// begin with this group. Null: the type has no order.
using ExtremumOfGroup = bool (*)(std::byte* row, int64_t* member, const std::byte* updates, const Members&,
                                 int64_t width, bool replace);
ExtremumOfGroup extremum_finder(const Combine&);

// The number of lines that share a block of resolved indices. A line is one position in the batch and outer dims of the
// rows form. If there is only one block, all lines share it.
inline int64_t lines_per_block(int64_t count) { return count <= block ? INT64_MAX / 2 : max_lines; }

}  // namespace gs
