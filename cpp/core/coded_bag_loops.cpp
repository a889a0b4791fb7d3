#include "code_loops.hpp"
#include "reduce_columns.hpp"

namespace gs {
namespace {

// n columns of the rows of a quantized table.
template <class T, int64_t n>
class CodedColumns {
  public:
    struct Row {
        const uint8_t* codes;  // null: all numbers are zero
        const T* scales;
        int64_t zero;  // the first zero point
    };
    static constexpr bool are_coded = true;
    static constexpr int64_t bytes = n;  // at most
    // Whether add_row() can add to sums of type S, in vectors of `converts` floats. If not, use load_row().
    template <class S, int64_t converts>
    static constexpr bool has_add_row = has_code_vectors && std::floating_point<S> && converts > 0 && n >= converts;

    CodedColumns(const BagRows& rows, int64_t column)
        : rows_(*rows.coded),
          shift_(std::countr_zero(static_cast<unsigned>(rows_.type.per_byte))),
          zero_(rows_.type.zero + rows_.flip),
          rounds_(rows.rounds) {
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
    // rounded to T. Sums of halves are also rounded, if `rounds`.
    template <bool weighted, int64_t converts, class V>
    GS_LOOP void add_row(const Row& row, float factor, V* sums) const {
        if (!row.codes) {
            GS_UNROLL_ALL
            for (int64_t i = 0; i < n / converts; ++i) add_vector<weighted>(Vector<float, converts>{}, factor, sums[i]);
        } else if constexpr (Half<T> || !std::same_as<V, Vector<float, converts>>) {
            // Conversions take most of the code, so there is one copy of them.
            add_codes<any, weighted, converts>(row, factor, sums);
        } else if (rows_.values_of_codes) {
            add_codes<0, weighted, converts>(row, factor, sums);
        } else if (shift_ == 0) {
            add_codes<1, weighted, converts>(row, factor, sums);
        } else if (shift_ == 1) {
            add_codes<2, weighted, converts>(row, factor, sums);
        } else {
            add_codes<4, weighted, converts>(row, factor, sums);
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

    // per_byte: the codes in a byte if they are integers, or 0, or `any` if this is decided for each vector.
    static constexpr int any = -1;
    template <int per_byte, bool weighted, int64_t converts, class V>
    GS_LOOP void add_codes(const Row& row, float factor, V* sums) const {
        const bool looks_up = per_byte == 0 || (per_byte == any && rows_.values_of_codes);
        const int packed = per_byte == any ? 1 << shift_ : per_byte;
        int zero = looks_up ? 0 : zero_at<per_byte>(row, 0);
        float scale = scale_at<converts>(row, 0);
        [[maybe_unused]] float values[n];
        if (looks_up) look_up(row.codes, n, rows_.values_of_codes, values);
        GS_UNROLL_ALL
        for (int64_t w = 0; w < n; w += converts) {
            if (w > 0 && w % step == 0 && !is_one_block_) {
                if (!looks_up) zero = zero_at<per_byte>(row, block_[w / step]);
                scale = scale_at<converts>(row, block_[w / step]);
            }
            Vector<float, converts> numbers;
            if (looks_up) {
                std::memcpy(&numbers, values + w, sizeof(numbers));
                numbers *= scale;
            } else if (packed == 2) {
                decode_vector<2>(row.codes + w / 2, rows_.flip, zero, scale, numbers);
            } else if (packed == 1) {
                decode_vector<1>(row.codes + w, rows_.flip, zero, scale, numbers);
            } else {
                decode_vector<4>(row.codes + w / 4, rows_.flip, zero, scale, numbers);
            }
            if constexpr (Half<T>) round_vector(numbers);
            add_vector<weighted>(numbers, factor, sums[w / converts]);
        }
    }

    template <bool weighted, class N, class V>
    GS_LOOP void add_vector(N numbers, float factor, V& sums) const {
        if constexpr (weighted) numbers *= factor;
        if constexpr (weighted && Half<T>) round_vector(numbers);
        add_converted(sums, numbers);
        if constexpr (Half<T>)
            if (rounds_) round_vector(sums);
    }

    template <class V>
    GS_LOOP static void round_vector(V& v) {
        if constexpr (std::same_as<T, bfloat16>) {
            round_to_bfloat16(v);
        } else {
            constexpr int64_t floats = sizeof(V) / sizeof(float);
            float values[floats];
            std::memcpy(values, &v, sizeof(V));
            round<T, floats, floats>(values);
            std::memcpy(&v, values, sizeof(V));
        }
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
        if constexpr (per_byte == 0) return 0;
        if (!rows_.zero_points) return zero_;
        const int shift = per_byte == any ? shift_ : per_byte / 2, bits = 8 >> shift, mask = (1 << bits) - 1;
        const auto at = static_cast<uint64_t>(row.zero + block), within = at & ((uint64_t{1} << shift) - 1);
        return (rows_.zero_points[at >> shift] >> (static_cast<int>(within) * bits) & mask) ^ rows_.flip;
    }

    CodedRows rows_;  // its codes begin at the first column, and its scales at the block of that column
    int shift_;       // bytes = codes >> shift
    int zero_;        // the zero point of tables without zero points, plus `flip`
    bool rounds_;     // whether sums of halves are rounded after each step
    int64_t first_block_;
    int64_t block_[steps];  // the block of each step, counted from first_block_
    bool is_one_block_;
};

}  // namespace

BagLoops coded_bag_loops(const Combine& combine, bool weighted) {
    return visit_combine(combine, BagLoops{},
                         [=]<class T, class A, class Op>(std::type_identity<T>, std::type_identity<A>, Op) {
                             if constexpr (!std::same_as<Op, Add> || requires(A a) { a.known(); } || Counted<A>)
                                 return BagLoops{};
                             else if constexpr (std::same_as<T, float> || Half<T>) {
                                 // Whether sums of halves are rounded is not a constant of a loop.
                                 using Sums = std::conditional_t<Half<T>, T, A>;
                                 return weighted ? loops_of<T, Sums, Op, true, CodedColumns>()
                                                 : loops_of<T, Sums, Op, false, CodedColumns>();
                             } else
                                 return BagLoops{};
                         });
}

}  // namespace gs
