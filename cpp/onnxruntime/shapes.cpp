#include "shapes.hpp"

#include <atomic>
#include <chrono>
#include <optional>
#include <vector>

namespace gs::ort {
namespace {

struct Dim {
    int64_t size;        // -1: unknown
    std::string symbol;  // for an unknown size; can be empty
};
// Empty: the rank is unknown, or the tensor is a scalar. ONNX Runtime describes both in the same way.
using Dims = std::vector<Dim>;

class Inference {
  public:
    Inference(const Host& host, const Operator& op, ShapeContext* context) : host_(host), op_(op), context_(context) {
        host_.check(host_->ShapeInferContext_GetInputCount(context_, &count_));
    }

    std::optional<Dims> infer() const {
        const Dims data = read(0);
        if (data.empty()) return std::nullopt;
        if (op_.is_scatter()) return data;
        if (op_.kernel == GATHERSCATTER_GATHER_REDUCE) return infer_bags(data);
        const Dims indices = read(1);
        if (indices.empty()) return std::nullopt;
        switch (op_.kernel) {
            case GATHERSCATTER_GATHER_QUANTIZED: return infer_axis(in_numbers(data), indices);
            case GATHERSCATTER_GATHER: return infer_axis(data, indices);
            case GATHERSCATTER_GATHER_ND: return infer_nd(data, indices);
            default: return indices;
        }
    }

    // Returns the type of the output.
    ElementType type() const { return type_of(op_.is_quantized() ? 2 : 0); }

  private:
    ElementType type_of(size_t input) const {
        ElementType type = undefined;
        if (TensorInfo* const info = find(input)) host_.check(host_->GetTensorElementType(info, &type));
        return type;
    }

    // Returns the dims of a table in numbers. A byte of the table can hold several codes.
    Dims in_numbers(Dims data) const {
        const int64_t bits = read_int("bits", 4);
        if (type_of(0) != uint8 || (bits != 2 && bits != 4)) return data;
        const int64_t bytes = data.back().size;
        data.back() = {bytes < 0 || bytes > INT64_MAX / 8 ? -1 : bytes * (8 / bits), ""};
        return data;
    }

    // Returns the type and shape of an input, owned by the context; null if the input is absent.
    TensorInfo* find(size_t input) const {
        TensorInfo* info = nullptr;
        if (input >= count_) return nullptr;
        return host_.succeeds(host_->ShapeInferContext_GetInputTypeShape(context_, input, &info)) ? info : nullptr;
    }

    Dims read(size_t input) const {
        const TensorInfo* const info = find(input);
        if (!info) return {};
        size_t rank = 0;
        host_.check(host_->GetDimensionsCount(info, &rank));
        std::vector<int64_t> sizes(rank);
        std::vector<const char*> symbols(rank);
        host_.check(host_->GetDimensions(info, sizes.data(), rank));
        host_.check(host_->GetSymbolicDimensions(info, symbols.data(), rank));
        Dims dims;
        for (size_t i = 0; i < rank; ++i) dims.push_back({sizes[i], symbols[i] ? symbols[i] : ""});
        return dims;
    }

    int64_t read_int(const char* name, int64_t otherwise) const {
        const Attribute* attribute = nullptr;
        int64_t value;
        size_t size = 0;
        if (!host_.succeeds(host_->ShapeInferContext_GetAttribute(context_, name, &attribute)) || !attribute)
            return otherwise;
        const bool is_int = host_.succeeds(host_->ReadOpAttr(attribute, int_attribute, &value, sizeof value, &size));
        return is_int ? value : otherwise;
    }

    std::optional<Dims> infer_axis(const Dims& data, const Dims& indices) const {
        const auto rank = static_cast<int64_t>(data.size()), index_rank = static_cast<int64_t>(indices.size());
        int64_t axis = read_int("axis", 0), batch = read_int("batch_dims", 0);
        if (axis < 0) axis += rank;
        if (batch < 0) batch += index_rank;
        if (axis < 0 || axis >= rank || batch < 0 || batch > axis || batch > index_rank) return std::nullopt;
        Dims dims(data.begin(), data.begin() + axis);
        dims.insert(dims.end(), indices.begin() + batch, indices.end());
        dims.insert(dims.end(), data.begin() + axis + 1, data.end());
        return dims;
    }

    std::optional<Dims> infer_nd(const Dims& data, const Dims& indices) const {
        const auto rank = static_cast<int64_t>(data.size()), index_rank = static_cast<int64_t>(indices.size());
        const int64_t batch = read_int("batch_dims", 0), length = indices.back().size;
        if (length < 0 || batch < 0 || batch >= std::min(rank, index_rank) || length > rank - batch)
            return std::nullopt;
        Dims dims(indices.begin(), indices.end() - 1);
        dims.insert(dims.end(), data.begin() + batch + length, data.end());
        return dims;
    }

    std::optional<Dims> infer_bags(const Dims& data) const {
        const Dims indices = read(1), offsets = read(2), segment_ids = read(3), init = read(5);
        Dims dims;
        if (!init.empty()) {
            dims.push_back(init.front());
        } else if (!offsets.empty()) {
            dims.push_back(offsets.front());
        } else if (!segment_ids.empty()) {
            dims.push_back({read_int("num_segments", -1), ""});
        } else if (indices.size() < 2) {
            return std::nullopt;
        }
        if (offsets.empty() && segment_ids.empty()) {
            if (indices.size() < 2) return std::nullopt;
            dims.assign(indices.begin(), indices.end() - 1);
            if (read_int("keepdims", 0) == 1) dims.push_back({1, ""});
        }
        dims.insert(dims.end(), data.begin() + 1, data.end());
        return dims;
    }

    const Host& host_;
    const Operator& op_;
    ShapeContext* context_;
    size_t count_ = 0;
};

// Returns a new symbol for an unknown size. Without a symbol, ONNX Runtime takes the number -1 for the size. Equal
// symbols mean equal sizes. So the symbol must differ from all other symbols of a model, even of a model that an
// earlier process has saved.
std::string make_symbol() {
    static std::atomic<int64_t> next = std::chrono::system_clock::now().time_since_epoch().count();
    return "gatherscatter_" + std::to_string(++next);
}

TensorInfo* make_info(const Host& host) {
    TensorInfo* info = nullptr;
    host.check(host->CreateTensorTypeAndShapeInfo(&info));
    return info;
}

}  // namespace

void infer_shape(const Host& host, const Operator& op, ShapeContext* context) {
    const Inference inference(host, op, context);
    std::optional<Dims> dims = inference.infer();
    if (!dims) return;
    std::vector<int64_t> sizes;
    std::vector<const char*> symbols;
    for (Dim& dim : *dims) {
        if (dim.size < 0 && dim.symbol.empty()) dim.symbol = make_symbol();
        sizes.push_back(dim.size);
        symbols.push_back(dim.size < 0 ? dim.symbol.c_str() : "");
    }
    const OwnedInfo info(host, make_info(host));
    host.check(host->SetTensorElementType(info.get(), inference.type()));
    host.check(host->SetDimensions(info.get(), sizes.data(), sizes.size()));
    host.check(host->SetSymbolicDimensions(info.get(), symbols.data(), symbols.size()));
    host.check(host->ShapeInferContext_SetOutputTypeShape(context, 0, info.get()));
}

}  // namespace gs::ort
