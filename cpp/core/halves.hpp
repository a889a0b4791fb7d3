// Many 16-bit floats at a time, to float and back.
#pragma once

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
