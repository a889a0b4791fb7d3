#include "versions.hpp"

#include <algorithm>
#include <iterator>
#include <string_view>

namespace gs::ort {
namespace {

using enum AttributeName;

// Made by embed_versions.py from src/gatherscatter/specs/rows.py.
#include "versions.inc"

// Versions name their types by their positions in element_types, so the two lists have the same order.
static_assert(std::ranges::equal(
    type_names, element_types, {}, [](const char* name) { return std::string_view(name); },
    [](const ElementInfo& info) { return std::string_view(info.name); }));

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
