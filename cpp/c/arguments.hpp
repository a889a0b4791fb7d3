// What a host hands over, checked.
#pragma once

#include <string>

#include "kernel_call.hpp"
#include "messages.hpp"

namespace gs {

// A tensor that a host described.
struct Tensor {
    bool present = false;
    DType dtype = DType::opaque;
    int64_t item_size = 0;
    Shape shape;

    int64_t bytes() const { return count_elements(shape) * item_size; }  // which fits
};

// Bytes of an element; 0 for opaque ones.
int64_t size_of(DType);

// Null, or what is wrong. `input` is the tensor's name in messages.
gatherscatter_status* read_tensor(const char* op, const char* input, const gatherscatter_tensor&, Tensor&);

// What is asked for. Null, or what is wrong.
gatherscatter_status* read_operation(const char* op, const gatherscatter_operation&, Operation&);

// How messages call an operation.
const char* name_of(const gatherscatter_operation&);

// Null, or why elements of a type can't be reduced so.
gatherscatter_status* check_reduction(const char* op, DType, Reduction, Accumulate);

// Null, or that two inputs have other types.
gatherscatter_status* check_same_type(const char* op, const char* input, const Tensor&, const Tensor& data);

// Null, or that a tensor holds no integers.
gatherscatter_status* check_integers(const char* op, const char* input, const Tensor&, IndexType&);

}  // namespace gs
