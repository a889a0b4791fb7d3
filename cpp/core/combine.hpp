// How a scatter combines updates with data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>

#include "dtype.hpp"
#include "reduction.hpp"

namespace gs {

// The type that floats and complex numbers are accumulated in.
enum class Accumulate : uint8_t {
    step,          // the element type: rounded after every step
    wide,          // a wider type: rounded once. Products of halves use it, too
    exact,         // a type that records whether it is exact: rounded once, independent of the order
    long_sums,     // the second pass of `exact`: sums that were not exact, as long integers
    counted_sums,  // means of single floats: as `step`, with the number of updates next to each sum
};
// The values that a caller can choose.
inline constexpr const char* accumulate_names[] = {"step", "wide", "exact"};
static_assert(std::size(accumulate_names) == static_cast<size_t>(Accumulate::exact) + 1);

// How a scatter combines an update with its target.
struct Combine {
    DType dtype;
    int64_t item_size;
    Reduction reduction = Reduction::none;
    bool include_self = true;  // whether data takes part
    Accumulate accumulate = Accumulate::step;
    void* long_sums = nullptr;  // used by Accumulate::long_sums
};
// Whether a mean of single elements can use Accumulate::counted_sums. The number next to a float32 has 32 bits.
inline bool can_use_counted_sums(const Combine& combine, int64_t updates) {
    const bool has_type = combine.dtype == DType::float32 || combine.dtype == DType::float64;
    return has_type && combine.accumulate == Accumulate::step && updates <= INT64_C(0xffffffff);
}
// Whether elements of a type have a reduction.
bool supports(DType, Reduction);
// Whether Accumulate::exact is supported. Exact sums are of real numbers. Exact products of floats are not supported.
inline bool supports_exact(DType dtype, Reduction reduction) {
    const bool complex = dtype == DType::complex64 || dtype == DType::complex128;
    const bool whole = dtype < DType::float16;  // integers wrap, so their sums are exact
    return reduction == Reduction::mul ? whole : !complex || reduction == Reduction::none;
}

}  // namespace gs
