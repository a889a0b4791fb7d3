// The reductions as stateless functors f(a, u): a is what stands there, u the update.
#pragma once

#include <cstddef>
#include <iterator>

#include "dtype.hpp"

namespace gs {

enum class Reduction : uint8_t { none, add, sub, mul, min, max, mean };
inline constexpr const char* reduction_names[] = {"none", "add", "sub", "mul", "min", "max", "mean"};
static_assert(std::size(reduction_names) == static_cast<size_t>(Reduction::mean) + 1);
inline const char* name(Reduction reduction) { return reduction_names[static_cast<int>(reduction)]; }

// Integers wrap modulo 2^N, so they are computed unsigned, and wide enough not to be promoted to int.
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

// NaN from either side stays; of two equal values the one that stands there stays.
struct Min {
    template <class T>
    static constexpr bool supports = Ordered<T>;

    template <class T>
    T operator()(T a, T u) const {
        if constexpr (Half<T>)
            return (u.rank() < a.rank() && !a.is_nan()) || u.is_nan() ? u : a;
        else if constexpr (Float<T>) {
            const T chosen = u < a ? u : a;  // apart, so that it is one instruction and no branch to be guessed
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
            return (u.rank() > a.rank() && !a.is_nan()) || u.is_nan() ? u : a;
        else if constexpr (Float<T>) {
            const T chosen = u > a ? u : a;  // apart, so that it is one instruction and no branch to be guessed
            return u != u ? u : chosen;
        } else if constexpr (std::same_as<T, boolean>)
            return boolean(bool(a) || bool(u));
        else
            return u > a ? u : a;
    }
};

// Reductions that select an operand, whose bits stay.
template <class Op>
concept Selection = std::same_as<Op, Min> || std::same_as<Op, Max>;

// The type that sums for a mean: exact for integers, however many there are, and the element type itself for floats.
template <class T>
using MeanSum = std::conditional_t<Integer<T>, std::conditional_t<(sizeof(T) >= 4), Int128, int64_t>, T>;

}  // namespace gs
