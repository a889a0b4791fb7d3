// The plan of a call, which the host holds.
#pragma once

#include <array>
#include <string>

#include "arguments.hpp"
#include "gather_reduce.hpp"

// `new` does not initialize the numbers, because hosts make a plan for each call.
struct gatherscatter_plan {
    static constexpr size_t most_inputs = 6;

    std::string name;
    gs::Operation operation;
    std::array<gs::Tensor, most_inputs> inputs;  // in the order of the kernel
    gs::IndexType index_type;
    gs::Plan plan;  // of a gather or scatter
    gs::Shape output;
    bool reduces_bags = false;
    gs::GatherReduce bags;                            // if reduces_bags
    gs::IndexType place_type = gs::IndexType::int64;  // the type of offsets or segment ids
};

namespace gs {

// Returns the name of input i of a plan.
const char* input_name(const gatherscatter_plan&, size_t i);

// Completes a plan of GATHERSCATTER_GATHER_REDUCE, whose operation and inputs have already been read. Returns null, or
// an error.
gatherscatter_status* plan_gather_reduce(gatherscatter_plan&, int64_t num_segments);

gatherscatter_status* run_gather_reduce(const gatherscatter_plan&, const void* const* inputs, std::byte* out);

}  // namespace gs
