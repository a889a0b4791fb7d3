#include "versions.hpp"

#include <algorithm>
#include <iterator>

namespace gs::ort {
namespace {

using enum AttributeName;

constexpr InputInfo gather_inputs[] = {{"data", false}, {"indices", true}};
constexpr InputInfo scatter_inputs[] = {{"data", false}, {"indices", true}, {"updates", false}};
constexpr InputInfo tensor_scatter_inputs[] = {{"past_cache", false}, {"update", false}, {"write_indices", true, true}};
constexpr InputInfo gather_reduce_inputs[] = {{"data", false},          {"indices", true},
                                              {"offsets", true, true},  {"segment_ids", true, true},
                                              {"weights", false, true}, {"init", false, true}};

constexpr const char* all_reductions[] = {"none", "add", "sub", "mul", "min", "max", "mean"};
constexpr const char* bag_reductions[] = {"add", "mul", "min", "max", "mean"};
constexpr const char* reductions_16[] = {"none", "add", "mul"};
constexpr const char* reductions_18[] = {"none", "add", "mul", "max", "min"};
constexpr const char* gather_modes[] = {"raise", "wrap", "clip", "fill"};
constexpr const char* scatter_modes[] = {"raise", "wrap", "clip", "drop"};
constexpr const char* cache_modes[] = {"linear", "circular"};

constexpr size_t onnx_1 = 15, onnx_13 = 16, onnx_24 = std::size(element_types);
constexpr auto int64_only = IndexTypes::int64, int32_64 = IndexTypes::int32_and_int64, integers = IndexTypes::integers;

constexpr Version own_version(AttributeSet attributes, std::span<const char* const> reductions = {}) {
    return {0, std::size(element_types), integers, attributes, reductions};
}

constexpr Version gather_versions[] = {
    {1, onnx_1, int32_64, {axis}, {}},
    {11, onnx_1, int32_64, {axis}, {}},
    {13, onnx_13, int32_64, {axis}, {}},
};
constexpr Version gather_elements_versions[] = {
    {11, onnx_1, int32_64, {axis}, {}},
    {13, onnx_13, int32_64, {axis}, {}},
};
constexpr Version gather_nd_versions[] = {
    {11, onnx_1, int64_only, {}, {}},
    {12, onnx_1, int64_only, {batch_dims}, {}},
    {13, onnx_13, int64_only, {batch_dims}, {}},
};
constexpr Version old_scatter_versions[] = {
    {9, onnx_1, int32_64, {axis}, {}},
    {11, onnx_1, int32_64, {axis}, {}},
};
constexpr Version scatter_elements_versions[] = {
    {11, onnx_1, int32_64, {axis}, {}},
    {13, onnx_13, int32_64, {axis}, {}},
    {16, onnx_13, int32_64, {axis, reduction}, reductions_16},
    {18, onnx_13, int32_64, {axis, reduction}, reductions_18},
};
constexpr Version scatter_nd_versions[] = {
    {11, onnx_1, int64_only, {}, {}},
    {13, onnx_13, int64_only, {}, {}},
    {16, onnx_13, int64_only, {reduction}, reductions_16},
    {18, onnx_13, int64_only, {reduction}, reductions_18},
};
constexpr Version tensor_scatter_versions[] = {{24, onnx_24, int64_only, {axis, mode}, {}}};

constexpr Version own_scatter_elements = own_version({axis, reduction, include_self, accumulate, mode}, all_reductions);

constexpr Operator all_operators[] = {
    {"Gather", GATHERSCATTER_GATHER, gather_inputs, gather_versions, own_version({axis, batch_dims, mode}),
     gather_modes, 0},
    {"GatherElements", GATHERSCATTER_GATHER_ELEMENTS, gather_inputs, gather_elements_versions,
     own_version({axis, mode}), gather_modes, 0},
    {"GatherND", GATHERSCATTER_GATHER_ND, gather_inputs, gather_nd_versions, own_version({batch_dims, mode}),
     gather_modes, 0},
    {"Scatter", GATHERSCATTER_SCATTER_ELEMENTS, scatter_inputs, old_scatter_versions, own_scatter_elements,
     scatter_modes, 0},
    {"ScatterElements", GATHERSCATTER_SCATTER_ELEMENTS, scatter_inputs, scatter_elements_versions, own_scatter_elements,
     scatter_modes, 0},
    {"ScatterND", GATHERSCATTER_SCATTER_ND, scatter_inputs, scatter_nd_versions,
     own_version({reduction, include_self, accumulate, mode}, all_reductions), scatter_modes, 0},
    {"TensorScatter", GATHERSCATTER_SCATTER_UPDATE, tensor_scatter_inputs, tensor_scatter_versions,
     own_version({axis, mode}), cache_modes, -2},
    {"GatherReduce",
     GATHERSCATTER_GATHER_REDUCE,
     gather_reduce_inputs,
     {},
     own_version({reduction, accumulate, mode, num_segments, keepdims}, bag_reductions),
     gather_modes,
     0},
};

}  // namespace

const ElementInfo* find_element_type(ElementType type) {
    const auto* const at = std::ranges::find(element_types, type, &ElementInfo::type);
    return type == undefined || at == std::end(element_types) ? nullptr : at;
}

const Version* Operator::find(int64_t opset) const {
    const Version* found = nullptr;
    for (const Version& version : versions)
        if (version.number <= opset) found = &version;
    return found;
}

std::string Operator::full_name(const Version& version) const {
    if (version.number == 0) return std::string("gatherscatter.") + name;
    return std::string("onnx.") + name + "-" + std::to_string(version.number);
}

std::span<const Operator> operators() { return all_operators; }

}  // namespace gs::ort
