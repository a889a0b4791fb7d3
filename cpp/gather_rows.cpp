// out[b, o, c, :] = data[b, o, row(b, c), :]
#include <atomic>
#include <cstring>

#include "kernels.hpp"
#include "machine.hpp"
#include "parallel.hpp"

namespace gs {
namespace {

// Copies rows into consecutive places; row -1 gives zeros.
using CopyRows = void (*)(std::byte* out, const std::byte* data, const int64_t* rows, int64_t n, int64_t row_size);

// How many rows ahead memory is asked for what will be needed.
constexpr int64_t small_ahead = 32, ahead = 8;

template <int64_t size>
GS_CLONES void copy_small_rows(std::byte* out, const std::byte* data, const int64_t* rows, int64_t n, int64_t) {
    for (int64_t i = 0; i < n; ++i) {
        prefetch(data + rows[std::min(i + small_ahead, n - 1)] * size);
        if (rows[i] >= 0)
            std::memcpy(out + i * size, data + rows[i] * size, size);
        else
            std::memset(out + i * size, 0, size);
    }
}

GS_CLONES void copy_rows(std::byte* out, const std::byte* data, const int64_t* rows, int64_t n, int64_t row_size) {
    for (int64_t i = 0; i < n; ++i) {
        const std::byte* next = data + rows[std::min(i + ahead, n - 1)] * row_size;
        for (int64_t line = 0; line < std::min<int64_t>(row_size, 512); line += 64) prefetch(next + line);
        if (rows[i] >= 0)
            std::memcpy(out + i * row_size, data + rows[i] * row_size, static_cast<size_t>(row_size));
        else
            std::memset(out + i * row_size, 0, static_cast<size_t>(row_size));
    }
}

CopyRows copier(int64_t row_size) {
    switch (row_size) {
        case 1: return copy_small_rows<1>;
        case 2: return copy_small_rows<2>;
        case 4: return copy_small_rows<4>;
        case 8: return copy_small_rows<8>;
        case 16: return copy_small_rows<16>;
        default: return copy_rows;
    }
}

struct Gather {
    const Rows& rows;
    const Index& index;
    const std::byte* data;
    std::byte* out;
    int64_t row_size;
    CopyRows copy;

    // The part of the output with lines [first_line, last_line) of batch and outer, and tuples [begin, end).
    bool part(int64_t first_line, int64_t last_line, int64_t begin, int64_t end) const {
        int64_t row[block];
        for (int64_t line = first_line; line < last_line;) {
            const int64_t b = line / rows.outer, batch_end = std::min(last_line, (b + 1) * rows.outer);
            for (int64_t c = begin; c < end; c += block) {
                const int64_t n = std::min(block, end - c);
                if (!index.resolve(b * rows.count + c, n, row)) return false;
                for (int64_t l = line; l < batch_end; ++l)
                    copy(out + (l * rows.count + c) * row_size, data + l * rows.data_rows * row_size, row, n, row_size);
            }
            line = batch_end;
        }
        return true;
    }
};

}  // namespace

bool gather_rows(const Rows& rows, const Index& index, const std::byte* data, std::byte* out, int64_t item_size) {
    const int64_t lines = rows.batch * rows.outer, row_size = rows.width * item_size;
    if (lines * rows.count * row_size == 0) return index.check(rows.batch * rows.count);
    const Gather gather{rows, index, data, out, row_size, copier(row_size)};
    std::atomic<bool> good = true;
    const auto keep = [&](bool ok) {
        if (!ok) good = false;
    };
    if (lines >= num_threads())
        for_ranges(lines, {lines, rows.count * row_size},
                   [&](int64_t begin, int64_t end) { keep(gather.part(begin, end, 0, rows.count)); });
    else
        for_ranges(rows.count, {rows.count, lines * row_size},
                   [&](int64_t begin, int64_t end) { keep(gather.part(0, lines, begin, end)); });
    return good;
}

}  // namespace gs
