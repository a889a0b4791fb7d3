// The operators and their versions. The build makes the table from src/gatherscatter/specs/rows.py.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>

#include "gatherscatter.h"
#include "ort_api.hpp"

namespace gs::ort {

struct ElementInfo {
    ElementType type;
    const char* name;
    gatherscatter_type core;          // GATHERSCATTER_OPAQUE: elements that are only moved
    int bits;                         // 0: strings
    int first_minor;                  // the first ONNX Runtime 1.x whose custom operators support the type; 0: none
    gatherscatter_type codes = core;  // in quantized tables

    // Returns the bit of the type in sets of types.
    unsigned bit() const;
};

// All element types, in the order in which messages list them.
inline constexpr ElementInfo element_types[] = {
    {boolean, "bool", GATHERSCATTER_BOOL, 8, 17},
    {int8, "int8", GATHERSCATTER_INT8, 8, 17},
    {int16, "int16", GATHERSCATTER_INT16, 16, 17},
    {int32, "int32", GATHERSCATTER_INT32, 32, 17},
    {int64, "int64", GATHERSCATTER_INT64, 64, 17},
    {uint8, "uint8", GATHERSCATTER_UINT8, 8, 17},
    {uint16, "uint16", GATHERSCATTER_UINT16, 16, 17},
    {uint32, "uint32", GATHERSCATTER_UINT32, 32, 17},
    {uint64, "uint64", GATHERSCATTER_UINT64, 64, 17},
    {float16, "float16", GATHERSCATTER_FLOAT16, 16, 17},
    {float32, "float32", GATHERSCATTER_FLOAT32, 32, 17},
    {float64, "float64", GATHERSCATTER_FLOAT64, 64, 17},
    {complex64, "complex64", GATHERSCATTER_COMPLEX64, 64, 0},
    {complex128, "complex128", GATHERSCATTER_COMPLEX128, 128, 0},
    {string, "string", GATHERSCATTER_OPAQUE, 0, 17},
    {bfloat16, "bfloat16", GATHERSCATTER_BFLOAT16, 16, 17},
    {float8_e4m3fn, "float8_e4m3fn", GATHERSCATTER_OPAQUE, 8, 17, GATHERSCATTER_FLOAT8_E4M3FN},
    {float8_e4m3fnuz, "float8_e4m3fnuz", GATHERSCATTER_OPAQUE, 8, 17, GATHERSCATTER_FLOAT8_E4M3FNUZ},
    {float8_e5m2, "float8_e5m2", GATHERSCATTER_OPAQUE, 8, 17, GATHERSCATTER_FLOAT8_E5M2},
    {float8_e5m2fnuz, "float8_e5m2fnuz", GATHERSCATTER_OPAQUE, 8, 17, GATHERSCATTER_FLOAT8_E5M2FNUZ},
    {undefined, "float8_e8m0fnu", GATHERSCATTER_OPAQUE, 8, 0},  // ONNX Runtime does not have tensors of this type
    {float4_e2m1fn, "float4_e2m1fn", GATHERSCATTER_OPAQUE, 4, 24, GATHERSCATTER_FLOAT4_E2M1FN},
    {int4, "int4", GATHERSCATTER_OPAQUE, 4, 20, GATHERSCATTER_INT4},
    {uint4, "uint4", GATHERSCATTER_OPAQUE, 4, 20, GATHERSCATTER_UINT4},
};

inline unsigned ElementInfo::bit() const { return 1u << (this - element_types); }

// Returns null for an unknown type.
const ElementInfo* find_element_type(ElementType);

enum class IndexTypes : uint8_t { int64, int32_and_int64, integers };

enum class AttributeName : uint8_t {
    axis,
    batch_dims,
    reduction,
    include_self,
    accumulate,
    mode,
    num_segments,
    keepdims,
    quantize_axis,
    block_size,
    bits,
    negative,
};
inline constexpr const char* attribute_names[] = {"axis",          "batch_dims", "reduction",    "include_self",
                                                  "accumulate",    "mode",       "num_segments", "keepdims",
                                                  "quantize_axis", "block_size", "bits",         "negative"};

class AttributeSet {
  public:
    constexpr AttributeSet(std::initializer_list<AttributeName> names) {
        for (AttributeName name : names) bits_ |= 1u << static_cast<int>(name);
    }
    constexpr bool has(AttributeName name) const { return bits_ >> static_cast<int>(name) & 1; }

  private:
    unsigned bits_ = 0;
};

struct Version {
    int number;              // 0: an operator that only this package defines
    unsigned element_types;  // those that it supports, as a set of bits
    IndexTypes index_types;
    AttributeSet attributes;
    std::span<const char* const> reductions;
};

enum class InputKind : uint8_t {
    data,      // elements of the type of the first input
    integers,  // indices and the like
    scales,    // elements of the type of the output
};

struct InputInfo {
    const char* name;
    InputKind kind;
    bool is_optional = false;
};

struct Operator {
    const char* name;
    gatherscatter_kernel kernel;
    std::span<const InputInfo> inputs;
    std::span<const Version> versions;  // the versions in ONNX, oldest first
    Version own;
    std::span<const char* const> modes;
    int64_t default_axis;

    bool is_tensor_scatter() const { return modes.size() == 2; }
    bool is_scatter() const { return kernel >= GATHERSCATTER_SCATTER_UPDATE && kernel <= GATHERSCATTER_SCATTER_ND; }
    bool is_quantized() const { return kernel == GATHERSCATTER_GATHER_QUANTIZED; }
    bool has_optional_inputs() const { return inputs.back().is_optional; }
    // Returns the newest version that is not above an opset; null if the operator is newer.
    const Version* find(int64_t opset) const;
    // Returns the name in messages: "onnx.ScatterND-18" or "gatherscatter.ScatterND".
    std::string full_name(const Version&) const;
};

std::span<const Operator> operators();

}  // namespace gs::ort
