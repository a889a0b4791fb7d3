// out[p] = data[p with the index at p in place of its axis coordinate]
#include <atomic>

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
    static constexpr bool takes_rows = true;

    void elements(const Run& run) const {
        const bool packed = run.stride == 1 && run.step == 0;
        const Source source{data + run.base * item_size, run.stride * item_size, run.step * item_size};
        (packed ? copy_packed : copy)(out + run.element * item_size, item_size, source, run.rows, item_size);
    }

    void rows(int64_t element, const RowNumbers& rows, int64_t columns) const {
        const int64_t row_size = columns * item_size;
        copier(row_size, false, may_skip, true)(out + element * item_size, row_size, {data, item_size, 0}, rows,
                                                row_size);
    }
};

}  // namespace

bool gather_lanes(const Lanes& lanes, const Index& index, const std::byte* data, std::byte* out, int64_t item_size) {
    if (lanes.elements == 0) return true;
    const Box box(lanes);
    const int64_t tile = tile_columns(box, item_size);
    const bool far = tile == 0 && lanes.data_elements / box.groups * item_size > far_bytes;
    const Move move{data,
                    out,
                    item_size,
                    index.may_skip(),
                    copier(item_size, true, index.may_skip(), far),
                    copier(item_size, false, index.may_skip(), far)};
    const Work work{lanes.elements, item_size};
    std::atomic<bool> good = true;
    const auto visit = [&](const Part& part) {
        if (!walk(box, index, part, tile, move)) good = false;
    };
    if (tile != 0 && box.groups >= num_threads())
        for_ranges(box.groups, work,
                   [&](int64_t begin, int64_t end) { visit({begin * box.rows, end * box.rows, 0, box.columns}); });
    else if (tile == 0 && box.all_rows() >= num_threads())
        for_ranges(box.all_rows(), work, [&](int64_t begin, int64_t end) { visit({begin, end, 0, box.columns}); });
    else
        for_ranges(box.columns, work, [&](int64_t begin, int64_t end) { visit({0, box.all_rows(), begin, end}); });
    return good;
}

}  // namespace gs
