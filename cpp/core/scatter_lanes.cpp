// out[t] = f(out[t], updates[p]), where t is p with the index at p instead of its axis coordinate; p in row-major
// order
#include <atomic>

#include "accumulate.hpp"
#include "kernels.hpp"
#include "lane_walk.hpp"
#include "parallel.hpp"
#include "row_moves.hpp"

namespace gs {
namespace {

struct Move {
    std::byte* target;
    int64_t target_size;
    const std::byte* updates;
    int64_t* visits;
    const Combine& combine;
    ApplyRows apply, apply_or_skip, apply_rows;
    bool accepts_rows, prefetch_elements, prefetch_rows;

    void elements(Run run) const {
        flatten(run);
        (run.rows.skips ? apply_or_skip : apply)(
            {target + run.base * target_size, updates + run.element * combine.item_size,
             visits ? visits + run.base : nullptr, run.rows, 1, 1, prefetch_elements},
            Share::all(1), combine);
    }

    void rows(int64_t element, const RowNumbers& rows, int64_t columns) const {
        apply_rows(
            {target, updates + element * combine.item_size, nullptr, rows, columns, 1, prefetch_rows, prefetch_rows},
            Share::all(columns), combine);
    }
};

// Scatters part of a box along the last axis. The target of each row of the box is one line of the destination.
bool scatter_lines(const Box& box, const Part& part, const ElementScatter& elements, const Move& move) {
    RowCounter row(box, part.first_row);
    for (int64_t r = part.first_row; r < part.last_row; ++r, row.advance())
        if (!elements.scatter(r * box.columns, box.columns, move.target + row.base() * move.target_size,
                              move.updates + r * box.columns * move.combine.item_size,
                              move.visits ? move.visits + row.base() : nullptr))
            return false;
    return true;
}

}  // namespace

bool scatter_lanes(const Lanes& lanes, const Index& index, const Route& route, const std::byte* updates, std::byte* out,
                   const Combine& combine) {
    if (lanes.elements == 0) return true;
    const Box box(lanes);
    const auto scatter = [&](std::byte* target, int64_t target_size, int64_t* visits, const Combine& how) {
        const ApplyOptions options{true, visits != nullptr, route.prefetch_set};
        const Move move{target,
                        target_size,
                        updates,
                        visits,
                        how,
                        applier(how, 1, options),
                        applier(how, 1, {false, visits != nullptr}),
                        applier(how, 2, {false, false}),
                        !visits,
                        route.prefetch || visits,
                        lanes.data_elements * target_size > core_cache_bytes};
        const ElementScatter elements(index, how, options, route.spread);
        const bool along_lines =
            elements && !box.has_after && lanes.stride == 1 && !route.prefetch && box.columns >= min_line_elements;
        std::atomic<bool> good = true;
        const auto visit = [&](const Part& part) {
            const bool whole =
                along_lines ? scatter_lines(box, part, elements, move) : walk(box, index, part, route, move);
            if (!whole) good = false;
        };
        // Each thread owns destinations, never updates. So the result does not depend on the number of threads.
        if (route.split == Split::lines)
            for_parts(box.groups, route.threads,
                      [&](int64_t begin, int64_t end) { visit({begin * box.rows, end * box.rows, 0, box.columns}); });
        else if (route.split == Split::columns)
            for_parts(box.columns, route.threads,
                      [&](int64_t begin, int64_t end) { visit({0, box.all_rows(), begin, end}); });
        else
            visit({0, box.all_rows(), 0, box.columns});
        return good.load();
    };
    return scatter_with_accumulators(combine, lanes.data_elements, 1, out, scatter);
}

}  // namespace gs
