// How a scatter combines updates with data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>

#include "dtype.hpp"
#include "reduction.hpp"

namespace gs {

// In what floats and complex numbers are added up.
enum class Accumulate : uint8_t {
    step,       // in their own type: rounded after every step
    wide,       // in a wider type: rounded once (halves are multiplied so, too)
    exact,      // in what shows whether it is exact: rounded once, whatever the order
    long_sums,  // exact, second pass: sums that were not exact, as long integers
};
// What a caller can choose.
inline constexpr const char* accumulate_names[] = {"step", "wide", "exact"};
static_assert(std::size(accumulate_names) == static_cast<size_t>(Accumulate::exact) + 1);

// How a scatter combines an update with what stands in its place.
struct Combine {
    DType dtype;
    int64_t item_size;
    Reduction reduction = Reduction::none;
    bool include_self = true;  // whether data takes part
    Accumulate accumulate = Accumulate::step;
    void* long_sums = nullptr;  // for Accumulate::long_sums
};
// Whether elements of a type have a reduction.
bool supports(DType, Reduction);
// Whether Accumulate::exact has a meaning: exact sums are of real numbers, and there are no exact products of floats.
inline bool supports_exact(DType dtype, Reduction reduction) {
    const bool complex = dtype == DType::complex64 || dtype == DType::complex128;
    const bool whole = dtype < DType::float16;  // these wrap: what is added up is exact
    return reduction == Reduction::mul ? whole : !complex || reduction == Reduction::none;
}

}  // namespace gs
