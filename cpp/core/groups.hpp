// Updates grouped by destination row. Groups are made once for indices that are used many times.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <vector>

#include "combine.hpp"
#include "function_ref.hpp"
#include "index.hpp"
#include "machine.hpp"
#include "parallel.hpp"

namespace gs {

// The updates of row r are order[starts[r]], ..., order[starts[r + 1] - 1], in their original order.
struct Groups {
    const int64_t *starts, *order;
    int64_t rows, count;
};

// Elements to sort by row. Elements of the same row keep their order.
struct RowSort {
    int64_t count, rows;
    int64_t values;  // all values are below this number
    // Get the rows, or the values, of n <= block elements from `first` on. False: one is bad, or the call has to stop.
    FunctionRef<bool(int64_t first, int64_t n, int64_t* rows)> read_rows;
    FunctionRef<bool(int64_t first, int64_t n, int64_t* values)> read_values;
    const std::byte* weights = nullptr;  // an element of `weight_size` bytes for each value, or null
    int64_t weight_size = 0;
};

// Sorts values and weights by row. `starts` gets the position where each row begins, and at the end `count`. False: a
// function has returned false, or the call has to stop.
[[nodiscard]] bool sort_by_row(const RowSort&, int64_t* starts, int64_t* values, std::byte* weights);

// The bytes that `sort_by_row` needs.
int64_t sort_scratch(int64_t count, int64_t rows, int64_t values, int64_t weight_size);

// Fills `starts` (rows + 1 entries) and `order` (count entries) from row numbers. False: a number is bad, or the call
// has to stop.
[[nodiscard]] bool group(const int64_t* numbers, int64_t count, int64_t rows, int64_t* starts, int64_t* order);

// Calls f(row, first, next) for every row and its updates, on several threads with equal shares of the updates. False:
// a call of f has returned false, the starts were not made by `group`, or the call has to stop.
template <class F>
bool each_range(const int64_t* starts, int64_t rows, int64_t count, int64_t row_size, F f) {
    const Work work{rows + count, row_size};
    const int threads = threads_for(work);
    // The first row of the share of thread i. All shares have about the same number of updates.
    const auto bound = [&](int i) -> int64_t {
        if (i == threads) return rows;
        return std::lower_bound(starts, starts + rows, count * i / threads) - starts;
    };
    std::atomic<bool> sound = true;
    run_tasks(threads, threads, [&](int i) {
        const int64_t last = i + 1 == threads ? rows : bound(i + 1);
        for (int64_t r = i == 0 ? 0 : bound(i); r < last; ++r) {
            const int64_t first = read_once(starts[r]), next = read_once(starts[r + 1]);
            // The comparison comes before any subtraction, so that no value can overflow.
            if (first < 0 || next < first || next > count || should_stop()) sound = false;
            if (!sound) return;
            if (!f(r, first, next)) sound = false;
        }
    });
    return sound;
}

// Whether groups can be combined. They cannot if sums need another type than the elements.
bool supports_groups(const Combine&);

// out[r, :] = f(out[r, :], updates[j, :]) for the updates j of row r, in their order. `zeros`: `out` begins as zeros.
// False: the groups were not made by `group`, or the call has to stop. The contents of `out` are then undefined.
[[nodiscard]] bool scatter_groups(const Groups&, const std::byte* updates, std::byte* out, int64_t width, bool zeros,
                                  const Combine&);

// One reduction of the updates of every row, and the destination of its results.
struct GroupReduction {
    Combine combine;
    std::byte* out;    // rows of `width` elements
    int64_t* members;  // the number of the update that is the minimum or maximum; or null
};
bool supports_group_reduction(const Combine&, bool members);

// Computes all reductions in one pass over the updates. Without updates, a sum is 0, a product is 1, and a minimum or
// maximum is 0 with member number `count`. False: the groups were not made by `group`, or the call has to stop. The
// results are then undefined.
[[nodiscard]] bool reduce_groups(const Groups&, const std::byte* updates, int64_t width,
                                 const std::vector<GroupReduction>&);

}  // namespace gs
