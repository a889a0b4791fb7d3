// Plans of gather and reduce.
#include "faults.hpp"
#include "plans.hpp"

namespace gs {
namespace {

// Sets the types of the indices, and of offsets, indptr or segment ids.
gatherscatter_status* check_types(gatherscatter_plan& plan) {
    const char* const op = plan.name.c_str();
    const Operation& operation = plan.operation;
    const auto& inputs = plan.inputs;
    const Tensor& data = inputs[BagInput::data];
    if (operation.reduction == Reduction::none || operation.reduction == Reduction::sub) {
        constexpr const char* known[] = {"add", "mul", "min", "max", "mean"};
        return make_status("choice", op,
                           {{"raises", "ValueError"},
                            {"input", "reduction"},
                            {"choices", list_choices(known)},
                            {"value", Value(name(operation.reduction)).repr}});
    }
    if (gatherscatter_status* status = check_reduction(op, data.dtype, operation.reduction, operation.accumulate))
        return status;
    for (size_t i = 1; i < bag_input_count; ++i) {
        const auto input = static_cast<BagInput>(i);
        if (!inputs[i].present) continue;
        const bool has_type_of_data = input == BagInput::weights || input == BagInput::init;
        IndexType& type = input == BagInput::indices ? plan.index_type : plan.bag_type;
        if (gatherscatter_status* status = has_type_of_data ? check_same_type(op, bag_input_names[i], inputs[i], data)
                                                            : check_integers(op, bag_input_names[i], inputs[i], type))
            return status;
    }
    return nullptr;
}

// Returns the error for an offset or a segment id that the rule does not allow. `high` is the largest that it allows.
gatherscatter_status* range_fault(const gatherscatter_plan& plan, const void* values, int64_t high, Rule rule,
                                  std::string_view subject) {
    const char* const op = plan.name.c_str();
    const auto input = static_cast<size_t>(bag_input_of(plan.bags.call.form));
    const Shape& shape = plan.inputs[input].shape;
    const BadIndices bad = find_bad_indices({values, plan.bag_type, shape[0], Shape{high + 1}, 0, 1}, rule);
    if (bad.count == 0) return make_status("changed_indices", op, {});
    return index_fault(op, bag_input_names[input], shape, bad, subject, rule.negative == Negative::end ? -high - 1 : 0,
                       high, "");
}

gatherscatter_status* fault_status(const gatherscatter_plan& plan, const void* const* inputs, BagFault fault) {
    const char* const op = plan.name.c_str();
    const GatherReduce& call = plan.bags.call;
    const BagInput at = bag_input_of(call.form);
    // The host may have given no more addresses than tensors.
    const void* const values = plan.inputs[at].present ? inputs[static_cast<size_t>(at)] : nullptr;
    switch (fault) {
        case BagFault::indices:
            return index_fault(op, plan.operation, Shape{call.data_rows}, plan.inputs[BagInput::indices].shape,
                               inputs[static_cast<size_t>(BagInput::indices)], plan.index_type);
        case BagFault::offsets:
            return range_fault(plan, values, call.members, strict,
                               format_sentence("parts.members", {{"size", call.members}}));
        case BagFault::segment_ids:
            return range_fault(plan, values, call.bags - 1, call.segment_rule(),
                               format_sentence("parts.segments", {{"size", call.bags}}));
        case BagFault::offsets_order:
        case BagFault::offsets_start:
        case BagFault::offsets_end: return make_status(find_bag_problem(plan.bags, values, plan.bag_type), op);
        default: return make_status("changed_indices", op, {});
    }
}

}  // namespace

gatherscatter_status* plan_gather_reduce(gatherscatter_plan& plan, int64_t num_segments) {
    const char* const op = plan.name.c_str();
    if (gatherscatter_status* status = check_types(plan)) return status;
    const std::optional<int64_t> count = num_segments == -1 ? std::nullopt : std::optional(num_segments);
    if (const Problem problem = plan_bags(plan.inputs, plan.operation, count, plan.bags))
        return problem_fault(op, problem, plan.inputs[BagInput::data].dtype);
    if (plan.bags.call.bags == unknown_bags) return make_status("num_segments_needed", op, {});
    plan.output = plan.bags.output;
    return nullptr;
}

gatherscatter_status* run_gather_reduce(const gatherscatter_plan& plan, const void* const* inputs, std::byte* out) {
    const Tensor& tensor = plan.inputs[BagInput::init];
    if (tensor.present)  // otherwise, the host may have given fewer addresses
        if (const void* const init = inputs[static_cast<size_t>(BagInput::init)]; init != out)
            copy_data(static_cast<const std::byte*>(init), out, tensor.bytes(), false);
    const BagFault fault = gather_reduce(plan.bags.call, inputs_of(plan.inputs, plan.bags, inputs), out);
    return fault == BagFault::none ? nullptr : fault_status(plan, inputs, fault);
}

}  // namespace gs
