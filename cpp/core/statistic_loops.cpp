#include "statistic_loops.hpp"

#include <algorithm>
#include <concepts>
#include <type_traits>
#include <utility>

#include "element.hpp"
#include "machine.hpp"
#include "parallel.hpp"
#include "sizes.hpp"
#include "statistic_rules.hpp"

namespace gs {
namespace {

using namespace rules;

// The distance at which slots outside the cache of a core are prefetched, in members.
constexpr int64_t slot_lookahead = tiny ? 2 : 24;

// A slot of the same group, without members.
template <class S>
typename S::Slot without_members(const typename S::Slot& slot) {
    if constexpr (requires { S::without_members(slot); })
        return S::without_members(slot);
    else
        return S::start();
}

// Adds the member with number i, whose value is x[k]. Running statistics also write its result. `x` is null if only
// labels are read.
template <class S, class T, class R>
GS_LOOP void add_member(typename S::Slot& slot, const T* x, int64_t k, int64_t i, R* out) {
    if constexpr (has_only_labels<S>)
        S::add(slot, T{}, i);
    else
        S::add(slot, x[k], i);
    if constexpr (runs<S>) out[i] = S::output(slot);
}

// Keeps the members of some groups, with their rows and positions. Returns their number.
inline int64_t keep_members(Range groups, int64_t n, int64_t* row, int64_t* position) {
    int64_t kept = 0;
    const auto size = static_cast<uint64_t>(groups.size());
    for (int64_t k = 0; k < n; ++k) {
        const int64_t r = row[k], p = position[k];
        row[kept] = r;
        position[kept] = p;
        kept += static_cast<uint64_t>(r) - static_cast<uint64_t>(groups.first) < size;
    }
    return kept;
}

// Whether a block has one label. The comparison of all labels has no branch.
GS_LOOP bool are_equal(const int64_t* labels) {
    int64_t differences = 0;
    for (int64_t k = 0; k < block; ++k) differences |= labels[k] ^ labels[0];
    return differences == 0;
}

// The size of the largest type of values, in bytes.
inline constexpr int64_t max_value_size = 16;

// The members of a block in one column: those with the numbers i to i + n. `x`: their values.
struct LabelBlock {
    const int64_t* labels;
    const std::byte* x;
    int64_t i, n;
};
// The members of a block that are in a share, with their labels. `far`: slots are prefetched.
struct PickedMembers {
    int64_t row[block], at[block], n;
    bool far;
};

// The loops that depend on a statistic and its types. Those that find members do not, so they are compiled once.
struct AddLoops {
    int64_t slot_size, value_size, result_size;  // result_size: of running statistics
    bool reads_values, runs;
    // Adds a block of members of the group r.
    void (*add_run)(std::byte* slots, const LabelBlock&, int64_t r, std::byte* out);
    // Adds members whose labels have been checked.
    void (*add_picked)(std::byte* slots, const LabelBlock&, const PickedMembers&, std::byte* out);
    // Adds members and checks their labels. `far`: slots are prefetched. False: a label is bad.
    bool (*add_checked)(std::byte* slots, const LabelBlock&, uint64_t groups, bool has_runs, bool far, std::byte* out);
    // Adds values to rows of slots. Those of the member position[k] are x[at[k]] and the next ones.
    void (*add_rows)(std::byte* slots, const std::byte* x, int64_t stride, int64_t width, const int64_t* row,
                     const int64_t* at, const int64_t* position, int64_t n, std::byte* out);
};

template <class S>
typename S::Slot* slots_of(std::byte* slots) {
    return reinterpret_cast<typename S::Slot*>(slots);
}
template <class S>
const typename S::Slot* slots_of(const std::byte* slots) {
    return reinterpret_cast<const typename S::Slot*>(slots);
}

// Adds a block of members of one group. Four slots hide the latency of an addition. Each has consecutive members,
// because the order matters to some statistics.
template <class S, class T, class R>
void add_run(std::byte* slots, const LabelBlock& members, int64_t r, std::byte* results) {
    typename S::Slot& slot = slots_of<S>(slots)[r];
    const T* const x = reinterpret_cast<const T*>(members.x);
    R* const out = reinterpret_cast<R*>(results);
    const int64_t first = members.i;
    constexpr int64_t parts = 4, size = block / parts;
    if constexpr (runs<S>) {
        typename S::Slot current = slot;
        for (int64_t k = 0; k < block; ++k) add_member<S>(current, x, k, first + k, out);
        slot = current;
    } else {
        typename S::Slot part[parts];
        for (typename S::Slot& each : part) each = without_members<S>(slot);
        for (int64_t k = 0; k < size; ++k) {
            GS_UNROLL_ALL
            for (int64_t p = 0; p < parts; ++p) add_member<S>(part[p], x, p * size + k, first + p * size + k, out);
        }
        for (const typename S::Slot& each : part) S::merge(slot, each);
    }
}

template <class S, class T, class R>
void add_picked(std::byte* all_slots, const LabelBlock& members, const PickedMembers& picked, std::byte* results) {
    typename S::Slot* const slots = slots_of<S>(all_slots);
    const T* const x = reinterpret_cast<const T*>(members.x);
    R* const out = reinterpret_cast<R*>(results);
    const int64_t kept = picked.n, i = members.i;
    for (int64_t k = 0; k < kept; ++k) {
        if (picked.far) prefetch(slots + picked.row[std::min(k + slot_lookahead, kept - 1)]);
        add_member<S>(slots[picked.row[k]], x, picked.at[k], i + picked.at[k], out);
    }
}

// Other threads may change labels. Each loop therefore reads a label once and checks what it has read.
template <class S, class T, class R>
bool add_checked(std::byte* all_slots, const LabelBlock& members, uint64_t groups, bool has_runs, bool far,
                 std::byte* results) {
    using Slot = typename S::Slot;
    Slot* const slots = slots_of<S>(all_slots);
    const T* const x = reinterpret_cast<const T*>(members.x);
    R* const out = reinterpret_cast<R*>(results);
    const int64_t *const labels = members.labels, n = members.n, i = members.i;
    const auto is_bad = [groups](int64_t r) { return static_cast<uint64_t>(r) >= groups; };
    int64_t k = 0;
    if (has_runs) {
        // The slot of a run of members stays in registers.
        while (k < n) {
            const int64_t r = read_once(labels[k]);
            if (is_bad(r)) return false;
            Slot slot = slots[r];
            do add_member<S>(slot, x, k, i + k, out);
            while (++k < n && read_once(labels[k]) == r);
            slots[r] = slot;
        }
        return true;
    }
    constexpr int64_t at_once = 4;
    for (; k + at_once <= n; k += at_once) {
        int64_t r[at_once];
        bool bad = false;
        GS_UNROLL_ALL
        for (int64_t j = 0; j < at_once; ++j) {
            r[j] = read_once(labels[k + j]);
            bad |= is_bad(r[j]);
        }
        if (bad) return false;
        if (far)
            for (int64_t j = 0; j < at_once; ++j) {
                const auto ahead = static_cast<uint64_t>(labels[std::min(k + j + slot_lookahead, n - 1)]);
                prefetch_ahead<Cache::first>(all_slots, static_cast<int64_t>(ahead * sizeof(Slot)));  // not checked yet
            }
        GS_UNROLL_ALL
        for (int64_t j = 0; j < at_once; ++j) add_member<S>(slots[r[j]], x, k + j, i + k + j, out);
    }
    for (; k < n; ++k) {
        const int64_t r = read_once(labels[k]);
        if (is_bad(r)) return false;
        add_member<S>(slots[r], x, k, i + k, out);
    }
    return true;
}

template <class S, class T, class R>
GS_LOOP void add_rows(std::byte* slots, const std::byte* x, int64_t stride, int64_t width, const int64_t* row,
                      const int64_t* at, const int64_t* position, int64_t n, std::byte* results) {
    [[maybe_unused]] R* const out = reinterpret_cast<R*>(results);
    for (int64_t k = 0; k < n; ++k) {
        typename S::Slot* const slot = slots_of<S>(slots) + row[k] * stride;
        const int64_t i = position[k];
        for (int64_t c = 0; c < width; ++c) {
            if constexpr (has_only_labels<S>)
                S::add(slot[c], T{}, i);
            else
                S::add(slot[c], reinterpret_cast<const T*>(x)[at[k] + c], i);
            if constexpr (runs<S>) out[i * stride + c] = S::output(slot[c]);
        }
    }
}

// Adds the members of a share, if there is one column. False: a label is bad, or the call has to stop. Guesses about
// labels choose the loop.
bool add_by_label(const LabeledValues& all, const StatisticShare& share, std::byte* slots, const AddLoops& loops,
                  std::byte* out) {
    alignas(max_value_size) std::byte buffer[block * max_value_size];
    int64_t widened[block];
    PickedMembers picked;
    const bool is_wide = all.labels.type() == IndexType::int64;
    const auto equal = version<are_equal>();
    const StoredValues stored = all.stored;
    const auto groups = static_cast<uint64_t>(all.call.groups);
    const auto is_bad = [groups](int64_t r) { return static_cast<uint64_t>(r) >= groups; };
    const bool filters = share.groups.size() < all.call.groups;
    const auto first = static_cast<uint64_t>(share.groups.first), size = static_cast<uint64_t>(share.groups.size());
    const int64_t slot_bytes = all.slots() * loops.slot_size;
    picked.far = slot_bytes > core_cache_bytes;
    const bool near = slot_bytes <= first_cache_bytes;
    int64_t next;
    for (int64_t i = share.members.first; i < share.members.last; i = next) {
        if (i / block % 16 == 0 && should_stop()) return false;
        next = std::min(i + block - i % block, share.members.last);  // the same blocks for any number of threads
        const int64_t n = next - i;
        const int64_t* labels = widened;
        if (is_wide)
            labels = reinterpret_cast<const int64_t*>(all.labels.at(i));
        else if (!all.labels.resolve(i, n, widened))
            return false;
        const std::byte* const x = loops.reads_values ? stored.read(i, n, buffer, loops.value_size) : nullptr;
        const auto repeats = [labels](int64_t k) { return labels[k] == labels[k + 1]; };
        const bool has_runs = n >= min_run_elements && repeats(n / 3) && repeats(n / 2);
        if (!near && !has_runs) {
            if (is_wide) prefetch_block(all.labels.at(i), n * 8, index_lookahead_bytes);
            if (x && x != buffer) prefetch_block(x, n * loops.value_size, updates_lookahead_bytes);
        }
        const LabelBlock members{labels, x, i, n};
        if (has_runs && n == block && labels[0] == labels[n - 1] && equal(labels)) {
            const int64_t r = read_once(labels[0]);
            if (is_bad(r)) return false;
            if (r >= share.groups.first && r < share.groups.last) loops.add_run(slots, members, r, out);
        } else if (filters) {
            // The order of labels is unpredictable, so the loop that finds the members has no branch.
            bool good = true;
            picked.n = 0;
            for (int64_t k = 0; k < n; ++k) {
                const int64_t r = read_once(labels[k]);
                good &= !is_bad(r);
                picked.row[picked.n] = r;
                picked.at[picked.n] = k;
                picked.n += static_cast<uint64_t>(r) - first < size;
            }
            if (!good) return false;
            loops.add_picked(slots, members, picked, out);
        } else if (!loops.add_checked(slots, members, groups, has_runs, picked.far, out)) {
            return false;
        }
    }
    return true;
}

// The same for several columns, and for labels that can be skipped.
bool add_blocks(const LabeledValues& all, const StatisticShare& share, std::byte* slots, const AddLoops& loops,
                std::byte* out) {
    const GroupStatistic& call = all.call;
    const StoredValues stored = all.stored;
    const int64_t columns = call.columns, value_size = loops.value_size;
    const bool filters = share.groups.size() < call.groups || all.labels.may_skip();
    const auto results = [&](int64_t column) { return loops.runs ? out + column * loops.result_size : nullptr; };
    int64_t row[block], position[block], at[block];
    alignas(max_value_size) std::byte buffer[block * max_value_size];
    for (int64_t i = share.members.first; i < share.members.last; i += block) {
        int64_t n = std::min(block, share.members.last - i);
        if (!all.labels.resolve(i, n, row)) return false;
        const std::byte* const x = columns > 1 || !loops.reads_values ? nullptr : stored.read(i, n, buffer, value_size);
        for (int64_t k = 0; k < n; ++k) position[k] = i + k;
        if (filters) n = keep_members(share.groups, n, row, position);
        if (columns == 1) {
            for (int64_t k = 0; k < n; ++k) at[k] = position[k] - i;
            loops.add_rows(slots, x, 1, 1, row, at, position, n, out);
        } else if (!stored.widen || !loops.reads_values) {
            for (int64_t k = 0; k < n; ++k) at[k] = position[k] * columns;
            const int64_t c = share.columns.first;
            loops.add_rows(slots + c * loops.slot_size, loops.reads_values ? stored.values + c * value_size : nullptr,
                           columns, share.columns.size(), row, at, position, n, results(c));
        } else {
            for (int64_t c = share.columns.first; c < share.columns.last; c += block) {
                // The rows that fit in the buffer are read at a time.
                const int64_t width = std::min(block, share.columns.last - c), rows = block / width;
                for (int64_t k = 0; k < rows; ++k) at[k] = k * width;
                for (int64_t k = 0; k < n; k += rows) {
                    const int64_t m = std::min(rows, n - k);
                    if (width == columns && !filters)
                        stored.read(position[k] * columns, m * columns, buffer, value_size);
                    else
                        for (int64_t r = 0; r < m; ++r)
                            stored.read(position[k + r] * columns + c, width, buffer + at[r] * value_size, value_size);
                    loops.add_rows(slots + c * loops.slot_size, buffer, columns, width, row + k, at, position + k, m,
                                   results(c));
                }
            }
        }
    }
    return true;
}

// Adds the members of a share to their slots. Running statistics write their results. False: a label is bad, or the
// call has to stop.
bool add_members(const LabeledValues& all, const StatisticShare& share, std::byte* slots, const AddLoops& loops,
                 std::byte* out) {
    const bool by_label = all.call.columns == 1 && !all.labels.may_skip();
    return (by_label ? add_by_label : add_blocks)(all, share, slots, loops, out);
}

template <class S>
void start_slots(std::byte* slots, Range range) {
    for (int64_t s = range.first; s < range.last; ++s) slots_of<S>(slots)[s] = S::start();
}

template <class S>
void merge_slots(std::byte* slots, const std::byte* later, Range range) {
    for (int64_t s = range.first; s < range.last; ++s) S::merge(slots_of<S>(slots)[s], slots_of<S>(later)[s]);
}

template <class S>
auto result_of(const typename S::Slot& slot, const std::byte* fill) {
    if constexpr (runs<S>)
        return S::output(slot);
    else if constexpr (requires { S::result(slot); })
        return S::result(slot);
    else
        return S::result(slot, *reinterpret_cast<const decltype(slot.value)*>(fill));
}

template <class S>
using ResultOf = decltype(result_of<S>(std::declval<typename S::Slot>(), nullptr));

template <class S>
void finish_slots(const std::byte* slots, Range range, const std::byte* fill, std::byte* results, int64_t* counts) {
    for (int64_t s = range.first; s < range.last; ++s) {
        const auto& slot = slots_of<S>(slots)[s];
        reinterpret_cast<ResultOf<S>*>(results)[s] = result_of<S>(slot, fill);
        if constexpr (requires { slot.n(); }) counts[s] = slot.n();
    }
}

template <class S, class T, class R>
bool add_to_slots(const LabeledValues& all, const StatisticShare& share, std::byte* slots, std::byte* out) {
    static_assert(sizeof(T) <= max_value_size);
    constexpr auto rows = add_rows<S, T, R>;
    const AddLoops loops{sizeof(typename S::Slot),
                         sizeof(T),
                         sizeof(R),
                         !has_only_labels<S>,
                         runs<S>,
                         add_run<S, T, R>,
                         add_picked<S, T, R>,
                         add_checked<S, T, R>,
                         float_version<rows>()};
    return add_members(all, share, slots, loops, out);
}

// Loops without results. Running statistics write results of type R while members are added.
template <class S, class T, class R = std::byte>
StatisticLoops make_walk() {
    StatisticLoops loops{};
    loops.slot_size = sizeof(typename S::Slot);
    loops.is_exact = is_exact<S>;
    loops.add = add_to_slots<S, T, R>;
    if constexpr (requires { S::start(); }) loops.start = start_slots<S>;
    if constexpr (!runs<S>) loops.merge = merge_slots<S>;
    return loops;
}

template <class S, class T>
StatisticLoops make_loops() {
    using R = ResultOf<S>;
    StatisticLoops loops = make_walk<S, T, R>();
    loops.result_size = sizeof(R);
    if constexpr (!runs<S> && !std::same_as<R, typename S::Slot>) loops.finish = finish_slots<S>;
    return loops;
}

template <class S>
using KeepAll = S;

template <template <class> class Rule>
constexpr bool skips_nan = !std::same_as<Rule<Count<float>>, Count<float>>;

// The loops for numbers of type T.
template <class T, template <class> class Rule>
StatisticLoops loops_of(Statistic statistic) {
    constexpr bool skips = skips_nan<Rule>;
    using Least = std::conditional_t<skips, RunningExtremumOfNumbers<T, false>, RunningExtremum<T, false>>;
    using Greatest = std::conditional_t<skips, RunningExtremumOfNumbers<T, true>, RunningExtremum<T, true>>;
    // If NaN is not skipped, some statistics read only labels. Their values count as int32.
    if constexpr (skips || std::same_as<T, int32_t>) {
        switch (statistic) {
            case Statistic::first_position: return make_loops<Rule<Position<T, false>>, T>();
            case Statistic::last_position: return make_loops<Rule<Position<T, true>>, T>();
            case Statistic::count: return make_loops<Rule<Count<T>>, T>();
            case Statistic::occupied: return make_loops<Rule<Occupied<T>>, T>();
            default: break;
        }
    }
    if constexpr (!std::same_as<T, uint64_t>) {
        switch (statistic) {
            case Statistic::sum: return make_loops<Rule<Sum<T>>, T>();
            case Statistic::prod: return make_loops<Rule<Product<T>>, T>();
            case Statistic::any: return make_loops<Rule<Truth<T, false>>, T>();
            case Statistic::all: return make_loops<Rule<Truth<T, true>>, T>();
            case Statistic::cumsum: return make_loops<Rule<Running<Sum<T>, T>>, T>();
            case Statistic::cumprod: return make_loops<Rule<Running<Product<T>, T>>, T>();
            default: break;
        }
    }
    switch (statistic) {
        case Statistic::sum_of_squares: return make_loops<Rule<SumOfSquares<T>>, T>();
        case Statistic::mean: return make_loops<Rule<Mean<T>>, T>();
        case Statistic::min: return make_loops<Rule<Extremum<T, false>>, T>();
        case Statistic::max: return make_loops<Rule<Extremum<T, true>>, T>();
        case Statistic::argmin: return make_loops<Rule<PositionOfExtremum<T, false>>, T>();
        case Statistic::argmax: return make_loops<Rule<PositionOfExtremum<T, true>>, T>();
        case Statistic::cummin: return make_loops<Least, T>();
        case Statistic::cummax: return make_loops<Greatest, T>();
        default: return {};
    }
}

template <class S>
bool count_members(const std::byte* slots, Range range, int64_t* counts) {
    bool precise = true;
    for (int64_t s = range.first; s < range.last; ++s) {
        const auto& slot = slots_of<S>(slots)[s];
        counts[s] = slot.n;
        precise &= S::is_precise(slot);
    }
    return precise;
}

template <class S>
void restart_slots(std::byte* slots, const std::byte* found, Range range) {
    for (int64_t s = range.first; s < range.last; ++s) slots_of<S>(slots)[s] = S::start(slots_of<S>(found)[s]);
}

template <class S>
void finish_deviations(const std::byte* slots, Range range, const StatisticResults& to) {
    for (int64_t s = range.first; s < range.last; ++s) {
        const auto& slot = slots_of<S>(slots)[s];
        const int64_t n = to.counts[s];
        reinterpret_cast<double*>(to.values)[s] = S::result(slot, n);
        if (!to.centers) continue;
        reinterpret_cast<typename S::Center*>(to.centers)[s] = slot.center;
        reinterpret_cast<typename S::Distance*>(to.rests)[s] = S::rest(slot, n);
    }
}

template <class T, template <class> class Rule>
DeviationLoops deviation_loops_of() {
    using FromFirst = Rule<DistancesFromFirst<T>>;
    using FromMean = Rule<SquaredDeviations<T>>;
    return {make_walk<FromFirst, T>(), make_walk<FromMean, T>(), count_members<FromFirst>, restart_slots<FromMean>,
            finish_deviations<FromMean>};
}

template <class T>
constexpr bool is_computed = std::same_as<T, int32_t> || std::same_as<T, int64_t> || std::same_as<T, uint64_t> ||
                             std::same_as<T, float> || std::same_as<T, double> || std::same_as<T, complex128>;

}  // namespace

DType computed_type(DType values) {
    switch (values) {
        case DType::boolean:
        case DType::int8:
        case DType::int16:
        case DType::uint8:
        case DType::uint16: return DType::int32;
        case DType::uint32: return DType::int64;
        case DType::float16:
        case DType::bfloat16: return DType::float32;
        case DType::complex64: return DType::complex128;
        default: return values;
    }
}

StatisticLoops statistic_loops(Statistic statistic, DType computed, bool skip_nan) {
    switch (statistic) {  // results are identical for int64 and uint64
        case Statistic::sum:
        case Statistic::prod:
        case Statistic::any:
        case Statistic::all:
        case Statistic::cumsum:
        case Statistic::cumprod:
            if (computed == DType::uint64) return loops_of<int64_t, KeepAll>(statistic);
            break;
        default: break;
    }
    return visit(computed, StatisticLoops{}, [=]<class T>(std::type_identity<T>) -> StatisticLoops {
        if constexpr (!is_computed<T>)
            return {};
        else if constexpr (Float<T> || Complex<T>)
            return skip_nan ? loops_of<T, SkipNan>(statistic) : loops_of<T, KeepAll>(statistic);
        else
            return loops_of<T, KeepAll>(statistic);
    });
}

DeviationLoops deviation_loops(DType computed, bool skip_nan) {
    return visit(computed, DeviationLoops{}, [=]<class T>(std::type_identity<T>) -> DeviationLoops {
        if constexpr (!is_computed<T>)
            return {};
        else if constexpr (Float<T> || Complex<T>)
            return skip_nan ? deviation_loops_of<T, SkipNan>() : deviation_loops_of<T, KeepAll>();
        else
            return deviation_loops_of<T, KeepAll>();
    });
}

}  // namespace gs
