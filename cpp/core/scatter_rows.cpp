// out[b, o, row(b, c), :] = f(out[b, o, row(b, c), :], updates[b, o, c, :]), c ascending
#include <atomic>
#include <cstring>
#include <new>
#include <numeric>
#include <optional>

#include "accumulate.hpp"
#include "kernels.hpp"
#include "parallel.hpp"
#include "partition.hpp"
#include "row_moves.hpp"
#include "scratch.hpp"

namespace gs {
namespace {

struct Scatter {
    const Rows& rows;
    const Index& index;
    const std::byte* updates;
    std::byte* out;
    int64_t* visits;
    const Combine& combine;
    int64_t target_size;  // the size of an element of `out`, which can be an accumulator
    int64_t prefetch_distance;
    ApplyRows apply_all, apply_own;
    const ElementScatter* elements;                     // for rows of one element, or null
    bool prefetch_rows, prefetch_updates, stream_rows;  // see Updates

    Share all() const { return Share::all(rows.width); }

    // Handles the lines [begin, end) of batch and outer, restricted to the share.
    bool part(int64_t begin, int64_t end, const Share& share) const {
        const ApplyRows apply = share == all() ? apply_all : apply_own;
        for (int64_t line = begin; line < end;) {
            const int64_t b = line / rows.outer, batch_end = std::min(end, (b + 1) * rows.outer);
            for (int64_t first = line; first < batch_end; first += lines_per_block(rows.count)) {
                const int64_t last = std::min(first + lines_per_block(rows.count), batch_end);
                if (!stretch(first, last, 0, rows.count, apply, share)) return false;
            }
            line = batch_end;
        }
        return true;
    }

    // Handles the tuples [begin, end) for some lines of one batch.
    bool stretch(int64_t first_line, int64_t last_line, int64_t begin, int64_t end, ApplyRows apply,
                 const Share& share) const {
        if (!elements || apply != apply_all) return blocks(first_line, last_line, begin, end, apply, share);
        const int64_t tuples = first_line / rows.outer * rows.count;
        for (int64_t line = first_line; line < last_line; ++line)
            if (!elements->scatter(tuples + begin, end - begin, out + line * rows.data_rows * target_size,
                                   updates + (line * rows.count + begin) * combine.item_size,
                                   visits ? visits + line * rows.data_rows : nullptr))
                return false;
        return true;
    }

    // Handles the tuples [begin, end) for some lines of one batch, a block at a time.
    bool blocks(int64_t first_line, int64_t last_line, int64_t begin, int64_t end, ApplyRows apply,
                const Share& share) const {
        int64_t row[block + lookahead];
        RowNumbers numbers{row, 0, 0};
        const int64_t tuples = first_line / rows.outer * rows.count;
        for (int64_t c = begin; c < end; c += numbers.n) {
            if (!index.next_block(tuples + c, tuples + end, prefetch_distance, numbers)) return false;
            const ApplyRows apply_block = numbers.skips ? apply_own : apply;
            const auto apply_lines = [&](int64_t from, int64_t to) {
                bool whole = true;
                for (int64_t l = from; whole && l < to; ++l)
                    whole = apply_line({out + l * rows.data_rows * rows.width * target_size,
                                        updates + (l * rows.count + c) * rows.width * combine.item_size,
                                        visits ? visits + l * rows.data_rows : nullptr, numbers, rows.width, rows.width,
                                        prefetch_rows, prefetch_updates, stream_rows},
                                       apply_block, share);
                return whole;
            };
            if (!in_pieces(first_line, last_line, numbers.n * rows.width * combine.item_size, apply_lines))
                return false;
        }
        return true;
    }

    // Handles a block of updates. False: the call has to stop.
    bool apply_line(const Updates& block, ApplyRows apply, const Share& share) const {
        if (block.rows.n * rows.width * combine.item_size > wide_bytes) return apply_wide(block, share);
        apply(block, share, combine);
        return true;
    }

    // The same, row by row and in pieces.
    bool apply_wide(const Updates& block, const Share& share) const {
        const int64_t size = combine.item_size;
        for (int64_t i = 0; i < block.rows.n; ++i) {
            if (should_stop_now()) return false;
            const Updates row{block.out,    block.updates + i * rows.width * size,
                              block.visits, {block.rows.row + i, 1, 1, block.rows.skips},
                              rows.width,   rows.width};
            const auto apply_columns = [&](int64_t begin, int64_t end) {
                apply_own(row, {share.first_row, share.last_row, begin, end}, combine);
            };
            if (visits)  // a visit counts for the whole row
                apply_columns(share.first, share.last);
            else if (!in_pieces(share.first, share.last, size, apply_columns))
                return false;
        }
        return true;
    }

    // Handles the only line, restricted to the rows [first, last). The spans show which stretches of indices name these
    // rows.
    bool ordered(const std::vector<Span>& spans, int64_t first, int64_t last) const {
        for (size_t s = 0; s < spans.size(); ++s) {
            if (spans[s].high < first || spans[s].low >= last) continue;
            const bool whole = spans[s].low >= first && spans[s].high < last;
            const int64_t begin = static_cast<int64_t>(s) * span_tuples;
            if (!stretch(0, 1, begin, std::min(begin + span_tuples, rows.count), whole ? apply_all : apply_own,
                         whole ? all() : Share{first, last, 0, rows.width}))
                return false;
        }
        return true;
    }

    // Handles a line of rows of one element.
    bool by_owner(Partition& partition, int64_t line, ApplyRows apply) const {
        std::byte* const to = out + line * rows.data_rows * target_size;
        int64_t* const counts = visits ? visits + line * rows.data_rows : nullptr;
        return partition.deliver(
            index, line / rows.outer * rows.count, rows.count, updates + line * rows.count * combine.item_size,
            combine.item_size, rows.data_rows, [&](const OwnerBatch& owner_batch) {
                apply({to, owner_batch.elements, counts, owner_batch.rows, 1, 1, prefetch_rows}, all(), combine);
            });
    }
};

// Fills a copy of the destination with values that updates are combined with before the copy is combined with `out`.
void fill_copy(std::byte* copy, const std::byte* out, int64_t elements, const Combine& combine) {
    const auto bytes = static_cast<size_t>(elements * combine.item_size);
    switch (combine.reduction) {
        case Reduction::min:
        case Reduction::max: std::memcpy(copy, out, bytes); break;
        case Reduction::mul:
            visit(combine.dtype, 0, [&]<class T>(std::type_identity<T>) {
                if constexpr (Integer<T>) std::fill_n(reinterpret_cast<T*>(copy), elements, T{1});
                return 0;
            });
            break;
        default: std::memset(copy, 0, bytes);
    }
}

// Scatters consecutive updates of integers on each thread: the first into `out`, the others into copies, which are then
// combined with `out`. False: an index is bad, or the call has to stop.
bool scatter_by_updates(const Scatter& scatter, const Rows& rows, int threads, std::byte* copies,
                        const Combine& combine) {
    const int64_t elements = rows.data_rows * rows.width, copy_size = elements * combine.item_size;
    const auto copy_of = [=](int t) { return copies + (t - 1) * copy_size; };
    for (int t = 1; t < threads; ++t) fill_copy(copy_of(t), scatter.out, elements, combine);
    std::atomic<bool> good = true;
    run_tasks(threads, threads, [&](int t) {
        Scatter part = scatter;
        if (t > 0) part.out = copy_of(t);
        const int64_t begin = rows.count / threads * t,
                      end = t + 1 == threads ? rows.count : rows.count / threads * (t + 1);
        if (!part.stretch(0, 1, begin, end, part.apply_all, part.all())) good = false;
    });
    if (!good) return false;
    Combine merge = combine;
    if (merge.reduction == Reduction::sub) merge.reduction = Reduction::add;  // the copies hold negative sums
    const ApplyRows apply = applier(merge, rows.width, {true, false});
    for_ranges(rows.data_rows, {rows.data_rows, rows.width * combine.item_size * threads},
               [&](int64_t begin, int64_t end) {
                   int64_t row[block];
                   for (int64_t first = begin; first < end; first += block) {
                       const int64_t n = std::min(block, end - first);
                       std::iota(row, row + n, first);
                       for (int t = 1; t < threads; ++t)
                           apply({scatter.out,
                                  copy_of(t) + first * rows.width * combine.item_size,
                                  nullptr,
                                  {row, n, n},
                                  rows.width,
                                  rows.width},
                                 scatter.all(), merge);
                   }
               });
    return true;
}

}  // namespace

bool scatter_rows(const Rows& rows, const Index& index, const Route& route, const std::vector<Span>& spans,
                  const std::byte* updates, std::byte* out, const Combine& combine) {
    const int64_t lines = rows.batch * rows.outer;
    const bool nothing = lines * rows.count * rows.width * combine.item_size == 0 || rows.data_rows == 0;
    if (nothing) return index.check(rows.batch * rows.count);  // an index can still be bad
    Split split = route.split;
    std::vector<Span> found;
    const std::vector<Span>& known = spans.empty() ? found : spans;
    std::vector<int64_t> dividing;
    std::optional<Partition> partition;
    std::optional<Scratch> copies;
    // All memory is allocated before the first write. If there is not enough, one thread does the work.
    try {
        if (route.ordered) {
            if (spans.empty() && !find_spans(index, rows.count, found)) return false;
            dividing = dividing_rows(known, rows.data_rows, route.threads);
        }
        if (!dividing.empty())
            split = Split::ordered;
        else if (split == Split::updates)
            copies.emplace((route.threads - 1) * rows.data_rows * rows.width * combine.item_size, false);
        else if (split == Split::elements)
            partition.emplace(rows.count, combine.item_size, route.threads);
    } catch (const std::bad_alloc&) {
        split = Split::serial;
    }
    const auto walk = [&](std::byte* target, int64_t target_size, int64_t* visits, const Combine& how) {
        const bool counted = visits != nullptr;
        const ApplyOptions options{true, counted, route.prefetch_set};
        const ApplyRows apply_all = applier(how, rows.width, options);
        const ApplyRows apply_own = applier(how, rows.width, {false, counted});
        const ElementScatter elements(index, how, options, route.spread);
        const bool by_index = rows.width == 1 && !route.prefetch && elements;
        const bool stream_rows = route.streams_rows_to(target, rows.width * target_size);
        const Scatter scatter{rows,
                              index,
                              updates,
                              target,
                              visits,
                              how,
                              target_size,
                              route.prefetch_distance(),
                              apply_all,
                              apply_own,
                              by_index ? &elements : nullptr,
                              route.prefetch,
                              route.prefetch_updates,
                              stream_rows};
        std::atomic<bool> good = true;
        const auto part = [&](int64_t first_line, int64_t last_line, const Share& share) {
            if (!scatter.part(first_line, last_line, share)) good = false;
            if (stream_rows) end_stream();
        };
        const int threads = route.threads;
        switch (split) {
            case Split::tuples:  // a division by tuples gives threads no separate destinations
            case Split::serial: part(0, lines, scatter.all()); break;
            case Split::lines:
                for_parts(lines, threads, [&](int64_t begin, int64_t end) { part(begin, end, scatter.all()); });
                break;
            case Split::ordered:
                run_tasks(static_cast<int>(dividing.size()) - 1, threads, [&](int i) {
                    const size_t p = static_cast<size_t>(i);
                    if (!scatter.ordered(known, dividing[p], dividing[p + 1])) good = false;
                    if (stream_rows) end_stream();
                });
                break;
            case Split::updates:
                if (!scatter_by_updates(scatter, rows, threads, copies->get(), how)) good = false;
                break;
            case Split::columns: {
                const int64_t column = std::max<int64_t>(column_size / target_size, 1),
                              columns = (rows.width + column - 1) / column;
                for_parts(columns, threads, [&](int64_t begin, int64_t end) {
                    part(0, lines, {0, rows.data_rows, begin * column, std::min(end * column, rows.width)});
                });
                break;
            }
            case Split::rows:
                run_tasks(static_cast<int>(route.dividing.size()) - 1, threads, [&](int i) {
                    const auto range = route.dividing.begin() + i;
                    if (range[0] < range[1]) part(0, lines, {range[0], range[1], 0, rows.width});
                });
                break;
            case Split::elements:
                for (int64_t l = 0; l < lines; ++l)
                    if (!scatter.by_owner(*partition, l, apply_all)) good = false;
        }
        return good.load();
    };
    return scatter_with_accumulators(combine, lines * rows.data_rows, rows.width, out, walk);
}

}  // namespace gs
