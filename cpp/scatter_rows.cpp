// out[b, o, row(b, c), :] = f(out[b, o, row(b, c), :], updates[b, o, c, :]), c ascending
#include <atomic>

#include "accumulate.hpp"
#include "parallel.hpp"
#include "partition.hpp"
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
        for (int64_t line = begin; line < end;) {
            const int64_t b = line / rows.outer, batch_end = std::min(end, (b + 1) * rows.outer);
            for (int64_t first = line; first < batch_end; first += lines_together(rows.count)) {
                const int64_t last = std::min(first + lines_together(rows.count), batch_end);
                if (!stretch(first, last, 0, rows.count, apply, share)) return false;
            }
            line = batch_end;
        }
        return true;
    }

    // The tuples [begin, end) for some lines of one batch.
    bool stretch(int64_t first_line, int64_t last_line, int64_t begin, int64_t end, ApplyRows apply,
                 const Share& share) const {
        int64_t row[block + lookahead];
        RowNumbers numbers{row, 0, 0};
        const int64_t tuples = first_line / rows.outer * rows.count;
        for (int64_t c = begin; c < end; c += numbers.n) {
            if (!index.next_block(tuples + c, tuples + end, numbers)) return false;
            for (int64_t l = first_line; l < last_line; ++l)
                apply({out + l * rows.data_rows * rows.width * target_size,
                       updates + (l * rows.count + c) * rows.width * combine.item_size,
                       visits ? visits + l * rows.data_rows : nullptr, numbers, rows.width, rows.width},
                      share, combine);
        }
        return true;
    }

    // The only line, as far as it goes to the rows [first, last): spans tell which stretches do.
    bool ordered(const std::vector<Span>& spans, int64_t first, int64_t last) const {
        for (size_t s = 0; s < spans.size(); ++s) {
            if (spans[s].high < first || spans[s].low >= last) continue;
            const bool whole = spans[s].low >= first && spans[s].high < last;
            const int64_t begin = static_cast<int64_t>(s) * Span::tuples;
            if (!stretch(0, 1, begin, std::min(begin + Span::tuples, rows.count), whole ? apply_all : apply_own,
                         whole ? all() : Share{first, last, 0, rows.width}))
                return false;
        }
        return true;
    }

    // A line of rows of one element.
    bool by_owner(int64_t line, ApplyRows apply) const {
        std::byte* const to = out + line * rows.data_rows * target_size;
        int64_t* const counts = visits ? visits + line * rows.data_rows : nullptr;
        return deliver_by_owner(
            index, line / rows.outer * rows.count, rows.count, updates + line * rows.count * combine.item_size,
            combine.item_size, rows.data_rows,
            [&](const Parcel& parcel) { apply({to, parcel.elements, counts, parcel.rows, 1, 1}, all(), combine); });
    }
};

// Wide rows are divided into columns of this many bytes: two lines of cache, which processors fetch together.
constexpr int64_t column_size = 128;

enum class Split { nothing, lines, ordered, columns, rows, elements };

// Who owns what. A thread owns destinations, never updates: the result does not depend on how many there are.
Split split(const Rows& rows, int64_t target_size, bool computes, bool counted, bool ordered, const Work& work) {
    const int threads = threads_for(work);
    const int64_t row_size = rows.width * target_size;
    const bool far = rows.data_rows * row_size > far_bytes;
    if (threads == 1) return Split::nothing;
    if (rows.batch * rows.outer >= threads) return Split::lines;
    if (ordered) return Split::ordered;
    // Columns let threads read whole stretches of the updates, but each must look at all indices. A visit counts for
    // the whole row.
    const int64_t columns = row_size / column_size;
    if (columns >= (computes ? 8 : 1) * threads && !counted) return Split::columns;
    if (rows.width == 1) return far ? Split::elements : Split::nothing;
    // Where rows stay in the cache, the updates are what takes time; one thread alone can read them from afar.
    const bool streams = work.steps * work.bytes_per_step > 2 * far_bytes;
    return far || (row_size >= 64 && !streams) ? Split::rows : Split::nothing;
}

// Whether threads could gain from indices in some order: for short rows; wider ones are divided well without.
bool may_divide(const Rows& rows, int64_t item_size, const Index& index, const Work& work) {
    return threads_for(work) > 1 && rows.batch * rows.outer == 1 && rows.width * item_size < 64 && !index.may_skip() &&
           rows.count >= 8 * Span::tuples;
}

}  // namespace

bool scatter_rows(const Rows& rows, const Index& index, const std::vector<Span>& spans, const std::byte* updates,
                  std::byte* out, const Combine& combine) {
    const int64_t lines = rows.batch * rows.outer, row_size = rows.width * combine.item_size;
    const bool nothing = lines * rows.count * row_size == 0 || rows.data_rows == 0;
    if (nothing) return index.check(rows.batch * rows.count);  // an index can be bad all the same
    const Work work{lines * rows.count, row_size};
    std::vector<Span> found = spans;
    if (may_divide(rows, combine.item_size, index, work) && found.empty() &&
        seem_ordered(index, rows.count, rows.data_rows))
        if (!find_spans(index, rows.count, found)) return false;
    std::vector<int64_t> dividing;
    if (may_divide(rows, combine.item_size, index, work) && !found.empty())
        dividing = dividing_rows(found, rows.data_rows, threads_for(work));
    const auto walk = [&](std::byte* target, int64_t target_size, int64_t* visits) {
        const bool counted = visits != nullptr, far = rows.data_rows * target_size > far_bytes;
        const ApplyRows apply_all = applier(combine, rows.width, {!index.may_skip(), counted, far});
        const ApplyRows apply_own = applier(combine, rows.width, {false, counted, far});
        const Scatter scatter{rows, index, updates, target, visits, combine, target_size, apply_all, apply_own};
        std::atomic<bool> good = true;
        const auto part = [&](int64_t first_line, int64_t last_line, const Share& share) {
            if (!scatter.part(first_line, last_line, share)) good = false;
        };
        const bool computes = combine.reduction != Reduction::none;
        switch (split(rows, target_size, computes, counted, !dividing.empty(), work)) {
            case Split::nothing: part(0, lines, scatter.all()); break;
            case Split::lines:
                for_ranges(lines, work, [&](int64_t begin, int64_t end) { part(begin, end, scatter.all()); });
                break;
            case Split::ordered:
                run_tasks(static_cast<int>(dividing.size()) - 1, [&](int i) {
                    const size_t p = static_cast<size_t>(i);
                    if (!scatter.ordered(found, dividing[p], dividing[p + 1])) good = false;
                });
                break;
            case Split::columns: {
                const int64_t column = column_size / target_size, columns = (rows.width + column - 1) / column;
                for_ranges(columns, work, [&](int64_t begin, int64_t end) {
                    part(0, lines, {0, rows.data_rows, begin * column, std::min(end * column, rows.width)});
                });
                break;
            }
            case Split::rows:
                for_ranges(rows.data_rows, work,
                           [&](int64_t begin, int64_t end) { part(0, lines, {begin, end, 0, rows.width}); });
                break;
            case Split::elements:
                for (int64_t l = 0; l < lines; ++l)
                    if (!scatter.by_owner(l, applier(combine, 1, {true, counted, far}))) good = false;
        }
        return good.load();
    };
    return scatter_around(combine, lines * rows.data_rows, rows.width, out, walk);
}

}  // namespace gs
