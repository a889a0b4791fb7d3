// Tables of quantized numbers. A number is stored as a code of a few bits. Blocks of numbers along one axis share a
// scale and a zero point: number = (value of the code - zero point) * scale.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "dtype.hpp"
#include "index.hpp"
#include "plan.hpp"

namespace gs {

enum class CodeFormat : uint8_t {
    unsigned_integer,
    signed_integer,
    float4_e2m1fn,
    float8_e4m3fn,
    float8_e4m3fnuz,
    float8_e5m2,
    float8_e5m2fnuz,
};

struct CodeType {
    CodeFormat format = CodeFormat::unsigned_integer;
    int bits = 8;      // of a code: 2, 4 or 8
    int per_byte = 1;  // codes in a byte, starting with the lowest bits
    int zero = 0;      // the zero point of tables without zero points

    bool is_float() const { return format >= CodeFormat::float4_e2m1fn; }
};

// The element types of codes except bytes, with one code in each byte.
struct NamedCodes {
    const char* name;
    CodeType type;
};
inline constexpr NamedCodes code_types[] = {
    {"int4", {CodeFormat::signed_integer, 4}},         {"uint4", {CodeFormat::unsigned_integer, 4}},
    {"float8_e4m3fn", {CodeFormat::float8_e4m3fn}},    {"float8_e4m3fnuz", {CodeFormat::float8_e4m3fnuz}},
    {"float8_e5m2", {CodeFormat::float8_e5m2}},        {"float8_e5m2fnuz", {CodeFormat::float8_e5m2fnuz}},
    {"float4_e2m1fn", {CodeFormat::float4_e2m1fn, 4}},
};

// Returns how bytes of uint8 hold codes of 2, 4 or 8 bits. No other number of bits is possible.
inline std::optional<CodeType> codes_in_bytes(int64_t bits) {
    if (bits != 2 && bits != 4 && bits != 8) return std::nullopt;
    const int size = static_cast<int>(bits);
    return CodeType{CodeFormat::unsigned_integer, size, 8 / size, 1 << (size - 1)};
}

// Scales have float, float16 or bfloat16, which is also the type of the numbers.
inline bool is_scale_type(DType dtype) {
    return dtype == DType::float32 || dtype == DType::float16 || dtype == DType::bfloat16;
}

// A table without its memory. A row has the numbers behind the gather axis.
struct QuantizedTable {
    // Consecutive dims that are alike are merged, and dims of length 1 are skipped. The scale of the number at
    // coordinate i is i / block * scale_stride elements behind that at coordinate 0. The same holds for zero points.
    struct Dim {
        int64_t length, block, scale_stride, zero_stride;
    };
    struct Dims {
        int rank = 0;
        std::array<Dim, max_rank> dim;
    };

    CodeType codes;
    DType scale_type = DType::float32;
    int64_t scale_size = 4;  // bytes
    int64_t outer = 1;       // the product of the dims before the axis
    int64_t width = 1;       // of a row
    Dims before, behind;
    Dim axis{};

    int64_t row_bytes() const { return width * scale_size; }                               // of a row of numbers
    int64_t codes_of_row() const { return std::max<int64_t>(width / codes.per_byte, 1); }  // their bytes, rounded
};

// Describes a table. `data` has the dims of data in codes. Scales and zero points have one element for each block, or
// length 1 along other axes for all. `zero_row`: the codes of zero points along the last axis, with padding. Rows of
// codes can begin within a byte.
void lay_out(const Shape& data, int axis, int quantize_axis, int64_t block_size, const Shape& scales, int64_t zero_row,
             QuantizedTable&);

struct QuantizedMemory {
    const std::byte *data, *scales, *zero_points;  // zero points: null if there are none
};

// The rows of a table in which each row is a line of codes. Blocks are multiples of scaled_at_once, or whole rows.
struct CodedRows {
    const uint8_t* codes;
    const std::byte* scales;
    const uint8_t* zero_points;         // null if there are none
    int64_t row_bytes;                  // of codes
    int64_t scale_stride, zero_stride;  // from row to row
    int64_t block;
    CodeType type;
    uint8_t flip;                  // the sign bit of signed codes, or 0
    const float* values_of_codes;  // of floats; null for integers
};

// Computes rows of numbers.
class RowDecoder {
  public:
    RowDecoder(const QuantizedTable&, const QuantizedMemory&);

    // Writes n rows of the part `o` of the table, in the type of the scales. Row -1 gives zeros.
    void decode_rows(int64_t o, const int64_t* rows, int64_t n, std::byte* out) const;

    // The rows for loops that decode some columns at a time. Null: the table has another layout.
    const CodedRows* coded() const { return coded_ ? &*coded_ : nullptr; }

  private:
    using Unpack = void (*)(const uint8_t* packed, int64_t bytes, uint8_t* codes);
    using Convert = void (*)(const uint8_t* codes, int64_t n, uint8_t flip, float* values);
    using LookUp = void (*)(const uint8_t* codes, int64_t n, const float* values_of_codes, float* values);
    using Scale = void (*)(const float* values, int64_t n, int64_t block, const float* scales, const float* zeros,
                           float zero, float* out);

    void prefetch(int64_t o, int64_t row) const;
    void decode(int64_t o, int64_t row, std::byte* out) const;
    void decode_line(int64_t code, int64_t scale, int64_t zero, std::byte* out) const;
    const uint8_t* codes_at(const std::byte* memory, int64_t first, int64_t n, uint8_t* unpacked) const;
    void values_at(const std::byte* memory, int64_t first, int64_t n, float* values) const;
    const float* scales_at(int64_t first, int64_t n, float* widened) const;

    const QuantizedTable& table_;
    QuantizedMemory memory_;
    QuantizedTable::Dim line_;  // numbers that are computed together: the last dim of a row
    uint8_t flip_;              // the sign bit of signed codes, or 0
    Unpack unpack_;
    Convert convert_;
    LookUp look_up_;
    Scale scale_;
    const float* values_of_codes_;  // of floats; null for integers
    int64_t ahead_;                 // how far ahead rows are prefetched
    std::optional<CodedRows> coded_;
};

// out[o, c, :] = the numbers of row index(c) of the part o. False: an index is bad, or the call has to stop.
[[nodiscard]] bool gather_quantized(const QuantizedTable&, const QuantizedMemory&, const Index&, int64_t count,
                                    std::byte* out);
int threads_of_gather(const QuantizedTable&, int64_t count);

}  // namespace gs
