// What surrounds the inner loop of a scatter: accumulators that differ from the element type, the count of visits,
// and the last step (one rounding, or the division of a mean).
#pragma once

#include "kernels.hpp"
#include "parallel.hpp"
#include "scratch.hpp"

namespace gs {

// Whether halves add up in float: a minimum or maximum needs no rounding.
inline bool widens(const Combine& combine) {
    return combine.wide && combine.reduction != Reduction::min && combine.reduction != Reduction::max;
}

// Calls f(type_identity<T>, type_identity<A>, Op) with the element type, the accumulator type and the functor.
template <class R, class F>
R visit_combine(const Combine& combine, R otherwise, F&& f) {
    return visit(combine.dtype, otherwise, [&]<class T>(std::type_identity<T> type) -> R {
        const auto with = [&]<class Op>(Op op) -> R {
            if constexpr (Op::template knows<T>) {
                if constexpr (Half<T>)
                    if (widens(combine)) return f(type, std::type_identity<float>{}, op);
                return f(type, type, op);
            } else {
                return otherwise;
            }
        };
        switch (combine.reduction) {
            case Reduction::add: return with(Add{});
            case Reduction::sub: return with(Sub{});
            case Reduction::mul: return with(Mul{});
            case Reduction::min: return with(Min{});
            case Reduction::max: return with(Max{});
            case Reduction::mean:
                if constexpr (Integer<T>)
                    return f(type, std::type_identity<MeanSum<T>>{}, Add{});
                else if constexpr (!std::same_as<T, boolean>)
                    return with(Add{});
                else
                    return otherwise;
            default: return otherwise;
        }
    });
}

// What contributions add up in, and the two steps around that.
struct Accumulator {
    int64_t item_size = 0;
    void (*load)(const std::byte* data, std::byte* sums, int64_t n) = nullptr;  // null: the output itself accumulates
    // Writes the slots that were visited, `width` elements each; null: nothing is left to do.
    void (*finish)(const std::byte* sums, std::byte* out, const int64_t* visits, int64_t slots, int64_t width,
                   const Combine&) = nullptr;
};
Accumulator accumulator(const Combine&);

// Whether visits of slots are counted.
inline bool counts_visits(const Combine& combine, const Accumulator& accumulator) {
    return accumulator.finish || !combine.include_self;
}

// Runs walk(target, size of its elements, visits), a scatter into accumulators, between load and finish.
template <class Walk>
bool scatter_around(const Combine& combine, int64_t slots, int64_t width, std::byte* out, Walk&& walk) {
    if (combine.reduction == Reduction::none) return walk(out, combine.item_size, nullptr);
    const Accumulator accumulator = gs::accumulator(combine);
    const bool count = counts_visits(combine, accumulator);
    const Scratch visits(count ? slots * 8 : 0, true);
    const Scratch sums(accumulator.load ? slots * width * accumulator.item_size : 0, false);
    if (accumulator.load) {
        const int64_t size = combine.item_size;
        for_ranges(slots * width, {slots * width, size}, [&](int64_t begin, int64_t end) {
            accumulator.load(out + begin * size, sums.get() + begin * accumulator.item_size, end - begin);
        });
    }
    std::byte* const target = accumulator.load ? sums.get() : out;
    int64_t* const counts = count ? reinterpret_cast<int64_t*>(visits.get()) : nullptr;
    if (!walk(target, accumulator.item_size, counts)) return false;
    if (accumulator.finish)
        for_ranges(slots, {slots, width * combine.item_size}, [&](int64_t begin, int64_t end) {
            accumulator.finish(target + begin * width * accumulator.item_size, out + begin * width * combine.item_size,
                               counts + begin, end - begin, width, combine);
        });
    return true;
}

}  // namespace gs
