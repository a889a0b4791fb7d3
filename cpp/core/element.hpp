// The 16-bit float types, and the facts about each element type that reductions need.
#pragma once

#include <bit>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace gs {

// The rank of a 16-bit float in numeric order. Both zeros have the same rank.
inline int16_t rank_of(uint16_t bits) {
    const auto magnitude = static_cast<int16_t>(bits & 0x7fff);
    return static_cast<int16_t>(bits & 0x8000 ? -magnitude : magnitude);
}

// IEEE binary16. Arithmetic happens in float; storing rounds to nearest even.
class float16 {
  public:
    float16() = default;
    explicit float16(float value) : bits_(round(value)) {}
    explicit operator float() const { return widen(bits_); }

    // Numbers are compared by their ranks.
    int16_t rank() const { return rank_of(bits_); }
    bool is_nan() const { return (bits_ & 0x7fff) > 0x7c00; }

  private:
#if defined(__aarch64__) && defined(__GNUC__)  // all these processors have instructions for it
    static uint16_t round(float value) { return std::bit_cast<uint16_t>(static_cast<__fp16>(value)); }
    static float widen(uint16_t half) { return static_cast<float>(std::bit_cast<__fp16>(half)); }
#else
    static uint16_t round(float value) {
        const uint32_t bits = std::bit_cast<uint32_t>(value);
        const uint32_t sign = (bits >> 16) & 0x8000u;
        const uint32_t magnitude = bits & 0x7fffffffu;
        if (magnitude > 0x7f800000u) return static_cast<uint16_t>(sign | 0x7e00u | ((magnitude >> 13) & 0x3ffu));
        if (magnitude >= 0x477ff000u) return static_cast<uint16_t>(sign | 0x7c00u);  // rounds to infinity
        if (magnitude < 0x38800000u) {                                               // subnormal in binary16
            // Adding 0.5 makes the float unit round at the last subnormal bit of binary16.
            const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
            return static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(shifted) - 0x3f000000u));
        }
        const uint32_t odd = (magnitude >> 13) & 1u;
        return static_cast<uint16_t>(sign | ((magnitude - 0x38000000u + 0xfffu + odd) >> 13));
    }

    static float widen(uint16_t half) {
        const uint32_t sign = (half & 0x8000u) << 16;
        const uint32_t magnitude = half & 0x7fffu;
        if (magnitude >= 0x7c00u) return std::bit_cast<float>(sign | 0x7f800000u | ((magnitude & 0x3ffu) << 13));
        if (magnitude < 0x400u) {
            const float value = static_cast<float>(magnitude) * 0x1p-24f;
            return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(value));
        }
        return std::bit_cast<float>(sign | ((magnitude << 13) + 0x38000000u));
    }
#endif

    uint16_t bits_;
};

// The upper half of a binary32.
class bfloat16 {
  public:
    bfloat16() = default;
    explicit bfloat16(float value) : bits_(static_cast<uint16_t>(std::bit_cast<uint32_t>(round(value)) >> 16)) {}
    explicit operator float() const { return std::bit_cast<float>(static_cast<uint32_t>(bits_) << 16); }

    int16_t rank() const { return rank_of(bits_); }
    bool is_nan() const { return (bits_ & 0x7fff) > 0x7f80; }

    // Rounds to nearest even. A NaN stays one.
    static float round(float value) {
        const uint32_t bits = std::bit_cast<uint32_t>(value), odd = (bits >> 16) & 1u;
        uint32_t rounded = bits + 0x7fffu + odd;
        if (value != value) [[unlikely]]
            rounded = bits | 0x400000u;
        return std::bit_cast<float>(rounded & 0xffff0000u);
    }

  private:
    uint16_t bits_;
};

// A NumPy bool: any nonzero byte counts as true.
class boolean {
  public:
    boolean() = default;
    explicit boolean(bool value) : byte_(value) {}
    explicit operator bool() const { return byte_ != 0; }

  private:
    uint8_t byte_;
};

// A complex number with the plain product (no recovery of infinities), as array libraries compute it.
template <std::floating_point F>
struct complex {
    F real, imag;
};
using complex64 = complex<float>;
using complex128 = complex<double>;

// Returns floor(x / divisor), for divisor > 0. Most processors divide doubles in less time than 64-bit integers. The
// remainder is negative if the quotient was rounded up.
inline int64_t floor_divide(int64_t x, int64_t divisor) {
    constexpr int64_t exact = int64_t{1} << 53;
    const int64_t quotient = -exact < x && x < exact && divisor < exact
                                 ? static_cast<int64_t>(static_cast<double>(x) / static_cast<double>(divisor))
                                 : x / divisor;
    return quotient - (x - quotient * divisor < 0);
}

// An exact sum of 64-bit integers. It is wide enough for 2^63 of them.
class Int128 {
  public:
    Int128() = default;
    explicit Int128(int64_t value) : low_(static_cast<uint64_t>(value)), high_(value < 0 ? ~uint64_t{0} : 0) {}
    explicit Int128(uint64_t value) : low_(value), high_(0) {}

    friend Int128 operator+(Int128 a, Int128 b) {
        Int128 sum;
        sum.low_ = a.low_ + b.low_;
        sum.high_ = a.high_ + b.high_ + (sum.low_ < a.low_);
        return sum;
    }

    uint64_t low() const { return low_; }  // the low 64 bits

    // Returns the low 64 bits of floor(*this / divisor), for divisor > 0. A mean always fits in 64 bits.
    uint64_t floor_divide(int64_t divisor) const {
        const auto small = static_cast<int64_t>(low_);
        if (high_ == (small < 0 ? ~uint64_t{0} : 0))  // most sums fit in 64 bits, which processors divide
            return static_cast<uint64_t>(gs::floor_divide(small, divisor));
        const bool negative = high_ >> 63;
        // floor(x / d) == ~floor(~x / d) for negative x, and ~x is not negative.
        uint64_t high = negative ? ~high_ : high_, low = negative ? ~low_ : low_;
        uint64_t quotient = 0, remainder = high % static_cast<uint64_t>(divisor);
        for (int bit = 63; bit >= 0; --bit) {
            remainder = remainder << 1 | (low >> bit & 1u);
            const bool fits = remainder >= static_cast<uint64_t>(divisor);
            remainder -= fits ? static_cast<uint64_t>(divisor) : 0;
            quotient = quotient << 1 | fits;
        }
        return negative ? ~quotient : quotient;
    }

  private:
    uint64_t low_, high_;
};

template <class T>
concept Half = std::same_as<T, float16> || std::same_as<T, bfloat16>;
template <class T>
concept Integer = std::integral<T> && !std::same_as<T, bool>;
template <class T>
concept Float = std::floating_point<T> || Half<T>;
template <class T>
concept Complex = std::same_as<T, complex64> || std::same_as<T, complex128>;
template <class T>
concept Ordered = Integer<T> || Float<T> || std::same_as<T, boolean>;

// Reads an element as the type it is accumulated in.
template <class A, class T>
inline A accumulate_as(T value) {
    if constexpr (std::same_as<A, T>)
        return value;
    else if constexpr (std::same_as<A, Int128> && std::is_unsigned_v<T>)
        return Int128(static_cast<uint64_t>(value));
    else if constexpr (std::same_as<A, Int128>)
        return Int128(static_cast<int64_t>(value));
    else if constexpr (Half<T>)
        return A(static_cast<float>(value));
    else if constexpr (Complex<A>)
        return {value.real, value.imag};
    else
        return static_cast<A>(value);
}

}  // namespace gs
