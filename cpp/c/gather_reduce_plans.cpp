// Plans of gather and reduce. The checks and messages are those of functions/gather_reduce.py.
#include <algorithm>

#include "faults.hpp"
#include "plans.hpp"

namespace gs {
namespace {

enum Input : size_t { data_input, indices_input, offsets_input, segment_ids_input, weights_input, init_input };

// The input that defines the bags, unless the last dimension of indices does.
Input places_input(BagForm form) { return form == BagForm::offsets ? offsets_input : segment_ids_input; }

gatherscatter_status* check_line(const char* op, const char* input, const Tensor& tensor, IndexType& type) {
    if (gatherscatter_status* status = check_integers(op, input, tensor, type)) return status;
    if (tensor.shape.rank == 1) return nullptr;
    return make_status("bags_rank", op, {{"input", input}, {"shape", tensor.shape}});
}

gatherscatter_status* check_members(const char* op, const char* input, const Tensor& tensor, const Shape& members) {
    if (tensor.shape == members) return nullptr;
    return make_status("members_shape", op,
                       {{"input", input}, {"shape", tensor.shape}, {"members", members}, {"member", "member"}});
}

// Sets the form of the bags and the type of the input that defines them. Returns an error unless there is exactly one.
gatherscatter_status* find_form(gatherscatter_plan& plan) {
    const char* const op = plan.name.c_str();
    const Shape& members = plan.inputs[indices_input].shape;
    const Tensor &offsets = plan.inputs[offsets_input], &segment_ids = plan.inputs[segment_ids_input];
    if (offsets.present)
        if (gatherscatter_status* status = check_line(op, "offsets", offsets, plan.place_type)) return status;
    if (segment_ids.present)
        if (gatherscatter_status* status = check_line(op, "segment_ids", segment_ids, plan.place_type)) return status;
    std::string given;
    const auto add = [&](bool is_given, const std::string& name) {
        if (is_given) given += (given.empty() ? "" : " and ") + name;
        return is_given ? 1 : 0;
    };
    const int ways = add(members.rank > 1, "indices of " + std::to_string(members.rank) + " dimensions") +
                     add(offsets.present, "offsets") + add(segment_ids.present, "segment_ids");
    if (ways != 1) return make_status("bags_missing", op, {{"given", given.empty() ? "none" : given}});
    if (members.rank == 0) return make_status("bags_rank", op, {{"input", "indices"}, {"shape", members}});
    plan.bags.form = offsets.present       ? BagForm::offsets
                     : segment_ids.present ? BagForm::segment_ids
                                           : BagForm::last_dimension;
    return nullptr;
}

// Sets the number of bags and their shape.
gatherscatter_status* count_bags(gatherscatter_plan& plan, int64_t num_segments, Shape& shape) {
    const char* const op = plan.name.c_str();
    const Shape& members = plan.inputs[indices_input].shape;
    const Tensor &offsets = plan.inputs[offsets_input], &init = plan.inputs[init_input];
    GatherReduce& bags = plan.bags;
    bags.members = count_elements(members);
    shape = Shape(members.dim, members.rank - 1);
    if (bags.form == BagForm::offsets) {
        if (offsets.shape[0] == 0 && members[0] > 0) return make_status("no_offsets", op, {{"count", members[0]}});
        shape = offsets.shape;
    } else if (bags.form == BagForm::segment_ids) {
        if (gatherscatter_status* status = check_members(op, "segment_ids", plan.inputs[segment_ids_input], members))
            return status;
        if (init.present) {
            if (init.shape.rank == 0) return make_status("no_rows", op, {{"input", "init"}});
            num_segments = init.shape[0];
        } else if (num_segments == -1) {
            return make_status("num_segments_needed", op, {});
        } else if (num_segments < 0) {
            return make_status("num_segments", op, {{"value", num_segments}});
        }
        shape = Shape{num_segments};
    }
    bags.bags = count_elements(shape);
    if (saturating_multiply(saturating_add(bags.bags, 1), 8) == INT64_MAX)  // the bytes of the starts of all bags
        return make_status("too_large", op, {{"shapes", std::to_string(bags.bags) + " segments"}});
    return nullptr;
}

gatherscatter_status* check_weights_and_init(const gatherscatter_plan& plan, const Shape& members) {
    const char* const op = plan.name.c_str();
    const auto& inputs = plan.inputs;
    const Tensor &weights = inputs[weights_input], &init = inputs[init_input];
    if (weights.present) {
        if (gatherscatter_status* status = check_same_type(op, "weights", weights, inputs[data_input])) return status;
        if (gatherscatter_status* status = check_members(op, "weights", weights, members)) return status;
    }
    if (!init.present) return nullptr;
    if (gatherscatter_status* status = check_same_type(op, "init", init, inputs[data_input])) return status;
    if (init.shape == plan.output) return nullptr;
    return make_status("init_shape", op, {{"shape", init.shape}, {"result", plan.output}});
}

// Returns the error for the first offset that is less than the one before it. There is one, unless another thread has
// changed the offsets.
template <class I>
gatherscatter_status* offsets_order(const char* op, const I* offsets, int64_t count) {
    for (int64_t i = 1; i < count; ++i)
        if (offsets[i] < offsets[i - 1])
            return make_status("offsets_order", op, {{"place", i}, {"value", offsets[i]}, {"before", offsets[i - 1]}});
    return make_status("changed_indices", op, {});
}

// Returns the error for an offset or a segment id that the rule does not allow. `high` is the largest that it allows.
gatherscatter_status* place_fault(const gatherscatter_plan& plan, const void* values, int64_t high, Rule rule,
                                  std::string_view subject) {
    const char* const op = plan.name.c_str();
    const Input input = places_input(plan.bags.form);
    const Shape& shape = plan.inputs[input].shape;
    const BadIndices bad = find_bad_indices({values, plan.place_type, shape[0], Shape{high + 1}, 0, 1}, rule);
    if (bad.count == 0) return make_status("changed_indices", op, {});
    return index_fault(op, input_name(plan, input), shape, bad, subject, rule.negative ? -high - 1 : 0, high, "");
}

gatherscatter_status* fault_status(const gatherscatter_plan& plan, const void* const* inputs, BagFault fault) {
    const char* const op = plan.name.c_str();
    const GatherReduce& bags = plan.bags;
    const void* const places = inputs[places_input(bags.form)];
    switch (fault) {
        case BagFault::indices:
            return index_fault(op, plan.operation, Shape{bags.data_rows}, plan.inputs[indices_input].shape,
                               inputs[indices_input], plan.index_type);
        case BagFault::offsets:
            return place_fault(plan, places, bags.members, {Mode::raise, false},
                               format_sentence("parts.members", {{"size", bags.members}}));
        case BagFault::segment_ids:
            return place_fault(plan, places, bags.bags - 1, bags.segment_rule(),
                               format_sentence("parts.segments", {{"size", bags.bags}}));
        case BagFault::offsets_order:
            return visit_index_type(plan.place_type, [&]<class I>(I) {
                return offsets_order(op, static_cast<const I*>(places), bags.bags);
            });
        case BagFault::offsets_start:
            return visit_index_type(plan.place_type, [&]<class I>(I) {
                const I first = *static_cast<const I*>(places);
                return make_status("offsets_start", op, {{"value", first}, {"count", first}});
            });
        default: return make_status("changed_indices", op, {});
    }
}

constexpr const char* bag_reductions[] = {"add", "mul", "min", "max", "mean"};

}  // namespace

gatherscatter_status* plan_gather_reduce(gatherscatter_plan& plan, int64_t num_segments) {
    const char* const op = plan.name.c_str();
    const Operation& operation = plan.operation;
    if (operation.reduction == Reduction::none || operation.reduction == Reduction::sub)
        return make_status("choice", op,
                           {{"raises", "ValueError"},
                            {"input", "reduction"},
                            {"choices", list_choices(bag_reductions)},
                            {"value", Value(name(operation.reduction)).repr}});
    const Tensor &data = plan.inputs[data_input], &indices = plan.inputs[indices_input];
    const bool has_init = plan.inputs[init_input].present;
    if (gatherscatter_status* status = check_reduction(op, data.dtype, operation.reduction, operation.accumulate))
        return status;
    if (data.shape.rank == 0) return make_status("no_rows", op, {{"input", "data"}});
    if (gatherscatter_status* status = check_integers(op, "indices", indices, plan.index_type)) return status;
    if (gatherscatter_status* status = find_form(plan)) return status;
    if (num_segments != -1 && plan.bags.form != BagForm::segment_ids) return make_status("num_segments_alone", op, {});
    if (gatherscatter_status* status = count_bags(plan, num_segments, plan.output)) return status;
    if (plan.output.rank + data.shape.rank - 1 > max_rank)
        return make_status(
            "output_rank", op,
            {{"tuple_rank", plan.output.rank},
             {"shapes", format_sentence("parts.gather_shapes", {{"data", data.shape}, {"indices", indices.shape}})}});
    plan.output.append(data.shape.dim + 1, data.shape.rank - 1);
    if (gatherscatter_status* status = check_weights_and_init(plan, indices.shape)) return status;
    if (saturating_multiply(count_elements(plan.output), data.item_size) == INT64_MAX)
        return make_status("too_large", op, {{"shapes", Value(plan.output).text + " of " + name(data.dtype)}});
    plan.bags.data_rows = data.shape[0];
    plan.bags.width = count_elements(Shape(data.shape.dim + 1, data.shape.rank - 1));
    plan.bags.rule = operation.rule;
    plan.bags.combine = {data.dtype, data.item_size, operation.reduction, has_init, operation.accumulate};
    return nullptr;
}

gatherscatter_status* run_gather_reduce(const gatherscatter_plan& plan, const void* const* inputs, std::byte* out) {
    const bool has_init = plan.bags.combine.include_self;
    if (has_init && inputs[init_input] != out)
        copy_data(static_cast<const std::byte*>(inputs[init_input]), out, plan.inputs[init_input].bytes(), false);
    const GatherReduceInputs arguments{
        static_cast<const std::byte*>(inputs[data_input]),
        inputs[indices_input],
        plan.index_type,
        plan.bags.form == BagForm::last_dimension ? nullptr : inputs[places_input(plan.bags.form)],
        plan.place_type,
        plan.inputs[weights_input].present ? static_cast<const std::byte*>(inputs[weights_input]) : nullptr};
    const BagFault fault = gather_reduce(plan.bags, arguments, out);
    return fault == BagFault::none ? nullptr : fault_status(plan, inputs, fault);
}

}  // namespace gs
