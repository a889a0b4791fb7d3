#include "groups.hpp"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "accumulate.hpp"
#include "machine.hpp"
#include "parallel.hpp"
#include "row_moves.hpp"
#include "sizes.hpp"

namespace gs {

bool group(const int64_t* numbers, int64_t count, int64_t rows, int64_t* starts, int64_t* order) {
    const auto read = [&](int64_t i, int64_t& row) {  // a number is checked each time it is read
        row = read_once(numbers[i]);
        return row >= 0 && row < rows;
    };
    const auto count_rows = [&](int64_t begin, int64_t end) {
        for (int64_t i = begin, row; i < end; ++i) {
            if (!read(i, row)) return false;
            ++starts[row + 1];
        }
        return true;
    };
    const auto place = [&](int64_t begin, int64_t end) {
        for (int64_t i = begin, row; i < end; ++i) {
            if (!read(i, row)) return false;
            const int64_t next = starts[row]++;
            if (next >= count) return false;
            order[next] = i;
        }
        return true;
    };
    constexpr int64_t bytes_per_index = 64;  // an index touches at least this many bytes of memory
    if (!in_pieces(0, rows + 1, 8, [&](int64_t begin, int64_t end) { std::fill(starts + begin, starts + end, 0); }))
        return false;
    if (!in_pieces(0, count, bytes_per_index, count_rows)) return false;
    if (!in_pieces(0, rows, 8, [&](int64_t begin, int64_t end) {
            for (int64_t r = begin; r < end; ++r) starts[r + 1] += starts[r];
        }))
        return false;
    if (!in_pieces(0, count, bytes_per_index, place)) return false;
    // Each start has moved to the start of the next row.
    int64_t start = 0;
    return in_pieces(0, rows, 8, [&](int64_t begin, int64_t end) {
        for (int64_t r = begin; r < end; ++r) start = std::exchange(starts[r], start);
    });
}

bool supports_groups(const Combine& combine) {
    return combine.reduction != Reduction::none && supports(combine.dtype, combine.reduction) &&
           !accumulator(combine).load;
}

namespace {

// Calls f(row, members) for every row and its updates, on several threads. False: see each_range.
template <class F>
bool each_group(const Groups& groups, int64_t row_size, F f) {
    return each_range(groups.starts, groups.rows, groups.count, row_size, [&](int64_t r, int64_t first, int64_t next) {
        return f(r, Members{groups.order + first, next - first, groups.count - first, groups.count});
    });
}

// Fills a row with the result of a reduction without updates.
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
                    const Combine& combine) {
    const int64_t row_size = width * combine.item_size;
    const CombineGroup combine_group = group_combiner(combine);
    const auto finish = accumulator(combine).finish;
    return each_group(groups, row_size, [&](int64_t r, const Members& members) {
        std::byte* const row = out + r * row_size;
        if (zeros) std::memset(row, 0, static_cast<size_t>(row_size));
        if (members.n == 0) return true;
        const bool sound = in_pieces(0, members.n, row_size, [&](int64_t begin, int64_t end) {
            const Members part{members.order + begin, end - begin, members.known - begin, members.count};
            return combine_group(row, updates, part, width, begin == 0 && !combine.include_self);
        });
        if (!sound) return false;
        int64_t visits = members.n;
        if (finish) finish({row, row, &visits, 1, width}, combine);
        return true;
    });
}

bool supports_group_reduction(const Combine& combine, bool members) {
    return supports_groups(combine) && (!members || extremum_finder(combine));
}

bool reduce_groups(const Groups& groups, const std::byte* updates, int64_t width,
                   const std::vector<GroupReduction>& all) {
    const int64_t row_size = width * all[0].combine.item_size;
    // This many updates fit in the first-level cache. They are used for all results before the next ones are read.
    const int64_t at_once = std::max<int64_t>(group_bytes / std::max<int64_t>(row_size, 1), 1);
    const auto reduce = [&](const GroupReduction& reduced, int64_t r, const Members& part, bool first) {
        std::byte* const row = reduced.out + r * row_size;
        int64_t* const found = reduced.members ? reduced.members + r * width : nullptr;
        if (part.n > 0 && found) return extremum_finder(reduced.combine)(row, found, updates, part, width, first);
        if (part.n > 0) return group_combiner(reduced.combine)(row, updates, part, width, first);
        fill_empty(row, width, reduced.combine);
        if (found) std::fill_n(found, width, groups.count);
        return true;
    };
    return each_group(groups, row_size, [&](int64_t r, const Members& members) {
        for (int64_t first = 0; first == 0 || first < members.n; first += at_once) {
            const int64_t n = std::min(at_once, members.n - first);
            const Members part{members.order + first, n, members.known - first, members.count};
            for (const GroupReduction& reduced : all)
                if (!reduce(reduced, r, part, first == 0)) return false;
            if (first > 0 && should_stop()) return false;
        }
        return true;
    });
}

}  // namespace gs
