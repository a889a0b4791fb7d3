// out[p] = data[p with the index at p instead of its axis coordinate]
#include <atomic>

#include "kernels.hpp"
#include "lane_walk.hpp"
#include "parallel.hpp"
#include "row_moves.hpp"

namespace gs {
namespace {

struct Move {
    const std::byte* data;
    std::byte* out;
    int64_t item_size;
    bool may_skip;
    CopyRows copy_packed, copy;
    static constexpr bool accepts_rows = true;

    void elements(const Run& run) const {
        const bool packed = run.stride == 1 && run.step == 0;
        const Source source{data + run.base * item_size, run.stride * item_size, run.step * item_size};
        (packed ? copy_packed : copy)(out + run.element * item_size, item_size, source, run.rows, item_size);
    }

    void rows(int64_t element, const RowNumbers& rows, int64_t columns) const {
        const int64_t row_size = columns * item_size;
        copier(row_size, {false, may_skip, true, false})(out + element * item_size, row_size, {data, item_size, 0},
                                                         rows, row_size);
    }
};

// Gathers part of a box along the last axis. Each row of the box reads one line of data.
bool gather_lines(const Box& box, const Index& index, const Part& part, const ElementMover& mover,
                  const std::byte* data, std::byte* out, int64_t item_size) {
    RowCounter row(box, part.first_row);
    for (int64_t r = part.first_row; r < part.last_row; ++r, row.advance())
        for (int64_t column = part.begin; column < part.end; column += gathered_at_once) {
            const int64_t element = r * box.columns + column, n = std::min(gathered_at_once, part.end - column);
            if (!index.gather(mover, element, n, data + row.base() * item_size, out + element * item_size))
                return false;
        }
    return true;
}

}  // namespace

bool gather_lanes(const Lanes& lanes, const Index& index, const Route& route, const std::byte* data, std::byte* out,
                  int64_t item_size) {
    if (lanes.elements == 0) return true;
    const Box box(lanes);
    const Move move{data,
                    out,
                    item_size,
                    index.may_skip(),
                    copier(item_size, {true, index.may_skip(), route.prefetch, false}),
                    copier(item_size, {false, index.may_skip(), route.prefetch, false})};
    const bool stream = route.streams_to(out);
    std::atomic<bool> good = true;
    const ElementMover mover = gathers_lines(box, item_size) ? index.element_mover(item_size, lanes.stride * item_size,
                                                                                   route.prefetch, route.spread, stream)
                                                             : ElementMover{};
    const auto visit = [&](const Part& part) {
        const bool whole =
            mover ? gather_lines(box, index, part, mover, data, out, item_size) : walk(box, index, part, route, move);
        if (stream) end_stream();
        if (!whole) good = false;
    };
    switch (route.split) {
        case Split::lines:
            for_parts(box.groups, route.threads,
                      [&](int64_t begin, int64_t end) { visit({begin * box.rows, end * box.rows, 0, box.columns}); });
            break;
        case Split::tuples:
            for_parts(
                box.all_rows(), route.threads, [&](int64_t begin, int64_t end) { visit({begin, end, 0, box.columns}); },
                4);
            break;
        case Split::columns:
            for_parts(box.columns, route.threads,
                      [&](int64_t begin, int64_t end) { visit({0, box.all_rows(), begin, end}); });
            break;
        default: visit({0, box.all_rows(), 0, box.columns});
    }
    return good;
}

}  // namespace gs
