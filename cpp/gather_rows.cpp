// out[b, o, c, :] = data[b, o, row(b, c), :]
#include <atomic>

#include "parallel.hpp"
#include "row_moves.hpp"

namespace gs {
namespace {

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
    const bool far = rows.data_rows * row_size > near_bytes;
    const Gather gather{rows, index, data, out, row_size, copier(row_size, index.may_skip(), far)};
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
