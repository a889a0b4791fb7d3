#include "lane_walk.hpp"

#include "machine.hpp"

namespace gs {
namespace {

GS_INTEGER_CLONES void flatten(int64_t* position, int64_t n, int64_t stride, int64_t step) {
    for (int64_t i = 0; i < n; ++i) position[i] = position[i] < 0 ? -1 : position[i] * stride + i * step;
}

}  // namespace

void flatten(Run& run) {
    if (run.stride != 1 || run.step != 0) flatten(run.rows.row, run.rows.known, run.stride, run.step);
    run.stride = 1;
    run.step = 0;
}

}  // namespace gs
