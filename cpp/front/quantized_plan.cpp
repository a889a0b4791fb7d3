#include "quantized_plan.hpp"

namespace gs {
namespace {

// Makes an axis count from the front. False: it is out of range.
bool normalize(int64_t axis, int rank, int& result) {
    if (axis < -rank || axis >= rank) return false;
    result = static_cast<int>(axis < 0 ? axis + rank : axis);
    return true;
}

Problem axis_problem(const char* input, int64_t axis, const Shape& data) {
    return {"quantized_axis", {{"input", input}, {"axis", axis}, {"rank", int64_t{data.rank}}, {"shape", data}}};
}

// Whether a shape is the wanted one, or has length 1 where a scale holds for all.
bool fits(const Shape& shape, const Shape& wanted, int quantize_axis) {
    for (int d = 0; d < wanted.rank; ++d)
        if (shape[d] != wanted[d] && (shape[d] != 1 || d == quantize_axis)) return false;
    return shape.rank == wanted.rank;
}

Problem shape_problem(const char* error, const char* input, const Tensor& tensor, const Shape& wanted,
                      const Shape& data) {
    return {error, {{"input", input}, {"shape", tensor.shape}, {"wanted", wanted}, {"data", data}}};
}

}  // namespace

Problem plan_quantized(const QuantizedTensors& inputs, const QuantizedOperation& operation, QuantizedPlan& plan) {
    const Shape &data = inputs.data.shape, &indices = inputs.indices.shape;
    const CodeType& codes = operation.codes;
    if (data.rank == 0) return {"no_rows", {{"input", "data"}}};
    int quantize_axis;
    if (!normalize(operation.axis, data.rank, plan.axis)) return axis_problem("axis", operation.axis, data);
    if (!normalize(operation.quantize_axis, data.rank, quantize_axis))
        return axis_problem("quantize_axis", operation.quantize_axis, data);
    if (operation.block_size < 0) return {"block_size", {{"value", operation.block_size}}};
    if (inputs.zero_points.present && codes.is_float()) return {"float_zero_points"};
    const bool is_packed = operation.counts_bytes && codes.per_byte > 1;
    const int last = data.rank - 1;
    if (is_packed && plan.axis == last)
        return {"packed_axis", {{"axis", operation.axis}, {"bits", int64_t{codes.bits}}}};
    plan.numbers = data;
    if (is_packed) plan.numbers.dim[last] = saturating_multiply(data[last], codes.per_byte);

    plan.output = Shape(plan.numbers.dim, plan.axis);
    if (data.rank + indices.rank - 1 > max_rank)
        return {"output_rank", {{"tuple_rank", int64_t{indices.rank}}, {"data", data}, {"indices", indices}}};
    plan.output.append(indices.dim, indices.rank);
    plan.output.append(plan.numbers.dim + plan.axis + 1, last - plan.axis);
    const int64_t scale_size = inputs.scales.item_size;
    if (saturating_multiply(count_elements(plan.output), scale_size) == INT64_MAX ||
        saturating_multiply(count_elements(plan.numbers), scale_size) == INT64_MAX)
        return {"too_large", {{"of", plan.output}}};

    const int64_t length = plan.numbers[quantize_axis];
    const int64_t block_size = operation.block_size == 0 ? std::max<int64_t>(length, 1) : operation.block_size;
    Shape blocks = plan.numbers;
    blocks.dim[quantize_axis] = length / block_size + (length % block_size != 0);
    if (!fits(inputs.scales.shape, blocks, quantize_axis))
        return shape_problem("scales_shape", "scales", inputs.scales, blocks, plan.numbers);
    Shape zeros = inputs.scales.shape;
    if (is_packed) zeros.dim[last] = zeros[last] / codes.per_byte + (zeros[last] % codes.per_byte != 0);
    if (inputs.zero_points.present && !(inputs.zero_points.shape == zeros))
        return shape_problem("zero_points_shape", "zero_points", inputs.zero_points, zeros, inputs.scales.shape);
    plan.count = count_elements(indices);
    plan.table.codes = codes;
    plan.table.scale_type = inputs.scales.dtype;
    plan.table.scale_size = scale_size;
    const int64_t zero_row = is_packed ? zeros[last] * codes.per_byte : zeros[last];
    lay_out(plan.numbers, plan.axis, quantize_axis, block_size, inputs.scales.shape, zero_row, plan.table);
    return {};
}

}  // namespace gs
