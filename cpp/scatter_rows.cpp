// out[b, o, row(b, c), :] = f(out[b, o, row(b, c), :], updates[b, o, c, :]), c ascending
#include <atomic>

#include "accumulate.hpp"
#include "parallel.hpp"
#include "row_moves.hpp"

namespace gs {
namespace {

struct Scatter {
    const Rows& rows;
    const Index& index;
    const std::byte* updates;
    std::byte* out;
    int64_t* visits;
    const Combine& combine;
    int64_t target_size;  // of an element of out, which may be an accumulator
    ApplyRows apply_all, apply_own;

    Share all() const { return {0, rows.data_rows, 0, rows.width}; }

    // The lines [begin, end) of batch and outer, as far as they are in the share.
    bool part(int64_t begin, int64_t end, const Share& share) const {
        const ApplyRows apply = share == all() ? apply_all : apply_own;
        int64_t row[block + lookahead];
        RowNumbers numbers{row, 0, 0};
        for (int64_t line = begin; line < end;) {
            const int64_t b = line / rows.outer, batch_end = std::min(end, (b + 1) * rows.outer);
            for (int64_t first = line; first < batch_end; first += lines_together(rows.count)) {
                const int64_t last = std::min(first + lines_together(rows.count), batch_end);
                for (int64_t c = 0; c < rows.count; c += numbers.n) {
                    if (!index.next_block(b * rows.count + c, (b + 1) * rows.count, numbers)) return false;
                    for (int64_t l = first; l < last; ++l)
                        apply({out + l * rows.data_rows * rows.width * target_size,
                               updates + (l * rows.count + c) * rows.width * combine.item_size,
                               visits ? visits + l * rows.data_rows : nullptr, numbers, rows.width, rows.width},
                              share, combine);
                }
            }
            line = batch_end;
        }
        return true;
    }
};

}  // namespace

bool scatter_rows(const Rows& rows, const Index& index, const std::byte* updates, std::byte* out,
                  const Combine& combine) {
    const int64_t lines = rows.batch * rows.outer, row_size = rows.width * combine.item_size;
    const bool nothing = lines * rows.count * row_size == 0 || rows.data_rows == 0;
    if (nothing) return index.check(rows.batch * rows.count);  // an index can be bad all the same
    const auto walk = [&](std::byte* target, int64_t target_size, int64_t* visits) {
        const bool whole = !visits && !index.may_skip(), far = rows.data_rows * target_size > far_bytes;
        const Scatter scatter{rows,
                              index,
                              updates,
                              target,
                              visits,
                              combine,
                              target_size,
                              applier(combine, rows.width, whole, far),
                              applier(combine, rows.width, false, far)};
        // A thread owns destinations, never updates: the result does not depend on how many there are.
        const Work work{lines * rows.count, row_size};
        const int64_t line_elements = std::max<int64_t>(64 / target_size, 1);  // in a cache line
        const int64_t columns = (rows.width + line_elements - 1) / line_elements;
        std::atomic<bool> good = true;
        const auto keep = [&](bool ok) {
            if (!ok) good = false;
        };
        if (lines >= num_threads())
            for_ranges(lines, work, [&](int64_t begin, int64_t end) { keep(scatter.part(begin, end, scatter.all())); });
        else if (columns >= 16 * num_threads() && !visits)  // a visit counts for the whole row
            for_ranges(columns, work, [&](int64_t begin, int64_t end) {
                keep(scatter.part(
                    0, lines, {0, rows.data_rows, begin * line_elements, std::min(end * line_elements, rows.width)}));
            });
        else if (row_size < 64 && lines * rows.data_rows * rows.width * target_size < cached_bytes)
            keep(scatter.part(0, lines, scatter.all()));
        else
            for_ranges(rows.data_rows, work,
                       [&](int64_t begin, int64_t end) { keep(scatter.part(0, lines, {begin, end, 0, rows.width})); });
        return good.load();
    };
    return scatter_around(combine, lines * rows.data_rows, rows.width, out, walk);
}

}  // namespace gs
