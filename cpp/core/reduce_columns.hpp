// The loops over the members of bags. Each is a template over element type, accumulator, reduction and columns.
#pragma once

#include <algorithm>
#include <bit>
#include <concepts>
#include <cstring>
#include <type_traits>
#include <utility>

#include "accumulate.hpp"
#include "bag_loops.hpp"
#include "halves.hpp"
#include "machine.hpp"
#include "row_moves.hpp"
#include "vectors.hpp"

namespace gs {
namespace {  // each file that includes this has loops for other types

// Sums and products of halves are held as floats. If halves accumulate in their own type, they are rounded after each
// step.
template <class T, class A, class Op>
inline constexpr bool rounds_steps = Half<T> && std::same_as<T, A> && !Selection<Op>;
template <class T, class A, class Op>
using SumType = std::conditional_t<rounds_steps<T, A, Op>, float, A>;

// Loads n elements in the type of a sum. `converts`: how many 16-bit floats, or codes of quantized numbers, the
// processor converts at a time. 0: none.
template <int64_t converts, int64_t n, class T, class S>
GS_LOOP void load(const T* from, S* to) {
    if constexpr (converts > 0 && Half<T> && std::same_as<S, float>) {
        constexpr int64_t piece = std::min(n, converts);
        for (int64_t w = 0; w < n; w += piece) widen_in_loop<piece>(from + w, to + w);
    } else {
        GS_INDEPENDENT
        for (int64_t w = 0; w < n; ++w) to[w] = accumulate_as<S>(from[w]);
    }
}

template <int64_t converts, int64_t n, Half T>
GS_LOOP void store(const float* from, T* to) {
    if constexpr (converts > 0 && std::same_as<T, float16>) {
        constexpr int64_t piece = std::min(n, converts);
        for (int64_t w = 0; w < n; w += piece) narrow_in_loop<piece>(from + w, to + w);
    } else {
        GS_INDEPENDENT
        for (int64_t w = 0; w < n; ++w) to[w] = T(from[w]);
    }
}

// Rounds a vector of floats to bfloat16, as bfloat16::round() does.
template <class V>
GS_LOOP void round_to_bfloat16(V& floats) {
    using Bits = Vector<uint32_t, sizeof(V) / sizeof(float)>;
    const Bits bits = reinterpret_cast<Bits>(floats), rounded = bits + 0x7fffu + (bits >> 16 & 1u);
    floats = reinterpret_cast<V>((floats != floats ? bits | 0x400000u : rounded) & 0xffff0000u);
}

// Rounds floats to the half type T.
template <class T, int64_t converts, int64_t n>
GS_LOOP void round(float* values) {
    if constexpr (converts > 0 && std::same_as<T, float16>) {
        T rounded[n];
        store<converts, n>(values, rounded);
        load<converts, n>(rounded, values);
    } else if constexpr (converts > 0 && n >= converts) {
        for (int64_t w = 0; w < n; w += converts) {
            Vector<float, converts> v;
            std::memcpy(&v, values + w, sizeof(v));
            round_to_bfloat16(v);
            std::memcpy(values + w, &v, sizeof(v));
        }
    } else if constexpr (std::same_as<T, bfloat16>) {
        GS_INDEPENDENT
        for (int64_t w = 0; w < n; ++w) values[w] = bfloat16::round(values[w]);
    } else {
        GS_INDEPENDENT
        for (int64_t w = 0; w < n; ++w) values[w] = float(T(values[w]));
    }
}

// n columns of rows in memory, starting at the byte `column` of each row.
template <class T, int64_t n>
class PlainColumns {
  public:
    using Row = const T*;
    static constexpr int64_t bytes = n * static_cast<int64_t>(sizeof(T));
    static constexpr bool are_coded = false;
    template <class S, int64_t converts>
    static constexpr bool has_add_row = false;

    PlainColumns(const BagRows& rows, int64_t column)
        : data_(rows.data + column), row_size_(rows.size), zeros_(reinterpret_cast<const T*>(rows.zeros)) {}

    GS_LOOP void prefetch(int64_t row) const { prefetch_row(data_ + row * row_size_, bytes); }
    GS_LOOP Row at(int64_t row) const { return reinterpret_cast<const T*>(data_ + row * row_size_); }
    GS_LOOP Row none() const { return zeros_; }

    template <int64_t converts, class S>
    GS_LOOP void load_row(Row row, S* to) const {
        load<converts, n>(row, to);
    }

  private:
    const std::byte* data_;
    int64_t row_size_;
    const T* zeros_;
};

// The members of bags, with some columns of their rows.
template <class Columns>
struct MemberRows {
    const int64_t* rows;
    int64_t last_known;
    uint64_t row_count;
    bool may_skip, prefetches;
    Columns columns;

    // Finds the row of member m, and may prefetch a later row. False: the row is out of range.
    GS_LOOP bool find_row(int64_t m, typename Columns::Row& row) const {
        constexpr int64_t ahead = row_lookahead(Columns::bytes);
        constexpr bool is_narrow = Columns::bytes <= 16;  // the prefetch takes no longer than the question
        if (is_narrow || prefetches) {
            const auto next = static_cast<uint64_t>(rows[std::min(m + ahead, last_known)]);
            if (next < row_count) columns.prefetch(static_cast<int64_t>(next));
        }
        const int64_t number = read_once(rows[m]);
        if (static_cast<uint64_t>(number) < row_count) [[likely]] {
            row = columns.at(number);
            return true;
        }
        row = columns.none();
        return number == -1 && may_skip;
    }
};

// Loads member m, whose row is known. Products with weights are rounded to the element type.
template <class T, bool weighted, int64_t converts, int64_t n, class S, class Columns>
GS_LOOP void load_member(const Columns& columns, const typename Columns::Row& row, const T* weights, int64_t m, S* to) {
    if constexpr (!weighted) {
        columns.template load_row<converts>(row, to);
    } else if constexpr (Half<T>) {
        float factor;
        load<converts, 1>(weights + m, &factor);
        columns.template load_row<converts>(row, to);
        GS_INDEPENDENT
        for (int64_t w = 0; w < n; ++w) to[w] *= factor;
        round<T, converts, n>(to);
    } else {
        T values[n];
        columns.template load_row<converts>(row, values);
        const T factor = weights[m];
        GS_INDEPENDENT
        for (int64_t w = 0; w < n; ++w) to[w] = accumulate_as<S>(Mul{}(values[w], factor));
    }
}

// Combines the members m to end - 1 with n sums. False: a row is out of range.
template <class T, class Op, bool weighted, bool rounds, int64_t converts, int64_t n, class S, class Columns>
GS_LOOP bool combine_members(const MemberRows<Columns>& members, const T* weights, int64_t m, int64_t end, S* sums) {
    const Op op;
    typename Columns::Row row;
    for (; m < end; ++m) {
        if (!members.find_row(m, row)) return false;
        S values[n];
        load_member<T, weighted, converts, n>(members.columns, row, weights, m, values);
        GS_INDEPENDENT
        for (int64_t w = 0; w < n; ++w) sums[w] = op(sums[w], values[w]);
        if constexpr (rounds) round<T, converts, n>(sums);
    }
    return true;
}

// Converts n sums to elements. If members > 0, the sums are divided by it.
template <class T, class Op, int64_t converts, int64_t n, class S>
GS_LOOP void store_results(S* sums, int64_t members, T* to) {
    if constexpr (Half<T> && std::same_as<S, float>) {
        if (members > 0)
            for (int64_t w = 0; w < n; ++w) sums[w] /= static_cast<float>(members);
        store<converts, n>(sums, to);
    } else if constexpr (!std::same_as<T, S>) {
        for (int64_t w = 0; w < n; ++w) to[w] = element_of<T>(sums[w], members);
    } else {
        if constexpr ((Float<T> || Complex<T>) && std::same_as<Op, Add>)
            if (members > 0)
                for (int64_t w = 0; w < n; ++w) sums[w] = element_of<T>(sums[w], members);
        GS_INDEPENDENT
        for (int64_t w = 0; w < n; ++w) to[w] = sums[w];
    }
}

// Reduces n columns. n is a constant so that the sums stay in registers. `ColumnsOf` reads them: PlainColumns or
// CodedColumns.
template <class T, class A, class Op, bool weighted, template <class, int64_t> class ColumnsOf, int64_t converts,
          int64_t n>
GS_LOOP bool reduce_columns(const Bags& bags, const BagRange& range, const BagRows& rows, int64_t column,
                            const std::byte* empty, std::byte* out, bool mean) {
    using S = SumType<T, A, Op>;
    using Columns = ColumnsOf<T, n>;
    const MemberRows<Columns> members{
        bags.rows,     range.known - 1,      static_cast<uint64_t>(rows.count), rows.zeros != nullptr,
        rows.prefetch, Columns(rows, column)};
    const Columns& columns = members.columns;
    const T* const weights = reinterpret_cast<const T*>(bags.weights);
    S* const sums_of_part = reinterpret_cast<S*>(range.sums);
    for (int64_t b = range.begin; b < range.end; ++b) {
        const int64_t start = read_once(bags.starts[b]), stop = read_once(bags.starts[b + 1]);
        if (start < 0 || stop < start || stop > bags.members) return false;
        T* const to = reinterpret_cast<T*>(out + b * rows.size + column);
        if (start == stop) {
            T value;
            std::memcpy(&value, empty, sizeof(T));
            for (int64_t w = 0; w < n; ++w) to[w] = value;
            continue;
        }
        int64_t m = std::max(start, range.first);
        const int64_t end = std::min(stop, range.last);
        typename Columns::Row row;
        S sums[n];
        if (m > start) {
            GS_INDEPENDENT
            for (int64_t w = 0; w < n; ++w) sums[w] = sums_of_part[w];
        } else if constexpr (Columns::are_coded) {
            // -0.0 + x is x, even if x is -0.0. So all members take the same loop, and there is less code.
            for (int64_t w = 0; w < n; ++w) sums[w] = S(-0.0);
        } else {
            if (!members.find_row(m, row)) return false;
            if constexpr (rounds_steps<T, A, Op> && !weighted)
                if (rows.rounds && stop - start == 1 && !mean) {  // a single member keeps its bits, even those of NaN
                    std::memcpy(static_cast<void*>(to), row, Columns::bytes);
                    continue;
                }
            load_member<T, weighted, converts, n>(columns, row, weights, m, sums);
            ++m;
        }
        if constexpr (Columns::template has_add_row<S, converts>) {
            using V = Vector<S, converts>;
            V vectors[n / converts];  // no array of floats, because GCC keeps those in memory
            GS_UNROLL_ALL
            for (int64_t i = 0; i < n / converts; ++i) std::memcpy(&vectors[i], sums + i * converts, sizeof(V));
            for (; m < end; ++m) {
                if (!members.find_row(m, row)) return false;
                float factor = 1;
                if constexpr (weighted) load<converts, 1>(weights + m, &factor);
                columns.template add_row<weighted, converts>(row, factor, vectors);
            }
            GS_UNROLL_ALL
            for (int64_t i = 0; i < n / converts; ++i) std::memcpy(sums + i * converts, &vectors[i], sizeof(V));
        } else {
            constexpr bool may_round = rounds_steps<T, A, Op>;
            if (may_round && rows.rounds) {
                if (!combine_members<T, Op, weighted, may_round, converts, n>(members, weights, m, end, sums))
                    return false;
            } else {
                if (!combine_members<T, Op, weighted, false, converts, n>(members, weights, m, end, sums)) return false;
            }
        }
        if (end < stop) {
            GS_INDEPENDENT
            for (int64_t w = 0; w < n; ++w) sums_of_part[w] = sums[w];
            continue;
        }
        store_results<T, Op, converts, n>(sums, mean ? stop - start : 0, to);
    }
    return true;
}

// Selects the loop for n columns. Sums of 32 bytes would not fill a vector of 64 bytes. Sums of 16 bytes fill a vector
// of the baseline, but halves need the conversions of AVX2.
template <class T, class A, class Op, bool weighted, template <class, int64_t> class ColumnsOf, InstructionSet set,
          int64_t n>
ReduceColumns version_of_loop() {
    constexpr int64_t bytes = n * int64_t{sizeof(SumType<T, A, Op>)};
    constexpr InstructionSet best = bytes > 32              ? InstructionSet::avx512
                                    : bytes > 16 || Half<T> ? InstructionSet::avx2
                                                            : InstructionSet::baseline;
    constexpr InstructionSet used = std::min(set, best);
    using Loop = Versions<reduce_columns<T, A, Op, weighted, ColumnsOf, conversions_at_once(used), n>>;
#ifdef GS_VERSIONS
    if constexpr (used == InstructionSet::avx512) return Loop::avx512;
    if constexpr (used == InstructionSet::avx2) return Loop::avx2;
#endif
    return Loop::baseline;
}

// The accumulators that are not numbers of the processor: Pair, ComplexPair and Int128.
template <class S>
inline constexpr bool in_two_parts = !std::is_arithmetic_v<S> && !Half<S> && !Complex<S> && !std::same_as<S, boolean>;

// Whether bags have loops for an instruction set. If not, those of an older one are used. If there are none, rows are
// gathered first.
template <class T, class A, class Op, bool coded>
constexpr bool has_loops([[maybe_unused]] InstructionSet set) {
#ifdef GS_VERSIONS
    using S = SumType<T, A, Op>;
    constexpr bool is_wide_integer = std::same_as<T, A> && Integer<T> && sizeof(T) >= 4;
    switch (set) {
        // Integers of 8 and 16 bits gain nothing. Compilers fuse products of complex numbers despite the options (see
        // float_version). Products are rare, and so are other reductions of integers than sums.
        case InstructionSet::avx512:
            return (std::floating_point<S> && !std::same_as<Op, Mul>) || (is_wide_integer && std::same_as<Op, Add>);
        case InstructionSet::avx2:
            return !in_two_parts<S>;  // compilers do not vectorize the others
        // Without the conversions of AVX2, gathering is faster.
        default: return !Half<T> && !coded;
    }
#else
    return true;
#endif
}

// The loops whose sums take at most `bytes` of registers.
template <class T, class A, class Op, bool weighted, template <class, int64_t> class ColumnsOf, InstructionSet set,
          int64_t bytes>
BagLoops make_loops() {
    constexpr int64_t columns = std::max<int64_t>(bytes / int64_t{sizeof(SumType<T, A, Op>)}, 1);
    BagLoops loops{columns, {}};
    [&]<size_t... i>(std::index_sequence<i...>) {
        ((loops.loop[i] = version_of_loop<T, A, Op, weighted, ColumnsOf, set, (columns >> i)>()), ...);
    }(std::make_index_sequence<std::bit_width(static_cast<uint64_t>(columns))>{});
    return loops;
}

// Sums fill half of the registers: eight with AVX2, sixteen with AVX-512 and NEON. Codes are decoded in the others, so
// with AVX-512 their sums fill a quarter.
template <class T, class A, class Op, bool weighted, template <class, int64_t> class ColumnsOf>
BagLoops loops_of() {
    constexpr bool coded = ColumnsOf<T, 1>::are_coded;
    constexpr auto has = has_loops<T, A, Op, coded>;
#ifdef GS_VERSIONS
    if constexpr (has(InstructionSet::avx512))
        if (instruction_set == InstructionSet::avx512)
            return make_loops<T, A, Op, weighted, ColumnsOf, InstructionSet::avx512, max_sum_bytes / (coded ? 2 : 1)>();
    if constexpr (has(InstructionSet::avx2))
        if (instruction_set >= InstructionSet::avx2)
            return make_loops<T, A, Op, weighted, ColumnsOf, InstructionSet::avx2, 256>();
#endif
#ifdef GS_NEON
    constexpr int64_t vector_bytes = 256;
#else
    constexpr int64_t vector_bytes = 128;
#endif
    if constexpr (has(InstructionSet::baseline))
        return make_loops<T, A, Op, weighted, ColumnsOf, InstructionSet::baseline,
                          in_two_parts<SumType<T, A, Op>> ? 64 : vector_bytes>();
    else
        return {};
}

// The loops for rows in memory. `Has` says whether an element type has loops in this file.
template <template <class> class Has>
BagLoops plain_loops(const Combine& combine, bool weighted) {
    return visit_combine(
        combine, BagLoops{}, [=]<class T, class A, class Op>(std::type_identity<T>, std::type_identity<A>, Op) {
            // Whether sums of halves are rounded is not a constant of a loop.
            using Sums = std::conditional_t<Half<T>, T, A>;
            constexpr bool can_be_weighted = std::same_as<Op, Add> && (Float<T> || Complex<T>);
            if constexpr (!Has<T>::value || requires(A a) { a.known(); } || Counted<A> || std::same_as<Op, Sub>)
                return BagLoops{};
            else if constexpr (can_be_weighted)
                return weighted ? loops_of<T, Sums, Op, true, PlainColumns>()
                                : loops_of<T, Sums, Op, false, PlainColumns>();
            else
                return weighted ? BagLoops{} : loops_of<T, Sums, Op, false, PlainColumns>();
        });
}

}  // namespace
}  // namespace gs
