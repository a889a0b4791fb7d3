// out[t] = f(out[t], updates[p]), where t is p with the index at p in place of its axis coordinate; p in row-major
// order
#include <atomic>

#include "accumulate.hpp"
#include "lane_walk.hpp"
#include "parallel.hpp"
#include "row_moves.hpp"

namespace gs {

bool scatter_lanes(const Lanes& lanes, const Index& index, const std::byte* updates, std::byte* out,
                   const Combine& combine) {
    if (lanes.elements == 0) return true;
    const Box box(lanes);
    const auto scatter = [&](std::byte* target, int64_t target_size, int64_t* visits) {
        // A thread owns destinations, never updates: the result does not depend on how many there are. Elements that
        // it does not own have place -1, which is in nobody's share.
        const bool by_position =
            box.groups < num_threads() && !box.has_after && lanes.data_elements * target_size >= cached_bytes;
        const ApplyRows apply = applier(combine, 1, !by_position && !visits && !index.may_skip());
        const Share everything{0, lanes.data_elements, 0, 1};
        const auto apply_places = [&](int64_t first, int64_t n, const int64_t* places) {
            apply({target, updates + first * combine.item_size, visits, places, n, 1}, everything, combine);
        };
        const Work work{lanes.elements, combine.item_size};
        const int64_t tile = tile_columns(box, target_size), group = lanes.elements / box.groups;
        std::atomic<bool> good = true;
        const auto keep = [&](bool ok) {
            if (!ok) good = false;
        };
        if (box.groups >= num_threads())
            for_ranges(box.groups, work, [&](int64_t begin, int64_t end) {
                keep(tile ? walk_columns(box, index, begin, end, 0, box.columns, tile, apply_places)
                          : walk_elements(box, index, begin * group, end * group, 0, lanes.size, apply_places));
            });
        else if (box.has_after && box.columns >= 32 * num_threads())
            for_ranges(box.columns, work, [&](int64_t begin, int64_t end) {
                keep(walk_columns(box, index, 0, box.groups, begin, end, tile ? tile : block, apply_places));
            });
        else if (by_position)
            for_ranges(lanes.size, work, [&](int64_t begin, int64_t end) {
                keep(walk_elements(box, index, 0, lanes.elements, begin, end, apply_places));
            });
        else
            keep(walk_elements(box, index, 0, lanes.elements, 0, lanes.size, apply_places));
        return good.load();
    };
    return scatter_around(combine, lanes.data_elements, 1, out, scatter);
}

}  // namespace gs
