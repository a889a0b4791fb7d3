#include "route.hpp"

#include <algorithm>
#include <new>

#include "accumulate.hpp"
#include "lane_walk.hpp"
#include "machine.hpp"
#include "parallel.hpp"
#include "partition.hpp"
#include "row_moves.hpp"
#include "spans.hpp"

namespace gs {
namespace {

int64_t target_size(const Combine& combine) {
    return combine.reduction == Reduction::none ? combine.item_size : accumulator(combine).item_size;
}

bool is_half(DType dtype) { return dtype == DType::float16 || dtype == DType::bfloat16; }

// Halves and sums in wider types take many instructions, so the processor's own prefetching does not reach far enough
// ahead.
bool needs_prefetch(const Combine& combine, int64_t data_bytes) {
    const bool wide = combine.accumulate != Accumulate::step && combine.accumulate != Accumulate::counted_sums;
    const bool slow = combine.reduction != Reduction::none && (is_half(combine.dtype) || wide);
    return data_bytes > (slow ? cache_bytes / 16 : cache_bytes);
}

// Whether the order of updates cannot change the bits of the result, and threads that each have a copy of the
// destination are faster. The copies must stay in the cache of a core, and be small compared with the updates.
bool divides_updates(const Rows& rows, const Combine& combine, const Route& route, bool counted) {
    const bool integers = combine.dtype >= DType::int8 && combine.dtype <= DType::uint64;
    if (!integers || combine.reduction == Reduction::none || counted) return false;
    const int64_t row_size = rows.width * combine.item_size, data_bytes = rows.data_rows * row_size;
    return data_bytes <= core_cache_bytes && rows.count * (row_size + 8) / 4 / route.threads >= data_bytes;
}

Split split_rows(const Rows& rows, const Combine& combine, const Route& route) {
    const int64_t row_size = rows.width * target_size(combine);
    const bool computes = combine.reduction != Reduction::none;
    const bool counted = computes && counts_visits(combine);
    if (route.threads == 1) return Split::serial;
    if (rows.batch * rows.outer >= route.threads) return Split::lines;
    if (rows.batch * rows.outer == 1 && divides_updates(rows, combine, route, counted)) return Split::updates;
    const bool exceeds_cache = rows.data_rows * row_size > cache_bytes;
    if (rows.width == 1 && is_element(combine.item_size)) return exceeds_cache ? Split::elements : Split::serial;
    // Each thread reads all indices, and must save more time than that takes. It saves less if rows stay in the cache,
    // and least if updates then come from memory, which one thread reads almost as fast. Rows of halves save more. So
    // do rows that are set beyond the cache.
    const bool updates_exceed_cache =
        saturating_multiply(saturating_multiply(rows.count, rows.width), combine.item_size) > cache_bytes;
    const int64_t worthwhile = min_owned_bytes * (exceeds_cache          ? 1
                                                  : updates_exceed_cache ? 16
                                                                         : 8),
                  saved = row_size * ((computes ? is_half(combine.dtype) : exceeds_cache) ? 4 : 1);
    return saved * route.threads >= worthwhile ? Split::rows : Split::serial;
}

// Whether rows are so long that threads can divide their columns. Each thread then reads all indices and a part of each
// update. Visits are counted per row, so counted reductions cannot use columns.
bool can_divide_columns(const Rows& rows, const Combine& combine, int threads) {
    const bool computes = combine.reduction != Reduction::none;
    const int64_t row_size = rows.width * target_size(combine);
    return std::min(row_size / column_size, rows.width) >= (computes ? 8 : 1) * threads &&
           !(computes && counts_visits(combine));
}

// Sets the ranges of rows that threads own. If a range gets many more updates than the others, threads divide columns
// instead, if they can. If rows are single elements and most updates go to one range, one thread does all the work,
// because picking updates would cost more than it saves.
void divide_rows(const Rows& rows, const Combine& combine, const Index& index, Route& route) {
    const int64_t row_size = rows.width * target_size(combine);
    const int64_t unit = row_size < line_size ? std::max<int64_t>(owned_unit_bytes / row_size, 1) : 1;
    try {
        double largest_part = 1;
        route.dividing =
            sampled_dividing_rows(index, rows.batch * rows.count, rows.data_rows, unit, route.threads, largest_part);
        route.scratch += sampling_bytes(route.threads);
        const bool uneven = largest_part * route.threads > 1.3;  // columns take up to 1.6 times as long as even ranges
        if (uneven && can_divide_columns(rows, combine, route.threads))
            route.split = Split::columns;
        else if (rows.width == 1 && largest_part > 0.75)
            route.split = Split::serial;
    } catch (const std::bad_alloc&) {
        route.split = can_divide_columns(rows, combine, route.threads) ? Split::columns : Split::serial;
    }
}

// Whether to write the copy of data past the caches. This helps if the updates touch few of its lines, or touch them in
// order.
bool streams_copy(int64_t data_bytes, int64_t lines_touched, bool ordered) {
    return can_stream && data_bytes >= min_stream_bytes && (ordered || lines_touched < data_bytes / line_size / 8);
}

// Whether to write the rows that a scatter sets past the caches. This helps if they are in no cache before, and are not
// set again soon.
bool streams_rows(const Rows& rows, int64_t moved_rows, const Combine& combine, const Index& index) {
    const int64_t row_size = rows.width * combine.item_size;
    if (!can_stream || combine.reduction != Reduction::none || rows.width == 1) return false;
    const bool in_blocks = std::min(rows.count, block) * row_size <= wide_bytes;  // others are written in pieces
    return row_size % stream_alignment(row_size) == 0 && in_blocks &&
           saturating_multiply(rows.data_rows, row_size) > cache_bytes &&
           saturating_multiply(moved_rows, row_size) >= min_stream_bytes &&
           are_distinct(index, rows.count, cache_bytes / row_size);
}

// Whether to write the result of a gather past the caches.
bool streams_result(int64_t bytes) { return can_stream && bytes >= min_stream_bytes; }

// Whether the order of the indices could help divide a scatter. It can if consecutive indices are close to each other.
// One thread is faster for single elements in the cache, unless many consecutive indices are equal.
bool may_be_ordered(const Rows& rows, const Combine& combine, const Index& index) {
    const int64_t row_size = rows.width * combine.item_size;
    if (rows.batch * rows.outer != 1 || row_size >= 64 || rows.count < 8 * span_tuples || index.may_skip() ||
        threads_for({rows.count, row_size}) == 1)
        return false;
    const bool is_fast = rows.width == 1 && rows.data_rows * row_size <= cache_bytes;
    return !is_fast || (combine.reduction != Reduction::none && index.are_runs(0, rows.count));
}

// Whether a pseudo-random sample of rows of a box have one position each. Then the box was probably expanded in memory.
bool seems_expanded(const Box& box, const Index& index) {
    constexpr int64_t samples = 4;
    if (!box.has_after || box.step != 1 || box.all_rows() < samples) return false;
    int64_t positions[block];
    const int64_t columns = std::min(box.columns, block);
    for (int64_t s = 0; s < samples; ++s) {
        const int64_t row = box.all_rows() / samples * s;
        if (!index.resolve(row * box.columns, columns, positions)) return false;
        if (!are_uniform(positions, 1, columns)) return false;
    }
    return true;
}

// The bytes of indices and updates. A scatter reads them in order.
int64_t bytes_of_updates(int64_t updates, const Index& index, const Combine& combine) {
    return saturating_multiply(updates, size_of(index.type()) + combine.item_size);
}

// Finds how far apart the elements are that consecutive indices name.
Spread find_spread(int64_t bytes_in_order, int64_t data_bytes, const Index& index, int64_t count,
                   int64_t element_size) {
    if (std::max(bytes_in_order, data_bytes) <= core_cache_bytes) return Spread::close;
    const auto are_within = [&](int64_t bytes) {
        return data_bytes <= bytes || are_close(index, count, bytes / element_size);
    };
    if (are_within(first_cache_bytes)) return Spread::close;
    if (!are_within(core_cache_bytes)) return Spread::distant;
    return bytes_in_order > core_cache_bytes ? Spread::middle : Spread::close;
}

// The same for lanes, without samples.
Spread find_spread(int64_t bytes_in_order) {
    return bytes_in_order > core_cache_bytes ? Spread::middle : Spread::close;
}

// Whether to prefetch elements just before they are set. A processor fetches many lines at a time for loads, but few
// for stores. Elements are in the first cache if they are close, or if they are few and each is set several times.
bool prefetches_set(const Combine& combine, int64_t elements, int64_t updates, Spread spread) {
    const bool cached = elements * combine.item_size <= 4 * first_cache_bytes && updates / 4 >= elements;
    return combine.reduction == Reduction::none && spread != Spread::close && !cached;
}

// Decides what a scatter of rows prefetches, once its split is known. Rows are prefetched if a core reads more of them
// than its cache holds. Processors prefetch elements that are close to each other, so only distant ones need it.
void plan_prefetching(const Rows& rows, const Combine& combine, Route& route) {
    const int64_t row_size = rows.width * target_size(combine), lines = rows.batch * rows.outer;
    const auto exceeds = [&](int64_t count) {
        return saturating_multiply(saturating_multiply(lines, count), row_size) > core_cache_bytes;
    };
    const bool one_thread = route.split == Split::serial && !route.ordered;
    route.prefetch_updates = exceeds(rows.count + rows.data_rows);
    route.prefetch = one_thread ? exceeds(2 * rows.data_rows) : route.prefetch_updates;
    if (rows.width == 1 && is_element(combine.item_size))
        route.prefetch =
            route.spread == Spread::distant && !route.ordered && needs_prefetch(combine, rows.data_rows * row_size);
}

// Whether to prefetch the rows of a gather. This helps if they are in no cache and consecutive indices name distant
// rows. Processors prefetch neighbouring rows themselves.
bool prefetches_rows(const Rows& rows, int64_t data_bytes, Spread spread) {
    if (rows.width > 1) return data_bytes > cache_bytes;
    // A single loop that reads indices and moves elements runs further ahead than one that reads tuples first.
    return spread == Spread::distant && (rows.dims.rank != 1 || data_bytes > cache_bytes);
}

}  // namespace

const char* name(Split split) {
    switch (split) {
        case Split::serial: return "nothing";
        case Split::lines: return "lines";
        case Split::tuples: return "tuples";
        case Split::columns: return "columns";
        case Split::rows: return "rows";
        case Split::elements: return "elements";
        case Split::ordered: return "ordered";
        case Split::updates: return "updates";
    }
    return "nothing";
}

Route route_gather(const Rows& rows, const Layout& layout, int64_t item_size, const Index& index) {
    const int64_t lines = rows.batch * rows.outer, row_size = rows.width * item_size;
    Route route;
    const int64_t moved_rows = saturating_multiply(lines, rows.count),
                  copied = saturating_multiply(moved_rows, row_size);
    // Pieces of a row can be far apart, so that each takes as long as a row.
    const int64_t piece_size = std::max<int64_t>(layout.piece_size, 1);
    route.threads = threads_for({piece_size == row_size ? moved_rows : copied / piece_size, piece_size});
    const int64_t data_bytes = saturating_multiply(saturating_multiply(lines, rows.data_rows), row_size);
    if (rows.width == 1 && copied > 0)
        route.spread = find_spread(saturating_multiply(moved_rows, size_of(index.type())), data_bytes, index,
                                   rows.count, row_size);
    route.prefetch = copied > 0 && prefetches_rows(rows, data_bytes, route.spread);
    const bool whole_units =
        gathers_elements(rows, layout, row_size) ? rows.dims.rank == 1 && !route.prefetch : row_size % stream_unit == 0;
    route.stream = layout.is_packed(row_size) && whole_units && streams_result(copied);
    if (route.threads > 1) route.split = lines >= route.threads ? Split::lines : Split::tuples;
    return route;
}

Route route_gather(const Lanes& lanes, int64_t item_size, const Index& index) {
    if (lanes.elements == 0) return {};
    const Box box(lanes);
    Route route;
    route.threads = threads_for({lanes.elements, item_size});
    route.tile = tile_columns(box, item_size);
    route.spread = find_spread(saturating_multiply(lanes.elements, size_of(index.type())));
    // If only a small part of each group is read, groups do not stay in the cache.
    const int64_t groups_in_turn = lanes.elements < lanes.data_elements / 8 ? 1 : box.groups;
    route.prefetch = route.tile == 0 && lanes.data_elements / groups_in_turn * item_size > cache_bytes;
    const bool packed = gathers_lines(box, item_size) && lanes.stride == 1;
    route.stream = packed && !route.prefetch && streams_result(lanes.elements * item_size);
    if (route.threads == 1) return route;
    if (route.tile != 0 && box.groups >= route.threads)
        route.split = Split::lines;
    else
        route.split = route.tile == 0 && box.all_rows() >= route.threads ? Split::tuples : Split::columns;
    return route;
}

Route route_scatter(const Rows& rows, const Combine& combine, const Index& index) {
    const int64_t lines = rows.batch * rows.outer;
    if (lines == 0 || rows.count == 0 || rows.width == 0 || combine.item_size == 0 || rows.data_rows == 0) return {};
    const Work work{saturating_multiply(lines, rows.count), rows.width * combine.item_size};
    Route route;
    route.threads = threads_for(work);
    const int64_t element_size = target_size(combine),
                  line_bytes = saturating_multiply(rows.data_rows * rows.width, element_size);
    if (rows.width == 1)
        route.spread =
            find_spread(bytes_of_updates(work.steps, index, combine), line_bytes, index, rows.count, element_size);
    route.prefetch_set = rows.width == 1 && prefetches_set(combine, rows.data_rows, rows.count, route.spread);
    route.split = split_rows(rows, combine, route);
    if (route.split == Split::rows) divide_rows(rows, combine, index, route);
    route.scratch += accumulator_bytes(combine, lines * rows.data_rows, rows.width);
    const bool close = route.split != Split::updates && may_be_ordered(rows, combine, index) &&
                       are_close(index, rows.count, rows.data_rows / 16);
    const bool one_row = close && name_one_row(index, rows.count);
    if (one_row) route.split = Split::serial;
    route.ordered = close && !one_row;
    plan_prefetching(rows, combine, route);
    const int64_t lines_touched = work.steps * (1 + work.bytes_per_step / line_size);
    route.stream = streams_copy(combine.item_size * rows.width * rows.data_rows * lines, lines_touched, close);
    route.stream_rows = streams_rows(rows, work.steps, combine, index);
    if (route.split == Split::updates)
        route.scratch += (route.threads - 1) * rows.data_rows * rows.width * combine.item_size;
    if (route.split == Split::elements) route.scratch += partition_bytes(rows.count, combine.item_size, route.threads);
    if (route.ordered) route.scratch += span_bytes(rows.count);
    return route;
}

Route route_scatter(const Lanes& lanes, const Combine& combine, const Index& index) {
    if (lanes.elements == 0 || combine.item_size == 0) return {};
    const Box box(lanes);
    Route route;
    route.threads = threads_for({lanes.elements, combine.item_size});
    route.spread = find_spread(bytes_of_updates(lanes.elements, index, combine));
    // Samples of the first line show whether each index names an element near the one before.
    route.prefetch_set =
        prefetches_set(combine, lanes.data_elements / box.groups, lanes.elements / box.groups, route.spread) &&
        (box.has_after || !are_close(index, box.columns, first_cache_bytes / combine.item_size));
    const bool expanded = seems_expanded(box, index);  // whole rows can then be moved
    route.tile = expanded ? 0 : tile_columns(box, target_size(combine));
    route.prefetch = route.tile == 0 && lanes.data_elements / box.groups * target_size(combine) > cache_bytes;
    route.stream = streams_copy(combine.item_size * lanes.data_elements, lanes.elements, false);
    route.scratch = accumulator_bytes(combine, lanes.data_elements, 1);
    if (route.threads > 1 && box.groups >= route.threads)
        route.split = Split::lines;
    else if (route.threads > 1 && !expanded && box.has_after && box.columns >= min_columns_per_thread * route.threads)
        route.split = Split::columns;
    return route;
}

}  // namespace gs
