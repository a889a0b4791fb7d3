// What surrounds the inner loop of a scatter: accumulators that differ from the element type, the count of visits,
// and the last step (one rounding, or the division of a mean).
#pragma once

#include <memory>

#include "kernels.hpp"
#include "parallel.hpp"
#include "scratch.hpp"
#include "sums.hpp"

namespace gs {

// Adds to the long sums of those that are not known; these only keep their number.
template <bool negative>
struct Again {
    void* long_sums;

    template <class T>
    static constexpr bool knows = true;

    template <class A>
    A operator()(A a, A u) const {
        const int64_t number = a.known() ? -1 : number_of(a.mark());
        if (number < 0) return a;
        auto& sum = static_cast<typename A::Long*>(long_sums)[number];
        if constexpr (negative)
            sum.subtract(u.element());
        else
            sum.add(u.element());
        return a;
    }
};

template <class Op>
Op make(const Combine& combine) {
    if constexpr (requires { Op{combine.long_sums}; })
        return Op{combine.long_sums};
    else
        return Op{};
}

// Calls f(type_identity<T>, type_identity<A>, Op) with the element type, the accumulator type and the functor.
template <class R, class F>
R visit_combine(const Combine& combine, R otherwise, F&& f) {
    const Accumulate how = combine.accumulate;
    return visit(combine.dtype, otherwise, [&]<class T>(std::type_identity<T> type) -> R {
        const auto with = [&]<class Op>(Op op) -> R {
            if constexpr (Op::template knows<T>)
                return f(type, type, op);
            else
                return otherwise;
        };
        const auto sum = [&]<class Op>(Op op) -> R {
            if constexpr (Float<T> || Complex<T>)
                if (how == Accumulate::wide) return f(type, std::type_identity<typename SumTypes<T>::Wide>{}, op);
            if constexpr (Float<T>) {
                constexpr bool negative = std::same_as<Op, Sub>;
                const std::type_identity<typename SumTypes<T>::Sum> exact;
                if (how == Accumulate::exact) return f(type, exact, op);
                if (how == Accumulate::again) return f(type, exact, Again<negative>{});
            }
            return f(type, type, op);
        };
        switch (combine.reduction) {
            case Reduction::add: return sum(Add{});
            case Reduction::sub: return sum(Sub{});
            case Reduction::mul:
                if constexpr (Half<T>)
                    if (how == Accumulate::wide) return f(type, std::type_identity<float>{}, Mul{});
                return with(Mul{});
            case Reduction::min: return with(Min{});
            case Reduction::max: return with(Max{});
            case Reduction::mean:
                if constexpr (Integer<T>)
                    return f(type, std::type_identity<MeanSum<T>>{}, Add{});
                else if constexpr (!std::same_as<T, boolean>)
                    return sum(Add{});
                else
                    return otherwise;
            default: return otherwise;
        }
    });
}

// The sums of some slots: `width` elements each, and how often each slot was met, if that was counted.
struct Sums {
    std::byte* sums;
    std::byte* out;  // what they began with, and where they go in the end
    int64_t* visits;
    int64_t slots, width;
};

// Exact sums that turned out not to be known are added up again as long sums, so many at a time.
class LongSums {
  public:
    virtual ~LongSums() = default;
    // Gives the next unknown sums a long one each; null: there are none left.
    virtual void* next(const Sums&) = 0;
    // Takes the results of these.
    virtual void take(const Sums&) = 0;
    // Writes all results.
    virtual void write(std::byte* out) const = 0;
};

// What contributions add up in, and the steps around that.
struct Accumulator {
    int64_t item_size = 0;
    void (*load)(const std::byte* data, std::byte* sums, int64_t n) = nullptr;  // null: the output itself accumulates
    // Writes the sums of slots that were met; null: nothing is left to do.
    void (*finish)(const Sums&, const Combine&) = nullptr;
    std::unique_ptr<LongSums> (*long_sums)(const Combine&) = nullptr;  // null: there is nothing to add up again
};
Accumulator accumulator(const Combine&);

// Whether visits of slots are counted.
inline bool counts_visits(const Combine& combine) {
    return combine.reduction == Reduction::mean || !combine.include_self;
}

// Runs walk(target, size of its elements, visits, combine), a scatter into accumulators, between load and finish.
template <class Walk>
bool scatter_around(const Combine& combine, int64_t slots, int64_t width, std::byte* out, Walk&& walk) {
    if (combine.reduction == Reduction::none) return walk(out, combine.item_size, nullptr, combine);
    const Accumulator accumulator = gs::accumulator(combine);
    const bool count = counts_visits(combine);
    const Scratch visits(count ? slots * 8 : 0, true);
    const Scratch sums(accumulator.load ? slots * width * accumulator.item_size : 0, false);
    if (accumulator.load) {
        const int64_t size = combine.item_size;
        for_pieces(slots * width, {slots * width, size}, [&](int64_t begin, int64_t end) {
            accumulator.load(out + begin * size, sums.get() + begin * accumulator.item_size, end - begin);
        });
    }
    std::byte* const target = accumulator.load ? sums.get() : out;
    int64_t* const counts = count ? reinterpret_cast<int64_t*>(visits.get()) : nullptr;
    if (!walk(target, accumulator.item_size, counts, combine)) return false;
    const std::unique_ptr<LongSums> unknown = accumulator.long_sums ? accumulator.long_sums(combine) : nullptr;
    if (unknown) {
        const Sums all{target, out, counts, slots, width};
        Combine again = combine;
        again.accumulate = Accumulate::again;
        again.include_self = true;  // who comes first was seen to before
        while ((again.long_sums = unknown->next(all))) {
            if (!walk(target, accumulator.item_size, nullptr, again)) return false;
            unknown->take(all);
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
