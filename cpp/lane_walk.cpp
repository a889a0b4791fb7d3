#include "lane_walk.hpp"

#include "machine.hpp"

namespace gs {

GS_CLONES void to_places(int64_t* positions, const Run& run, int64_t stride, int64_t first, int64_t last) {
    const int64_t base = run.base, step = run.step, length = run.length;
    const auto place = [=](int64_t position, int64_t offset) {
        return position >= first && position < last ? base + offset : -1;
    };
    if (stride == 1 && step == 0)  // along the last axis; a product of 64 bits costs as much as all the rest
        for (int64_t j = 0; j < length; ++j) positions[j] = place(positions[j], positions[j]);
    else
        for (int64_t j = 0; j < length; ++j) positions[j] = place(positions[j], positions[j] * stride + j * step);
}

}  // namespace gs
