// Gather and reduce. Bags are given by offsets, by pointers, by segment ids, or by the last dimension of indices.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "bags.hpp"
#include "combine.hpp"
#include "index.hpp"
#include "scratch.hpp"

namespace gs {

// How the members of bags are given. A member is one of the indices, in their order.
enum class BagForm : uint8_t {
    last_dimension,  // all bags have the same number of members
    offsets,         // the start of each bag: ascending, and 0 for the first bag
    indptr,          // the same, followed by the end of the last bag, which is the number of members
    segment_ids,     // the bag of each member, in any order; negative ids are allowed where bags have first members
};

inline constexpr int64_t unknown_bags = -1;  // with segment ids: the greatest id plus 1

struct GatherReduce {
    BagForm form;
    int64_t members, bags;
    int64_t data_rows, width;
    Rule rule;        // the rule for indices
    Combine combine;  // include_self: `out` initially holds the first member of each bag
    // The rules of OpenVINO: the first offset can be greater than 0, and the members before it are in no bag. Segment
    // ids must be sorted.
    bool embedding_rules = false;

    // The rule for segment ids. With first members, they follow the rule for the indices of a scatter.
    Rule segment_rule() const {
        if (rule.negative == Negative::skip) return {Mode::raise, Negative::skip};
        return {Mode::raise, combine.include_self ? Negative::end : Negative::error};
    }
};

struct GatherReduceInputs {
    const std::byte* data;  // not used with a decoder
    const void* indices;    // null: member m is row m of data
    IndexType index_type;
    const void* bag_values;  // offsets, indptr or segment ids
    IndexType bag_type;
    const std::byte* weights;              // one element per member, or null
    const std::byte* empty = nullptr;      // the result for a bag without members: one element; null: zeros
    const std::byte* empty_row = nullptr;  // the same as a row, instead of `empty`
    const RowDecoder* decoder = nullptr;   // of the rows of a quantized table
};

enum class BagFault : uint8_t {
    none,
    indices,        // an index is out of range
    offsets,        // an offset is out of range
    offsets_order,  // an offset is less than the one before it
    offsets_start,  // the first offset is not 0
    offsets_end,    // the last number of indptr is not the number of members
    segment_ids,    // a segment id is out of range
    ids_order,      // a segment id is less than the one before it
    too_large,      // there are more bags than memory can hold
    changed,        // another thread has changed an input, or the call has to stop
};

// Bags that `find_bags` has found.
struct FoundBags {
    const int64_t* starts = nullptr;  // bags + 1 numbers
    // If segment ids were not sorted, or members were skipped: the row and the weight of each member, in the order of
    // the bags.
    bool is_sorted = true;
    const int64_t* rows = nullptr;
    const std::byte* weights = nullptr;
    std::optional<Scratch> starts_memory, rows_memory, weights_memory;
};

// Returns the greatest segment id plus 1, at most INT64_MAX; 0 if all are negative.
int64_t count_bags(const GatherReduceInputs&, int64_t members);

// Finds the bags of a call, and sets the number of bags if it is unknown. Indices are only read if segment ids are not
// sorted. Not for rows without elements: the number of bags can then be larger than memory.
[[nodiscard]] BagFault find_bags(GatherReduce&, const GatherReduceInputs&, FoundBags&);

// Checks the inputs of a call whose rows have no elements, and sets the number of bags if it is unknown.
[[nodiscard]] BagFault check_inputs(GatherReduce&, const GatherReduceInputs&);

// out[b, :] = the reduction of the rows of data that the members of bag b name. Results are bit-for-bit identical to a
// gather, a multiplication and a scatter. If `out` holds first members, all inputs are checked before `out` is written.
// Otherwise, `out` has undefined contents after any fault.
[[nodiscard]] BagFault reduce_found(const GatherReduce&, const GatherReduceInputs&, const FoundBags&, std::byte* out);

// Finds bags and reduces them.
[[nodiscard]] BagFault gather_reduce(const GatherReduce&, const GatherReduceInputs&, std::byte* out);

// The bytes that a call needs, without its inputs and its output, and the route of its kernel. `has_negative`: some
// indices are negative. Segment ids that are not sorted were found without indices.
struct BagCosts {
    int64_t scratch;
    BagRoute route;
};
BagCosts estimate_costs(const GatherReduce&, const GatherReduceInputs&, const FoundBags&, bool has_negative);

}  // namespace gs
