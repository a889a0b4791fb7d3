#include <algorithm>
#include <cstring>

#include "machine.hpp"
#include "row_moves.hpp"

namespace gs {
namespace {

// How many rows ahead memory is asked for.
constexpr int64_t small_ahead = 32, large_ahead = 8;

template <int64_t size, bool may_skip, bool far>
GS_CLONES void copy_small(std::byte* out, const std::byte* data, const int64_t* rows, int64_t n, int64_t) {
    for (int64_t i = 0; i < n; ++i) {
        if constexpr (far) prefetch(data + rows[std::min(i + small_ahead, n - 1)] * size);
        if (!may_skip || rows[i] >= 0)
            std::memcpy(out + i * size, data + rows[i] * size, size);
        else
            std::memset(out + i * size, 0, size);
    }
}

void copy_large(std::byte* out, const std::byte* data, const int64_t* rows, int64_t n, int64_t row_size) {
    const size_t size = static_cast<size_t>(row_size);
    for (int64_t i = 0; i < n; ++i) {
        const std::byte* next = data + rows[std::min(i + large_ahead, n - 1)] * row_size;
        for (int64_t line = 0; line < std::min<int64_t>(row_size, 512); line += 64) prefetch(next + line);
        if (rows[i] >= 0)
            std::memcpy(out + i * row_size, data + rows[i] * row_size, size);
        else
            std::memset(out + i * row_size, 0, size);
    }
}

template <bool may_skip, bool far>
CopyRows copier(int64_t row_size) {
    switch (row_size) {
        case 1: return copy_small<1, may_skip, far>;
        case 2: return copy_small<2, may_skip, far>;
        case 4: return copy_small<4, may_skip, far>;
        case 8: return copy_small<8, may_skip, far>;
        case 16: return copy_small<16, may_skip, far>;
        default: return copy_large;
    }
}

}  // namespace

CopyRows copier(int64_t row_size, bool may_skip, bool far) {
    if (may_skip) return far ? copier<true, true>(row_size) : copier<true, false>(row_size);
    return far ? copier<false, true>(row_size) : copier<false, false>(row_size);
}

}  // namespace gs
