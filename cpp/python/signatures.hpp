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
    negative,
    embedding_rules,
    count
};
inline constexpr const char* const names[] = {"data", "indices", "axis", "batch_dims", "mode", "out", "num_threads", "updates", "reduction", "include_self", "accumulate", "offsets", "segment_ids", "indptr", "num_segments", "weights", "scales", "zero_points", "quantize_axis", "block_size", "bits", "default", "init", "negative", "embedding_rules"};
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
    {"gather", 2, 3, 7, 0x7f, {data, indices, axis, batch_dims, mode, out, num_threads}},
    {"gather_elements", 2, 3, 6, 0x77, {data, indices, axis, mode, out, num_threads}},
    {"gather_nd", 2, 2, 6, 0x7b, {data, indices, batch_dims, mode, out, num_threads}},
    {"scatter_update", 3, 4, 10, 0x7f7, {data, indices, updates, axis, reduction, include_self, accumulate, mode, out, num_threads}},
    {"scatter_elements", 3, 4, 10, 0x7f7, {data, indices, updates, axis, reduction, include_self, accumulate, mode, out, num_threads}},
    {"scatter_nd", 3, 3, 9, 0x7f3, {data, indices, updates, reduction, include_self, accumulate, mode, out, num_threads}},
    {"gather_reduce", 1, 2, 18, 0x3ffd73, {data, indices, offsets, segment_ids, indptr, num_segments, weights, scales, zero_points, quantize_axis, block_size, bits, reduction, default_value, accumulate, mode, out, num_threads}},
    {"gather_quantized", 3, 4, 11, 0x1f0077, {data, indices, scales, zero_points, axis, quantize_axis, block_size, bits, mode, out, num_threads}},
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
