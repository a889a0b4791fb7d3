// The front end of gather_quantized: from the tensors of a call to its plan.
#pragma once

#include "problem.hpp"
#include "quantized.hpp"
#include "tensor.hpp"

namespace gs {

struct QuantizedOperation {
    CodeType codes;
    // Whether the last dims of data and zero points count bytes, and each row begins with a new byte. Otherwise
    // they count codes, and if a byte has several, rows follow each other without padding.
    bool counts_bytes = false;
    int64_t axis = 0, quantize_axis = -1;
    int64_t block_size = 128;  // 0: the whole axis is one block
    Rule rule;
};

struct QuantizedTensors {
    Tensor data, indices, scales, zero_points;
};

struct QuantizedPlan {
    QuantizedTable table;
    Shape numbers;  // the dims of data, in numbers
    int axis;
    int64_t count;  // of the indices
    Shape output;

    int64_t rows() const { return numbers[axis]; }
};

// Checks the shapes of a call and makes its plan. Types have already been checked.
[[nodiscard]] Problem plan_quantized(const QuantizedTensors&, const QuantizedOperation&, QuantizedPlan&);

}  // namespace gs
