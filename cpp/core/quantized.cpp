#include "quantized.hpp"

#include <atomic>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "code_loops.hpp"
#include "halves.hpp"
#include "machine.hpp"
#include "parallel.hpp"
#include "row_moves.hpp"

namespace gs {
namespace {

// The number of codes that are unpacked and scaled together. All arrays of a piece stay in the first cache.
constexpr int64_t piece = tiny ? 32 : 512;
// Scales values in place or to another array. Blocks of them share a scale and a zero point. `zeros`: null if the zero
// point is always `zero`.
GS_LOOP void scale_values(const float* values, int64_t n, int64_t block, const float* scales, const float* zeros,
                          float zero, float* out) {
    if (block == 1 && zeros) {
        GS_INDEPENDENT
        for (int64_t i = 0; i < n; ++i) out[i] = (values[i] - zeros[i]) * scales[i];
    } else if (block == 1) {
        GS_INDEPENDENT
        for (int64_t i = 0; i < n; ++i) out[i] = (values[i] - zero) * scales[i];
    } else {
        for (int64_t b = 0, i = 0; i < n; ++b) {
            const float its_zero = zeros ? zeros[b] : zero, scale = scales[b];
            const int64_t end = std::min(i + block, n);
            for (; i + scaled_at_once <= end; i += scaled_at_once)
                scale_some<scaled_at_once>(values + i, its_zero, scale, out + i);
            for (; i < end; ++i) out[i] = (values[i] - its_zero) * scale;
        }
    }
}

// The layout of a float with few bits.
struct SmallFloat {
    int exponent_bits, mantissa_bits, bias;
    bool has_infinity;      // as in IEEE 754: the largest exponent is for infinity and NaN
    bool has_nan;           // otherwise, the code with all bits set is NaN
    bool is_unsigned_zero;  // fnuz: the code of -0 is NaN, and no other code is

    float value(int code) const {
        const int exponent = code >> mantissa_bits & ((1 << exponent_bits) - 1),
                  mantissa = code & ((1 << mantissa_bits) - 1);
        const bool negative = code >> (exponent_bits + mantissa_bits) & 1;
        const float nan = std::numeric_limits<float>::quiet_NaN(), infinity = std::numeric_limits<float>::infinity();
        const bool is_last = exponent == (1 << exponent_bits) - 1;
        if (is_unsigned_zero && negative && exponent == 0 && mantissa == 0) return nan;
        if (has_infinity && is_last) return mantissa != 0 ? nan : negative ? -infinity : infinity;
        if (has_nan && is_last && mantissa == (1 << mantissa_bits) - 1) return nan;
        const int whole = exponent == 0 ? mantissa : mantissa + (1 << mantissa_bits);
        const float size = std::ldexp(static_cast<float>(whole), std::max(exponent, 1) - bias - mantissa_bits);
        return negative ? -size : size;
    }
};

using Values = std::array<float, 256>;

Values values_of(const SmallFloat& format) {
    Values values;
    for (int code = 0; code < 256; ++code) values[static_cast<size_t>(code)] = format.value(code);
    return values;
}

const float* values_of(CodeFormat format) {
    static const Values e2m1fn = values_of({2, 1, 1, false, false, false}),
                        e4m3fn = values_of({4, 3, 7, false, true, false}),
                        e4m3fnuz = values_of({4, 3, 8, false, false, true}),
                        e5m2 = values_of({5, 2, 15, true, false, false}),
                        e5m2fnuz = values_of({5, 2, 16, false, false, true});
    switch (format) {
        case CodeFormat::float4_e2m1fn: return e2m1fn.data();
        case CodeFormat::float8_e4m3fn: return e4m3fn.data();
        case CodeFormat::float8_e4m3fnuz: return e4m3fnuz.data();
        case CodeFormat::float8_e5m2: return e5m2.data();
        case CodeFormat::float8_e5m2fnuz: return e5m2fnuz.data();
        default: return nullptr;
    }
}

// The offsets of the scale and of the zero point of a number, from those of the first number.
struct Offsets {
    int64_t scale = 0, zero = 0;
    void add(const QuantizedTable::Dim& dim, int64_t coordinate) {
        if (dim.block > 1) coordinate /= dim.block;
        scale += coordinate * dim.scale_stride;
        zero += coordinate * dim.zero_stride;
    }
};

Offsets offsets_of(const QuantizedTable::Dims& dims, int64_t number) {
    Offsets offsets;
    for (int d = dims.rank - 1; d >= 0; --d) {
        const auto& dim = dims.dim[static_cast<size_t>(d)];
        offsets.add(dim, number % dim.length);
        number /= dim.length;
    }
    return offsets;
}

// Adds a dim behind others. Merges it with the one before it if both can be one.
void add_dim(QuantizedTable::Dims& dims, const QuantizedTable::Dim& dim) {
    if (dim.length == 1) return;
    if (dims.rank > 0) {
        auto& last = dims.dim[static_cast<size_t>(dims.rank - 1)];
        const auto continues = [&](int64_t stride, int64_t next) { return stride == next * dim.length; };
        if (last.block == 1 && dim.block == 1 && continues(last.scale_stride, dim.scale_stride) &&
            continues(last.zero_stride, dim.zero_stride)) {
            last = {last.length * dim.length, 1, dim.scale_stride, dim.zero_stride};
            return;
        }
    }
    dims.dim[static_cast<size_t>(dims.rank++)] = dim;
}

Work work_of(const QuantizedTable& table, int64_t count) {
    return {table.outer * count, table.row_bytes() + table.codes_of_row()};
}

}  // namespace

void lay_out(const Shape& data, int axis, int quantize_axis, int64_t block_size, const Shape& scales, int64_t zero_row,
             QuantizedTable& table) {
    QuantizedTable::Dim dims[max_rank];
    int64_t scale_stride = 1, zero_stride = 1;
    for (int d = data.rank - 1; d >= 0; --d) {
        const bool is_shared = d != quantize_axis && scales[d] == 1;
        dims[d] = {data[d], d == quantize_axis ? block_size : 1, is_shared ? 0 : scale_stride,
                   is_shared ? 0 : zero_stride};
        scale_stride *= scales[d];
        zero_stride *= d == data.rank - 1 ? zero_row : scales[d];
    }
    table.outer = count_elements(Shape(data.dim, axis));
    table.width = count_elements(Shape(data.dim + axis + 1, data.rank - axis - 1));
    table.axis = dims[axis];
    table.before.rank = table.behind.rank = 0;
    for (int d = 0; d < axis; ++d) add_dim(table.before, dims[d]);
    for (int d = axis + 1; d < data.rank; ++d) add_dim(table.behind, dims[d]);
}

RowDecoder::RowDecoder(const QuantizedTable& table, const QuantizedMemory& memory)
    : table_(table),
      memory_(memory),
      line_(table.behind.rank > 0 ? table.behind.dim[static_cast<size_t>(table.behind.rank - 1)]
                                  : QuantizedTable::Dim{1, 1, 0, 0}),
      flip_(static_cast<uint8_t>(table.codes.format == CodeFormat::signed_integer ? 1 << (table.codes.bits - 1) : 0)),
      unpack_(table.codes.per_byte == 2   ? version<unpack<2>>()
              : table.codes.per_byte == 4 ? version<unpack<4>>()
                                          : nullptr),
      convert_(version<convert_integers>()),
      look_up_(version<look_up>()),
      scale_(version<scale_values>()),
      values_of_codes_(values_of(table.codes.format)),
      ahead_(row_lookahead(table.codes_of_row())) {
    if (line_.scale_stride == 0) line_.block = std::max<int64_t>(line_.length, 1);  // all have the same scale
    const bool is_line = table.before.rank == 0 && table.behind.rank <= 1 && table.axis.block == 1 &&
                         line_.scale_stride <= 1 && line_.zero_stride <= 1;
    const bool in_steps = line_.block >= line_.length || line_.block % scaled_at_once == 0;
    const int per_byte = table.codes.per_byte;
    const bool in_bytes = table.codes.bits * per_byte == 8 && line_.length % per_byte == 0,
               has_loop = per_byte == 1 || !table.codes.is_float();
    if (is_line && in_steps && in_bytes && has_loop)
        coded_ = {reinterpret_cast<const uint8_t*>(memory.data),
                  memory.scales,
                  reinterpret_cast<const uint8_t*>(memory.zero_points),
                  table.codes_of_row(),
                  table.axis.scale_stride,
                  table.axis.zero_stride,
                  line_.block,
                  table.codes,
                  flip_,
                  values_of_codes_};
}

// Returns the codes [first, first + n), one in each byte.
const uint8_t* RowDecoder::codes_at(const std::byte* memory, int64_t first, int64_t n, uint8_t* unpacked) const {
    const CodeType& type = table_.codes;
    const uint8_t* const bytes = reinterpret_cast<const uint8_t*>(memory);
    const int mask = (1 << type.bits) - 1;
    if (type.per_byte == 1 && type.bits == 8) return bytes + first;
    if (type.per_byte == 1) {  // the other bits of a byte can have any value
        for (int64_t i = 0; i < n; ++i) unpacked[i] = static_cast<uint8_t>(bytes[first + i] & mask);
        return unpacked;
    }
    const auto code = [&](int64_t i) {
        return static_cast<uint8_t>(bytes[i / type.per_byte] >> (i % type.per_byte * type.bits) & mask);
    };
    int64_t i = 0;
    for (; i < n && (first + i) % type.per_byte != 0; ++i) unpacked[i] = code(first + i);
    const int64_t whole = (n - i) / type.per_byte;
    unpack_(bytes + (first + i) / type.per_byte, whole, unpacked + i);
    for (i += whole * type.per_byte; i < n; ++i) unpacked[i] = code(first + i);
    return unpacked;
}

void RowDecoder::values_at(const std::byte* memory, int64_t first, int64_t n, float* values) const {
    alignas(line_size) uint8_t unpacked[piece];
    const uint8_t* const codes = codes_at(memory, first, n, unpacked);
    if (values_of_codes_)
        look_up_(codes, n, values_of_codes_, values);
    else
        convert_(codes, n, flip_, values);
}

const float* RowDecoder::scales_at(int64_t first, int64_t n, float* widened) const {
    if (table_.scale_type == DType::float32) return reinterpret_cast<const float*>(memory_.scales) + first;
    if (table_.scale_type == DType::float16)
        widen(reinterpret_cast<const float16*>(memory_.scales) + first, widened, n);
    else
        widen(reinterpret_cast<const bfloat16*>(memory_.scales) + first, widened, n);
    return widened;
}

// Decodes a line that begins with a block. `code`, `scale` and `zero` are those of its first number.
void RowDecoder::decode_line(int64_t code, int64_t scale, int64_t zero, std::byte* out) const {
    alignas(line_size) float values[piece], scales[piece], zeros[piece];
    const bool is_float = table_.scale_type == DType::float32;
    const int64_t length = line_.length, block = line_.block, at_once = block < piece ? piece / block * block : piece;
    for (int64_t done = 0, n; done < length; done += n) {
        const int64_t first_block = done / block;
        n = std::min({at_once, length - done, block < piece ? at_once : (first_block + 1) * block - done});
        const int64_t blocks = block < piece ? (n + block - 1) / block : 1;
        values_at(memory_.data, code + done, n, values);
        if (memory_.zero_points) values_at(memory_.zero_points, zero + first_block, blocks, zeros);
        std::byte* const target = out + done * table_.scale_size;
        scale_(values, n, block, scales_at(scale + first_block, blocks, scales), memory_.zero_points ? zeros : nullptr,
               static_cast<float>(table_.codes.zero + flip_), is_float ? reinterpret_cast<float*>(target) : values);
        if (table_.scale_type == DType::float16) narrow(values, reinterpret_cast<float16*>(target), n);
        if (table_.scale_type == DType::bfloat16) narrow(values, reinterpret_cast<bfloat16*>(target), n);
    }
}

GS_LOOP void RowDecoder::prefetch(int64_t o, int64_t row) const {
    const int64_t codes = table_.codes_of_row(), blocks = line_.length / line_.block;
    Offsets start = offsets_of(table_.before, o);
    start.add(table_.axis, row);
    prefetch_row(memory_.data + (o * table_.axis.length + row) * table_.width / table_.codes.per_byte, codes);
    prefetch_row(memory_.scales + start.scale * table_.scale_size, blocks * table_.scale_size);
    if (memory_.zero_points)
        prefetch_row(memory_.zero_points + start.zero / table_.codes.per_byte, blocks / table_.codes.per_byte);
}

void RowDecoder::decode(int64_t o, int64_t row, std::byte* out) const {
    const auto& dims = table_.behind;
    Offsets start = offsets_of(table_.before, o);
    start.add(table_.axis, row);
    int64_t code = (o * table_.axis.length + row) * table_.width;
    if (dims.rank <= 1) return decode_line(code, start.scale, start.zero, out);
    int64_t at[max_rank] = {};
    const int64_t end = code + table_.width;
    for (; code < end; code += line_.length, out += line_.length * table_.scale_size) {
        Offsets offsets = start;
        for (int d = 0; d < dims.rank - 1; ++d) offsets.add(dims.dim[static_cast<size_t>(d)], at[d]);
        decode_line(code, offsets.scale, offsets.zero, out);
        for (int d = dims.rank - 2; d >= 0 && ++at[d] == dims.dim[static_cast<size_t>(d)].length; --d) at[d] = 0;
    }
}

void RowDecoder::decode_rows(int64_t o, const int64_t* rows, int64_t n, std::byte* out) const {
    const int64_t row_bytes = table_.row_bytes();
    for (int64_t i = 0; i < n; ++i) {
        if (i + ahead_ < n && rows[i + ahead_] >= 0) prefetch(o, rows[i + ahead_]);
        std::byte* const to = out + i * row_bytes;
        if (rows[i] < 0)
            std::memset(to, 0, static_cast<size_t>(row_bytes));
        else
            decode(o, rows[i], to);
    }
}

int threads_of_gather(const QuantizedTable& table, int64_t count) { return threads_for(work_of(table, count)); }

bool gather_quantized(const QuantizedTable& table, const QuantizedMemory& memory, const Index& index, int64_t count,
                      std::byte* out) {
    const int64_t rows = table.outer * count, row_bytes = table.row_bytes();
    if (rows == 0 || row_bytes == 0) return index.check(count);
    const RowDecoder decoder(table, memory);
    std::atomic<bool> good = true;
    const auto part = [&](int64_t begin, int64_t end) {
        int64_t row[block];
        RowNumbers numbers{row, 0, 0};
        for (int64_t first = begin; first < end && good; first += numbers.n) {
            const int64_t o = first / count, c = first - o * count;
            if (!index.resolve(c, std::min({block, end - first, count - c}), numbers)) return false;
            const bool done = in_pieces(0, numbers.n, row_bytes, [&](int64_t from, int64_t to) {
                decoder.decode_rows(o, row + from, to - from, out + (first + from) * row_bytes);
            });
            if (!done) return false;
        }
        return true;
    };
    const int parts_per_thread = 4;
    for_parts(
        rows, threads_of_gather(table, count),
        [&](int64_t begin, int64_t end) {
            if (!part(begin, end)) good = false;
        },
        parts_per_thread);
    return good;
}

}  // namespace gs
