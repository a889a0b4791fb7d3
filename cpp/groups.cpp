#include "groups.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <vector>

#include "accumulate.hpp"
#include "machine.hpp"
#include "parallel.hpp"
#include "row_moves.hpp"

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

bool scatter_groups(const Groups& groups, const std::byte* updates, std::byte* out, int64_t width, bool zeros,
                    const Combine& combine, Watch& watch) {
    const int64_t row_size = width * combine.item_size;
    const CombineGroup combine_group = group_combiner(combine);
    const auto finish = accumulator(combine).finish;
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
            std::byte* const row = out + r * row_size;
            const int64_t first = read_once(groups.starts[r]), n = read_once(groups.starts[r + 1]) - first;
            if (first < 0 || n < 0 || n > groups.count - first || watch.stop()) sound = false;
            if (!sound) return;
            if (zeros) std::memset(row, 0, static_cast<size_t>(row_size));
            if (n == 0) continue;
            const Members members{groups.order + first, n, groups.count - first, groups.count};
            if (!combine_group(row, updates, members, width, !combine.include_self)) sound = false;
            int64_t visits = n;
            if (finish) finish({row, row, &visits, 1, width}, combine);
        }
    });
    return sound;
}

}  // namespace gs
