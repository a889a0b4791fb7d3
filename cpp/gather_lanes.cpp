// out[p] = data[p with the index at p in place of its axis coordinate]
#include <atomic>
#include <cstring>

#include "kernels.hpp"
#include "lane_walk.hpp"
#include "parallel.hpp"

namespace gs {
namespace {

// Copies one run; position -1 gives zeros.
using CopyRun = void (*)(std::byte* out, const std::byte* data, const int64_t* positions, const Run&, int64_t stride,
                         int64_t item_size);

template <int64_t fixed_size>
void copy_run(std::byte* out, const std::byte* data, const int64_t* positions, const Run& run, int64_t stride,
              int64_t item_size) {
    const int64_t size = fixed_size > 0 ? fixed_size : item_size;
    for (int64_t j = 0; j < run.length; ++j) {
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
    const CopyRun copy = copier(item_size);
    std::atomic<bool> good = true;
    for_ranges(lanes.elements, {lanes.elements, item_size}, [&](int64_t begin, int64_t end) {
        LaneWalk walk(lanes, begin);
        int64_t positions[block];
        for (int64_t first = begin; first < end; first += block) {
            const int64_t n = std::min(block, end - first);
            if (!index.resolve(first, n, positions)) {
                good = false;
                return;
            }
            for (int64_t done = 0; done < n;) {
                const Run run = walk.next(n - done);
                copy(out + (first + done) * item_size, data, positions + done, run, lanes.stride, item_size);
                done += run.length;
            }
        }
    });
    return good;
}

}  // namespace gs
