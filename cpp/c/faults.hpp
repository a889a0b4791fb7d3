// What is wrong with a call of a kernel, as a status.
#pragma once

#include "kernel_call.hpp"
#include "messages.hpp"

namespace gs {

// The shapes and attributes of a call; `updates` may be null.
struct CallShapes {
    const Shape& data;
    const Shape& indices;
    const Shape* updates;
    const Shape& slots;  // complete when the fault is not the planner's
};

// `fault`: the planner's name for it, or "updates_shape".
gatherscatter_status* shape_fault(const char* op, const Operation&, const char* fault, const CallShapes&);

// The indices that are out of range, after a kernel has met one.
gatherscatter_status* index_fault(const char* op, const Operation&, const Shape& data, const Shape& indices,
                                  const void* values, IndexType);

// The places of bad indices in a tensor that messages call `input`. `subject` is what they index, low..high the valid
// range.
gatherscatter_status* index_fault(const char* op, const char* input, const Shape& indices, const BadIndices&,
                                  std::string_view subject, int64_t low, int64_t high, std::string_view hint);

}  // namespace gs
