// Gather and reduce. Bags are given by offsets, by segment ids, or by the last dimension of indices.
#pragma once

#include <cstddef>
#include <cstdint>

#include "combine.hpp"
#include "index.hpp"

namespace gs {

// How the members of bags are given. A member is one of the indices, in their order.
enum class BagForm : uint8_t {
    last_dimension,  // all bags have the same number of members
    offsets,         // the start of each bag: ascending, and 0 for the first bag
    segment_ids,     // the bag of each member, in any order; negative ids are allowed where bags have first members
};

struct GatherReduce {
    BagForm form;
    int64_t members, bags;
    int64_t data_rows, width;
    Rule rule;        // the rule for indices
    Combine combine;  // include_self: `out` initially holds the first member of each bag

    // The rule for segment ids. With first members, they follow the rule for the indices of a scatter.
    Rule segment_rule() const { return {Mode::raise, combine.include_self}; }
};

struct GatherReduceInputs {
    const std::byte* data;
    const void* indices;
    IndexType index_type;
    const void* places;  // offsets or segment ids
    IndexType place_type;
    const std::byte* weights;  // one element per member, or null
};

enum class BagFault : uint8_t {
    none,
    indices,        // an index is out of range
    offsets,        // an offset is out of range
    offsets_order,  // an offset is less than the one before it
    offsets_start,  // the first offset is not 0
    segment_ids,    // a segment id is out of range
    changed,        // another thread has changed an input, or the call has to stop
};

// out[b, :] = the reduction of the rows of data that the members of bag b name. A bag without members gets zeros.
// Results are bit-for-bit identical to a gather, a multiplication and a scatter. If `out` holds first members, all
// inputs are checked before `out` is written. Otherwise, `out` has undefined contents after any fault.
[[nodiscard]] BagFault gather_reduce(const GatherReduce&, const GatherReduceInputs&, std::byte* out);

}  // namespace gs
