// Updates grouped by the row that they go to: made once for indices that are used again and again.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <vector>

#include "combine.hpp"
#include "index.hpp"
#include "machine.hpp"
#include "parallel.hpp"

namespace gs {

// The updates of row r are order[starts[r]], ..., order[starts[r + 1] - 1], in their order.
struct Groups {
    const int64_t *starts, *order;
    int64_t rows, count;
};

// Fills `starts` (rows + 1) and `order` (count) from row numbers; false: one is bad, or the call is to stop.
[[nodiscard]] bool group(const int64_t* numbers, int64_t count, int64_t rows, int64_t* starts, int64_t* order);

// Calls f(row, first, next) for every row and its updates, by several threads, each of which has as many updates; false
// as soon as f says so, the starts are not those of `group`, or the call is to stop.
template <class F>
bool each_range(const int64_t* starts, int64_t rows, int64_t count, int64_t row_size, F f) {
    const Work work{rows + count, row_size};
    const int threads = threads_for(work);
    // As many updates for each thread, and the rows that have none.
    const auto bound = [&](int i) -> int64_t {
        if (i == threads) return rows;
        return std::lower_bound(starts, starts + rows, count * i / threads) - starts;
    };
    std::atomic<bool> sound = true;
    run_tasks(threads, threads, [&](int i) {
        const int64_t last = i + 1 == threads ? rows : bound(i + 1);
        for (int64_t r = i == 0 ? 0 : bound(i); r < last; ++r) {
            const int64_t first = read_once(starts[r]), next = read_once(starts[r + 1]);
            // Compared before they are subtracted: whatever they are, nothing overflows.
            if (first < 0 || next < first || next > count || should_stop()) sound = false;
            if (!sound) return;
            if (!f(r, first, next)) sound = false;
        }
    });
    return sound;
}

// Whether groups can be combined: not where sums need another type than the elements have.
bool supports_groups(const Combine&);

// out[r, :] = f(out[r, :], updates[j, :]) for the updates j of row r, in their order; `zeros`: out begins as zeros.
// False: the groups are not those of `group`, or the call is to stop; then out is not to be used.
[[nodiscard]] bool scatter_groups(const Groups&, const std::byte* updates, std::byte* out, int64_t width, bool zeros,
                                  const Combine&);

// One reduction of the updates of every row, and where its results go.
struct GroupReduction {
    Combine combine;
    std::byte* out;    // rows of `width` elements
    int64_t* members;  // which update a minimum or maximum is; or null
};
bool supports_group_reduction(const Combine&, bool members);

// All of it, in one pass over the updates. Of no updates the sum is zero, the product one, the minimum or maximum zero
// and member number `count`. False: as above.
[[nodiscard]] bool reduce_groups(const Groups&, const std::byte* updates, int64_t width,
                                 const std::vector<GroupReduction>&);

}  // namespace gs
