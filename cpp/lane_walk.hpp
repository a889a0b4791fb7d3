// Walking the index box of the lanes form in runs: consecutive box elements whose places in data are evenly spaced.
#pragma once

#include <algorithm>
#include <cstdint>

#include "index.hpp"
#include "plan.hpp"

namespace gs {

// Box element j of a run lies at data offset base + position[j] * axis stride + j * step.
struct Run {
    int64_t base, step, length;
};

// The box as [groups, rows, columns]: a group for each place before the axis, rows of the innermost dim, which is the
// last one after the axis or else the axis itself. Elements of different groups never meet in data; nor do those of
// different columns, if there is a dim after the axis.
struct Box {
    explicit Box(const Lanes& lanes) : lanes(lanes), has_after(lanes.after.rank > 0) {
        for (int64_t n : lanes.before) groups *= n;
        columns = has_after ? lanes.after[lanes.after.rank - 1] : lanes.count;
        step = has_after ? lanes.after_stride[lanes.after.rank - 1] : 0;
        rows = columns > 0 && groups > 0 ? lanes.elements / groups / columns : 0;
    }

    const Lanes& lanes;
    bool has_after;
    int64_t groups = 1, rows, columns, step;
};

// Counts through the rows of a box, and knows where in data each begins.
class RowCounter {
  public:
    RowCounter(const Box& box, int64_t row) {  // counted through all groups
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

// Turns the axis positions of a run into places: offsets in data. Positions outside [first, last) become -1.
void to_places(int64_t* positions, const Run&, int64_t stride, int64_t first, int64_t last);

// Visits the flat box elements [begin, end): `move(element, n, places)` is called for each n of them in a row, with
// their places, or -1 for those whose position on the axis is not in [first, last). False: there was a bad index.
template <class Move>
bool walk_elements(const Box& box, const Index& index, int64_t begin, int64_t end, int64_t first, int64_t last,
                   Move&& move) {
    if (begin == end) return true;
    int64_t places[block];
    RowCounter row(box, begin / box.columns);
    int64_t column = begin % box.columns;
    for (int64_t element = begin; element < end; element += block) {
        const int64_t n = std::min(block, end - element);
        if (!index.resolve(element, n, places)) return false;
        for (int64_t done = 0; done < n;) {
            const Run run{row.base() + column * box.step, box.step, std::min(n - done, box.columns - column)};
            to_places(places + done, run, box.lanes.stride, first, last);
            done += run.length;
            column += run.length;
            if (column == box.columns) {
                column = 0;
                row.advance();
            }
        }
        move(element, n, places);
    }
    return true;
}

// The same for the columns [begin, end) of some groups, `tile` columns at a time: what a tile touches of data stays in
// the cache while all its rows go by.
template <class Move>
bool walk_columns(const Box& box, const Index& index, int64_t first_group, int64_t last_group, int64_t begin,
                  int64_t end, int64_t tile, Move&& move) {
    int64_t places[block];
    for (int64_t group = first_group; group < last_group; ++group) {
        for (int64_t column = begin; column < end; column += tile) {
            const int64_t length = std::min(tile, end - column);
            RowCounter row(box, group * box.rows);
            for (int64_t r = 0; r < box.rows; ++r, row.advance()) {
                const int64_t element = (group * box.rows + r) * box.columns + column;
                if (!index.resolve(element, length, places)) return false;
                const Run run{row.base() + column * box.step, box.step, length};
                to_places(places, run, box.lanes.stride, 0, box.lanes.size);
                move(element, length, places);
            }
        }
    }
    return true;
}

// How many columns to take at a time; 0: all, there is nothing to gain.
inline int64_t tile_columns(const Box& box, int64_t item_size) {
    constexpr int64_t cache = 1024 * 1024, narrowest = 32;  // shorter pieces cost more than they save
    const int64_t column_size = std::max<int64_t>(box.lanes.size * item_size, 1);
    if (!box.has_after || box.columns < 2 * narrowest || column_size * box.columns <= cache) return 0;
    return std::clamp(cache / column_size / 16 * 16, narrowest, block);
}

}  // namespace gs
