// Many 16-bit floats at a time, to float and back.
#pragma once

#include "element.hpp"

namespace gs {

void widen(const float16* from, float* to, int64_t n);
void widen(const bfloat16* from, float* to, int64_t n);
void narrow(const float* from, float16* to, int64_t n);
void narrow(const float* from, bfloat16* to, int64_t n);

}  // namespace gs
