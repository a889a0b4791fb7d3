// The inputs and outputs of a node.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "host.hpp"
#include "index.hpp"
#include "plan.hpp"
#include "versions.hpp"

namespace gs::ort {

struct Tensor {
    const OrtValue* value = nullptr;  // null: the input is absent
    const ElementInfo* type = nullptr;
    Shape shape;
    std::byte* memory = nullptr;  // null for strings

    int64_t count() const { return count_elements(shape); }
};

// Reads the type, the shape and the address of an input.
Tensor read_tensor(const Host&, const char* op, const char* input, const OrtValue*);

OrtValue* make_output(const Host&, KernelContext*, const int64_t* dims, int rank);
std::byte* address_of(const Host&, const OrtValue*);

// Copies of the strings of a tensor.
class Strings {
  public:
    Strings(const Host&, const Tensor&);

    std::string_view operator[](int64_t i) const {
        const auto at = static_cast<size_t>(i);
        return std::string_view(text_.data() + starts_[at], starts_[at + 1] - starts_[at]);
    }

  private:
    std::vector<char> text_;
    std::vector<size_t> starts_;  // followed by the end of the last
};

void write_string(const Host&, OrtValue*, int64_t i, std::string_view);

// Elements of four bits. The first of two is in the lower half of a byte.
using Bytes = std::unique_ptr<std::byte[]>;
Bytes unpack(const Tensor&);  // one element per byte
void pack(const std::byte* elements, int64_t count, std::byte* packed);

}  // namespace gs::ort
