// out[b, o, c, :] = data[b, o, row(b, c), :]
#include <atomic>
#include <cstdlib>
#include <cstring>

#include "kernels.hpp"
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
    int64_t row_size, prefetch_distance;
    CopyRows copy;
    CopySpaced copy_spaced;      // of the pieces of a row, if it has several
    ElementMover move_elements;  // of rows of one element, or none

    // Copies the rows of one block of one line. These functions return false if the call has to stop.
    bool copy_line(std::byte* to, const std::byte* from, const RowNumbers& numbers) const {
        if (layout.pieces.rank == 0) return copy_rows(to, from, numbers, row_size);
        const int64_t step = layout.piece_stride[layout.pieces.rank - 1];
        const bool one_element = layout.pieces.rank == 1 && step == 0 && layout.row_stride == 0 && !numbers.skips;
        if (one_element && numbers.n * row_size <= wide_bytes) {
            copy_spaced(to, from, 0, numbers.n * layout.pieces[0], layout.piece_size);
            return true;
        }
        const bool near_pieces = step == 0 || layout.row_stride == 0 || std::abs(step) < std::abs(layout.row_stride);
        return near_pieces ? copy_by_row(to, from, numbers) : copy_by_piece(to, from, numbers);
    }

    // Copies the same `size` bytes of each row. They are contiguous.
    bool copy_rows(std::byte* to, const std::byte* from, const RowNumbers& numbers, int64_t size) const {
        if (numbers.n * size <= wide_bytes) {
            copy(to, row_size, {from, layout.row_stride, 0}, numbers, size);
            return true;
        }
        for (int64_t i = 0; i < numbers.n; ++i) {
            if (should_stop_now()) return false;
            const bool whole = in_pieces(0, size, 1, [&](int64_t begin, int64_t end) {
                copy(to + i * row_size + begin, row_size, {from + begin, layout.row_stride, 0}, {numbers.row + i, 1, 1},
                     end - begin);
            });
            if (!whole) return false;
        }
        return true;
    }

    // Copies pieces row by row: all pieces of a row, then the next row.
    bool copy_by_row(std::byte* to, const std::byte* from, const RowNumbers& numbers) const {
        const bool wide = numbers.n * row_size > wide_bytes;
        // The pieces of the outermost dim can be in descending order, or be the same piece.
        const int64_t last_piece = (layout.pieces[0] - 1) * layout.piece_stride[0],
                      first_byte = std::min<int64_t>(last_piece, 0), length = std::abs(last_piece) + layout.piece_size,
                      ahead = row_lookahead(length);
        for (int64_t i = 0; i < numbers.n; ++i) {
            const int64_t row = numbers.row[i], next = numbers.row[std::min(i + ahead, numbers.known - 1)];
            prefetch_row(from + next * layout.row_stride + first_byte, length);
            std::byte* const row_out = to + i * row_size;
            if (wide && should_stop_now()) return false;
            if (row < 0)
                std::memset(row_out, 0, static_cast<size_t>(row_size));
            else if (!copy_pieces_of_row(row_out, from + row * layout.row_stride, wide))
                return false;
        }
        return true;
    }

    bool copy_pieces_of_row(std::byte* to, const std::byte* from, bool wide) const {
        const Shape &pieces = layout.pieces, &strides = layout.piece_stride;
        const int inner = pieces.rank - 1;
        const int64_t size = layout.piece_size, step = strides[inner], line_bytes = pieces[inner] * size;
        const auto copy_line_part = [&](int64_t begin, int64_t end) {
            copy_spaced(to + begin * size, from + begin * step, step, end - begin, size);
        };
        int64_t at[max_rank];
        std::fill_n(at, inner, 0);
        for (int64_t offset = 0; offset < row_size; offset += line_bytes, to += line_bytes) {
            if (!wide)
                copy_line_part(0, pieces[inner]);
            else if (!in_pieces(0, pieces[inner], size, copy_line_part) || should_stop())
                return false;
            for (int d = inner - 1; d >= 0; --d) {
                from += strides[d];
                if (++at[d] < pieces[d]) break;
                from -= pieces[d] * strides[d];
                at[d] = 0;
            }
        }
        return true;
    }

    // Copies pieces piece by piece: the same piece of all rows, then the next piece.
    bool copy_by_piece(std::byte* to, const std::byte* from, const RowNumbers& numbers) const {
        const Shape &pieces = layout.pieces, &strides = layout.piece_stride;
        int64_t at[max_rank];
        std::fill_n(at, pieces.rank, 0);
        int64_t copied = 0;
        for (int64_t offset = 0; offset < row_size; offset += layout.piece_size) {
            if (!copy_rows(to + offset, from, numbers, layout.piece_size)) return false;
            copied += numbers.n * layout.piece_size;
            if (copied > piece_bytes) {
                if (should_stop_now()) return false;
                copied = 0;
            }
            for (int d = pieces.rank - 1; d >= 0; --d) {
                from += strides[d];
                if (++at[d] < pieces[d]) break;
                from -= pieces[d] * strides[d];
                at[d] = 0;
            }
        }
        return true;
    }

    // Gathers rows of one element with a single loop.
    bool part_of_elements(int64_t first_line, int64_t last_line, int64_t begin, int64_t end) const {
        for (int64_t line = first_line; line < last_line; ++line) {
            const int64_t b = line / rows.outer;
            const std::byte* const from =
                data + b * layout.batch_stride + (line - b * rows.outer) * layout.outer_stride;
            for (int64_t c = begin; c < end; c += gathered_at_once)
                if (!index.gather(move_elements, b * rows.count + c, std::min(gathered_at_once, end - c), from,
                                  out + (line * rows.count + c) * row_size))
                    return false;
        }
        return true;
    }

    // Gathers the short lines [first_line, last_line) of batch and outer. A block holds the tuples of several lines.
#if defined(__GNUC__)
    [[gnu::noinline]]
#endif
    bool part_of_short_lines(int64_t first_line, int64_t last_line) const {
        int64_t resolved_rows[block], row[block];
        RowNumbers resolved{resolved_rows, 0, 0};
        const int64_t n = rows.count, at_once = block / n;
        const int64_t batch_rows = layout.batch_stride / layout.row_stride,
                      outer_rows = layout.outer_stride / layout.row_stride;
        // Rows are counted from the line whose rows have the lowest numbers, because -1 means a skipped row.
        const int64_t lowest_batch = batch_rows < 0 ? rows.batch - 1 : 0,
                      lowest_outer = outer_rows < 0 ? rows.outer - 1 : 0;
        const std::byte* const from = data + lowest_batch * layout.batch_stride + lowest_outer * layout.outer_stride;
        for (int64_t first = first_line; first < last_line; first += at_once) {
            const int64_t last = std::min(first + at_once, last_line), first_batch = first / rows.outer;
            const int64_t batches = (last - 1) / rows.outer + 1 - first_batch;
            if (!index.resolve(first_batch * n, batches * n, resolved)) return false;
            int64_t b = first_batch, o = first - b * rows.outer;
            for (int64_t line = first, i = 0; line < last; ++line) {
                const int64_t base = (b - lowest_batch) * batch_rows + (o - lowest_outer) * outer_rows;
                for (int64_t c = 0; c < n; ++c, ++i) {
                    const int64_t position = resolved.row[(b - first_batch) * n + c];
                    row[i] = position < 0 ? -1 : base + position;
                }
                if (++o < rows.outer) continue;
                o = 0;
                ++b;
            }
            const int64_t m = (last - first) * n;
            if (!copy_line(out + first * n * row_size, from, {row, m, m, resolved.skips})) return false;
        }
        return true;
    }

    bool has_short_lines() const {
        return rows.count <= max_short_line && layout.row_stride != 0 && layout.batch_stride % layout.row_stride == 0 &&
               layout.outer_stride % layout.row_stride == 0;
    }

    // Gathers the lines [first_line, last_line) of batch and outer, and the tuples [begin, end).
    bool part(int64_t first_line, int64_t last_line, int64_t begin, int64_t end) const {
        if (move_elements) return part_of_elements(first_line, last_line, begin, end);
        if (last_line - first_line > 1 && end - begin == rows.count && has_short_lines())
            return part_of_short_lines(first_line, last_line);
        int64_t row[block + lookahead];
        RowNumbers numbers{row, 0, 0};
        for (int64_t line = first_line; line < last_line;) {
            const int64_t b = rows.outer == 1 ? line : line / rows.outer,
                          batch_end = std::min(last_line, (b + 1) * rows.outer);
            for (int64_t first = line; first < batch_end; first += lines_per_block(end - begin)) {
                const int64_t last = std::min(first + lines_per_block(end - begin), batch_end);
                for (int64_t c = begin; c < end; c += numbers.n) {
                    if (!index.next_block(b * rows.count + c, b * rows.count + end, prefetch_distance, numbers))
                        return false;
                    const auto copy_lines = [&](int64_t from, int64_t to) {
                        bool whole = true;
                        for (int64_t l = from; whole && l < to; ++l)
                            whole = copy_line(
                                out + (l * rows.count + c) * row_size,
                                data + b * layout.batch_stride + (l - b * rows.outer) * layout.outer_stride, numbers);
                        return whole;
                    };
                    if (!in_pieces(first, last, numbers.n * row_size, copy_lines)) return false;
                }
            }
            line = batch_end;
        }
        return true;
    }
};

}  // namespace

bool gather_rows(const Rows& rows, const Layout& layout, const Index& index, const Route& route, const std::byte* data,
                 std::byte* out, int64_t item_size) {
    const int64_t lines = rows.batch * rows.outer, row_size = rows.width * item_size;
    if (lines * rows.count * row_size == 0) return index.check(rows.batch * rows.count);
    const bool packed = layout.is_packed(row_size);
    const bool stream = route.streams_to(out);
    const Gather gather{rows,
                        index,
                        layout,
                        data,
                        out,
                        row_size,
                        route.prefetch_distance(),
                        copier(layout.piece_size, {packed, index.may_skip(), route.prefetch, stream}),
                        layout.pieces.rank == 0
                            ? CopySpaced{nullptr}
                            : spaced_copier(layout.piece_size, layout.piece_stride[layout.pieces.rank - 1]),
                        gathers_elements(rows, layout, row_size)
                            ? index.element_mover(row_size, layout.row_stride, route.prefetch, route.spread, stream)
                            : ElementMover{}};
    std::atomic<bool> good = true;
    const auto keep = [&](bool ok) {
        if (stream) end_stream();
        if (!ok) good = false;
    };
    const int parts_per_thread = 4;
    if (route.split == Split::lines)
        for_parts(
            lines, route.threads, [&](int64_t begin, int64_t end) { keep(gather.part(begin, end, 0, rows.count)); },
            parts_per_thread);
    else
        for_parts(
            rows.count, route.threads, [&](int64_t begin, int64_t end) { keep(gather.part(0, lines, begin, end)); },
            parts_per_thread);
    return good;
}

}  // namespace gs
