// The reductions as stateless functors f(a, u), where a is the current element and u is the update.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <iterator>

#include "dtype.hpp"

namespace gs {

enum class Reduction : uint8_t { none, add, sub, mul, min, max, mean };
inline constexpr const char* reduction_names[] = {"none", "add", "sub", "mul", "min", "max", "mean"};
static_assert(std::size(reduction_names) == static_cast<size_t>(Reduction::mean) + 1);
inline const char* name(Reduction reduction) { return reduction_names[static_cast<int>(reduction)]; }

// Integers wrap modulo 2^N. They are computed as unsigned types that are wide enough not to be promoted to int.
template <Integer T>
using Modular = std::conditional_t<sizeof(T) < 4, uint32_t, std::make_unsigned_t<T>>;

struct Add {
    template <class T>
    static constexpr bool supports = true;

    template <class T>
    T operator()(T a, T u) const {
        if constexpr (Integer<T>)
            return static_cast<T>(Modular<T>(a) + Modular<T>(u));
        else if constexpr (Half<T>)
            return T(float(a) + float(u));
        else if constexpr (Complex<T>)
            return {a.real + u.real, a.imag + u.imag};
        else if constexpr (std::same_as<T, boolean>)
            return boolean(bool(a) || bool(u));
        else
            return a + u;
    }
};

struct Sub {
    template <class T>
    static constexpr bool supports = true;

    template <class T>
    T operator()(T a, T u) const {
        if constexpr (Integer<T>)
            return static_cast<T>(Modular<T>(a) - Modular<T>(u));
        else if constexpr (Half<T>)
            return T(float(a) - float(u));
        else if constexpr (Complex<T>)
            return {a.real - u.real, a.imag - u.imag};
        else if constexpr (std::same_as<T, boolean>)
            return boolean(bool(a) != bool(u));
        else
            return a - u;
    }
};

struct Mul {
    template <class T>
    static constexpr bool supports = true;

    template <class T>
    T operator()(T a, T u) const {
        if constexpr (Integer<T>)
            return static_cast<T>(Modular<T>(a) * Modular<T>(u));
        else if constexpr (Half<T>)
            return T(float(a) * float(u));
        else if constexpr (Complex<T>)
            return {a.real * u.real - a.imag * u.imag, a.real * u.imag + a.imag * u.real};
        else if constexpr (std::same_as<T, boolean>)
            return boolean(bool(a) && bool(u));
        else
            return a * u;
    }
};

// Returns u if it is better than a or NaN, and otherwise a. There is no branch and no copy of an object, because
// compilers turn only such code into vectors.
template <Half T>
T choose(bool is_better, T u, T a) {
    const bool a_is_nan = a.is_nan(), u_is_nan = u.is_nan(), takes_u = (is_better & !a_is_nan) | u_is_nan;
    return std::bit_cast<T>(takes_u ? std::bit_cast<uint16_t>(u) : std::bit_cast<uint16_t>(a));
}

// NaN from either side is kept. Of two equal values, the current one is kept.
struct Min {
    template <class T>
    static constexpr bool supports = Ordered<T>;

    template <class T>
    T operator()(T a, T u) const {
        if constexpr (Half<T>)
            return choose(u.rank() < a.rank(), u, a);
        else if constexpr (Float<T>) {
            const T chosen = u < a ? u : a;  // a separate variable makes this one instruction, without a branch
            return u != u ? u : chosen;
        } else if constexpr (std::same_as<T, boolean>)
            return boolean(bool(a) && bool(u));
        else
            return u < a ? u : a;
    }
};

struct Max {
    template <class T>
    static constexpr bool supports = Ordered<T>;

    template <class T>
    T operator()(T a, T u) const {
        if constexpr (Half<T>)
            return choose(u.rank() > a.rank(), u, a);
        else if constexpr (Float<T>) {
            const T chosen = u > a ? u : a;  // a separate variable makes this one instruction, without a branch
            return u != u ? u : chosen;
        } else if constexpr (std::same_as<T, boolean>)
            return boolean(bool(a) || bool(u));
        else
            return u > a ? u : a;
    }
};

// Reductions that select an operand, so that its bits are kept.
template <class Op>
concept Selection = std::same_as<Op, Min> || std::same_as<Op, Max>;

// The accumulator type for a mean. It is exact for any number of integers, and the element type for floats.
template <class T>
using MeanSum = std::conditional_t<Integer<T>, std::conditional_t<(sizeof(T) >= 4), Int128, int64_t>, T>;

}  // namespace gs
