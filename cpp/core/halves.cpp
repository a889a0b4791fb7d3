#include "halves.hpp"

#include "machine.hpp"

namespace gs {

#ifdef GS_F16C
// The processor's conversions give bit-for-bit the same result as the code here: both round to nearest even.
bool has_f16c() { return instruction_set >= InstructionSet::avx2; }

template <class Op>
GS_F16C void combine_float16(float16* out, const float16* updates, const int64_t* rows, int64_t n) {
    const Op op;
    uint16_t* const to = reinterpret_cast<uint16_t*>(out);
    const uint16_t* const from = reinterpret_cast<const uint16_t*>(updates);
    for (int64_t i = 0; i < n; ++i)
        to[rows[i]] = _cvtss_sh(op(_cvtsh_ss(to[rows[i]]), _cvtsh_ss(from[i])), _MM_FROUND_TO_NEAREST_INT);
}
template <class Op>
GS_F16C void combine_float16_runs(float16* out, const float16* updates, const int64_t* rows, int64_t n) {
    const Op op;
    uint16_t* const to = reinterpret_cast<uint16_t*>(out);
    const uint16_t* const from = reinterpret_cast<const uint16_t*>(updates);
    for (int64_t i = 0; i < n;) {
        const int64_t row = rows[i];
        __m128i value = _mm_cvtsi32_si128(to[row]);
        do {
            const __m128 result = _mm_set_ss(op(_mm_cvtss_f32(_mm_cvtph_ps(value)), _cvtsh_ss(from[i])));
            value = _mm_cvtps_ph(result, _MM_FROUND_TO_NEAREST_INT);
        } while (++i < n && rows[i] == row);
        to[row] = static_cast<uint16_t>(_mm_extract_epi16(value, 0));
    }
}

template void combine_float16<Add>(float16*, const float16*, const int64_t*, int64_t);
template void combine_float16<Sub>(float16*, const float16*, const int64_t*, int64_t);
template void combine_float16<Mul>(float16*, const float16*, const int64_t*, int64_t);
template void combine_float16_runs<Add>(float16*, const float16*, const int64_t*, int64_t);
template void combine_float16_runs<Sub>(float16*, const float16*, const int64_t*, int64_t);
template void combine_float16_runs<Mul>(float16*, const float16*, const int64_t*, int64_t);
#else
bool has_f16c() { return false; }
#endif

namespace {

// These convert the first elements, as many as the processor can convert in vectors, and return their number.
#if defined(GS_F16C)
GS_F16C int64_t widen_eights(const float16* from, float* to, int64_t n) {
    int64_t i = 0;
    for (; i + 8 <= n; i += 8)
        _mm256_storeu_ps(to + i, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i))));
    return i;
}

GS_F16C int64_t narrow_eights(const float* from, float16* to, int64_t n) {
    int64_t i = 0;
    for (; i + 8 <= n; i += 8)
        _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i),
                         _mm256_cvtps_ph(_mm256_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT));
    return i;
}

template <class Op>
GS_F16C __m128i combine_vector(__m128i out, __m128i updates) {
    constexpr bool adds = std::same_as<Op, Add>, subtracts = std::same_as<Op, Sub>;
    const __m256 a = _mm256_cvtph_ps(out), u = _mm256_cvtph_ps(updates);
    return _mm256_cvtps_ph(adds ? a + u : subtracts ? a - u : a * u, _MM_FROUND_TO_NEAREST_INT);
}

template <class Op, int64_t n>
GS_F16C void combine_some(float16* out, const float16* updates) {
    __m128i a, u;
    load_vector<n * 2>(out, a);
    load_vector<n * 2>(updates, u);
    store_vector<n * 2>(out, combine_vector<Op>(a, u));
}

template <class Op>
GS_F16C void combine_row(float16* out, const float16* updates, int64_t n) {
    int64_t i = 0;
    for (; i + 8 <= n; i += 8) combine_some<Op, 8>(out + i, updates + i);
    if (n & 4) combine_some<Op, 4>(out + i, updates + i);
    i += n & 4;
    if (n & 2) combine_some<Op, 2>(out + i, updates + i);
    i += n & 2;
    if (n & 1) combine_some<Op, 1>(out + i, updates + i);
}

int64_t widen_vectors(const float16* from, float* to, int64_t n) { return has_f16c() ? widen_eights(from, to, n) : 0; }
int64_t narrow_vectors(const float* from, float16* to, int64_t n) {
    return has_f16c() ? narrow_eights(from, to, n) : 0;
}
#elif defined(GS_NEON)
int64_t widen_vectors(const float16* from, float* to, int64_t n) {
    int64_t i = 0;
    for (; i + 4 <= n; i += 4) widen_in_loop<4>(from + i, to + i);
    return i;
}

int64_t narrow_vectors(const float* from, float16* to, int64_t n) {
    int64_t i = 0;
    for (; i + 4 <= n; i += 4) narrow_in_loop<4>(from + i, to + i);
    return i;
}
#else
int64_t widen_vectors(const float16*, float*, int64_t) { return 0; }
int64_t narrow_vectors(const float*, float16*, int64_t) { return 0; }
#endif

GS_LOOP void widen_bfloat16(const bfloat16* from, float* to, int64_t n) {
    for (int64_t i = 0; i < n; ++i) to[i] = float(from[i]);
}

GS_LOOP void narrow_bfloat16(const float* from, bfloat16* to, int64_t n) {
    for (int64_t i = 0; i < n; ++i) to[i] = bfloat16(from[i]);
}

}  // namespace

template <class Op>
bool combine_float16_row([[maybe_unused]] float16* out, [[maybe_unused]] const float16* updates,
                         [[maybe_unused]] int64_t n) {
#ifdef GS_F16C
    if (has_f16c()) {
        combine_row<Op>(out, updates, n);
        return true;
    }
#endif
    return false;
}
template bool combine_float16_row<Add>(float16*, const float16*, int64_t);
template bool combine_float16_row<Sub>(float16*, const float16*, int64_t);
template bool combine_float16_row<Mul>(float16*, const float16*, int64_t);

void widen(const float16* from, float* to, int64_t n) {
    for (int64_t i = widen_vectors(from, to, n); i < n; ++i) to[i] = float(from[i]);
}

void narrow(const float* from, float16* to, int64_t n) {
    for (int64_t i = narrow_vectors(from, to, n); i < n; ++i) to[i] = float16(from[i]);
}

void widen(const bfloat16* from, float* to, int64_t n) { version<widen_bfloat16>()(from, to, n); }

void narrow(const float* from, bfloat16* to, int64_t n) { version<narrow_bfloat16>()(from, to, n); }

}  // namespace gs
