// Converts many 16-bit floats at a time to float and back.
#pragma once

#include <algorithm>
#include <cstring>

#include "machine.hpp"
#include "reduction.hpp"

// Marks functions that use the processor's conversions.
#if defined(__x86_64__) && defined(__GNUC__)
#define GS_F16C __attribute__((target("avx,f16c")))
#endif

namespace gs {

void widen(const float16* from, float* to, int64_t n);
void widen(const bfloat16* from, float* to, int64_t n);
void narrow(const float* from, float16* to, int64_t n);
void narrow(const float* from, bfloat16* to, int64_t n);

// The same conversions inside loops that have versions. n is a constant: 16 for AVX-512; 8, 4, 2 or 1 for AVX-512 and
// AVX2. Only GCC lets code use the processor's conversions in this place. Pass vectors to lambdas by reference: in
// builds without optimization, lambdas are compiled for the baseline, where wide vectors have another calling
// convention.
#if defined(GS_VERSIONS) && !defined(__clang__)
inline constexpr bool can_convert_in_loops = true;

template <class T, int64_t n>
using Vector [[gnu::vector_size(n * sizeof(T))]] = T;

template <int64_t n>
GS_LOOP void widen_in_loop(const float16* from, float* to) {
    Vector<short, std::max<int64_t>(n, 8)> halves{};
    std::memcpy(&halves, from, n * 2);
    const auto copy = [to](const auto& floats) { std::memcpy(to, &floats, n * 4); };
    if constexpr (n == 16)
        copy(__builtin_ia32_vcvtph2ps512_mask(halves, Vector<float, 16>{}, -1, _MM_FROUND_CUR_DIRECTION));
    else if constexpr (n == 8)
        copy(__builtin_ia32_vcvtph2ps256(halves));
    else
        copy(__builtin_ia32_vcvtph2ps(halves));
}

template <int64_t n>
GS_LOOP void narrow_in_loop(const float* from, float16* to) {
    Vector<float, std::max<int64_t>(n, 4)> floats{};
    std::memcpy(&floats, from, n * 4);
    const auto copy = [to](const auto& halves) { std::memcpy(static_cast<void*>(to), &halves, n * 2); };
    if constexpr (n == 16)
        copy(__builtin_ia32_vcvtps2ph512_mask(floats, _MM_FROUND_TO_NEAREST_INT, Vector<short, 16>{}, -1));
    else if constexpr (n == 8)
        copy(__builtin_ia32_vcvtps2ph256(floats, _MM_FROUND_TO_NEAREST_INT));
    else
        copy(__builtin_ia32_vcvtps2ph(floats, _MM_FROUND_TO_NEAREST_INT));
}
#else
inline constexpr bool can_convert_in_loops = false;
template <int64_t n>
void widen_in_loop(const float16*, float*) {}
template <int64_t n>
void narrow_in_loop(const float*, float16*) {}
#endif

// out[rows[i]] = Op(out[rows[i]], updates[i]). Uses the conversions of the processor if it has any.
bool has_f16c();
#ifdef GS_F16C
template <class Op>
GS_F16C void combine_float16(float16* out, const float16* updates, const int64_t* rows, int64_t n);
#else
template <class Op>
void combine_float16(float16*, const float16*, const int64_t*, int64_t) {}
#endif

}  // namespace gs
