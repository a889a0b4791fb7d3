// Many 16-bit floats at a time, to float and back.
#pragma once

#include <cstring>

#include "machine.hpp"
#include "reduction.hpp"

// For functions that use the processor's own conversions.
#if defined(__x86_64__) && defined(__GNUC__)
#define GS_F16C __attribute__((target("avx,f16c")))
#endif

namespace gs {

void widen(const float16* from, float* to, int64_t n);
void widen(const bfloat16* from, float* to, int64_t n);
void narrow(const float* from, float16* to, int64_t n);
void narrow(const float* from, bfloat16* to, int64_t n);

// The same for n halves, a constant, in loops that have versions: there, the processor converts. Only GCC can say so.
#if defined(GS_VERSIONS) && !defined(__clang__)
inline constexpr bool can_convert_in_loops = true;

using FourFloats [[gnu::vector_size(16)]] = float;
using EightFloats [[gnu::vector_size(32)]] = float;
using EightShorts [[gnu::vector_size(16)]] = short;

template <int64_t n>
GS_LOOP void widen_in_loop(const float16* from, float* to) {
    if constexpr (n % 8 == 0) {
        for (int64_t i = 0; i < n; i += 8) {
            EightShorts halves;
            std::memcpy(&halves, from + i, sizeof halves);
            const EightFloats floats = __builtin_ia32_vcvtph2ps256(halves);
            std::memcpy(to + i, &floats, sizeof floats);
        }
    } else {
        EightShorts halves{};
        std::memcpy(&halves, from, n * 2);
        const FourFloats floats = __builtin_ia32_vcvtph2ps(halves);
        std::memcpy(to, &floats, n * 4);
    }
}

template <int64_t n>
GS_LOOP void narrow_in_loop(const float* from, float16* to) {
    if constexpr (n % 8 == 0) {
        for (int64_t i = 0; i < n; i += 8) {
            EightFloats floats;
            std::memcpy(&floats, from + i, sizeof floats);
            const EightShorts halves = __builtin_ia32_vcvtps2ph256(floats, _MM_FROUND_TO_NEAREST_INT);
            std::memcpy(static_cast<void*>(to + i), &halves, sizeof halves);
        }
    } else {
        FourFloats floats{};
        std::memcpy(&floats, from, n * 4);
        const EightShorts halves = __builtin_ia32_vcvtps2ph(floats, _MM_FROUND_TO_NEAREST_INT);
        std::memcpy(static_cast<void*>(to), &halves, n * 2);
    }
}

template <int64_t n>
GS_LOOP void round_in_loop(float* values) {
    if constexpr (n % 8 == 0) {
        for (int64_t i = 0; i < n; i += 8) {
            EightFloats floats;
            std::memcpy(&floats, values + i, sizeof floats);
            floats = __builtin_ia32_vcvtph2ps256(__builtin_ia32_vcvtps2ph256(floats, _MM_FROUND_TO_NEAREST_INT));
            std::memcpy(values + i, &floats, sizeof floats);
        }
    } else {
        FourFloats floats{};
        std::memcpy(&floats, values, n * 4);
        floats = __builtin_ia32_vcvtph2ps(__builtin_ia32_vcvtps2ph(floats, _MM_FROUND_TO_NEAREST_INT));
        std::memcpy(values, &floats, n * 4);
    }
}
#else
inline constexpr bool can_convert_in_loops = false;
#endif

// out[rows[i]] = Op(out[rows[i]], updates[i]), by the conversions of the processor if it has any.
bool has_f16c();
#ifdef GS_F16C
template <class Op>
GS_F16C void combine_float16(float16* out, const float16* updates, const int64_t* rows, int64_t n);
#else
template <class Op>
void combine_float16(float16*, const float16*, const int64_t*, int64_t) {}
#endif

}  // namespace gs
