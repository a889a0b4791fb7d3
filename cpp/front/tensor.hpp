// A tensor of a call, without its memory.
#pragma once

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

}  // namespace gs
