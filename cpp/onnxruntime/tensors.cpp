#include "tensors.hpp"

#include <algorithm>
#include <cstring>

namespace gs::ort {
namespace {

TensorInfo* find_info(const Host& host, const OrtValue* value) {
    TensorInfo* info = nullptr;
    host.check(host->GetTensorTypeAndShape(value, &info));
    return info;
}

}  // namespace

Tensor read_tensor(const Host& host, const char* op, const char* input, const OrtValue* value) {
    Tensor tensor;
    if (!value) return tensor;
    const OwnedInfo info(host, find_info(host, value));
    ElementType type;
    size_t rank;
    host.check(host->GetTensorElementType(info.get(), &type));
    host.check(host->GetDimensionsCount(info.get(), &rank));
    tensor.type = find_element_type(type);
    if (!tensor.type)
        throw Refusal{std::string("TypeError: ") + op + ": " + input + " has elements of a type that is not known"};
    if (rank > max_rank)
        require(make_status("tensor_rank", op, {{"input", input}, {"most", max_rank}, {"rank", rank}}));
    tensor.value = value;
    tensor.shape.rank = static_cast<int>(rank);
    host.check(host->GetDimensions(info.get(), tensor.shape.dim, rank));
    if (type != string) tensor.memory = address_of(host, value);
    return tensor;
}

OrtValue* make_output(const Host& host, KernelContext* context, const int64_t* dims, int rank) {
    OrtValue* output = nullptr;
    host.check(host->KernelContext_GetOutput(context, 0, dims, static_cast<size_t>(rank), &output));
    return output;
}

std::byte* address_of(const Host& host, const OrtValue* value) {
    void* address = nullptr;
    host.check(host->GetTensorMutableData(const_cast<OrtValue*>(value), &address));
    return static_cast<std::byte*>(address);
}

Strings::Strings(const Host& host, const Tensor& tensor) {
    const auto count = static_cast<size_t>(tensor.count());
    size_t size = 0;
    host.check(host->GetStringTensorDataLength(tensor.value, &size));
    text_.resize(size + 1);  // never empty, so that there is an address
    starts_.resize(count + 1);
    if (count > 0) host.check(host->GetStringTensorContent(tensor.value, text_.data(), size, starts_.data(), count));
    starts_[count] = size;
}

void write_string(const Host& host, OrtValue* output, int64_t i, std::string_view text) {
    char* text_memory = nullptr;
    host.check(host->GetResizedStringTensorElementBuffer(output, static_cast<size_t>(i), text.size(), &text_memory));
    if (!text.empty()) std::memcpy(text_memory, text.data(), text.size());
}

Bytes unpack(const Tensor& tensor) {
    const int64_t count = tensor.count();
    Bytes elements = std::make_unique_for_overwrite<std::byte[]>(static_cast<size_t>(count));
    for (int64_t i = 0; i < count; ++i)
        elements[static_cast<size_t>(i)] = tensor.memory[i / 2] >> (i % 2 * 4) & std::byte{15};
    return elements;
}

void pack(const std::byte* elements, int64_t count, std::byte* packed) {
    for (int64_t i = 0; i < count; i += 2)
        packed[i / 2] = elements[i] | (i + 1 < count ? elements[i + 1] << 4 : std::byte{0});
}

}  // namespace gs::ort
