#include <algorithm>
#include <cstring>

#include "machine.hpp"
#include "row_moves.hpp"

namespace gs {
namespace {

// `packed`: both the rows and their copies are contiguous.
template <int64_t size, bool may_skip, bool use_prefetch, bool packed>
void copy_small(std::byte* out, int64_t out_stride, const Source& source, const RowNumbers& numbers, int64_t) {
    const std::byte* const data = source.data;
    const int64_t stride = packed ? size : source.stride, step = packed ? 0 : source.step;
    if (packed) out_stride = size;
    const int64_t *const rows = numbers.row, n = numbers.n;
    GS_UNROLL
    for (int64_t i = 0; i < n; ++i) {
        if constexpr (use_prefetch) {
            const int64_t next = std::min(i + lookahead, numbers.known - 1);
            prefetch(data + rows[next] * stride + next * step);
        }
        if (!may_skip || rows[i] >= 0)
            std::memcpy(out + i * out_stride, data + rows[i] * stride + i * step, size);
        else
            std::memset(out + i * out_stride, 0, size);
    }
}

template <bool use_prefetch, bool use_stream>
GS_LOOP void copy_large(std::byte* out, int64_t out_stride, const Source& source, const RowNumbers& numbers,
                        int64_t row_size) {
    const int64_t *const rows = numbers.row, n = numbers.n, ahead = row_lookahead(row_size);
    for (int64_t i = 0; i < n; ++i) {
        if constexpr (use_prefetch) {
            const int64_t next = std::min(i + ahead, numbers.known - 1);
            prefetch_row(source.data + rows[next] * source.stride + next * source.step, row_size);
        }
        std::byte* const to = out + i * out_stride;
        if (rows[i] < 0) {
            std::memset(to, 0, static_cast<size_t>(row_size));
            continue;
        }
        const std::byte* const from = source.data + rows[i] * source.stride + i * source.step;
        if (use_stream)
            stream_packed_row(to, from, row_size);
        else
            copy_row(to, from, row_size);
    }
}

template <bool may_skip, bool use_prefetch, bool packed>
CopyRows small_copier(int64_t row_size) {
    switch (row_size) {
        case 1: return copy_small<1, may_skip, use_prefetch, packed>;
        case 2: return copy_small<2, may_skip, use_prefetch, packed>;
        case 4: return copy_small<4, may_skip, use_prefetch, packed>;
        case 8: return copy_small<8, may_skip, use_prefetch, packed>;
        case 16: return copy_small<16, may_skip, use_prefetch, packed>;
        default: return version<copy_large<use_prefetch, false>>();
    }
}

template <bool may_skip, bool use_prefetch>
CopyRows small_copier(int64_t row_size, bool packed) {
    return packed ? small_copier<may_skip, use_prefetch, true>(row_size)
                  : small_copier<may_skip, use_prefetch, false>(row_size);
}

// Compilers vectorize loops with a constant step.
template <int64_t size>
GS_LOOP void copy_spaced(std::byte* to, const std::byte* from, int64_t step, int64_t n, int64_t) {
    const auto copy = [=](int64_t constant) {
        for (int64_t i = 0; i < n; ++i) std::memcpy(to + i * size, from + i * constant, size);
    };
    if (step == -size)
        copy(-size);
    else
        copy(step);
}

// The same for one piece that is repeated.
template <int64_t size>
GS_LOOP void repeat_piece(std::byte* to, const std::byte* from, int64_t, int64_t n, int64_t) {
    std::byte piece[size];
    std::memcpy(piece, from, size);
    for (int64_t i = 0; i < n; ++i) std::memcpy(to + i * size, piece, size);
}

void copy_spaced_rows(std::byte* to, const std::byte* from, int64_t step, int64_t n, int64_t size) {
    for (int64_t i = 0; i < n; ++i) copy_row(to + i * size, from + i * step, size);
}

}  // namespace

CopySpaced spaced_copier(int64_t size, int64_t step) {
    switch (size) {
        case 1: return step == 0 ? version<repeat_piece<1>>() : version<copy_spaced<1>>();
        case 2: return step == 0 ? version<repeat_piece<2>>() : version<copy_spaced<2>>();
        case 4: return step == 0 ? version<repeat_piece<4>>() : version<copy_spaced<4>>();
        case 8: return step == 0 ? version<repeat_piece<8>>() : version<copy_spaced<8>>();
        case 16: return step == 0 ? version<repeat_piece<16>>() : version<copy_spaced<16>>();
        default: return copy_spaced_rows;
    }
}

CopyRows copier(int64_t row_size, const CopyOptions& options) {
    const auto [packed, may_skip, use_prefetch, use_stream] = options;
    if (use_stream && row_size % stream_unit == 0)
        return use_prefetch ? version<copy_large<true, true>>() : version<copy_large<false, true>>();
    if (may_skip)
        return use_prefetch ? small_copier<true, true>(row_size, packed) : small_copier<true, false>(row_size, packed);
    return use_prefetch ? small_copier<false, true>(row_size, packed) : small_copier<false, false>(row_size, packed);
}

}  // namespace gs
