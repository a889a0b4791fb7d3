// Which indices of a call are out of range, and what was probably meant by them: facts, which the layers above word.
#pragma once

#include <array>
#include <compare>
#include <cstdint>

#include "index.hpp"
#include "plan.hpp"

namespace gs {

// An index of any integer type.
struct IndexValue {
    bool negative = false;
    uint64_t magnitude = 0;

    bool operator==(const IndexValue&) const = default;
    std::strong_ordering operator<=>(const IndexValue& other) const {
        if (negative != other.negative) return negative ? std::strong_ordering::less : std::strong_ordering::greater;
        return negative ? other.magnitude <=> magnitude : magnitude <=> other.magnitude;
    }
};

// What indices probably mean, if the numbers leave no other reading.
struct IndexHint {
    enum class Kind : uint8_t {
        none,
        refused_negatives,  // they count from the end, which they may not
        counted_from_one,
        unsigned_type,    // `meant` was stored without a sign as `value`
        overflow,         // `value` is 2^32 + `meant`
        swapped_columns,  // columns i and j
        wrong_axis,       // they fit the axis i
    };
    Kind kind = Kind::none;
    IndexValue value;
    int64_t meant = 0;
    int i = 0, j = 0;
};

// A contiguous tensor of index tuples, column j of which indexes axis first_axis + j of data.
struct IndexTuples {
    const void* values;
    IndexType type;
    int64_t count;   // of tuples
    Shape data;      // shape of data
    int first_axis;  // of the axes that are indexed
    int columns;
};

struct BadIndices {
    static constexpr int64_t shown = 10;

    int64_t count = 0;                       // 0: none is bad
    std::array<int64_t, shown> positions{};  // of the first of them, among all elements of the tensor
    std::array<IndexValue, shown> values{};
    IndexValue least, greatest;
    int axis = 0;  // which the first one indexes
    IndexHint hint;
};

// Finds the indices that the rule does not allow. With Mode::wrap and clip, these are the indices of empty axes. If the
// call is to stop, only some are found.
BadIndices find_bad_indices(const IndexTuples&, Rule);

// The hint alone, whether or not an index is out of range; there is at least one tuple.
IndexHint find_index_hint(const IndexTuples&, bool negative);

}  // namespace gs
