#include "lane_walk.hpp"

#include "machine.hpp"

namespace gs {

namespace {

GS_LOOP void flatten_positions(int64_t* position, int64_t n, int64_t base, int64_t stride, int64_t step) {
    for (int64_t i = 0; i < n; ++i) position[i] = position[i] < 0 ? -1 : base + position[i] * stride + i * step;
}

}  // namespace

void flatten(int64_t* position, int64_t n, int64_t base, int64_t stride, int64_t step) {
    version<flatten_positions>()(position, n, base, stride, step);
}

bool are_uniform(const int64_t* positions, int64_t n, int64_t columns) {
    if (columns < min_uniform_columns) return false;
    for (const int64_t *row = positions, *end = positions + n * columns; row < end; row += columns) {
        if (row[0] != row[columns - 1]) return false;  // rows that differ nearly always fail this check
        int64_t different = 0;
        for (int64_t j = 1; j < columns; ++j) different |= row[j] ^ row[0];
        if (different) return false;
    }
    return true;
}

void flatten(Run& run) {
    if (run.stride != 1 || run.step != 0) flatten(run.rows.row, run.rows.known, 0, run.stride, run.step);
    run.stride = 1;
    run.step = 0;
}

}  // namespace gs
