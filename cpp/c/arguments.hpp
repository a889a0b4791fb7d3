// The arguments of a host, read and checked.
#pragma once

#include <string>

#include "kernel_call.hpp"
#include "messages.hpp"
#include "tensor.hpp"

namespace gs {

// Returns the bytes of an element; 0 for opaque elements.
int64_t size_of(DType);

// Reads a tensor. Returns null, or an error. `input` is the name of the tensor in messages.
gatherscatter_status* read_tensor(const char* op, const char* input, const gatherscatter_tensor&, Tensor&);

// Reads the operation. Returns null, or an error.
gatherscatter_status* read_operation(const char* op, const gatherscatter_operation&, Operation&);

// Returns the name of an operation in messages.
const char* name_of(const gatherscatter_operation&);

// Returns null, or an error if elements of this type do not support the reduction.
gatherscatter_status* check_reduction(const char* op, DType, Reduction, Accumulate);

// Returns null, or an error if the types of two inputs differ.
gatherscatter_status* check_same_type(const char* op, const char* input, const Tensor&, const Tensor& data);

// Returns null, or an error if a tensor does not hold integers.
gatherscatter_status* check_integers(const char* op, const char* input, const Tensor&, IndexType&);

}  // namespace gs
