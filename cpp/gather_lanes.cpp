// out[p] = data[p with the index at p in place of its axis coordinate]
#include <atomic>
#include <cstring>

#include "kernels.hpp"
#include "lane_walk.hpp"
#include "machine.hpp"
#include "parallel.hpp"

namespace gs {
namespace {

// Copies one run; position -1 gives zeros.
using CopyRun = void (*)(std::byte* out, const std::byte* data, const int64_t* positions, const Run&, int64_t stride,
                         int64_t item_size);

constexpr int64_t ahead = 32;  // how many elements ahead memory is asked for what will be needed

template <int64_t fixed_size>
GS_CLONES void copy_run(std::byte* out, const std::byte* data, const int64_t* positions, const Run& run, int64_t stride,
                        int64_t item_size) {
    const int64_t size = fixed_size > 0 ? fixed_size : item_size;
    for (int64_t j = 0; j < run.length; ++j) {
        const int64_t next = std::min(j + ahead, run.length - 1);
        prefetch(data + (run.base + positions[next] * stride + next * run.step) * size);
        if (positions[j] >= 0)
            std::memcpy(out + j * size, data + (run.base + positions[j] * stride + j * run.step) * size,
                        static_cast<size_t>(size));
        else
            std::memset(out + j * size, 0, static_cast<size_t>(size));
    }
}

CopyRun copier(int64_t item_size) {
    switch (item_size) {
        case 1: return copy_run<1>;
        case 2: return copy_run<2>;
        case 4: return copy_run<4>;
        case 8: return copy_run<8>;
        case 16: return copy_run<16>;
        default: return copy_run<0>;
    }
}

}  // namespace

bool gather_lanes(const Lanes& lanes, const Index& index, const std::byte* data, std::byte* out, int64_t item_size) {
    if (lanes.elements == 0) return true;
    const Box box(lanes);
    const CopyRun copy = copier(item_size);
    const int64_t tile = tile_columns(box, item_size);
    const Work work{lanes.elements, item_size};
    std::atomic<bool> good = true;
    const auto part = [&](auto&& walk) {
        int64_t positions[block];
        const bool ok = walk([&](int64_t first, int64_t n) { return index.resolve(first, n, positions); },
                             [&](int64_t first, int64_t offset, const Run& run) {
                                 copy(out + first * item_size, data, positions + offset, run, lanes.stride, item_size);
                             });
        if (!ok) good = false;
    };
    if (tile == 0)
        for_ranges(lanes.elements, work, [&](int64_t begin, int64_t end) {
            part([&](auto&& resolve, auto&& apply) { return walk_elements(box, begin, end, resolve, apply); });
        });
    else if (box.groups >= num_threads())
        for_ranges(box.groups, work, [&](int64_t begin, int64_t end) {
            part([&](auto&& resolve, auto&& apply) {
                return walk_columns(box, begin, end, 0, box.columns, tile, resolve, apply);
            });
        });
    else
        for_ranges(box.columns, work, [&](int64_t begin, int64_t end) {
            part([&](auto&& resolve, auto&& apply) {
                return walk_columns(box, 0, box.groups, begin, end, tile, resolve, apply);
            });
        });
    return good;
}

}  // namespace gs
