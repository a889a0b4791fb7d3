#include "accumulate.hpp"

#include <algorithm>
#include <atomic>
#include <utility>
#include <vector>

#include "halves.hpp"
#include "plan.hpp"

namespace gs {
namespace {

template <Float T>
bool is_nan(T value) {
    if constexpr (Half<T>)
        return value.is_nan();
    else
        return value != value;
}

template <class T, class A>
void load(const std::byte* data, std::byte* sums, int64_t n, [[maybe_unused]] bool include_self) {
    const T* from = reinterpret_cast<const T*>(data);
    A* to = reinterpret_cast<A*>(sums);
    if constexpr (Counted<A>)
        for (int64_t i = 0; i < n; ++i) to[i] = A(include_self ? from[i] : T{-0.0}, 0);  // -0.0 + x is x
    else if constexpr (Half<T> && std::same_as<A, float>)
        widen(from, to, n);
    else
        for (int64_t i = 0; i < n; ++i) to[i] = accumulate_as<A>(from[i]);
}

// NaN in the data is kept unchanged.
template <class T>
void keep_nan(T before, T& now) {
    if constexpr (Complex<T>) {
        if (is_nan(before.real)) now.real = before.real;
        if (is_nan(before.imag)) now.imag = before.imag;
    } else if constexpr (Float<T>) {
        if (is_nan(before)) now = before;
    }
}

// Converts sums to elements. If n > 0, they are divided by n. Skips sums that are not known, because a second pass
// computes them. `keeps_nan`: skips targets whose data is NaN.
template <class T, class A>
void convert_each_sum(const A* sums, T* to, int64_t count, int64_t n, bool keeps_nan) {
    if constexpr (std::same_as<T, A>) {  // the sums are in place
        if (n <= 0) return;
        for (int64_t i = 0; i < count; ++i) to[i] = element_of<T>(to[i], n);
    } else {
        for (int64_t i = 0; i < count; ++i) {
            if constexpr (requires { sums[i].known(); })
                if (!sums[i].known()) continue;
            const T before = to[i];
            to[i] = element_of<T>(sums[i], n);
            if (keeps_nan) keep_nan(before, to[i]);
        }
    }
}

template <class T, class A>
void convert_sums(const A* sums, T* to, int64_t count, int64_t n, bool keeps_nan) {
    convert_each_sum(sums, to, count, n, keeps_nan);
}

// The same for sums that know their number of updates.
template <class T>
void convert_sums(const CountedSum<T>* sums, T* to, int64_t count, int64_t, bool include_self) {
    for (int64_t i = 0; i < count; ++i)
        if (const int64_t n = static_cast<int64_t>(sums[i].count); n > 0)
            to[i] = element_of<T>(sums[i].sum, n + include_self);
}

// The same for float16. Blocks of numbers are converted, because processors have vector instructions for it.
template <class A>
    requires std::same_as<A, float16> || std::same_as<A, float>
void convert_sums(const A* sums, float16* to, int64_t count, int64_t n, bool keeps_nan) {
    constexpr int64_t few = 8;
    if (count < few) return convert_each_sum(sums, to, count, n, keeps_nan);
    float wide[block];
    float16 made[block];
    for (int64_t i = 0; i < count; i += block) {
        const int64_t m = std::min(block, count - i);
        if constexpr (std::same_as<A, float16>)
            widen(sums + i, wide, m);
        else
            std::copy(sums + i, sums + i + m, wide);
        for (int64_t k = 0; n > 0 && k < m; ++k) wide[k] /= static_cast<float>(n);
        narrow(wide, made, m);
        if (std::same_as<A, float> && keeps_nan && std::any_of(to + i, to + i + m, is_nan<float16>))
            for (int64_t k = 0; k < m; ++k) keep_nan(to[i + k], made[k]);
        std::copy(made, made + m, to + i);
    }
}

// The bits of targets that were not visited do not change.
template <class T, class A>
void finish(const Sums& all, const Combine& combine) {
    const A* from = reinterpret_cast<const A*>(all.sums);
    T* to = reinterpret_cast<T*>(all.out);
    if (!all.visits) return convert_sums(from, to, all.slots * all.width, 0, combine.include_self);
    const bool mean = combine.reduction == Reduction::mean;
    for (int64_t slot = 0; slot < all.slots; ++slot, from += all.width, to += all.width)
        if (const int64_t visits = all.visits[slot]; visits > 0)
            convert_sums(from, to, all.width, mean ? visits + combine.include_self : 0, combine.include_self);
}

template <class T, class A>
class LongSumsOf : public LongSums {
  public:
    explicit LongSumsOf(const Combine& combine) : combine_(combine) {}

    void* next(const Sums& all) override {
        constexpr int64_t max_sums = long_sum_bytes / static_cast<int64_t>(sizeof(typename A::Long));
        A* const sums = reinterpret_cast<A*>(all.sums);
        const T* const data = reinterpret_cast<const T*>(all.out);
        long_.clear();
        targets_.clear();
        const int64_t end = all.slots * all.width;
        const bool first_time = at_ == 0;
        if (first_time) {
            const int64_t unknown_sums = count_unknown(sums, end);
            if (unknown_sums == 0) return nullptr;
            long_.reserve(static_cast<size_t>(std::min(max_sums, unknown_sums)));
            targets_.reserve(long_.capacity());
            results_.reserve(static_cast<size_t>(unknown_sums));
        }
        for (; at_ < end && static_cast<int64_t>(long_.size()) < max_sums; ++at_) {
            if (at_ % sums_at_once == 0 && should_stop_now()) return nullptr;
            if (sums[at_].known()) continue;
            sums[at_].mark() = unknown();
            if (all.visits && all.visits[at_ / all.width] == 0) continue;  // no update is added here
            if (combine_.include_self && is_nan(data[at_])) continue;      // NaN plus any number is NaN
            sums[at_].mark() = unknown(static_cast<int64_t>(long_.size()));
            long_.emplace_back();
            targets_.push_back(at_);
            if (combine_.include_self)
                long_.back().add(accumulate_as<A>(data[at_]).element());
            else
                long_.back().replace_first();
        }
        if (first_time)  // the bits of a NaN in the data could look like a number
            (void)in_pieces(at_, end, sizeof(A), [&](int64_t first, int64_t last) {
                for (int64_t i = first; i < last; ++i)
                    if (!sums[i].known()) sums[i].mark() = unknown();
            });
        return long_.empty() ? nullptr : long_.data();
    }

    void collect(const Sums& all) override {
        A* const sums = reinterpret_cast<A*>(all.sums);
        for (size_t i = 0; i < long_.size(); ++i) {
            if (i % rounded_at_once == 0 && should_stop_now()) return;
            const int64_t target = targets_[i], slot = target / all.width;
            const bool mean = combine_.reduction == Reduction::mean;
            const int64_t n = mean ? all.visits[slot] + combine_.include_self : 1;
            results_.push_back({target, long_[i].template over<T>(n)});
            sums[target].mark() = unknown();
        }
    }

    void write(std::byte* out) const override {
        for (size_t i = 0; i < results_.size(); ++i) {
            if (i % sums_at_once == 0 && should_stop_now()) return;
            reinterpret_cast<T*>(out)[results_[i].first] = results_[i].second;
        }
    }

  private:
    // The number of sums between two checks for signals. Long sums take longer to round.
    static constexpr int64_t sums_at_once = 1 << 16, rounded_at_once = 1 << 10;

    static int64_t count_unknown(const A* sums, int64_t n) {
        std::atomic<int64_t> all = 0;
        for_pieces(n, {n, sizeof(A)}, [&](int64_t begin, int64_t end) {
            int64_t here = 0;
            for (int64_t i = begin; i < end; ++i) here += !sums[i].known();
            all += here;
        });
        return all;
    }

    Combine combine_;
    int64_t at_ = 0;
    std::vector<typename A::Long> long_;
    std::vector<int64_t> targets_;
    std::vector<std::pair<int64_t, T>> results_;
};

template <class T, class A>
std::unique_ptr<LongSums> long_sums(const Combine& combine) {
    return std::make_unique<LongSumsOf<T, A>>(combine);
}

}  // namespace

bool supports(DType dtype, Reduction reduction) {
    if (reduction == Reduction::none) return true;
    return visit_combine(Combine{dtype, 0, reduction}, false, [](auto, auto, auto) { return true; });
}

const Accumulator& accumulator(const Combine& combine) {
    static constexpr Accumulator none;
    const bool mean = combine.reduction == Reduction::mean;
    return *visit_combine(
        combine, &none,
        [=]<class T, class A, class Op>(std::type_identity<T>, std::type_identity<A>, Op) -> const Accumulator* {
            static constexpr Accumulator plain{sizeof(T)};
            if constexpr (requires(A a) { a.known(); }) {
                static constexpr Accumulator exact{sizeof(A), load<T, A>, finish<T, A>, long_sums<T, A>};
                return &exact;
            } else if constexpr (!std::same_as<A, T>) {
                static constexpr Accumulator wide{sizeof(A), load<T, A>, finish<T, A>};
                return &wide;
            } else if constexpr (Float<T> || Complex<T>) {
                static constexpr Accumulator of_mean{sizeof(T), nullptr, finish<T, T>};
                return mean ? &of_mean : &plain;
            } else {
                return &plain;
            }
        });
}

int64_t accumulator_bytes(const Combine& combine, int64_t slots, int64_t width) {
    if (combine.reduction == Reduction::none) return 0;
    const Accumulator& sums = accumulator(combine);
    const int64_t for_sums = sums.load ? saturating_multiply(saturating_multiply(slots, width), sums.item_size) : 0;
    return saturating_add(for_sums, counts_visits(combine) ? saturating_multiply(slots, 8) : 0);
}

}  // namespace gs
