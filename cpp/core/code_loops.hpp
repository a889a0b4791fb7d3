// Loops over the codes of quantized numbers.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "machine.hpp"
#include "vectors.hpp"

namespace gs {

// Writes the codes of each byte to as many bytes. Compilers do not make vectors of the simple loop.
template <int per_byte>
GS_LOOP void unpack(const uint8_t* packed, int64_t bytes, uint8_t* codes) {
    if constexpr (std::endian::native == std::endian::little) {
        using Word = std::conditional_t<per_byte == 2, uint16_t, uint32_t>;
        GS_INDEPENDENT
        for (int64_t i = 0; i < bytes; ++i) {
            uint32_t word = packed[i];
            if constexpr (per_byte == 2) {
                word = (word | word << 4) & 0x0f0fu;
            } else {
                word = (word | word << 12) & 0x000f000fu;
                word = (word | word << 6) & 0x03030303u;
            }
            const auto its_codes = static_cast<Word>(word);
            std::memcpy(codes + i * per_byte, &its_codes, per_byte);
        }
    } else {
        constexpr int bits = 8 / per_byte, mask = (1 << bits) - 1;
        for (int64_t i = 0; i < bytes * per_byte; ++i)
            codes[i] = static_cast<uint8_t>(packed[i / per_byte] >> (i % per_byte * bits) & mask);
    }
}

// The values of codes that are integers, plus `flip`, which is the sign bit of signed codes, or 0. The zero point has
// the same summand, so it disappears in the difference.
GS_LOOP void convert_integers(const uint8_t* codes, int64_t n, uint8_t flip, float* values) {
    GS_INDEPENDENT
    for (int64_t i = 0; i < n; ++i) values[i] = static_cast<float>(static_cast<uint8_t>(codes[i] ^ flip));
}

// The same for n packed codes. There are no rows of fewer codes than a byte has.
template <int per_byte, int64_t n>
GS_LOOP void convert_packed_integers(const uint8_t* packed, uint8_t flip, float* values) {
    constexpr int bits = 8 / per_byte, mask = (1 << bits) - 1;
    if constexpr (n >= per_byte) {
        GS_INDEPENDENT
        for (int64_t i = 0; i < n / per_byte; ++i)
            for (int k = 0; k < per_byte; ++k)
                values[i * per_byte + k] = static_cast<float>((packed[i] >> (k * bits) & mask) ^ flip);
    } else {
        std::memset(values, 0, n * sizeof(float));
    }
}

GS_LOOP void look_up(const uint8_t* codes, int64_t n, const float* values_of_codes, float* values) {
    for (int64_t i = 0; i < n; ++i) values[i] = values_of_codes[codes[i]];
}

// The number of values that loops over a block scale at a time.
inline constexpr int64_t scaled_at_once = 16;

// Scales values of a block, in place or to another array. The difference of two integers is exact, so a number is
// rounded once.
template <int64_t n>
GS_LOOP void scale_some(const float* values, float zero, float scale, float* out) {
    GS_INDEPENDENT
    for (int64_t w = 0; w < n; ++w) out[w] = (values[w] - zero) * scale;
}

// Decodes a vector of 8 integers in loops for AVX2, and of 16 in loops for AVX-512. Their codes are packed if
// per_byte > 1. `zero` is the zero point, plus `flip`.
#if defined(GS_VERSIONS) && !defined(__clang__)
inline constexpr bool has_code_vectors = true;

template <int per_byte, class V>
GS_LOOP void decode_vector(const uint8_t* packed, uint8_t flip, int zero, float scale, V& numbers) {
    constexpr int64_t n = sizeof(V) / sizeof(float);
    constexpr int bits = 8 / per_byte, p = per_byte;
    Vector<uint8_t, 16> bytes;
    load_vector<n / per_byte>(packed, bytes);
    if constexpr (per_byte > 1)
        bytes = __builtin_shuffle(bytes, Vector<uint8_t, 16>{0, 1 / p, 2 / p, 3 / p, 4 / p, 5 / p, 6 / p, 7 / p, 8 / p,
                                                             9 / p, 10 / p, 11 / p, 12 / p, 13 / p, 14 / p, 15 / p});
    Vector<int32_t, n> codes;
    if constexpr (n == 16)
        codes = __builtin_ia32_pmovzxbd512_mask(reinterpret_cast<Vector<char, 16>>(bytes), Vector<int32_t, n>{}, -1);
    else
        codes = __builtin_ia32_pmovzxbd256(reinterpret_cast<Vector<char, 16>>(bytes));
    if constexpr (per_byte > 1) {
        Vector<int32_t, n> shifts;
        for (int64_t i = 0; i < n; ++i) shifts[i] = static_cast<int>(i % p * bits);
        codes = codes >> shifts & ((1 << bits) - 1);
    }
    // For integers from 0 to 2^23 - 1, 2^23 + c is a float whose last bits are those of c. The difference is exact.
    constexpr auto bits_of_2_to_23 = std::bit_cast<int32_t>(0x1p23f);
    const auto with_codes = reinterpret_cast<V>(codes ^ (bits_of_2_to_23 | flip));
    numbers = (with_codes - std::bit_cast<float>(bits_of_2_to_23 + zero)) * scale;
}
#else
inline constexpr bool has_code_vectors = false;

template <int per_byte, class V>
void decode_vector(const uint8_t*, uint8_t, int, float, V&) = delete;
#endif

}  // namespace gs
