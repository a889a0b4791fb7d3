#include "bag_plan.hpp"

#include <string>

namespace gs {
namespace {

using enum BagInput;

Problem check_line(BagInput input, const BagTensors& inputs) {
    const Tensor& tensor = inputs[input];
    if (!tensor.present || tensor.shape.rank == 1) return {};
    return {"bags_rank", {{"input", bag_input_names[static_cast<size_t>(input)]}, {"shape", tensor.shape}}};
}

Problem check_members(BagInput input, const BagTensors& inputs, const Shape& members) {
    const Tensor& tensor = inputs[input];
    if (!tensor.present || tensor.shape == members) return {};
    return {"members_shape",
            {{"input", bag_input_names[static_cast<size_t>(input)]},
             {"shape", tensor.shape},
             {"members", members},
             {"member", "member"}}};
}

// The shape of the indices. Without indices, the members are the rows of data.
Shape shape_of_members(const BagTensors& inputs) {
    return inputs[indices].present ? inputs[indices].shape : Shape(inputs[data].shape.dim, 1);
}

// Finds the form of the bags. There must be exactly one.
Problem find_form(const BagTensors& inputs, const Shape& members, BagForm& form) {
    std::string given;
    int ways = 0;
    const auto add = [&](bool is_given, const std::string& name, BagForm its_form) {
        if (!is_given) return;
        given += (ways++ == 0 ? "" : " and ") + name;
        form = its_form;
    };
    add(inputs[indices].present && members.rank > 1, "indices of " + std::to_string(members.rank) + " dimensions",
        BagForm::last_dimension);
    add(inputs[offsets].present, "offsets", BagForm::offsets);
    add(inputs[segment_ids].present, "segment_ids", BagForm::segment_ids);
    add(inputs[indptr].present, "indptr", BagForm::indptr);
    if (ways != 1) return {"bags_missing", {{"given", given.empty() ? "none" : given}}};
    if (members.rank == 0) return {"bags_rank", {{"input", "indices"}, {"shape", members}}};
    return {};
}

// Sets the dims of the bags, or of no bags if their number is unknown.
Problem find_bag_dims(const BagTensors& inputs, const Shape& members, std::optional<int64_t> num_segments,
                      const GatherReduce& call, Shape& bags) {
    const Tensor& init_tensor = inputs[init];
    switch (call.form) {
        case BagForm::last_dimension: bags = Shape(members.dim, members.rank - 1); return {};
        case BagForm::offsets:
            bags = inputs[offsets].shape;
            if (bags[0] == 0 && members[0] > 0 && !call.embedding_rules) return {"no_offsets", {{"count", members[0]}}};
            return {};
        case BagForm::indptr:
            if (inputs[indptr].shape[0] == 0) return {"no_indptr"};
            bags = Shape{inputs[indptr].shape[0] - 1};
            return {};
        case BagForm::segment_ids: break;
    }
    if (Problem problem = check_members(segment_ids, inputs, members)) return problem;
    if (init_tensor.present) {
        if (init_tensor.shape.rank == 0) return {"no_rows", {{"input", "init"}}};
        num_segments = init_tensor.shape[0];
    }
    if (num_segments && *num_segments < 0) return {"num_segments", {{"value", *num_segments}}};
    bags = Shape{num_segments.value_or(unknown_bags)};
    return {};
}

}  // namespace

BagInput bag_input_of(BagForm form) {
    return form == BagForm::offsets ? offsets : form == BagForm::indptr ? indptr : segment_ids;
}

Problem set_bags(const BagTensors& inputs, int64_t bags, BagPlan& plan) {
    const Tensor& table = inputs[data];
    plan.call.bags = bags;
    if (plan.call.form == BagForm::segment_ids) plan.output.dim[0] = bags;
    if (saturating_multiply(saturating_add(bags, 1), 8) == INT64_MAX)  // the bytes of the starts of all bags
        return {"too_large", {{"shapes", std::to_string(bags) + " segments"}}};
    if (saturating_multiply(count_elements(plan.output), table.item_size) == INT64_MAX)
        return {"too_large", {{"of", plan.output}}};
    return {};
}

Problem plan_bags(const BagTensors& inputs, const Operation& operation, std::optional<int64_t> num_segments,
                  BagPlan& plan) {
    const Tensor &table = inputs[data], &first = inputs[init];
    if (table.shape.rank == 0) return {"no_rows", {{"input", "data"}}};
    for (const BagInput line : {offsets, segment_ids, indptr})
        if (Problem problem = check_line(line, inputs)) return problem;
    const Shape members = shape_of_members(inputs);
    GatherReduce& call = plan.call;
    if (Problem problem = find_form(inputs, members, call.form)) return problem;
    if (num_segments && call.form != BagForm::segment_ids) return {"num_segments_alone"};
    if (Problem problem = find_bag_dims(inputs, members, num_segments, call, plan.output)) return problem;
    if (plan.output.rank + table.shape.rank - 1 > max_rank)
        return {"output_rank",
                {{"tuple_rank", int64_t{plan.output.rank}}, {"data", table.shape}, {"indices", members}}};
    const int64_t bags = plan.output[0] == unknown_bags ? unknown_bags : count_elements(plan.output);
    plan.output.append(table.shape.dim + 1, table.shape.rank - 1);
    call.members = count_elements(members);
    call.data_rows = table.shape[0];
    call.width = count_elements(Shape(table.shape.dim + 1, table.shape.rank - 1));
    call.rule = operation.rule;
    call.combine = {table.dtype, table.item_size, operation.reduction, first.present, operation.accumulate};
    call.bags = bags;
    if (Problem problem = check_members(weights, inputs, members)) return problem;
    if (bags != unknown_bags)
        if (Problem problem = set_bags(inputs, bags, plan)) return problem;
    if (first.present && !(first.shape == plan.output))
        return {"init_shape", {{"shape", first.shape}, {"result", plan.output}}};
    return {};
}

bool have_fitting_types(const BagTensors& inputs, const Operation& operation) {
    const DType dtype = inputs[data].dtype;
    if (!supports(dtype, operation.reduction)) return false;
    if (operation.accumulate == Accumulate::exact && !supports_exact(dtype, operation.reduction)) return false;
    for (const BagInput input : {weights, init})
        if (inputs[input].present && inputs[input].dtype != dtype) return false;
    IndexType type;
    for (const BagInput input : {indices, offsets, segment_ids, indptr})
        if (inputs[input].present && !index_type_of(inputs[input].dtype, type)) return false;
    return true;
}

GatherReduceInputs inputs_of(const BagTensors& inputs, const BagPlan& plan, const void* const* memory) {
    static constexpr int64_t nothing = 0;  // an address for indices without elements: null means that there are none
    const auto address = [&](BagInput input) {
        return inputs[input].present ? memory[static_cast<size_t>(input)] : nullptr;
    };
    const BagInput input = bag_input_of(plan.call.form);
    GatherReduceInputs found{};
    found.data = static_cast<const std::byte*>(memory[0]);
    found.weights = static_cast<const std::byte*>(address(weights));
    found.bag_values = address(input);
    index_type_of(inputs[input].dtype, found.bag_type);
    if (!inputs[indices].present) return found;
    found.indices = address(indices) ? address(indices) : &nothing;
    index_type_of(inputs[indices].dtype, found.index_type);
    return found;
}

Problem find_bag_problem(const BagPlan& plan, const void* given, IndexType type) {
    const BagForm form = plan.call.form;
    const bool are_ids = form == BagForm::segment_ids;
    const int64_t count = are_ids ? plan.call.members : plan.call.bags + (form == BagForm::indptr ? 1 : 0);
    const std::string input = bag_input_names[static_cast<size_t>(bag_input_of(form))];
    return visit_index_type(type, [&]<class I>(I) -> Problem {
        const I* const values = static_cast<const I*>(given);
        const auto value = [=](int64_t i) { return static_cast<int64_t>(values[i]); };
        for (int64_t i = 1; i < count; ++i)
            if (values[i] < values[i - 1])
                return {are_ids ? "segments_order" : "offsets_order",
                        {{"input", input}, {"position", i}, {"value", value(i)}, {"before", value(i - 1)}}};
        if (!are_ids && count > 0 && values[0] != I{0} && !plan.call.embedding_rules)
            return {"offsets_start", {{"input", input}, {"value", value(0)}, {"count", value(0)}}};
        if (form == BagForm::indptr && value(count - 1) != plan.call.members)
            return {"indptr_end", {{"value", value(count - 1)}, {"count", plan.call.members}}};
        return {"changed_indices"};
    });
}

}  // namespace gs
