// The loops of a statistic for one type of values: they add members to slots, merge slots, and compute results. How
// members are divided between slots and threads does not matter here.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "casts.hpp"
#include "index.hpp"
#include "statistics.hpp"

namespace gs {

struct Range {
    int64_t first, last;
    int64_t size() const { return last - first; }
};

// The members, columns and groups that a task handles.
struct StatisticShare {
    Range members, columns, groups;
};

// Values in memory. Statistics compute with numbers of type T. `widen` converts the values to T. It is null if they
// have this type.
struct StoredValues {
    const std::byte* values;  // null if only labels are read
    CastBlock widen;
    int64_t size;  // of a value

    StoredValues from(int64_t i) const { return {values ? values + i * size : nullptr, widen, size}; }
    // Returns the values i to i + n, as numbers of `wide` bytes. `buffer` must have room for them.
    const std::byte* read(int64_t i, int64_t n, std::byte* buffer, int64_t wide) const {
        if (!widen) return values + i * size;
        for (int64_t k = 0; k < n; k += cast_block)
            (void)widen(values + (i + k) * size, buffer + k * wide, std::min(cast_block, n - k));
        return buffer;
    }
};

// The values of one part of the outer dims, and what belongs to them.
struct LabeledValues {
    const GroupStatistic& call;
    StoredValues stored;
    const Index& labels;
    bool ascending;  // labels ascend

    int64_t slots() const { return call.groups * call.columns; }
};

// Slots are in memory one after the other: slot_size bytes for each group and column.
struct StatisticLoops {
    int64_t slot_size, result_size;  // in bytes; deviations have no results here
    bool is_exact;                   // members can be divided in any way without changing a bit of the result

    // Makes slots without members. Null for distances from means: see DeviationLoops.
    void (*start)(std::byte* slots, Range);
    // Adds the members of a share to their slots. Running statistics write their results to `out`. False: a label is
    // bad, or the call has to stop.
    bool (*add)(const LabeledValues&, const StatisticShare&, std::byte* slots, std::byte* out);
    // Adds the slots of later members. Null: the statistic is a running one.
    void (*merge)(std::byte* slots, const std::byte* later, Range);
    // Computes the results of slots, and the numbers of their members if the statistic has them. `fill` is the result
    // without members, if the caller gives it. Null: slots are results, or there are none here.
    void (*finish)(const std::byte* slots, Range, const std::byte* fill, std::byte* results, int64_t* counts);
};

// Two walks over the members: the first takes their distances from the first member of a group. If these are not
// precise enough, the second takes their distances from the means.
struct DeviationLoops {
    StatisticLoops from_first, from_mean;  // their slots have the same type
    // Writes the numbers of members. Returns whether the distances of the first walk are precise enough.
    bool (*count)(const std::byte* slots, Range, int64_t* counts);
    // Makes slots for the second walk from those of the first.
    void (*restart)(std::byte* slots, const std::byte* found, Range);
    // Computes the results of either walk. Counts are read.
    void (*finish)(const std::byte* slots, Range, const StatisticResults&);
};

// The type with which statistics of values compute. It holds all of the values.
DType computed_type(DType values);

// The loops for values of a type that statistics compute with. There are none for first and last, and for squared
// deviations and moments. Statistics that read only labels have loops for int32.
StatisticLoops statistic_loops(Statistic, DType computed, bool skip_nan);
DeviationLoops deviation_loops(DType computed, bool skip_nan);

}  // namespace gs
