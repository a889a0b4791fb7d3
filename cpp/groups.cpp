#include "groups.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <vector>

#include "accumulate.hpp"
#include "machine.hpp"
#include "parallel.hpp"
#include "row_moves.hpp"
#include "sizes.hpp"

namespace gs {

bool group(const int64_t* numbers, int64_t count, int64_t rows, int64_t* starts, int64_t* order) {
    std::fill_n(starts, rows + 1, 0);
    for (int64_t i = 0; i < count; ++i) {
        const int64_t row = read_once(numbers[i]);
        if (row < 0 || row >= rows) return false;
        ++starts[row + 1];
    }
    for (int64_t r = 0; r < rows; ++r) starts[r + 1] += starts[r];
    std::vector<int64_t> next(starts, starts + rows);
    for (int64_t i = 0; i < count; ++i) {  // reads them again: checked again
        const int64_t row = read_once(numbers[i]);
        if (row < 0 || row >= rows) return false;
        const int64_t place = next[static_cast<size_t>(row)]++;
        if (place >= count) return false;
        order[place] = i;
    }
    return true;
}

bool knows_groups(const Combine& combine) {
    return combine.reduction != Reduction::none && knows(combine.dtype, combine.reduction) &&
           !accumulator(combine).load;
}

namespace {

// f(row, members) for every row and its updates, by several threads; false as soon as f says so, or the groups are not
// those of `group`, or to give up.
template <class F>
bool each_group(const Groups& groups, int64_t row_size, Watch& watch, F f) {
    const Work work{groups.rows + groups.count, row_size};
    const int threads = threads_for(work);
    // As many updates for each thread, and the rows that have none.
    const auto bound = [&](int i) -> int64_t {
        if (i == threads) return groups.rows;
        return std::lower_bound(groups.starts, groups.starts + groups.rows, groups.count * i / threads) - groups.starts;
    };
    std::atomic<bool> sound = true;
    run_tasks(threads, threads, [&](int i) {
        const int64_t last = i + 1 == threads ? groups.rows : bound(i + 1);
        for (int64_t r = i == 0 ? 0 : bound(i); r < last; ++r) {
            const int64_t first = read_once(groups.starts[r]), next = read_once(groups.starts[r + 1]);
            // Compared before they are subtracted: whatever they are, nothing overflows.
            if (first < 0 || next < first || next > groups.count || watch.stop()) sound = false;
            if (!sound) return;
            if (!f(r, Members{groups.order + first, next - first, groups.count - first, groups.count})) sound = false;
        }
    });
    return sound;
}

// The value of no updates.
void fill_empty(std::byte* row, int64_t width, const Combine& combine) {
    std::memset(row, 0, static_cast<size_t>(width * combine.item_size));
    if (combine.reduction != Reduction::mul) return;
    visit(combine.dtype, 0, [&]<class T>(std::type_identity<T>) {
        if constexpr (Half<T>)
            std::fill_n(reinterpret_cast<T*>(row), width, T(1.0f));
        else if constexpr (Complex<T>)
            std::fill_n(reinterpret_cast<T*>(row), width, T{1, 0});
        else
            std::fill_n(reinterpret_cast<T*>(row), width, T(1));
        return 0;
    });
}

}  // namespace

bool scatter_groups(const Groups& groups, const std::byte* updates, std::byte* out, int64_t width, bool zeros,
                    const Combine& combine, Watch& watch) {
    const int64_t row_size = width * combine.item_size;
    const CombineGroup combine_group = group_combiner(combine);
    const auto finish = accumulator(combine).finish;
    return each_group(groups, row_size, watch, [&](int64_t r, const Members& members) {
        std::byte* const row = out + r * row_size;
        if (zeros) std::memset(row, 0, static_cast<size_t>(row_size));
        if (members.n == 0) return true;
        if (!combine_group(row, updates, members, width, !combine.include_self)) return false;
        int64_t visits = members.n;
        if (finish) finish({row, row, &visits, 1, width}, combine);
        return true;
    });
}

bool knows_reduced(const Combine& combine, bool members) {
    return knows_groups(combine) && (!members || extremum_finder(combine));
}

bool reduce_groups(const Groups& groups, const std::byte* updates, int64_t width, const std::vector<Reduced>& all,
                   Watch& watch) {
    const int64_t row_size = width * all[0].combine.item_size;
    // As many updates as the first-level cache holds go into one result after the other.
    const int64_t at_once = std::max<int64_t>(group_bytes / std::max<int64_t>(row_size, 1), 1);
    const auto reduce = [&](const Reduced& reduced, int64_t r, const Members& part, bool first) {
        std::byte* const row = reduced.out + r * row_size;
        int64_t* const found = reduced.members ? reduced.members + r * width : nullptr;
        if (part.n > 0 && found) return extremum_finder(reduced.combine)(row, found, updates, part, width, first);
        if (part.n > 0) return group_combiner(reduced.combine)(row, updates, part, width, first);
        fill_empty(row, width, reduced.combine);
        if (found) std::fill_n(found, width, groups.count);
        return true;
    };
    return each_group(groups, row_size, watch, [&](int64_t r, const Members& members) {
        for (int64_t first = 0; first == 0 || first < members.n; first += at_once) {
            const int64_t n = std::min(at_once, members.n - first);
            const Members part{members.order + first, n, members.known - first, members.count};
            for (const Reduced& reduced : all)
                if (!reduce(reduced, r, part, first == 0)) return false;
        }
        return true;
    });
}

}  // namespace gs
