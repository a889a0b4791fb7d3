// The plan of a call, as hosts hold it.
#pragma once

#include <array>
#include <string>

#include "arguments.hpp"
#include "gather_reduce.hpp"

// `new` leaves its numbers alone: hosts make a plan for each call.
struct gatherscatter_plan {
    static constexpr size_t most_inputs = 6;

    std::string name;
    gs::Operation operation;
    std::array<gs::Tensor, most_inputs> inputs;  // in the order of the kernel
    gs::IndexType index_type;
    gs::Plan plan;  // of the kernels
    gs::Shape output;
    bool reduces_bags = false;
    gs::GatherReduce bags;                            // then
    gs::IndexType place_type = gs::IndexType::int64;  // of offsets or segment ids
};

namespace gs {

// The names of the inputs of a plan, in their order.
const char* input_name(const gatherscatter_plan&, size_t i);

// Completes the plan of a GATHERSCATTER_GATHER_REDUCE. Its operation and its inputs have been read before. Null, or
// what is wrong.
gatherscatter_status* plan_gather_reduce(gatherscatter_plan&, int64_t num_segments);

gatherscatter_status* run_gather_reduce(const gatherscatter_plan&, const void* const* inputs, std::byte* out);

}  // namespace gs
