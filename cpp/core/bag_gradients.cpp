#include "bag_gradients.hpp"

#include <algorithm>
#include <atomic>

#include "groups.hpp"
#include "machine.hpp"
#include "parallel.hpp"
#include "reduction.hpp"
#include "row_moves.hpp"
#include "sizes.hpp"

namespace gs {
namespace {

// The type that elements are summed in.
template <class T>
using Sum = std::conditional_t<Half<T>, float, T>;

// Sums of this many columns stay in the first-level cache.
constexpr int64_t columns_at_once = tiny ? 3 : 256;
// The number of partial sums for a product of rows. They fill the registers of each instruction set.
constexpr int64_t lanes = 16;

bool in_range(int64_t row, int64_t rows) { return static_cast<uint64_t>(row) < static_cast<uint64_t>(rows); }

// Prefetches the row of a later member, if that row is in range.
template <class T>
GS_LOOP void prefetch_next(const T* data, int64_t data_rows, const int64_t* rows, int64_t i, int64_t n, int64_t width) {
    const int64_t size = width * static_cast<int64_t>(sizeof(T));
    const int64_t next = read_once(rows[std::min(i + row_lookahead(size), n - 1)]);
    if (in_range(next, data_rows)) prefetch_row(reinterpret_cast<const std::byte*>(data + next * width), size);
}

// Sums the matching values in n columns from `column` on, over the members [first, end). False: a row is out of range.
template <class T, bool counts, class S>
GS_LOOP bool sum_columns(S* sums, const Bags& bags, const Matches& matches, const T* target, int64_t first, int64_t end,
                         int64_t column, int64_t n) {
    const T* const keys = reinterpret_cast<const T*>(matches.keys);
    const T* const values = reinterpret_cast<const T*>(matches.values);
    for (int64_t m = first; m < end; ++m) {
        prefetch_next(keys, matches.key_rows, bags.rows, m, bags.members, matches.width);
        if (!counts) prefetch_next(values, matches.key_rows, bags.rows, m, bags.members, matches.width);
        const int64_t row = read_once(bags.rows[m]);
        if (!in_range(row, matches.key_rows)) return false;
        const int64_t start = row * matches.width + column;
        GS_INDEPENDENT
        for (int64_t c = 0; c < n; ++c) {
            const auto key = accumulate_as<Sum<T>>(keys[start + c]), wanted = accumulate_as<Sum<T>>(target[column + c]);
            const bool match = (key == wanted) | ((key != key) & (wanted != wanted));
            if constexpr (counts)
                sums[c] += match;
            else
                sums[c] += match ? accumulate_as<S>(values[start + c]) : S{};
        }
    }
    return true;
}

// Handles one bag with the members [first, end).
using SumBag = bool (*)(const Bags&, const Matches&, int64_t bag, int64_t first, int64_t end, std::byte* out);

template <class T, bool counts>
GS_LOOP bool sum_bag(const Bags& bags, const Matches& matches, int64_t bag, int64_t first, int64_t end,
                     std::byte* out) {
    using S = std::conditional_t<counts, int64_t, Sum<T>>;
    using Out = std::conditional_t<counts, int64_t, T>;
    const T* const target = reinterpret_cast<const T*>(matches.targets) + bag * matches.width;
    Out* const made = reinterpret_cast<Out*>(out) + bag * matches.width;
    for (int64_t column = 0; column < matches.width; column += columns_at_once) {
        const int64_t n = std::min(columns_at_once, matches.width - column);
        S sums[columns_at_once] = {};
        for (int64_t m = first; m < end; m += block) {
            if (!sum_columns<T, counts>(sums, bags, matches, target, m, std::min(m + block, end), column, n) ||
                (end - first > block && should_stop()))
                return false;
        }
        for (int64_t c = 0; c < n; ++c) made[column + c] = Out(sums[c]);
    }
    return true;
}

SumBag bag_summer(DType dtype, bool counts) {
    return visit(dtype, SumBag{nullptr}, [=]<class T>(std::type_identity<T>) {
        if constexpr (Float<T>)
            return counts ? version<sum_bag<T, true>>() : version<sum_bag<T, false>>();
        else
            return SumBag{nullptr};
    });
}

// Handles the pairs [begin, end). False: a row is out of range.
using DotRows = bool (*)(const RowPairs&, int64_t begin, int64_t end, std::byte* out);

template <class T>
GS_LOOP bool dot_pairs(const RowPairs& pairs, int64_t begin, int64_t end, std::byte* out) {
    using S = Sum<T>;
    const T* const a = reinterpret_cast<const T*>(pairs.a);
    const T* const b = reinterpret_cast<const T*>(pairs.b);
    for (int64_t m = begin; m < end; ++m) {
        prefetch_next(a, pairs.a_rows, pairs.rows_of_a, m, pairs.count, pairs.width);
        prefetch_next(b, pairs.b_rows, pairs.rows_of_b, m, pairs.count, pairs.width);
        const int64_t i = read_once(pairs.rows_of_a[m]), j = read_once(pairs.rows_of_b[m]);
        if (!in_range(i, pairs.a_rows) || !in_range(j, pairs.b_rows)) return false;
        const T *const u = a + i * pairs.width, *const v = b + j * pairs.width;
        const auto add_product = [&](S& sum, int64_t c) {
            sum = Add{}(sum, Mul{}(accumulate_as<S>(u[c]), accumulate_as<S>(v[c])));
        };
        // Partial sums that are independent of each other, so that every version can keep them in vectors.
        S sums[lanes] = {};
        int64_t c = 0;
        for (; c + lanes <= pairs.width; c += lanes) {
            GS_UNROLL_ALL
            for (int64_t lane = 0; lane < lanes; ++lane) add_product(sums[lane], c + lane);
        }
        for (int64_t lane = 0; c + lane < pairs.width; ++lane) add_product(sums[lane], c + lane);
        for (int64_t half = lanes / 2; half > 0; half /= 2)
            for (int64_t lane = 0; lane < half; ++lane) sums[lane] = Add{}(sums[lane], sums[lane + half]);
        reinterpret_cast<T*>(out)[m] = T(sums[0]);
    }
    return true;
}

DotRows row_dotter(DType dtype) {
    return visit(dtype, DotRows{nullptr}, []<class T>(std::type_identity<T>) {
        if constexpr (Float<T> || Complex<T>)
            return float_version<dot_pairs<T>>();
        else
            return DotRows{nullptr};
    });
}

}  // namespace

bool supports_matches(DType dtype) { return bag_summer(dtype, false) != nullptr; }

bool sum_matches(const Bags& bags, const Matches& matches, std::byte* out) {
    const SumBag sum = bag_summer(matches.dtype, !matches.values);
    return each_range(bags.starts, bags.count, bags.members, matches.width * int64_t{sizeof(double)},
                      [&](int64_t b, int64_t first, int64_t end) { return sum(bags, matches, b, first, end, out); });
}

bool supports_dots(DType dtype) { return row_dotter(dtype) != nullptr; }

bool dot_rows(const RowPairs& pairs, std::byte* out) {
    const DotRows dot = row_dotter(pairs.dtype);
    std::atomic<bool> sound = true;
    for_pieces(pairs.count, {pairs.count, pairs.width * int64_t{sizeof(double)}}, [&](int64_t begin, int64_t end) {
        if (!dot(pairs, begin, end, out)) sound = false;
        return sound.load();
    });
    return sound;
}

}  // namespace gs
