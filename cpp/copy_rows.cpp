#include <algorithm>
#include <cstring>

#include "machine.hpp"
#include "row_moves.hpp"

namespace gs {
namespace {

constexpr int64_t large_ahead = 8;  // how many rows ahead the memory of large ones is asked for

// `packed`: rows and their copies lie one after the other.
template <int64_t size, bool may_skip, bool far, bool packed>
void copy_small(std::byte* out, int64_t out_stride, const Source& source, const RowNumbers& numbers, int64_t) {
    const std::byte* const data = source.data;
    const int64_t stride = packed ? size : source.stride, step = packed ? 0 : source.step;
    if (packed) out_stride = size;
    const int64_t *const rows = numbers.row, n = numbers.n;
    for (int64_t i = 0; i < n; ++i) {
        if constexpr (far) {
            const int64_t next = std::min(i + lookahead, numbers.known - 1);
            prefetch(data + rows[next] * stride + next * step);
        }
        if (!may_skip || rows[i] >= 0)
            std::memcpy(out + i * out_stride, data + rows[i] * stride + i * step, size);
        else
            std::memset(out + i * out_stride, 0, size);
    }
}

void copy_large(std::byte* out, int64_t out_stride, const Source& source, const RowNumbers& numbers, int64_t row_size) {
    const int64_t *const rows = numbers.row, n = numbers.n;
    const size_t size = static_cast<size_t>(row_size);
    for (int64_t i = 0; i < n; ++i) {
        const std::byte* next = source.data + rows[std::min(i + large_ahead, numbers.known - 1)] * source.stride;
        for (int64_t line = 0; line < std::min<int64_t>(row_size, 512); line += 64) prefetch(next + line);
        if (rows[i] >= 0)
            std::memcpy(out + i * out_stride, source.data + rows[i] * source.stride, size);
        else
            std::memset(out + i * out_stride, 0, size);
    }
}

template <bool may_skip, bool far, bool packed>
CopyRows copier(int64_t row_size) {
    switch (row_size) {
        case 1: return copy_small<1, may_skip, far, packed>;
        case 2: return copy_small<2, may_skip, far, packed>;
        case 4: return copy_small<4, may_skip, far, packed>;
        case 8: return copy_small<8, may_skip, far, packed>;
        case 16: return copy_small<16, may_skip, far, packed>;
        default: return copy_large;
    }
}

template <bool may_skip, bool far>
CopyRows copier(int64_t row_size, bool packed) {
    return packed ? copier<may_skip, far, true>(row_size) : copier<may_skip, far, false>(row_size);
}

}  // namespace

CopyRows copier(int64_t row_size, bool packed, bool may_skip, bool far) {
    if (may_skip) return far ? copier<true, true>(row_size, packed) : copier<true, false>(row_size, packed);
    return far ? copier<false, true>(row_size, packed) : copier<false, false>(row_size, packed);
}

}  // namespace gs
