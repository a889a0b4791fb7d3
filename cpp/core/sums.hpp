// Types that sum floats with more precision than the element type: wider types and exact types.
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "element.hpp"

namespace gs {

// sum + error is exactly a + b (Knuth, The Art of Computer Programming 2, 4.2.2).
struct TwoSum {
    double sum, error;
};
inline TwoSum two_sum(double a, double b) {
    const double sum = a + b, part = sum - a;
    return {sum, (a - (sum - part)) + (b - part)};
}

// Returns a number as a float that is rounded to odd. If the float is then rounded to a half, the result is the same as
// that of rounding once, because float has at least two more bits (Boldo and Melquiond, Emulation of FMA and correctly
// rounded sums, 2008). There are no branches, so that compilers can vectorize it.
inline float round_to_odd(double value) {
    const float nearest = static_cast<float>(value);
    const double magnitude = std::abs(value), rounded = std::abs(static_cast<double>(nearest));
    const uint32_t bits = std::bit_cast<uint32_t>(nearest), next = magnitude > rounded ? bits + 1 : bits - 1;
    const bool moves = rounded != magnitude && rounded <= double{std::numeric_limits<float>::max()} && !(bits & 1);
    return std::bit_cast<float>(moves ? next : bits);
}

// Returns high + low, rounded. `low` may be NaN where `high` is infinite.
inline double value_of(double high, double low) { return low != 0 && low == low ? high + low : high; }

// Has about twice the precision of double.
struct Pair {
    double high, low;

    Pair() = default;
    explicit Pair(double value) : high(value), low(0) {}
    Pair(double high, double low) : high(high), low(low) {}
    double value() const { return value_of(high, low); }

    friend Pair operator+(Pair a, Pair u) {
        const TwoSum next = two_sum(a.high, u.high);
        return {next.sum, a.low + (next.error + u.low)};
    }
    friend Pair operator-(Pair a, Pair u) { return a + Pair(-u.high, -u.low); }
};

struct ComplexPair {
    Pair real, imag;

    ComplexPair() = default;
    explicit ComplexPair(complex128 value) : real(value.real), imag(value.imag) {}
    ComplexPair(Pair real, Pair imag) : real(real), imag(imag) {}
    complex128 value() const { return {real.value(), imag.value()}; }

    friend ComplexPair operator+(ComplexPair a, ComplexPair u) { return {a.real + u.real, a.imag + u.imag}; }
    friend ComplexPair operator-(ComplexPair a, ComplexPair u) { return {a.real - u.real, a.imag - u.imag}; }
};

// The powers of two that limit a format: its smallest number is 2^lowest, and all its numbers are below 2^highest.
// `precision` is the number of significant bits.
template <class T>
struct Format;
template <>
struct Format<float16> {
    static constexpr int lowest = -24, highest = 16, precision = 11;
};
template <>
struct Format<bfloat16> {
    static constexpr int lowest = -133, highest = 128, precision = 8;
};
template <>
struct Format<float> {
    static constexpr int lowest = -149, highest = 128, precision = 24;
};
template <>
struct Format<double> {
    static constexpr int lowest = -1074, highest = 1024, precision = 53;
};

// A sum of any 2^62 numbers of a format F, as one long integer in chunks of 32 bits. It is R. M. Neal's "small
// superaccumulator" (Fast exact summation using small and large superaccumulators, 2015).
template <class F>
class LongSum {
  public:
    // Makes the next number the start of the sum. Even subtract() then adds it.
    void replace_first() { replace_ = true; }

    void subtract(double value) { add(replace_ ? value : -value); }

    void add(double value) {
        replace_ = false;
        const uint64_t bits = std::bit_cast<uint64_t>(value);
        const int field = static_cast<int>(bits >> 52 & 0x7ff);
        const bool negative = bits >> 63;
        if (field == 0x7ff) {
            nan_ |= value != value;
            (negative ? minus_infinity_ : plus_infinity_) |= value == value;
            return;
        }
        only_minus_zeros_ &= bits == uint64_t{1} << 63;
        if (value == 0) return;
        const uint64_t mantissa = (bits & ((uint64_t{1} << 52) - 1)) | uint64_t{field != 0} << 52;
        const int digit = std::max(field, 1) - 1075 - lowest;
        const uint64_t low = (mantissa & last32) << (digit & 31), high = (mantissa >> 32) << (digit & 31);
        const int64_t sign = negative ? -1 : 1;
        int64_t* const chunk = &chunk_[static_cast<size_t>(digit >> 5)];
        chunk[0] += sign * static_cast<int64_t>(low & last32);
        chunk[1] += sign * static_cast<int64_t>((low >> 32) + (high & last32));
        chunk[2] += sign * static_cast<int64_t>(high >> 32);
        if (++added_ == (1 << 29)) carry();
    }

    // Returns the sum divided by `divisor`, rounded once, to nearest even.
    template <class T>
    T over(int64_t divisor) {
        if (nan_ || (plus_infinity_ && minus_infinity_)) return as<T>(std::numeric_limits<double>::quiet_NaN());
        if (plus_infinity_ || minus_infinity_)
            return as<T>(plus_infinity_ ? std::numeric_limits<double>::infinity()
                                        : -std::numeric_limits<double>::infinity());
        carry();
        const bool negative = chunk_.back() < 0;
        if (negative) {
            for (int64_t& chunk : chunk_) chunk = -chunk;
            carry();
        }
        const bool remainder = divide(static_cast<uint64_t>(divisor));
        const double size = rounded<T>(remainder);
        if (size == 0 && !negative) return as<T>(only_minus_zeros_ ? -0.0 : 0.0);
        return as<T>(negative ? -size : size);
    }

  private:
    static constexpr uint64_t last32 = 0xffffffff;
    static constexpr int lowest = Format<F>::lowest - 64;  // additional bits for quotients
    static constexpr int chunks = (Format<F>::highest + 64 - lowest) / 32 + 2;

    template <class T>
    static T as(double value) {  // `value` must be representable in T
        if constexpr (Half<T>)
            return T(static_cast<float>(value));
        else
            return static_cast<T>(value);
    }

    // All chunks except the last become 32-bit numbers. The last has the sign.
    void carry() {
        for (size_t i = 0; i + 1 < chunks; ++i) {
            chunk_[i + 1] += chunk_[i] >> 32;
            chunk_[i] &= last32;
        }
        added_ = 0;
    }

    // Divides the sum. Returns whether there is a remainder.
    bool divide(uint64_t divisor) {
        if (divisor == 1) return false;
        uint64_t rest = 0;
        for (size_t i = chunks; i-- > 0;) {
            uint64_t quotient = 0;
            if (divisor <= last32) {
                const uint64_t dividend = rest << 32 | static_cast<uint64_t>(chunk_[i]);
                quotient = dividend / divisor;
                rest = dividend % divisor;
            } else {
                for (int bit = 31; bit >= 0; --bit) {
                    rest = rest << 1 | (static_cast<uint64_t>(chunk_[i]) >> bit & 1);
                    quotient = quotient << 1 | (rest >= divisor);
                    rest -= rest >= divisor ? divisor : 0;
                }
            }
            chunk_[i] = static_cast<int64_t>(quotient);
        }
        return rest != 0;
    }

    bool bit(int digit) const { return chunk_[static_cast<size_t>(digit >> 5)] >> (digit & 31) & 1; }

    // `more`: the exact value is larger than the bits.
    template <class T>
    double rounded(bool more) const {
        int top = chunks * 32 - 1;
        while (top >= 0 && !bit(top)) --top;
        const int last = std::max(top - Format<T>::precision + 1, Format<T>::lowest - lowest);
        uint64_t kept = 0;
        for (int digit = top; digit >= last; --digit) kept = kept << 1 | bit(digit);
        for (int digit = 0; !more && digit + 1 < last; ++digit) more = bit(digit);
        kept += bit(last - 1) && (more || kept & 1);
        return std::ldexp(static_cast<double>(kept), last + lowest);
    }

    std::array<int64_t, chunks> chunk_{};
    int32_t added_ = 0;  // the number of additions since the last carry
    bool nan_ = false, plus_infinity_ = false, minus_infinity_ = false, only_minus_zeros_ = true, replace_ = false;
};

// Exact sums are computed in two passes. In the first pass, a sum is a double (`Exact`) or a pair of doubles
// (`ExactPair`). A sum that is not representable becomes NaN, and NaN plus any number is NaN. So a sum that is not
// known needs no separate flag, and the loop that adds needs no branch.
//
// In the second pass, each unknown sum gets a number: the position of a long integer in a list (`LongSum`). The updates
// are added to this long integer. The sum stores the number in the bits of its NaN. An `ExactPair` stores it in `low`.
// Sign, exponent and quiet bit take 13 bits. The 51 bits below them are free and hold number + 1. A plain NaN has zeros
// there. Its number is -1, which means that it has no long integer yet.
//
// A NaN from data or updates can have any of these bits. Therefore `LongSumsOf::next` resets all unknown sums before
// updates are added again.
inline double unknown(int64_t number = -1) {
    return std::bit_cast<double>(uint64_t{0x7ff8} << 48 | static_cast<uint64_t>(number + 1));
}
inline int64_t number_of(double unknown) {
    return static_cast<int64_t>(std::bit_cast<uint64_t>(unknown) & ((uint64_t{1} << 51) - 1)) - 1;
}

// A sum of floats of up to 24 bits. It is exact, or not known. Most such sums fit a double.
struct Exact {
    double sum;
    using Long = LongSum<float>;

    Exact() = default;
    explicit Exact(double sum) : sum(sum) {}
    bool known() const { return sum == sum; }
    double& mark() { return sum; }
    double element() const { return sum; }  // only for a sum of a single element

    friend Exact operator+(Exact a, Exact u) {
        const TwoSum next = two_sum(a.sum, u.sum);
        return Exact(next.error == 0 ? next.sum : unknown());
    }
    friend Exact operator-(Exact a, Exact u) { return a + Exact(-u.sum); }
};

// A sum of doubles that is exactly high + low, or not known. Each number that is added is a single double.
struct ExactPair {
    double high, low;
    using Long = LongSum<double>;

    ExactPair() = default;
    explicit ExactPair(double value) : high(value), low(0) {}
    ExactPair(double high, double low) : high(high), low(low) {}
    bool known() const { return high == high && low == low; }
    double& mark() { return low; }
    double element() const { return high; }

    friend ExactPair operator+(ExactPair a, ExactPair u) {
        const TwoSum next = two_sum(a.high, u.high), rest = two_sum(a.low, next.error);
        return {next.sum, rest.error == 0 ? rest.sum : unknown()};
    }
    friend ExactPair operator-(ExactPair a, ExactPair u) { return a + ExactPair(-u.high); }
};

// A sum of floats and the number of updates in it, which are found in one cache line.
template <std::floating_point T>
struct CountedSum {
    T sum;
    std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t> count;

    CountedSum() = default;
    explicit CountedSum(T update) : sum(update), count(1) {}
    CountedSum(T sum, int64_t count) : sum(sum), count(static_cast<decltype(this->count)>(count)) {}

    friend CountedSum operator+(CountedSum a, CountedSum u) {
        a.sum += u.sum;
        a.count += u.count;
        return a;
    }
};

template <class A>
concept Counted = requires(A a) { a.count; };

// The accumulator types for elements of type T.
template <class T>
struct SumTypes;
template <Half T>
struct SumTypes<T> {
    using Wide = float;
    using Sum = Exact;
};
template <>
struct SumTypes<float> {
    using Wide = double;
    using Sum = Exact;
};
template <>
struct SumTypes<double> {
    using Wide = Pair;
    using Sum = ExactPair;
};
template <>
struct SumTypes<complex64> {
    using Wide = complex128;
};
template <>
struct SumTypes<complex128> {
    using Wide = ComplexPair;
};

// Round wide and exact sums to elements, once. If n > 0, the sum is divided by n.
float16 round_to(std::type_identity<float16>, Exact, int64_t n);
bfloat16 round_to(std::type_identity<bfloat16>, Exact, int64_t n);
float round_to(std::type_identity<float>, Exact, int64_t n);
double round_to(std::type_identity<double>, ExactPair, int64_t n);

}  // namespace gs
