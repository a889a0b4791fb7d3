// out[b, o, row(b, c), :] = f(out[b, o, row(b, c), :], updates[b, o, c, :]), c ascending
#include <atomic>
#include <cstring>

#include "accumulate.hpp"
#include "machine.hpp"
#include "parallel.hpp"

namespace gs {
namespace {

// What one thread owns of each line's destination: rows [first_row, last_row), elements [first, last) of a row.
struct Share {
    int64_t first_row, last_row, first, last;
    bool has(int64_t row) const {
        return static_cast<uint64_t>(row - first_row) < static_cast<uint64_t>(last_row - first_row);
    }
};

constexpr int64_t ahead = 32;  // how many elements ahead memory is asked for what will be needed

// The inner loop: `n` updates of one line into their rows. A row outside the share, as -1 is, is someone else's.
struct Line {
    std::byte* out;
    const std::byte* updates;
    int64_t* visits;  // of this line's rows, or null
    const int64_t* rows;
    int64_t n, width;
};
using ApplyLine = void (*)(const Line&, const Share&, const Combine&);

void set_rows(const Line& line, const Share& share, const Combine& combine) {
    const int64_t size = combine.item_size, offset = share.first * size, length = (share.last - share.first) * size;
    for (int64_t i = 0; i < line.n; ++i)
        if (share.has(line.rows[i]))
            std::memcpy(line.out + line.rows[i] * line.width * size + offset,
                        line.updates + i * line.width * size + offset, static_cast<size_t>(length));
}

template <int64_t size>
GS_CLONES void set_elements(const Line& line, const Share& share, const Combine&) {
    for (int64_t i = 0; i < line.n; ++i)
        if (share.has(line.rows[i])) std::memcpy(line.out + line.rows[i] * size, line.updates + i * size, size);
}

template <class T, class A, class Op>
GS_CLONES void combine_rows(const Line& line, const Share& share, const Combine& combine) {
    const Op op;
    for (int64_t i = 0; i < line.n; ++i) {
        const int64_t row = line.rows[i];
        if (!share.has(row)) continue;
        A* __restrict out = reinterpret_cast<A*>(line.out) + row * line.width;
        const T* __restrict updates = reinterpret_cast<const T*>(line.updates) + i * line.width;
        const bool replace = line.visits && line.visits[row]++ == 0 && !combine.include_self;
        if (replace)
            for (int64_t w = share.first; w < share.last; ++w) out[w] = accumulate_as<A>(updates[w]);
        else
            for (int64_t w = share.first; w < share.last; ++w) out[w] = op(out[w], accumulate_as<A>(updates[w]));
    }
}

// Rows of one element. Which are in the share is as good as random, so they are picked without a branch first.
template <class T, class A, class Op>
GS_CLONES void combine_elements(const Line& line, const Share& share, const Combine& combine) {
    const Op op;
    A* __restrict out = reinterpret_cast<A*>(line.out);
    const T* __restrict updates = reinterpret_cast<const T*>(line.updates);
    int32_t own[block];
    int64_t n = 0;
    for (int64_t i = 0; i < line.n; ++i) {
        own[n] = static_cast<int32_t>(i);
        n += share.has(line.rows[i]);
    }
    for (int64_t i = 0; i < n; ++i) {
        prefetch(out + line.rows[own[std::min(i + ahead, n - 1)]]);
        const int64_t row = line.rows[own[i]];
        const bool replace = line.visits && line.visits[row]++ == 0 && !combine.include_self;
        const A update = accumulate_as<A>(updates[own[i]]);
        out[row] = replace ? update : op(out[row], update);
    }
}

ApplyLine applier(const Combine& combine, int64_t width) {
    if (combine.reduction != Reduction::none)
        return visit_combine(combine, ApplyLine{nullptr},
                             [&]<class T, class A, class Op>(std::type_identity<T>, std::type_identity<A>, Op) {
                                 return width == 1 ? ApplyLine{combine_elements<T, A, Op>}
                                                   : ApplyLine{combine_rows<T, A, Op>};
                             });
    if (width == 1) switch (combine.item_size) {
            case 1: return set_elements<1>;
            case 2: return set_elements<2>;
            case 4: return set_elements<4>;
            case 8: return set_elements<8>;
            case 16: return set_elements<16>;
        }
    return set_rows;
}

struct Scatter {
    const Rows& rows;
    const Index& index;
    const std::byte* updates;
    std::byte* out;
    int64_t* visits;
    const Combine& combine;
    int64_t target_size;  // of an element of out, which may be an accumulator
    ApplyLine apply;

    // The lines [begin, end) of batch and outer, as far as they are in the share.
    bool part(int64_t begin, int64_t end, const Share& share) const {
        int64_t row[block];
        for (int64_t line = begin; line < end;) {
            const int64_t b = line / rows.outer, batch_end = std::min(end, (b + 1) * rows.outer);
            for (int64_t c = 0; c < rows.count; c += block) {
                const int64_t n = std::min(block, rows.count - c);
                if (!index.resolve(b * rows.count + c, n, row)) return false;
                for (int64_t l = line; l < batch_end; ++l)
                    apply({out + l * rows.data_rows * rows.width * target_size,
                           updates + (l * rows.count + c) * rows.width * combine.item_size,
                           visits ? visits + l * rows.data_rows : nullptr, row, n, rows.width},
                          share, combine);
            }
            line = batch_end;
        }
        return true;
    }
};

}  // namespace

bool scatter_rows(const Rows& rows, const Index& index, const std::byte* updates, std::byte* out,
                  const Combine& combine) {
    const int64_t lines = rows.batch * rows.outer, row_size = rows.width * combine.item_size;
    if (lines * rows.count * row_size == 0) return index.check(rows.batch * rows.count);
    const auto walk = [&](std::byte* target, int64_t target_size, int64_t* visits) {
        const Scatter scatter{rows, index, updates, target, visits, combine, target_size, applier(combine, rows.width)};
        // A thread owns destinations, never updates: the result does not depend on how many there are.
        const Share all{0, rows.data_rows, 0, rows.width};
        const Work work{lines * rows.count, row_size};
        const int64_t line_elements = std::max<int64_t>(64 / target_size, 1);  // in a cache line
        const int64_t columns = (rows.width + line_elements - 1) / line_elements;
        std::atomic<bool> good = true;
        const auto keep = [&](bool ok) {
            if (!ok) good = false;
        };
        if (lines >= num_threads())
            for_ranges(lines, work, [&](int64_t begin, int64_t end) { keep(scatter.part(begin, end, all)); });
        else if (columns >= 16 * num_threads() && !visits)  // a visit counts for the whole row
            for_ranges(columns, work, [&](int64_t begin, int64_t end) {
                keep(scatter.part(
                    0, lines, {0, rows.data_rows, begin * line_elements, std::min(end * line_elements, rows.width)}));
            });
        else if (row_size < 64 && lines * rows.data_rows * rows.width * target_size < cached_bytes)
            keep(scatter.part(0, lines, all));
        else
            for_ranges(rows.data_rows, work,
                       [&](int64_t begin, int64_t end) { keep(scatter.part(0, lines, {begin, end, 0, rows.width})); });
        return good.load();
    };
    return scatter_around(combine, lines * rows.data_rows, rows.width, out, walk);
}

}  // namespace gs
