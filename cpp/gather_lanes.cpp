// out[p] = data[p with the index at p in place of its axis coordinate]
#include <atomic>

#include "lane_walk.hpp"
#include "parallel.hpp"
#include "row_moves.hpp"

namespace gs {

bool gather_lanes(const Lanes& lanes, const Index& index, const std::byte* data, std::byte* out, int64_t item_size) {
    if (lanes.elements == 0) return true;
    const Box box(lanes);
    const int64_t tile = tile_columns(box, item_size);
    const bool far = tile == 0 && lanes.data_elements / box.groups * item_size > near_bytes;
    const CopyRows copy = copier(item_size, index.may_skip(), far);
    const auto copy_places = [&](int64_t first, int64_t n, const int64_t* places) {
        copy(out + first * item_size, data, places, n, item_size);
    };
    const Work work{lanes.elements, item_size};
    std::atomic<bool> good = true;
    const auto keep = [&](bool ok) {
        if (!ok) good = false;
    };
    if (tile == 0)
        for_ranges(lanes.elements, work, [&](int64_t begin, int64_t end) {
            keep(walk_elements(box, index, begin, end, 0, lanes.size, copy_places));
        });
    else if (box.groups >= num_threads())
        for_ranges(box.groups, work, [&](int64_t begin, int64_t end) {
            keep(walk_columns(box, index, begin, end, 0, box.columns, tile, copy_places));
        });
    else
        for_ranges(box.columns, work, [&](int64_t begin, int64_t end) {
            keep(walk_columns(box, index, 0, box.groups, begin, end, tile, copy_places));
        });
    return good;
}

}  // namespace gs
