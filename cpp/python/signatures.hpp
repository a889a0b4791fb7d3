// Made by tools/generate_source.py from src/gatherscatter/operation.py.
#pragma once

#include <cstdint>
#include <iterator>

// clang-format off
namespace gs {

namespace parameter {
enum Parameter {
    data,
    indices,
    axis,
    batch_dims,
    mode,
    negative,
    out,
    num_threads,
    updates,
    reduction,
    include_self,
    accumulate,
    offsets,
    segment_ids,
    indptr,
    num_segments,
    weights,
    scales,
    zero_points,
    quantize_axis,
    block_size,
    bits,
    default_value,
    init,
    embedding_rules,
    count
};
inline constexpr const char* const names[] = {"data", "indices", "axis", "batch_dims", "mode", "negative", "out", "num_threads", "updates", "reduction", "include_self", "accumulate", "offsets", "segment_ids", "indptr", "num_segments", "weights", "scales", "zero_points", "quantize_axis", "block_size", "bits", "default", "init", "embedding_rules"};
static_assert(std::size(names) == count);
}  // namespace parameter

// The parameters of an array function. The first `positional` can be passed by position, and the first `required` must
// be passed.
struct Signature {
    const char* function;
    int required, positional, total;
    uint32_t known;  // a bit for each parameter
    parameter::Parameter parameters[parameter::count];
};

namespace parameter {
inline constexpr Signature signatures[] = {
    {"gather", 2, 3, 8, 0xff, {data, indices, axis, batch_dims, mode, negative, out, num_threads}},
    {"gather_elements", 2, 3, 7, 0xf7, {data, indices, axis, mode, negative, out, num_threads}},
    {"gather_nd", 2, 2, 7, 0xfb, {data, indices, batch_dims, mode, negative, out, num_threads}},
    {"scatter_update", 3, 4, 11, 0xff7, {data, indices, updates, axis, reduction, include_self, accumulate, mode, negative, out, num_threads}},
    {"scatter_elements", 3, 4, 11, 0xff7, {data, indices, updates, axis, reduction, include_self, accumulate, mode, negative, out, num_threads}},
    {"scatter_nd", 3, 3, 10, 0xff3, {data, indices, updates, reduction, include_self, accumulate, mode, negative, out, num_threads}},
    {"gather_reduce", 1, 2, 19, 0x7ffaf3, {data, indices, offsets, segment_ids, indptr, num_segments, weights, scales, zero_points, quantize_axis, block_size, bits, reduction, default_value, accumulate, mode, negative, out, num_threads}},
    {"gather_quantized", 3, 4, 12, 0x3e00f7, {data, indices, scales, zero_points, axis, quantize_axis, block_size, bits, mode, negative, out, num_threads}},
};

// The parameters in the fields of the records of gatherscatter.operation.
inline constexpr Parameter operation_fields[] = {axis, batch_dims, mode, negative, reduction, include_self, accumulate, num_threads};
inline constexpr Parameter bags_fields[] = {num_segments, embedding_rules};
inline constexpr Parameter table_fields[] = {quantize_axis, block_size, bits};
}  // namespace parameter
using parameter::Parameter;
using parameter::signatures;

// The reductions of gather_reduce that Python computes.
inline constexpr const char* bag_statistics[] = {"var", "std", "first", "last", "any", "all", "argmin", "argmax", "count"};

}  // namespace gs
