#include "attributes.hpp"

#include <algorithm>
#include <vector>

namespace gs::ort {
namespace {

constexpr const char* accumulates[] = {"step", "wide", "exact"};
constexpr const char* reductions[] = {"none", "add", "sub", "mul", "min", "max", "mean"};  // in the order of the header

class Reader {
  public:
    Reader(const Host& host, const KernelInfo* info, const Operator& op) : host_(host), info_(info), op_(op) {}

    Attributes read() {
        attributes_.version = &op_.own;
        attributes_.name = op_.full_name(op_.own);
        if (!op_.versions.empty()) read_opset();
        check_names();
        gatherscatter_operation& operation = attributes_.operation;
        gatherscatter_operation_init(&operation, sizeof operation, op_.kernel);
        operation.axis = read_int(AttributeName::axis, op_.default_axis);
        operation.batch_dims = read_int(AttributeName::batch_dims, 0);
        operation.include_self = read_flag(AttributeName::include_self, true);
        operation.accumulate = read_word(AttributeName::accumulate, accumulates, "step");
        operation.num_segments = read_int(AttributeName::num_segments, -1);
        if (operation.num_segments < -1) refuse("num_segments", {{"value", operation.num_segments}});
        operation.quantize_axis = read_int(AttributeName::quantize_axis, operation.quantize_axis);
        operation.block_size = read_int(AttributeName::block_size, operation.block_size);
        operation.bits = read_int(AttributeName::bits, operation.bits);
        attributes_.keeps_dims = read_flag(AttributeName::keepdims, false);
        read_reduction();
        read_mode();
        read_negative();
        return std::move(attributes_);
    }

  private:
    [[noreturn]] void refuse(const char* error, Values values) const { ort::refuse(error, attributes_.name, values); }

    // Whether the version has an attribute. Operators with a reduction also have `accumulate`.
    bool has(AttributeName name) const {
        if (attributes_.version->attributes.has(name)) return true;
        const bool reduces = !op_.versions.empty() && op_.versions.back().attributes.has(AttributeName::reduction);
        return name == AttributeName::accumulate && reduces;
    }

    void read_opset() {
        int64_t opset = 0;
        if (!host_.succeeds(host_->KernelInfoGetAttribute_int64(info_, "opset", &opset))) {
            if (const char* type = find_type("opset"))
                refuse("attribute_type", {{"input", "opset"}, {"type", "int"}, {"given", type}});
            return;
        }
        const std::string known = std::string("onnx.") + op_.name;
        const Version* version = op_.find(opset);
        if (!version)
            throw Refusal{"ValueError: " + known + " does not exist in opset " + std::to_string(opset) + "; opset " +
                          std::to_string(op_.versions.front().number) + " introduced it"};
        attributes_.version = version;
        attributes_.name = op_.full_name(*version);
    }

    // Returns Python's name for the type of an attribute; null if it is absent.
    const char* find_type(const char* name) const {
        int64_t number;
        float real;
        size_t size = 0, count = 0;
        if (host_.succeeds(host_->KernelInfoGetAttribute_int64(info_, name, &number))) return "int";
        if (host_.succeeds(host_->KernelInfoGetAttribute_float(info_, name, &real))) return "float";
        if (host_.succeeds(host_->KernelInfoGetAttribute_string(info_, name, nullptr, &size))) return "str";
        // This succeeds for attributes of all other types as well.
        if (host_.succeeds(host_->KernelInfoGetAttributeArray_int64(info_, name, nullptr, &count))) return "list";
        return nullptr;
    }

    // Refuses known attributes that this version does not have. Unknown attributes cannot be found, because ONNX
    // Runtime does not list names.
    void check_names() const {
        for (size_t i = 0; i < std::size(attribute_names); ++i) {
            const auto name = static_cast<AttributeName>(i);
            if (has(name) || !find_type(attribute_names[i])) continue;
            const auto newer = std::ranges::find_if(
                op_.versions, [&](const Version& version) { return version.attributes.has(name); });
            if (newer != op_.versions.end() && attributes_.version->number != 0)
                refuse("newer_attribute", {{"input", attribute_names[i]}, {"version", newer->number}});
            refuse("unknown_attribute", {{"input", attribute_names[i]}, {"attributes", list_own()}});
        }
    }

    std::string list_own() const {
        std::vector<std::string> own;
        for (size_t i = 0; i < std::size(attribute_names); ++i)
            if (attributes_.version->attributes.has(static_cast<AttributeName>(i))) own.push_back(attribute_names[i]);
        std::ranges::sort(own);
        std::string listed;
        for (const std::string& name : own) add_to_list(listed, name);
        return listed.empty() ? "none" : listed;
    }

    int64_t read_int(AttributeName name, int64_t otherwise) const {
        const char* const text = attribute_names[static_cast<int>(name)];
        int64_t value;
        if (!has(name)) return otherwise;
        if (host_.succeeds(host_->KernelInfoGetAttribute_int64(info_, text, &value))) return value;
        if (const char* type = find_type(text))
            refuse("attribute_type", {{"input", text}, {"type", "int"}, {"given", type}});
        return otherwise;
    }

    bool read_flag(AttributeName name, bool otherwise) const {
        const int64_t value = read_int(name, otherwise);
        if (value != 0 && value != 1)
            refuse("flag", {{"input", attribute_names[static_cast<int>(name)]}, {"value", value}});
        return value == 1;
    }

    // Returns the position of an attribute's word among the choices.
    int read_word(AttributeName name, std::span<const char* const> choices, const char* otherwise) const {
        const char* const text = attribute_names[static_cast<int>(name)];
        std::string word = otherwise;
        size_t size = 0;
        if (has(name)) {
            if (host_.succeeds(host_->KernelInfoGetAttribute_string(info_, text, nullptr, &size))) {
                word.resize(size);  // with the zero at the end
                host_.check(host_->KernelInfoGetAttribute_string(info_, text, word.data(), &size));
                word.resize(size > 0 ? size - 1 : 0);
            } else if (const char* type = find_type(text)) {
                refuse("attribute_type", {{"input", text}, {"type", "string"}, {"given", type}});
            }
        }
        const auto at = std::ranges::find(choices, word);
        if (at == choices.end())
            refuse("choice", {{"raises", "ValueError"},
                              {"input", text},
                              {"choices", list_choices(choices)},
                              {"value", Value(word).repr},
                              {"suggestion", suggest_choice(word, choices)}});
        return static_cast<int>(at - choices.begin());
    }

    void read_reduction() {
        if (!attributes_.version->attributes.has(AttributeName::reduction)) return;
        const auto choices = attributes_.version->reductions;
        const char* const otherwise = op_.kernel == GATHERSCATTER_GATHER_REDUCE ? "add" : "none";
        const int chosen = read_word(AttributeName::reduction, choices, otherwise);
        const auto* const at = std::ranges::find(reductions, std::string_view(choices[static_cast<size_t>(chosen)]));
        attributes_.operation.reduction = static_cast<int32_t>(at - std::begin(reductions));
    }

    void read_mode() {
        const int mode = read_word(AttributeName::mode, op_.modes, op_.modes[0]);
        if (op_.is_tensor_scatter()) {
            attributes_.is_circular = mode == 1;
            attributes_.operation.negative = GATHERSCATTER_NEGATIVE_ERROR;
        } else {
            attributes_.operation.mode = mode;  // in the order of the header
        }
    }

    void read_negative() {
        constexpr const char* words[] = {"end", "error", "skip"};
        constexpr gatherscatter_negative rules[] = {GATHERSCATTER_NEGATIVE_END, GATHERSCATTER_NEGATIVE_ERROR,
                                                    GATHERSCATTER_NEGATIVE_SKIP};
        if (has(AttributeName::negative))
            attributes_.operation.negative = rules[read_word(AttributeName::negative, words, "end")];
    }

    const Host& host_;
    const KernelInfo* info_;
    const Operator& op_;
    Attributes attributes_{};
};

}  // namespace

Attributes read_attributes(const Host& host, const KernelInfo* info, const Operator& op) {
    return Reader(host, info, op).read();
}

}  // namespace gs::ort
