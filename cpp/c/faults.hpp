// The errors in a call of a kernel, as statuses.
#pragma once

#include "kernel_call.hpp"
#include "messages.hpp"

namespace gs {

// The shapes and attributes of a call. `updates` can be null.
struct CallShapes {
    const Shape& data;
    const Shape& indices;
    const Shape* updates;
    const Shape& slots;  // complete if the fault is not one of the planner's
};

// Returns the error for a fault. `fault` is the planner's name for it, or "updates_shape".
gatherscatter_status* shape_fault(const char* op, const Operation&, const char* fault, const CallShapes&);

// Returns the error for a problem of a front end. `result` is the element type of the result.
gatherscatter_status* problem_fault(const char* op, Problem, DType result);

// Returns the error for indices that are out of range, after a kernel has found one.
gatherscatter_status* index_fault(const char* op, const Operation&, const Shape& data, const Shape& indices,
                                  const void* values, IndexType);

// Returns the error for bad indices in a tensor that messages call `input`. `subject` names what they index. The valid
// range is low..high.
gatherscatter_status* index_fault(const char* op, const char* input, const Shape& indices, const BadIndices&,
                                  std::string_view subject, int64_t low, int64_t high, std::string_view hint);

}  // namespace gs
