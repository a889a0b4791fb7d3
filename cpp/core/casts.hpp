// Copies elements of any layout to contiguous memory, in another type or byte order if necessary.
#pragma once

#include <cstddef>
#include <cstdint>

#include "dtype.hpp"
#include "plan.hpp"
#include "sizes.hpp"

namespace gs {

struct ElementType {
    DType dtype = DType::opaque;
    int64_t size = 0;      // bytes of an element
    bool swapped = false;  // its bytes are in the other order. Never set for an opaque type
};

// The elements of an array. `strides` are in bytes, and can be 0 or negative.
struct Elements {
    const std::byte* data;
    ElementType type;
    Shape shape, strides;
};

// Whether values of one type can be cast to another, judged by the types alone: truth values to numbers, integers to
// numbers, floats to floats and complex numbers. An opaque type can only be copied.
bool can_cast(const ElementType& from, const ElementType& to);

// Casts at most `cast_block` contiguous elements. False: a value does not fit.
using CastBlock = bool (*)(const std::byte* from, std::byte* to, int64_t n);
inline constexpr int64_t cast_block = tiny ? 3 : 256;
// Null: the types do not allow it, or are the same.
CastBlock block_caster(DType from, DType to);

// Casts the elements in row-major order to contiguous memory, on several threads. False: a value does not fit, as
// arrays/casts.py defines it, or the call has to stop. The memory is then undefined.
[[nodiscard]] bool cast(const Elements&, const ElementType& to, std::byte* out);

}  // namespace gs
