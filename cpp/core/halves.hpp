// Converts many 16-bit floats at a time to float and back.
#pragma once

#include <algorithm>
#include <cstring>

#include "machine.hpp"
#include "reduction.hpp"
#include "vectors.hpp"

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
// Marks functions that use the processor's conversions.
#define GS_F16C __attribute__((target("avx,f16c")))
#endif

namespace gs {

void widen(const float16* from, float* to, int64_t n);
void widen(const bfloat16* from, float* to, int64_t n);
void narrow(const float* from, float16* to, int64_t n);
void narrow(const float* from, bfloat16* to, int64_t n);

// The number of float16 that widen_in_loop and narrow_in_loop convert at a time. 0: there are no such instructions.
constexpr int64_t conversions_at_once([[maybe_unused]] InstructionSet set) {
#if defined(GS_NEON)
    return 4;
#elif defined(GS_VERSIONS) && !defined(__clang__)
    constexpr int64_t numbers[] = {0, 8, 16};
    return numbers[static_cast<size_t>(set)];
#else
    return 0;
#endif
}

// The same conversions inside loops that have versions. n is a constant: a power of two, at most conversions_at_once().
// On x86-64, only GCC lets code use the processor's conversions here. Pass vectors to lambdas by reference: in
// builds without optimization, lambdas are compiled for the baseline, where wide vectors have another calling
// convention.
#if defined(GS_VERSIONS) && !defined(__clang__)
template <int64_t n>
GS_LOOP void widen_in_loop(const float16* from, float* to) {
    Vector<short, std::max<int64_t>(n, 8)> halves;
    load_vector<n * 2>(from, halves);
    const auto copy = [to](const auto& floats) { std::memcpy(to, &floats, n * 4); };
    if constexpr (n == 16)
        copy(__builtin_ia32_vcvtph2ps512_mask(halves, Vector<float, 16>{}, -1, _MM_FROUND_CUR_DIRECTION));
    else if constexpr (n == 8)
        copy(__builtin_ia32_vcvtph2ps256(halves));
    else
        copy(__builtin_ia32_vcvtph2ps(halves));
}

template <int64_t n>
GS_LOOP void widen_in_loop(const bfloat16* from, float* to) {
    constexpr int64_t loaded = std::max<int64_t>(n, 8);
    Vector<short, loaded> halves;
    load_vector<n * 2>(from, halves);
    Vector<int32_t, loaded> floats;
    if constexpr (n == 16)
        floats = __builtin_ia32_pmovzxwd512_mask(halves, Vector<int32_t, 16>{}, -1);
    else
        floats = __builtin_ia32_pmovzxwd256(halves);
    floats <<= 16;
    std::memcpy(to, &floats, n * 4);
}

template <int64_t n>
GS_LOOP void narrow_in_loop(const float* from, float16* to) {
    Vector<float, std::max<int64_t>(n, 4)> floats;
    load_vector<n * 4>(from, floats);
    const auto copy = [to](const auto& halves) { std::memcpy(static_cast<void*>(to), &halves, n * 2); };
    if constexpr (n == 16)
        copy(__builtin_ia32_vcvtps2ph512_mask(floats, _MM_FROUND_TO_NEAREST_INT, Vector<short, 16>{}, -1));
    else if constexpr (n == 8)
        copy(__builtin_ia32_vcvtps2ph256(floats, _MM_FROUND_TO_NEAREST_INT));
    else
        copy(__builtin_ia32_vcvtps2ph(floats, _MM_FROUND_TO_NEAREST_INT));
}
#else
template <int64_t n>
GS_LOOP void widen_in_loop(const bfloat16* from, float* to) {
    GS_INDEPENDENT
    for (int64_t i = 0; i < n; ++i) to[i] = float(from[i]);
}
#if defined(GS_NEON)
template <int64_t n>
GS_LOOP void widen_in_loop(const float16* from, float* to) {
    float16x4_t halves{};
    std::memcpy(&halves, from, n * 2);
    const float32x4_t floats = vcvt_f32_f16(halves);
    std::memcpy(to, &floats, n * 4);
}

template <int64_t n>
GS_LOOP void narrow_in_loop(const float* from, float16* to) {
    float32x4_t floats{};
    std::memcpy(&floats, from, n * 4);
    const float16x4_t halves = vcvt_f16_f32(floats);
    std::memcpy(static_cast<void*>(to), &halves, n * 2);
}
#else
template <int64_t n>
void widen_in_loop(const float16*, float*) {}
template <int64_t n>
void narrow_in_loop(const float*, float16*) {}
#endif
#endif

// Whether the processor has the conversions of x86-64. On AArch64, the type float16 itself uses the processor's.
bool has_f16c();
// out[rows[i]] = Op(out[rows[i]], updates[i]). Call these only if has_f16c(). The second is faster for runs of equal
// rows.
#ifdef GS_F16C
template <class Op>
GS_F16C void combine_float16(float16* out, const float16* updates, const int64_t* rows, int64_t n);
template <class Op>
GS_F16C void combine_float16_runs(float16* out, const float16* updates, const int64_t* rows, int64_t n);
#else
template <class Op>
void combine_float16(float16*, const float16*, const int64_t*, int64_t) {}
template <class Op>
void combine_float16_runs(float16*, const float16*, const int64_t*, int64_t) {}
#endif

// out[i] = Op(out[i], updates[i]). False: the processor does not have F16C.
template <class Op>
bool combine_float16_row(float16* out, const float16* updates, int64_t n);

}  // namespace gs
