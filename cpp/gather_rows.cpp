// out[b, o, c, :] = data[b, o, row(b, c), :]
#include <atomic>

#include "parallel.hpp"
#include "row_moves.hpp"

namespace gs {
namespace {

struct Gather {
    const Rows& rows;
    const Index& index;
    const Layout& layout;
    const std::byte* data;
    std::byte* out;
    int64_t row_size;
    CopyRows copy;

    // Copies rows piece by piece, the same piece of all of them in a row.
    void copy_pieces(std::byte* to, const std::byte* from, const RowNumbers& rows_to_copy) const {
        const Shape &pieces = layout.pieces, &strides = layout.piece_stride;
        int64_t at[max_rank] = {};
        for (int64_t offset = 0; offset < row_size; offset += layout.piece_size) {
            copy(to + offset, row_size, {from, layout.row_stride, 0}, rows_to_copy, layout.piece_size);
            for (int d = pieces.rank - 1; d >= 0; --d) {
                from += strides[d];
                if (++at[d] < pieces[d]) break;
                from -= pieces[d] * strides[d];
                at[d] = 0;
            }
        }
    }

    // The part of the output with lines [first_line, last_line) of batch and outer, and tuples [begin, end).
    bool part(int64_t first_line, int64_t last_line, int64_t begin, int64_t end) const {
        int64_t row[block + lookahead];
        RowNumbers numbers{row, 0, 0};
        for (int64_t line = first_line; line < last_line;) {
            const int64_t b = line / rows.outer, batch_end = std::min(last_line, (b + 1) * rows.outer);
            for (int64_t c = begin; c < end; c += numbers.n) {
                if (!index.next_block(b * rows.count + c, b * rows.count + end, numbers)) return false;
                for (int64_t l = line; l < batch_end; ++l)
                    copy_pieces(out + (l * rows.count + c) * row_size,
                                data + b * layout.batch_stride + (l - b * rows.outer) * layout.outer_stride, numbers);
            }
            line = batch_end;
        }
        return true;
    }
};

}  // namespace

bool gather_rows(const Rows& rows, const Index& index, const Layout& layout, const std::byte* data, std::byte* out,
                 int64_t item_size) {
    const int64_t lines = rows.batch * rows.outer, row_size = rows.width * item_size;
    if (lines * rows.count * row_size == 0) return index.check(rows.batch * rows.count);
    const bool far = rows.data_rows * row_size > far_bytes;
    const bool packed = layout.piece_size == row_size && layout.row_stride == row_size;
    const Gather gather{
        rows, index, layout, data, out, row_size, copier(layout.piece_size, packed, index.may_skip(), far)};
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
