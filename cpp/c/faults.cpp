#include "faults.hpp"

#include <algorithm>

namespace gs {
namespace {

// Whether NumPy could broadcast a shape to the target.
bool can_be_broadcast(const Shape& shape, const Shape& target) {
    if (shape.rank > target.rank) return false;
    const int lead = target.rank - shape.rank;
    for (int i = 0; i < shape.rank; ++i)
        if (shape[i] != 1 && shape[i] != target[lead + i]) return false;
    return true;
}

// Whether the caller probably passed single indices where index tuples are required. They would all form one tuple.
bool is_one_tuple(std::string_view fault, const CallShapes& shapes, int64_t batch_dims) {
    if (shapes.indices.rank != 1 || batch_dims != 0) return false;
    if (fault == "tuple_length") return true;
    if (!shapes.updates || shapes.updates->rank == 0) return false;
    const int64_t count = (*shapes.updates)[0];
    return count == shapes.indices[0] || (shapes.slots.rank == 0 && count > 1);
}

// Returns the advice about indices for single elements whose shape differs from data's off the axis.
std::string advise_off_axis(const CallShapes& shapes, int64_t axis) {
    const auto& [data, indices, updates, slots] = shapes;
    if (axis < -data.rank || axis >= data.rank) return "";
    const int at = static_cast<int>(axis < 0 ? axis + data.rank : axis);
    Shape off_axis, padded;
    for (int d = 0; d < data.rank; ++d)
        if (d != at) off_axis.push(data[d]);
    if (indices == off_axis) {
        std::string key = at == data.rank - 1 ? "[..., " : "[";
        for (int d = 0; d < at && at < data.rank - 1; ++d) key += ":, ";
        key += "None]";
        const std::string arguments = "indices" + key + (updates && *updates == indices ? " and updates" + key : "");
        return format_sentence("parts.dropped_axis", {{"axis", at}, {"arguments", arguments}});
    }
    if (indices.rank > data.rank) return "";
    for (int d = indices.rank; d < data.rank; ++d) padded.push(1);
    for (int64_t n : indices) padded.push(n);
    Shape wanted = data;
    wanted.dim[at] = padded[at];
    if (can_be_broadcast(padded, wanted)) return format_sentence("parts.broadcast_indices", {{"shape", wanted}});
    wanted = padded;
    wanted.dim[at] = data[at];
    if (updates || !can_be_broadcast(data, wanted)) return "";
    return format_sentence("parts.broadcast_data", {{"shape", wanted}});
}

Shape first_sizes(const Shape& shape, int64_t count) {
    return Shape(shape.dim, static_cast<int>(std::clamp<int64_t>(count, 0, shape.rank)));
}

const char* rule_of(Kernel kernel) {
    switch (kernel) {
        case Kernel::gather_nd:
        case Kernel::scatter_nd: return "parts.rule_nd";
        case Kernel::gather_elements:
        case Kernel::scatter_elements: return "parts.rule_elements";
        default: return "parts.rule_axis";
    }
}

std::string list_shapes(const CallShapes& shapes) {
    if (!shapes.updates)
        return format_sentence("parts.gather_shapes", {{"data", shapes.data}, {"indices", shapes.indices}});
    return format_sentence("parts.scatter_shapes",
                           {{"data", shapes.data}, {"indices", shapes.indices}, {"updates", *shapes.updates}});
}

// Returns "3", or "3, 4" if sizes differ.
std::string join_sizes(const Shape& sizes) {
    if (std::ranges::all_of(sizes, [&](int64_t n) { return n == sizes[0]; })) return std::to_string(sizes[0]);
    std::string joined;
    for (int64_t n : sizes) add_to_list(joined, std::to_string(n));
    return joined;
}

std::string word_hint(const IndexHint& hint, const Shape& sizes, IndexType type) {
    using enum IndexHint::Kind;
    switch (hint.kind) {
        case none: return "";
        case refused_negatives: return format_sentence("hints.refused_negatives", {{"sizes", join_sizes(sizes)}});
        case counted_from_one: return format_sentence("hints.counted_from_one", {{"sizes", join_sizes(sizes)}});
        case unsigned_type:
            return format_sentence("hints.unsigned",
                                   {{"value", hint.value}, {"meant", hint.meant}, {"type", name(type)}});
        case overflow: {
            std::string rest(hint.meant < 0 ? "" : "+");
            rest += std::to_string(hint.meant);
            return format_sentence("hints.overflow", {{"value", hint.value}, {"rest", rest}});
        }
        case swapped_columns: return format_sentence("hints.swapped_columns", {{"i", hint.i}, {"j", hint.j}});
        case forgotten_batch_dims: return format_sentence("hints.forgotten_batch_dims", {{"size", hint.meant}});
        case wrong_axis: return format_sentence("hints.wrong_axis", {{"axis", hint.i}});
    }
    return "";
}

// Returns "indices[1, 0]" for a flat position; "indices" for a scalar.
std::string name_element(const char* input, const Shape& shape, int64_t position) {
    Shape index = shape;
    for (int d = shape.rank - 1; d >= 0; --d) {
        index.dim[d] = position % shape[d];
        position /= shape[d];
    }
    std::string coordinates;
    for (int64_t n : index) add_to_list(coordinates, std::to_string(n));
    return shape.rank == 0 ? input : std::string(input).append("[").append(coordinates).append("]");
}

}  // namespace

gatherscatter_status* shape_fault(const char* op, const Operation& operation, const char* fault,
                                  const CallShapes& shapes) {
    const auto& [data, indices, updates, slots] = shapes;
    const int64_t k = indices.rank > 0 ? indices[indices.rank - 1] : 0;
    // Where messages show these two, they are in range. Otherwise they can be any numbers, so they are clamped against
    // overflow.
    const int64_t batch = std::clamp<int64_t>(operation.batch_dims, -max_rank, max_rank);
    const int64_t length = std::min<int64_t>(k, max_rank);
    const int64_t batched = operation.batch_dims < 0 ? batch + indices.rank : batch;
    const bool is_nd = operation.kernel == Kernel::gather_nd || operation.kernel == Kernel::scatter_nd;
    std::string advice;
    if (std::string_view(fault) == "updates_shape" && updates && can_be_broadcast(*updates, slots))
        advice = format_sentence("parts.broadcast", {{"slots", slots}});
    else if (is_nd && is_one_tuple(fault, shapes, batch))
        advice = format_sentence("parts.one_tuple", {{"k", k}});
    else if (std::string_view(fault) == "tuple_length" && shapes.indices.rank == 2 && operation.batch_dims == 0 &&
             shapes.indices[0] == data.rank)
        advice = format_sentence("parts.transposed", {});
    else if (std::string_view(fault) == "same_rank" || std::string_view(fault) == "indices_shape")
        advice = advise_off_axis(shapes, operation.axis);
    return make_status(fault, op,
                       {{"shapes", list_shapes(shapes)},
                        {"rank", data.rank},
                        {"index_rank", indices.rank},
                        {"tuple_rank", std::max(indices.rank - 1, 0)},
                        {"axis", operation.axis},
                        {"low", -data.rank},
                        {"high", data.rank - 1},
                        {"batch_dims", operation.batch_dims},
                        {"k", k},
                        {"data_batch", first_sizes(data, batched)},
                        {"index_batch", first_sizes(indices, batched)},
                        {"updates", updates ? *updates : Shape()},
                        {"slots", slots},
                        {"rule", format_sentence(rule_of(operation.kernel), {{"first", batch + length}})},
                        {"advice", advice}});
}

gatherscatter_status* problem_fault(const char* op, Problem problem, DType type) {
    const auto find = [&](std::string_view name) -> const Shape* {
        const auto at = std::ranges::find(problem.values, name, [](const auto& known) { return known.first; });
        return at == problem.values.end() ? nullptr : std::get_if<Shape>(&at->second);
    };
    if (const Shape* result = find("of"))
        problem.values.push_back({"shapes", Value(*result).text + " of " + name(type)});
    else if (const Shape* data = find("data"), *indices = find("indices"); data && indices)
        problem.values.push_back(
            {"shapes", format_sentence("parts.gather_shapes", {{"data", *data}, {"indices", *indices}})});
    return make_status(problem, op);
}

gatherscatter_status* index_fault(const char* op, const Operation& operation, const Shape& data, const Shape& indices,
                                  const void* values, IndexType type) {
    const bool tuples = operation.kernel == Kernel::gather_nd || operation.kernel == Kernel::scatter_nd;
    const int columns = tuples ? static_cast<int>(indices[indices.rank - 1]) : 1;
    const auto first_axis = static_cast<int>(tuples               ? operation.batch_dims
                                             : operation.axis < 0 ? operation.axis + data.rank
                                                                  : operation.axis);
    const int64_t count = columns > 0 ? count_elements(indices) / columns : 0;
    const bool may_be_batched = operation.kernel == Kernel::gather_nd && operation.batch_dims == 0 &&
                                indices.rank > 1 && indices[0] == data[0] && columns < data.rank;
    const BadIndices bad =
        find_bad_indices({values, type, count, data, first_axis, columns, may_be_batched}, operation.rule);
    if (bad.count == 0) return make_status("changed_indices", op, {});
    const int64_t size = data[bad.axis];
    return index_fault(op, "indices", indices, bad, format_sentence("parts.axis", {{"axis", bad.axis}, {"size", size}}),
                       operation.rule.negative == Negative::end ? -size : 0, size - 1,
                       word_hint(bad.hint, Shape(data.dim + first_axis, columns), type));
}

gatherscatter_status* index_fault(const char* op, const char* input, const Shape& indices, const BadIndices& bad,
                                  std::string_view subject, int64_t low, int64_t high, std::string_view hint) {
    const bool all_equal = bad.least == bad.greatest;
    return make_status(bad.count > 1 ? "indices" : "index", op,
                       {{"element", name_element(input, indices, bad.positions[0])},
                        {"input", input},
                        {"value", bad.values[0]},
                        {"subject", subject},
                        {"valid", low <= high ? format_sentence("parts.valid", {{"low", low}, {"high", high}})
                                              : format_sentence("parts.none_valid", {})},
                        {"count", bad.count},
                        {"total", count_elements(indices)},
                        {"spread", format_sentence(all_equal ? "parts.all_equal" : "parts.all_between",
                                                   {{"low", bad.least}, {"high", bad.greatest}})},
                        {"hint", hint.empty() ? std::string() : "; " + std::string(hint)}});
}

}  // namespace gs
