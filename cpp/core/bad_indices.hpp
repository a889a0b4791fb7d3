// Finds the indices of a call that are out of range, and their probable meaning. The layers above write the messages.
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

// The probable meaning of indices, if the numbers allow no other reading.
struct IndexHint {
    enum class Kind : uint8_t {
        none,
        refused_negatives,  // negative indices, in a call that does not allow them
        counted_from_one,
        unsigned_type,    // `meant` was stored without a sign as `value`
        overflow,         // `value` is 2^32 + `meant`
        swapped_columns,  // columns i and j are swapped
        forgotten_batch_dims,
        wrong_axis,  // the indices fit axis i
    };
    Kind kind = Kind::none;
    IndexValue value;
    int64_t meant = 0;
    int i = 0, j = 0;
};

// A contiguous tensor of index tuples. Column j indexes axis first_axis + j of data.
struct IndexTuples {
    const void* values;
    IndexType type;
    int64_t count;   // the number of tuples
    Shape data;      // shape of data
    int first_axis;  // the first axis that is indexed
    int columns;
    bool may_be_batched = false;  // the tuples would also be valid for one batch dimension
};

struct BadIndices {
    static constexpr int64_t shown = 10;

    int64_t count = 0;                       // 0: no index is bad
    std::array<int64_t, shown> positions{};  // the first bad positions, counted over all elements of the tensor
    std::array<IndexValue, shown> values{};
    IndexValue least, greatest;
    int axis = 0;  // the axis of the first bad index
    IndexHint hint;
};

// Finds the indices that the rule does not allow. With Mode::wrap and Mode::clip, these are the indices of empty axes.
// If the call has to stop, the result is incomplete.
BadIndices find_bad_indices(const IndexTuples&, Rule);

// Finds the hint alone, even if no index is out of range. There must be at least one tuple.
IndexHint find_index_hint(const IndexTuples&, bool negative);

}  // namespace gs
