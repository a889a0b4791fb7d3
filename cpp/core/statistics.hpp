// Statistics of groups. Each member has a label, the number of its group. Labels are shared by all columns, and members
// of a group are in the order of their positions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>

#include "dtype.hpp"
#include "index.hpp"

namespace gs {

enum class Statistic : uint8_t {
    count,
    occupied,  // whether the group has members
    sum,
    prod,
    sum_of_squares,  // of the magnitudes of complex numbers
    mean,
    squared_deviations,  // their sum: the variance times the number of members
    moments,             // squared deviations, and the mean as a center plus a rest
    min,
    max,
    argmin,  // positions of members; -1: there is none, or the group has a NaN
    argmax,
    first,
    last,
    first_position,  // of members; -1: there is none
    last_position,
    any,
    all,
    cumsum,  // the running statistics have a result for each member
    cumprod,
    cummin,
    cummax,
};
inline constexpr const char* statistic_names[] = {
    "count", "occupied", "sum",    "prod",    "sum_of_squares", "mean",  "squared_deviations", "moments",
    "min",   "max",      "argmin", "argmax",  "first",          "last",  "first_position",     "last_position",
    "any",   "all",      "cumsum", "cumprod", "cummin",         "cummax"};
static_assert(std::size(statistic_names) == static_cast<size_t>(Statistic::cummax) + 1);

inline bool is_running(Statistic statistic) { return statistic >= Statistic::cumsum; }
// Whether only labels are read. The result then has one column.
inline bool reads_labels_only(Statistic statistic, bool skip_nan) {
    using enum Statistic;
    return statistic == first_position || statistic == last_position ||
           (!skip_nan && (statistic == count || statistic == occupied));
}
// Whether groups without members have the result that the caller gives.
inline bool has_fill(Statistic statistic) {
    using enum Statistic;
    return statistic == min || statistic == max || statistic == first || statistic == last || statistic == any ||
           statistic == all;
}
// Whether the number of members is a second result.
inline bool has_counts(Statistic statistic) {
    using enum Statistic;
    return statistic == mean || statistic == squared_deviations || statistic == moments;
}

struct GroupStatistic {
    Statistic statistic;
    DType dtype;    // of the values
    bool skip_nan;  // values that are NaN do not count
    int64_t outer, members, columns, groups;
    const std::byte* fill = nullptr;  // a result, if the statistic has one

    int64_t results() const { return is_running(statistic) ? members : groups; }  // in a column
};

// Where results go. Most statistics have only values.
struct StatisticResults {
    std::byte* values;
    int64_t* counts = nullptr;
    // The moments have a number near the mean, of the type in which values are added, and the distance of the mean from
    // it. They show the mean of large integers exactly.
    std::byte* centers = nullptr;
    std::byte* rests = nullptr;
};

// The types of the centers of moments, and of their rests.
DType center_type(DType values);
DType rest_type(DType values);

// The type of the results. Sums and products of integers have 64 bits. Those of floats are float64, but running ones
// have the type of the values. Opaque: values of this type have no such statistic.
DType result_type(Statistic, DType values);

// values[o, i, c] belongs to group labels[i]. Results of groups have the indices [o, g, c], and those of members [o,
// i, c]. Labels that the index skips belong to no group. Sums of floats do not depend on the number of threads. If
// labels do not ascend, members are divided into up to eight parts, whose number follows from the shape, and the sums
// of the parts are added in their order. In the same way, a block of members of one group is divided into four. False:
// a label is bad, or the call has to stop. The results are then undefined.
[[nodiscard]] bool compute_statistic(const GroupStatistic&, const std::byte* values, const Index& labels,
                                     const StatisticResults&);

// Sorts the values of each group, which are values[starts[g]], ..., values[starts[g + 1] - 1]. NaN comes last, as in
// NumPy. With `ranks`, only the values with the ranks ranks[g] and ranks[g] + 1 of each group get to their positions,
// and NaN to the last ones; a group with rank -1 is not changed. False: the starts do not ascend from 0 to `count`, a
// rank is too large, or the call has to stop.
[[nodiscard]] bool sort_groups(const int64_t* starts, int64_t groups, int64_t count, DType, std::byte* values,
                               const int64_t* ranks);

// Returns the greatest label. If a label is negative or does not fit, the result is negative.
int64_t find_greatest_label(const void* labels, IndexType, int64_t count);

}  // namespace gs
