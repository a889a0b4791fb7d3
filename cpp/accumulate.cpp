#include "accumulate.hpp"

namespace gs {
namespace {

template <class T, class A>
void load(const std::byte* data, std::byte* sums, int64_t n) {
    const T* from = reinterpret_cast<const T*>(data);
    A* to = reinterpret_cast<A*>(sums);
    for (int64_t i = 0; i < n; ++i) to[i] = accumulate_as<A>(from[i]);
}

template <class T, class A>
T divide(A sum, int64_t n) {
    if constexpr (std::same_as<A, Int128>)
        return static_cast<T>(sum.floor_divide(n));
    else if constexpr (Integer<T>)
        return static_cast<T>(sum / n - (sum % n < 0));  // floor
    else if constexpr (Complex<T>)
        return {sum.real / static_cast<decltype(sum.real)>(n), sum.imag / static_cast<decltype(sum.real)>(n)};
    else if constexpr (Half<T>)
        return T(float(sum) / static_cast<float>(n));
    else
        return sum / static_cast<T>(n);
}

template <class T, class A>
void finish(const std::byte* sums, std::byte* out, const int64_t* visits, int64_t slots, int64_t width,
            const Combine& combine) {
    const A* from = reinterpret_cast<const A*>(sums);
    T* to = reinterpret_cast<T*>(out);
    const bool mean = combine.reduction == Reduction::mean;
    for (int64_t slot = 0; slot < slots; ++slot) {
        if (visits[slot] == 0) continue;
        const int64_t n = visits[slot] + combine.include_self;
        for (int64_t i = slot * width; i < (slot + 1) * width; ++i) {
            if constexpr (Half<T>)
                to[i] = mean ? divide<T>(from[i], n) : T(float(from[i]));
            else
                to[i] = divide<T>(from[i], n);
        }
    }
}

}  // namespace

bool knows(DType dtype, Reduction reduction) {
    if (reduction == Reduction::none) return true;
    return visit_combine(Combine{dtype, 0, reduction}, false, [](auto, auto, auto) { return true; });
}

Accumulator accumulator(const Combine& combine) {
    const bool mean = combine.reduction == Reduction::mean;
    return visit_combine(combine, Accumulator{},
                         [&]<class T, class A, class Op>(std::type_identity<T>, std::type_identity<A>, Op) {
                             if constexpr (!std::same_as<A, T>)
                                 return Accumulator{sizeof(A), load<T, A>, finish<T, A>};
                             else if constexpr (Float<T> || Complex<T>)
                                 return mean ? Accumulator{sizeof(T), nullptr, finish<T, T>} : Accumulator{sizeof(T)};
                             else
                                 return Accumulator{sizeof(T)};
                         });
}

}  // namespace gs
