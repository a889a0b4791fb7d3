// A tensor of a call, as an interface describes it.
#pragma once

#include <cstddef>

#include "dtype.hpp"
#include "plan.hpp"

namespace gs {

struct Tensor {
    bool present = false;
    DType dtype = DType::opaque;
    int64_t item_size = 0;
    Shape shape;

    int64_t bytes() const { return count_elements(shape) * item_size; }  // for tensors that are in memory
};

// A tensor in memory. Elements can lie apart.
struct StridedTensor : Tensor {
    bool is_contiguous = true;  // and aligned
    // Only set for a tensor that is present, because calls take nanoseconds.
    bool is_aligned;
    std::byte* memory;
    int64_t size;            // in bytes
    const int64_t* strides;  // in bytes; the memory of the caller

    // Whether an element of this tensor may be in the memory of another, which is contiguous.
    bool overlaps(const StridedTensor& contiguous) const;
    // Whether both have the same elements at the same addresses. They have the same type.
    bool is_same(const StridedTensor&) const;
};

}  // namespace gs
