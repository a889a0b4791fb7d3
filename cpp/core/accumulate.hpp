// The steps around the inner loop of a scatter: accumulators that differ from the element type, the count of visits,
// and the final step (one rounding, or the division of a mean).
#pragma once

#include <memory>

#include "combine.hpp"
#include "parallel.hpp"
#include "scratch.hpp"
#include "sums.hpp"

namespace gs {

// Adds updates to long sums. If a sum is not known, its memory holds the number of its long sum.
struct AddToLongSums {
    void* long_sums;
    bool negative;

    template <class T>
    static constexpr bool supports = true;

    template <class A>
    A operator()(A a, A u) const {
        const int64_t number = a.known() ? -1 : number_of(a.mark());
        if (number < 0) return a;
        auto& sum = static_cast<typename A::Long*>(long_sums)[number];
        if (negative)
            sum.subtract(u.element());
        else
            sum.add(u.element());
        return a;
    }
};

template <class Op>
Op make_op(const Combine& combine) {
    if constexpr (std::same_as<Op, AddToLongSums>)
        return {combine.long_sums, combine.reduction == Reduction::sub};
    else
        return Op{};
}

// visit_combine() calls f(type_identity<T>, type_identity<A>, Op) with the element type (see Wrapping), the accumulator
// type and the functor. visit_extremum(), visit_sum(), visit_mean() and visit_product() do the same for their
// reductions.

// Minimum and maximum accumulate in the element type.
template <class T, class Op, class R, class F>
R visit_extremum(R otherwise, F& f) {
    if constexpr (Op::template supports<T>)
        return f(std::type_identity<T>{}, std::type_identity<T>{}, Op{});
    else
        return otherwise;
}

// Sums and differences accumulate in the type that the caller chose. Only floats and complex numbers have a choice.
template <class T, class Op, class F>
auto visit_sum(Accumulate accumulate, F& f) {
    const std::type_identity<T> type;
    if constexpr (Float<T> || Complex<T>)
        if (accumulate == Accumulate::wide) return f(type, std::type_identity<typename SumTypes<T>::Wide>{}, Op{});
    if constexpr (Float<T>) {
        const std::type_identity<typename SumTypes<T>::Sum> exact;
        if (accumulate == Accumulate::exact) return f(type, exact, Op{});
        if (accumulate == Accumulate::long_sums) return f(type, exact, AddToLongSums{});
    }
    return f(type, type, Op{});
}

// Means are sums. Integers are summed in a type that holds any sum of them.
template <class T, class F>
auto visit_mean(Accumulate accumulate, F& f) {
    if constexpr (Integer<T>)
        return f(std::type_identity<T>{}, std::type_identity<MeanSum<T>>{}, Add{});
    else {
        if constexpr (std::floating_point<T>)
            if (accumulate == Accumulate::counted_sums)
                return f(std::type_identity<T>{}, std::type_identity<CountedSum<T>>{}, Add{});
        return visit_sum<T, Add>(accumulate, f);
    }
}

// Products of halves can accumulate in float.
template <class T, class F>
auto visit_product(Accumulate accumulate, F& f) {
    if constexpr (Half<T>)
        if (accumulate == Accumulate::wide) return f(std::type_identity<T>{}, std::type_identity<float>{}, Mul{});
    return f(std::type_identity<T>{}, std::type_identity<T>{}, Mul{});
}

// Sums, differences and products of integers wrap, so their bits do not depend on the sign. Unsigned types are
// therefore passed as signed ones.
template <class T>
using Wrapping =
    typename std::conditional_t<std::unsigned_integral<T>, std::make_signed<T>, std::type_identity<T>>::type;

template <class R, class F>
R visit_combine(const Combine& combine, R otherwise, F&& f) {
    const Accumulate accumulate = combine.accumulate;
    return visit(combine.dtype, otherwise, [&]<class T>(std::type_identity<T>) -> R {
        if constexpr (std::same_as<T, boolean>) {  // sums and products are maxima and minima; there is no mean
            switch (combine.reduction) {
                case Reduction::add:
                case Reduction::max: return visit_extremum<T, Max>(otherwise, f);
                case Reduction::mul:
                case Reduction::min: return visit_extremum<T, Min>(otherwise, f);
                case Reduction::sub: return visit_sum<T, Sub>(accumulate, f);
                default: return otherwise;
            }
        } else {
            switch (combine.reduction) {
                case Reduction::add: return visit_sum<Wrapping<T>, Add>(accumulate, f);
                case Reduction::sub: return visit_sum<Wrapping<T>, Sub>(accumulate, f);
                case Reduction::mul: return visit_product<Wrapping<T>>(accumulate, f);
                case Reduction::min: return visit_extremum<T, Min>(otherwise, f);
                case Reduction::max: return visit_extremum<T, Max>(otherwise, f);
                case Reduction::mean: return visit_mean<T>(accumulate, f);
                default: return otherwise;
            }
        }
    });
}

// Converts a sum to an element. If n > 0, the sum is divided by n.
template <class T, class A>
T element_of(A sum, int64_t n) {
    if constexpr (std::same_as<A, Exact> || std::same_as<A, ExactPair>)
        return round_to(std::type_identity<T>{}, sum, n);
    else if constexpr (std::same_as<A, Pair>)
        return n > 0 ? sum.value() / static_cast<double>(n) : sum.value();
    else if constexpr (std::same_as<A, ComplexPair>)
        return element_of<T, complex128>(sum.value(), n);
    else if constexpr (std::same_as<A, Int128>)
        return static_cast<T>(sum.floor_divide(n));
    else if constexpr (Integer<T>)
        return static_cast<T>(floor_divide(sum, n));
    else if constexpr (Complex<T>) {
        const auto divisor = static_cast<decltype(sum.real)>(n > 0 ? n : 1);
        using Part = decltype(T{}.real);
        return {static_cast<Part>(sum.real / divisor), static_cast<Part>(sum.imag / divisor)};
    } else if constexpr (Half<T>)
        return T(n > 0 ? float(sum) / static_cast<float>(n) : float(sum));
    else
        return static_cast<T>(n > 0 ? sum / static_cast<A>(n) : sum);
}

// The sums of some slots: `width` elements each. `visits` counts how often each slot was visited; it can be null.
struct Sums {
    std::byte* sums;
    std::byte* out;  // the initial values, and the destination of the results
    int64_t* visits;
    int64_t slots, width;
};

// Recomputes the exact sums that are not known, as long sums. The number of long sums at any time is limited.
class LongSums {
  public:
    virtual ~LongSums() = default;
    // Assigns long sums to the next unknown sums. Null: no unknown sums are left.
    virtual void* next(const Sums&) = 0;
    // Stores the results of the current long sums.
    virtual void collect(const Sums&) = 0;
    // Writes all results.
    virtual void write(std::byte* out) const = 0;
};

// The accumulator type of a scatter, and the steps before and after the loop.
struct Accumulator {
    int64_t item_size = 0;
    // Makes n sums of data. Null: the output is the accumulator.
    void (*load)(const std::byte* data, std::byte* sums, int64_t n, bool include_self) = nullptr;
    // Writes the sums of the visited slots. Null: no final step is needed.
    void (*finish)(const Sums&, const Combine&) = nullptr;
    std::unique_ptr<LongSums> (*long_sums)(const Combine&) = nullptr;  // null: no second pass is needed
};
const Accumulator& accumulator(const Combine&);

// Whether visits of slots are counted apart from their sums.
inline bool counts_visits(const Combine& combine) {
    return (combine.reduction == Reduction::mean || !combine.include_self) &&
           combine.accumulate != Accumulate::counted_sums;
}

// The bytes that scatter_with_accumulators allocates, without long sums.
int64_t accumulator_bytes(const Combine&, int64_t slots, int64_t width);

// Runs walk(target, size of its elements, visits, combine) between load and finish. The walk scatters into
// accumulators.
template <class Walk>
bool scatter_with_accumulators(const Combine& combine, int64_t slots, int64_t width, std::byte* out, Walk&& walk) {
    if (combine.reduction == Reduction::none) return walk(out, combine.item_size, nullptr, combine);
    const Accumulator& accumulator = gs::accumulator(combine);
    const bool count = counts_visits(combine);
    const Scratch visits(count ? slots * 8 : 0, true);
    const Scratch sums(accumulator.load ? slots * width * accumulator.item_size : 0, false);
    if (accumulator.load) {
        const int64_t size = combine.item_size;
        for_pieces(slots * width, {slots * width, size}, [&](int64_t begin, int64_t end) {
            accumulator.load(out + begin * size, sums.get() + begin * accumulator.item_size, end - begin,
                             combine.include_self);
        });
    }
    std::byte* const target = accumulator.load ? sums.get() : out;
    int64_t* const counts = count ? reinterpret_cast<int64_t*>(visits.get()) : nullptr;
    if (!walk(target, accumulator.item_size, counts, combine)) return false;
    const std::unique_ptr<LongSums> unknown = accumulator.long_sums ? accumulator.long_sums(combine) : nullptr;
    if (unknown) {
        const Sums all{target, out, counts, slots, width};
        Combine second_pass = combine;
        second_pass.accumulate = Accumulate::long_sums;
        second_pass.include_self = true;  // the first pass has handled the first update of each slot
        while ((second_pass.long_sums = unknown->next(all))) {
            if (!walk(target, accumulator.item_size, nullptr, second_pass)) return false;
            unknown->collect(all);
        }
    }
    if (accumulator.finish)
        for_pieces(slots, {slots, width * combine.item_size}, [&](int64_t begin, int64_t end) {
            accumulator.finish({target + begin * width * accumulator.item_size, out + begin * width * combine.item_size,
                                counts ? counts + begin : nullptr, end - begin, width},
                               combine);
        });
    if (unknown) unknown->write(out);
    return true;
}

}  // namespace gs
