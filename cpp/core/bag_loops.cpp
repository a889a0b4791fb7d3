#include "bag_loops.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "accumulate.hpp"
#include "code_loops.hpp"
#include "halves.hpp"
#include "machine.hpp"
#include "row_moves.hpp"

namespace gs {
namespace {

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

// Rounds floats to the half type T.
template <class T, int64_t converts, int64_t n>
GS_LOOP void round(float* values) {
    if constexpr (converts > 0 && std::same_as<T, float16>) {
        T rounded[n];
        store<converts, n>(values, rounded);
        load<converts, n>(rounded, values);
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

// n columns of the rows of a quantized table.
template <class T, int64_t n>
class CodedColumns {
  public:
    struct Row {
        const uint8_t* codes;  // null: all numbers are zero
        const T* scales;
        int64_t zero;  // the first zero point
    };
    static constexpr int64_t bytes = n;  // at most
    // Whether add_row() can add to sums of type S, in vectors of `converts` floats. If not, use load_row().
    template <class S, int64_t converts>
    static constexpr bool has_add_row = has_code_vectors && std::floating_point<S> && converts > 0 && n >= converts;

    CodedColumns(const BagRows& rows, int64_t column)
        : rows_(*rows.coded),
          shift_(std::countr_zero(static_cast<unsigned>(rows_.type.per_byte))),
          zero_(rows_.type.zero + rows_.flip) {
        const int64_t number = column / static_cast<int64_t>(sizeof(T));
        first_block_ = number / rows_.block;
        for (int64_t i = 0; i < steps; ++i) block_[i] = (number + i * step) / rows_.block - first_block_;
        is_one_block_ = block_[steps - 1] == 0;
        rows_.codes += number >> shift_;
        rows_.scales += first_block_ * static_cast<int64_t>(sizeof(T));
    }

    GS_LOOP void prefetch(int64_t row) const {
        const Row at_row = at(row);
        prefetch_row(reinterpret_cast<const std::byte*>(at_row.codes), n >> shift_);
        gs::prefetch(at_row.scales);
        if (rows_.zero_points) gs::prefetch(rows_.zero_points + (at_row.zero >> shift_));
    }

    GS_LOOP Row at(int64_t row) const {
        return {rows_.codes + row * rows_.row_bytes,
                reinterpret_cast<const T*>(rows_.scales) + row * rows_.scale_stride,
                row * rows_.zero_stride + first_block_};
    }

    GS_LOOP Row none() const { return {nullptr, nullptr, 0}; }

    // Adds the numbers of a row to sums. If `weighted`, they are multiplied by `factor`. Numbers and products are
    // rounded to T. So are sums, if `rounds`.
    template <bool weighted, bool rounds, int64_t converts, class V>
    GS_LOOP void add_row(const Row& row, float factor, V* sums) const {
        if (!row.codes) {
            GS_UNROLL_ALL
            for (int64_t i = 0; i < n / converts; ++i)
                add_vector<weighted, rounds>(Vector<float, converts>{}, factor, sums[i]);
        } else if (rows_.values_of_codes) {
            add_codes<0, weighted, rounds, converts>(row, factor, sums);
        } else if (shift_ == 0) {
            add_codes<1, weighted, rounds, converts>(row, factor, sums);
        } else if (shift_ == 1) {
            add_codes<2, weighted, rounds, converts>(row, factor, sums);
        } else {
            add_codes<4, weighted, rounds, converts>(row, factor, sums);
        }
    }

    // Loads numbers, which have the type T.
    template <int64_t converts, class S>
    GS_LOOP void load_row(const Row& row, S* to) const {
        float values[n];
        if (!row.codes)
            for (int64_t w = 0; w < n; ++w) values[w] = 0;
        else if (rows_.values_of_codes)
            decode<0, converts>(row, values);
        else if (shift_ == 0)
            decode<1, converts>(row, values);
        else if (shift_ == 1)
            decode<2, converts>(row, values);
        else
            decode<4, converts>(row, values);
        if constexpr (Half<T>) round<T, converts, n>(values);
        GS_INDEPENDENT
        for (int64_t w = 0; w < n; ++w) to[w] = static_cast<S>(values[w]);
    }

  private:
    static constexpr int64_t step = std::min(n, scaled_at_once), steps = n / step;

    // per_byte: the codes in a byte if they are integers, or 0.
    template <int per_byte, bool weighted, bool rounds, int64_t converts, class V>
    GS_LOOP void add_codes(const Row& row, float factor, V* sums) const {
        int zero = zero_at<per_byte>(row, 0);
        float scale = scale_at<converts>(row, 0);
        [[maybe_unused]] float values[n];
        if constexpr (per_byte == 0) look_up(row.codes, n, rows_.values_of_codes, values);
        GS_UNROLL_ALL
        for (int64_t w = 0; w < n; w += converts) {
            if (w > 0 && w % step == 0 && !is_one_block_) {
                zero = zero_at<per_byte>(row, block_[w / step]);
                scale = scale_at<converts>(row, block_[w / step]);
            }
            Vector<float, converts> numbers;
            if constexpr (per_byte == 0) {
                std::memcpy(&numbers, values + w, sizeof(numbers));
                numbers *= scale;
            } else {
                decode_vector<per_byte>(row.codes + w / per_byte, rows_.flip, zero, scale, numbers);
            }
            if constexpr (Half<T>) round_vector(numbers);
            add_vector<weighted, rounds>(numbers, factor, sums[w / converts]);
        }
    }

    template <bool weighted, bool rounds, class N, class V>
    GS_LOOP static void add_vector(N numbers, float factor, V& sums) {
        if constexpr (weighted) numbers *= factor;
        if constexpr (weighted && Half<T>) round_vector(numbers);
        add_converted(sums, numbers);
        if constexpr (rounds) round_vector(sums);
    }

    template <class V>
    GS_LOOP static void round_vector(V& v) {
        constexpr int64_t floats = sizeof(V) / sizeof(float);
        float values[floats];
        std::memcpy(values, &v, sizeof(V));
        round<T, floats, floats>(values);
        std::memcpy(&v, values, sizeof(V));
    }

    template <int per_byte, int64_t converts>
    GS_LOOP void decode(const Row& row, float* values) const {
        int zero = zero_at<per_byte>(row, 0);
        float scale = scale_at<converts>(row, 0);
        for (int64_t w = 0; w < n; w += step) {
            if (w > 0 && !is_one_block_) {
                zero = zero_at<per_byte>(row, block_[w / step]);
                scale = scale_at<converts>(row, block_[w / step]);
            }
            if constexpr (per_byte == 0)
                look_up(row.codes + w, step, rows_.values_of_codes, values + w);
            else if constexpr (per_byte == 1)
                convert_integers(row.codes + w, step, rows_.flip, values + w);
            else
                convert_packed_integers<per_byte, step>(row.codes + w / per_byte, rows_.flip, values + w);
            scale_some<step>(values + w, static_cast<float>(zero), scale, values + w);
        }
    }

    template <int64_t converts>
    GS_LOOP float scale_at(const Row& row, int64_t block) const {
        float scale;
        load<converts, 1>(row.scales + block, &scale);
        return scale;
    }

    // The zero point of a block, plus `flip`. Floats have none.
    template <int per_byte>
    GS_LOOP int zero_at(const Row& row, int64_t block) const {
        if constexpr (per_byte == 0) {
            return 0;
        } else {
            if (!rows_.zero_points) return zero_;
            constexpr int bits = 8 / per_byte, mask = (1 << bits) - 1;
            const auto at = static_cast<uint64_t>(row.zero + block);
            return (rows_.zero_points[at / per_byte] >> (at % per_byte * bits) & mask) ^ rows_.flip;
        }
    }

    CodedRows rows_;  // its codes begin at the first column, and its scales at the block of that column
    int shift_;       // bytes = codes >> shift
    int zero_;        // the zero point of tables without zero points, plus `flip`
    int64_t first_block_;
    int64_t block_[steps];  // the block of each step, counted from first_block_
    bool is_one_block_;
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

// Reduces n columns. n is a constant so that the sums stay in registers.
template <class T, class A, class Op, bool weighted, bool coded, int64_t converts, int64_t n>
GS_LOOP bool reduce_columns(const Bags& bags, const BagRange& range, const BagRows& rows, int64_t column,
                            const std::byte* empty, std::byte* out, bool mean) {
    using S = SumType<T, A, Op>;
    using Columns = std::conditional_t<coded, CodedColumns<T, n>, PlainColumns<T, n>>;
    const Op op;
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
        } else if constexpr (coded) {
            // -0.0 + x is x, even if x is -0.0. So all members take the same loop, and there is less code.
            for (int64_t w = 0; w < n; ++w) sums[w] = S(-0.0);
        } else {
            if (!members.find_row(m, row)) return false;
            if constexpr (rounds_steps<T, A, Op> && !weighted)
                if (stop - start == 1 && !mean) {  // a single member keeps its bits, even those of NaN
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
                columns.template add_row<weighted, rounds_steps<T, A, Op>, converts>(row, factor, vectors);
            }
            GS_UNROLL_ALL
            for (int64_t i = 0; i < n / converts; ++i) std::memcpy(sums + i * converts, &vectors[i], sizeof(V));
        } else {
            for (; m < end; ++m) {
                if (!members.find_row(m, row)) return false;
                S values[n];
                load_member<T, weighted, converts, n>(columns, row, weights, m, values);
                GS_INDEPENDENT
                for (int64_t w = 0; w < n; ++w) sums[w] = op(sums[w], values[w]);
                if constexpr (rounds_steps<T, A, Op>) round<T, converts, n>(sums);
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
template <class T, class A, class Op, bool weighted, bool coded, InstructionSet set, int64_t n>
ReduceColumns version_of_loop() {
    constexpr int64_t bytes = n * int64_t{sizeof(SumType<T, A, Op>)};
    constexpr InstructionSet best = bytes > 32              ? InstructionSet::avx512
                                    : bytes > 16 || Half<T> ? InstructionSet::avx2
                                                            : InstructionSet::baseline;
    constexpr InstructionSet used = std::min(set, best);
    using Loop = Versions<reduce_columns<T, A, Op, weighted, coded, conversions_at_once(used), n>>;
#ifdef GS_VERSIONS
    if constexpr (used == InstructionSet::avx512) return Loop::avx512;
    if constexpr (used == InstructionSet::avx2) return Loop::avx2;
#endif
    return Loop::baseline;
}

// The loops whose sums take at most `bytes` of registers.
template <class T, class A, class Op, bool weighted, bool coded, InstructionSet set, int64_t bytes>
BagLoops make_loops() {
    constexpr int64_t columns = std::max<int64_t>(bytes / int64_t{sizeof(SumType<T, A, Op>)}, 1);
    BagLoops loops{columns, {}};
    [&]<size_t... i>(std::index_sequence<i...>) {
        ((loops.loop[i] = version_of_loop<T, A, Op, weighted, coded, set, (columns >> i)>()), ...);
    }(std::make_index_sequence<std::bit_width(static_cast<uint64_t>(columns))>{});
    return loops;
}

// Sums fill half of the registers: eight with AVX2, sixteen with AVX-512 and NEON.
template <class T, class A, class Op, bool weighted, bool coded = false>
BagLoops loops_of() {
    using S = SumType<T, A, Op>;
    // Compilers do not vectorize sums that have two parts.
    constexpr bool in_vectors = std::is_arithmetic_v<S> || Half<S> || std::same_as<S, boolean> || Complex<S>;
    // Integers of 8 and 16 bits gain nothing from AVX-512. Compilers fuse products of complex numbers despite the
    // options (see float_version).
    [[maybe_unused]] constexpr bool has_avx512_loops = Float<S> || (sizeof(S) >= 4 && !Complex<S>);
#ifdef GS_VERSIONS
    if constexpr (in_vectors && has_avx512_loops)
        if (instruction_set == InstructionSet::avx512)
            return make_loops<T, A, Op, weighted, coded, InstructionSet::avx512, max_sum_bytes>();
    if constexpr (in_vectors)
        if (instruction_set >= InstructionSet::avx2)
            return make_loops<T, A, Op, weighted, coded, InstructionSet::avx2, 256>();
#endif
#ifdef GS_NEON
    constexpr int64_t vector_bytes = 256;
#else
    constexpr int64_t vector_bytes = 128;
#endif
    return make_loops<T, A, Op, weighted, coded, InstructionSet::baseline, in_vectors ? vector_bytes : 64>();
}

template <class T, class A, class Op>
BagLoops loops_of(bool weighted) {
    if constexpr (std::same_as<Op, Add> && (Float<T> || Complex<T>))
        if (weighted) return loops_of<T, A, Op, true>();
    return weighted ? BagLoops{} : loops_of<T, A, Op, false>();
}

}  // namespace

BagLoops bag_loops(const Combine& combine, bool weighted, bool coded) {
    return visit_combine(
        combine, BagLoops{}, [=]<class T, class A, class Op>(std::type_identity<T>, std::type_identity<A>, Op) {
            constexpr bool is_sum = std::same_as<Op, Add>;
            if constexpr (requires(A a) { a.known(); } || Counted<A> || std::same_as<Op, Sub>)
                return BagLoops{};
            else if (coded) {
                if constexpr (is_sum && (std::same_as<T, float> || Half<T>))
                    return weighted ? loops_of<T, A, Op, true, true>() : loops_of<T, A, Op, false, true>();
                else
                    return BagLoops{};
            } else if constexpr (std::same_as<T, boolean> && !Selection<Op>)  // sums and products are maxima and minima
                return loops_of<T, A, std::conditional_t<is_sum, Max, Min>>(weighted);
            else
                return loops_of<T, A, Op>(weighted);
        });
}

}  // namespace gs
