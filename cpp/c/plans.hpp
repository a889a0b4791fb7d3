// The plan of a call, which the host holds.
#pragma once

#include <string>

#include "arguments.hpp"
#include "bag_plan.hpp"
#include "quantized_plan.hpp"

namespace gs {

// The computation of a plan: a kernel that moves or combines elements, or one of the others.
enum class PlanKind : uint8_t { kernel, gather_reduce, gather_quantized };

}  // namespace gs

// `new` does not initialize the numbers, because hosts make a plan for each call.
struct gatherscatter_plan {
    std::string name;
    gs::Operation operation;
    gs::PlanKind kind = gs::PlanKind::kernel;
    gs::BagTensors inputs;  // in the order of the kernel
    gs::IndexType index_type;
    gs::Shape output;
    gs::Plan plan;                                  // of PlanKind::kernel
    gs::BagPlan bags;                               // of PlanKind::gather_reduce
    gs::IndexType bag_type = gs::IndexType::int64;  // of offsets, indptr or segment ids
    gs::QuantizedPlan quantized;                    // of PlanKind::gather_quantized
};

namespace gs {

// Returns the name of input i of a plan.
const char* input_name(const gatherscatter_plan&, size_t i);

// Completes a plan of GATHERSCATTER_GATHER_REDUCE, whose operation and inputs have already been read. Returns null, or
// an error.
gatherscatter_status* plan_gather_reduce(gatherscatter_plan&, int64_t num_segments);

gatherscatter_status* run_gather_reduce(const gatherscatter_plan&, const void* const* inputs, std::byte* out);

// Tensors of codes are bytes for the kernel. Other tensors do not change.
gatherscatter_tensor as_bytes(gatherscatter_tensor);

// Completes a plan of GATHERSCATTER_GATHER_QUANTIZED in the same way. `inputs` are those of the host.
gatherscatter_status* plan_gather_quantized(gatherscatter_plan&, const gatherscatter_operation&,
                                            const gatherscatter_tensor* inputs);

gatherscatter_status* run_gather_quantized(const gatherscatter_plan&, const void* const* inputs, std::byte* out);

}  // namespace gs
