// The list of element types that reductions support. Moves only need the size of an element.
#pragma once

#include <cstdint>
#include <iterator>
#include <type_traits>

#include "element.hpp"

namespace gs {

enum class DType : uint8_t {
    opaque,  // bytes that are moved, without arithmetic
    boolean,
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint16,
    uint32,
    uint64,
    float16,
    bfloat16,
    float32,
    float64,
    complex64,
    complex128,
};
inline constexpr const char* dtype_names[] = {"opaque",  "bool",    "int8",      "int16",     "int32",   "int64",
                                              "uint8",   "uint16",  "uint32",    "uint64",    "float16", "bfloat16",
                                              "float32", "float64", "complex64", "complex128"};
static_assert(std::size(dtype_names) == static_cast<size_t>(DType::complex128) + 1);
inline const char* name(DType dtype) { return dtype_names[static_cast<int>(dtype)]; }

// Calls f with std::type_identity<T>. Returns `otherwise` for an opaque type.
template <class F, class R>
R visit(DType dtype, R otherwise, F&& f) {
    switch (dtype) {
        case DType::opaque: return otherwise;
        case DType::boolean: return f(std::type_identity<gs::boolean>{});
        case DType::int8: return f(std::type_identity<int8_t>{});
        case DType::int16: return f(std::type_identity<int16_t>{});
        case DType::int32: return f(std::type_identity<int32_t>{});
        case DType::int64: return f(std::type_identity<int64_t>{});
        case DType::uint8: return f(std::type_identity<uint8_t>{});
        case DType::uint16: return f(std::type_identity<uint16_t>{});
        case DType::uint32: return f(std::type_identity<uint32_t>{});
        case DType::uint64: return f(std::type_identity<uint64_t>{});
        case DType::float16: return f(std::type_identity<gs::float16>{});
        case DType::bfloat16: return f(std::type_identity<gs::bfloat16>{});
        case DType::float32: return f(std::type_identity<float>{});
        case DType::float64: return f(std::type_identity<double>{});
        case DType::complex64: return f(std::type_identity<gs::complex64>{});
        case DType::complex128: return f(std::type_identity<gs::complex128>{});
    }
    return otherwise;
}

}  // namespace gs
