// Gather and reduce: bags given by offsets, by segment ids or by the last dimension of indices.
#pragma once

#include <cstddef>
#include <cstdint>

#include "combine.hpp"
#include "index.hpp"

namespace gs {

// What says which members are in a bag. A member is an index, in the order of the indices.
enum class BagForm : uint8_t {
    last_dimension,  // all bags have the same number of members
    offsets,         // where each bag begins: ascending, the first one 0
    segment_ids,     // the bag of each member, in any order; counted from the end, too, where bags have first members
};

struct GatherReduce {
    BagForm form;
    int64_t members, bags;
    int64_t data_rows, width;
    Rule rule;        // of the indices
    Combine combine;  // include_self: out holds a first member of each bag

    // What segment ids may be: with first members, what the indices of a scatter may be.
    Rule segment_rule() const { return {Mode::raise, combine.include_self}; }
};

struct GatherReduceInputs {
    const std::byte* data;
    const void* indices;
    IndexType index_type;
    const void* places;  // offsets or segment ids
    IndexType place_type;
    const std::byte* weights;  // an element for each member, or null
};

enum class BagFault : uint8_t {
    none,
    indices,        // one is out of range
    offsets,        // one is out of range
    offsets_order,  // one is less than the one before it
    offsets_start,  // the first one is not 0
    segment_ids,    // one is out of range
    changed,        // another thread has changed an input, or the call is to stop
};

// out[b, :] = the reduction of the rows of data that the members of bag b name; zeros where there are none. The bits
// are those of a gather, a multiplication and a scatter. Where out holds first members, it is not written to before all
// inputs are checked. With another fault than none, any other out has undefined contents.
[[nodiscard]] BagFault gather_reduce(const GatherReduce&, const GatherReduceInputs&, std::byte* out);

}  // namespace gs
