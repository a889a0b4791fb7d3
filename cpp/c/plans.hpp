// The plan of a call, which the host holds.
#pragma once

#include <string>

#include "arguments.hpp"
#include "bag_plan.hpp"

// `new` does not initialize the numbers, because hosts make a plan for each call.
struct gatherscatter_plan {
    std::string name;
    gs::Operation operation;
    gs::BagTensors inputs;  // in the order of the kernel
    gs::IndexType index_type;
    gs::Plan plan;  // of a gather or scatter
    gs::Shape output;
    bool reduces_bags = false;
    gs::BagPlan bags;                                 // if reduces_bags
    gs::IndexType place_type = gs::IndexType::int64;  // of offsets, indptr or segment ids
};

namespace gs {

// Returns the name of input i of a plan.
const char* input_name(const gatherscatter_plan&, size_t i);

// Completes a plan of GATHERSCATTER_GATHER_REDUCE, whose operation and inputs have already been read. Returns null, or
// an error.
gatherscatter_status* plan_gather_reduce(gatherscatter_plan&, int64_t num_segments);

gatherscatter_status* run_gather_reduce(const gatherscatter_plan&, const void* const* inputs, std::byte* out);

}  // namespace gs
