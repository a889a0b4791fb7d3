// Walks the index box of the lanes form in runs. A run is a sequence of box elements whose positions in data are
// evenly spaced.
#pragma once

#include <algorithm>
#include <cstdint>

#include "index.hpp"
#include "plan.hpp"
#include "route.hpp"
#include "row_moves.hpp"

namespace gs {

// A run: consecutive elements of the box, from number `element` on. rows.row[i] is the position of element i along the
// axis (-1: the index is skipped). Its position in data is base + rows.row[i] * stride + i * step.
struct Run {
    int64_t element;
    RowNumbers rows;
    int64_t base, stride, step;
};

// Returns the position in data for one position along the axis; -1 stays -1.
inline int64_t position_in_data(int64_t position, int64_t base, int64_t stride) {
    return position < 0 ? -1 : base + position * stride;
}
// Turns positions along the axis into positions in data, relative to base. Afterwards, stride is 1 and step is 0.
void flatten(Run&);
// Turns n positions along the axis into positions in data.
void flatten(int64_t* position, int64_t n, int64_t base, int64_t stride, int64_t step);

// Whether the positions within each of n rows are all equal. This holds for boxes that were expanded in memory, so that
// whole rows can be moved.
bool are_uniform(const int64_t* positions, int64_t n, int64_t columns);

// The box as [groups, rows, columns]. Each position before the axis is a group. The columns are the innermost dim: the
// last dim after the axis, or the axis itself if there is none. Elements of different groups have different positions
// in data. The same holds for elements of different columns, if there is a dim after the axis.
struct Box {
    explicit Box(const Lanes& lanes) : lanes(lanes), has_after(lanes.after.rank > 0) {
        for (int64_t n : lanes.before) groups *= n;
        columns = has_after ? lanes.after[lanes.after.rank - 1] : lanes.count;
        step = has_after ? lanes.after_stride[lanes.after.rank - 1] : 0;
        rows = columns > 0 && groups > 0 ? lanes.elements / groups / columns : 0;
    }

    int64_t all_rows() const { return groups * rows; }

    const Lanes& lanes;
    bool has_after;
    int64_t groups = 1, rows, columns, step;
};

// Whether one loop reads indices and gathers elements along the axis.
inline bool gathers_lines(const Box& box, int64_t item_size) {
    return is_element(item_size) && !box.has_after && box.columns >= min_line_elements;
}

// Iterates over the rows of a box, and gives the position in data where each row begins.
class RowCounter {
  public:
    RowCounter(const Box& box, int64_t row) {  // rows are counted through all groups
        const Lanes& lanes = box.lanes;
        for (int d = 0; d < lanes.before.rank; ++d) add(lanes.before[d], lanes.before_stride[d]);
        if (box.has_after) add(lanes.count, 0);
        for (int d = 0; d + 1 < lanes.after.rank; ++d) add(lanes.after[d], lanes.after_stride[d]);
        for (int d = rank_ - 1; d >= 0; --d) {
            at_[d] = row % size_[d];
            row /= size_[d];
            base_ += at_[d] * stride_[d];
        }
    }

    int64_t base() const { return base_; }

    void advance() {
        for (int d = rank_ - 1; d >= 0; --d) {
            base_ += stride_[d];
            if (++at_[d] < size_[d]) return;
            base_ -= size_[d] * stride_[d];
            at_[d] = 0;
        }
    }

  private:
    void add(int64_t size, int64_t stride) {
        size_[rank_] = size;
        stride_[rank_] = stride;
        ++rank_;
    }

    int64_t base_ = 0;
    int rank_ = 0;
    int64_t size_[max_rank], stride_[max_rank], at_[max_rank];
};

// A part of a box: a range of rows, counted through all groups, and a range of columns.
struct Part {
    int64_t first_row, last_row, begin, end;
};

// A walk calls move.elements(run). If move.accepts_rows and the elements of a row are contiguous, it calls
// move.rows(element, rows, columns) instead. Each row number is then the position of `columns` consecutive elements,
// and `element` is the first of them in the box.

// Visits short rows, many at a time.
template <class Move>
bool walk_short_rows(const Box& box, const Index& index, const Part& part, const Move& move) {
    int64_t positions[max_rows];
    RowNumbers resolved{positions, 0, 0};
    RowCounter row(box, part.first_row);
    const int64_t columns = part.end - part.begin, at_once = columns == box.columns ? max_rows / columns : 1;
    for (int64_t r = part.first_row; r < part.last_row; r += at_once) {
        const int64_t n = std::min(at_once, part.last_row - r), first = r * box.columns + part.begin;
        if (!index.resolve(first, n * columns, resolved)) return false;
        const bool rows = move.accepts_rows && box.step == 1 && are_uniform(positions, n, columns);
        for (int64_t i = 0; i < n; ++i, row.advance()) {
            const int64_t base = row.base() + part.begin * box.step;
            if (rows)
                positions[i] = position_in_data(positions[i * columns], base, box.lanes.stride);
            else if (columns < 16)  // a call would take longer
                for (int64_t j = 0; j < columns; ++j)
                    positions[i * columns + j] =
                        position_in_data(positions[i * columns + j], base + j * box.step, box.lanes.stride);
            else
                flatten(positions + i * columns, columns, base, box.lanes.stride, box.step);
        }
        if (rows)
            move.rows(first, {positions, n, n, resolved.skips}, columns);
        else
            move.elements({first, resolved, 0, 1, 0});
    }
    return true;
}

template <class Move>
bool walk_tile(const Box& box, const Index& index, const Part& part, const Route& route, const Move& move) {
    int64_t positions[block + lookahead];
    RowNumbers rows{positions, 0, 0};
    RowCounter counter(box, part.first_row);
    for (int64_t r = part.first_row; r < part.last_row; ++r, counter.advance())
        for (int64_t column = part.begin; column < part.end; column += rows.n) {
            const int64_t element = r * box.columns + column, base = counter.base() + column * box.step;
            if (!index.next_block(element, r * box.columns + part.end, route.prefetch_distance(), rows)) return false;
            if (move.accepts_rows && box.step == 1 && are_uniform(positions, 1, rows.n)) {
                positions[0] = position_in_data(positions[0], base, box.lanes.stride);
                move.rows(element, {positions, 1, 1, rows.skips}, rows.n);
            } else {
                move.elements({element, rows, base, box.lanes.stride, box.step});
            }
        }
    return true;
}

// Visits a part of a box in the tiles of the route. The data of a tile stays in the cache while all rows of a group are
// visited.
template <class Move>
bool walk(const Box& box, const Index& index, const Part& part, const Route& route, const Move& move) {
    const int64_t tile = route.tile;
    if (tile == 0 && part.end - part.begin < short_columns) return walk_short_rows(box, index, part, move);
    if (tile == 0) return walk_tile(box, index, part, route, move);
    for (int64_t row = part.first_row; row < part.last_row;) {
        const int64_t last = std::min(part.last_row, (row / box.rows + 1) * box.rows);
        for (int64_t column = part.begin; column < part.end; column += tile)
            if (!walk_tile(box, index, {row, last, column, std::min(column + tile, part.end)}, route, move))
                return false;
        row = last;
    }
    return true;
}

// Returns the number of columns per tile. 0: tiles would not help, so all columns are taken at once.
inline int64_t tile_columns(const Box& box, int64_t item_size) {
    const int64_t lane_bytes = std::max<int64_t>(box.lanes.size * item_size, 1);
    if (!box.has_after || box.columns < 2 * min_tile_columns || lane_bytes * box.columns <= tile_cache) return 0;
    if (lane_bytes * min_tile_columns > cache_bytes) return 0;
    return std::clamp(tile_cache / lane_bytes / 16 * 16, min_tile_columns, 4 * block);
}

}  // namespace gs
