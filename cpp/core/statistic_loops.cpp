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

// Adds a block of members of one group. Four slots hide the latency of an addition. Each has consecutive members,
// because the order matters to some statistics.
template <class S, class T, class R>
void add_run(typename S::Slot& slot, const T* x, int64_t first, R* out) {
    constexpr int64_t parts = 4, size = block / parts;
    if constexpr (runs<S>) {
        typename S::Slot current = slot;
        for (int64_t k = 0; k < block; ++k) add_member<S>(current, x, k, first + k, out);
        slot = current;
    } else {
        typename S::Slot part[parts];
        for (typename S::Slot& each : part) each = without_members<S>(slot);
        for (int64_t k = 0; k < size; ++k)
            for (int64_t p = 0; p < parts; ++p) add_member<S>(part[p], x, p * size + k, first + p * size + k, out);
        for (const typename S::Slot& each : part) S::merge(slot, each);
    }
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

// Adds the members of a share, if there is one column. False: a label is bad, or the call has to stop. Other threads
// may change labels. Each loop therefore reads a label once and checks what it has read. Guesses about labels choose
// the loop.
template <class S, class T, class R>
bool add_by_label(const LabeledValues& all, const StatisticShare& share, typename S::Slot* slots, R* out) {
    using Slot = typename S::Slot;
    T buffer[block];
    int64_t widened[block];
    const bool is_wide = all.labels.type() == IndexType::int64;
    const auto equal = version<are_equal>();
    const StoredValues stored = all.stored;
    const auto groups = static_cast<uint64_t>(all.call.groups);
    const auto is_bad = [groups](int64_t r) { return static_cast<uint64_t>(r) >= groups; };
    const bool filters = share.groups.size() < all.call.groups;
    const auto first = static_cast<uint64_t>(share.groups.first), size = static_cast<uint64_t>(share.groups.size());
    const int64_t slot_bytes = all.slots() * static_cast<int64_t>(sizeof(Slot));
    const bool far = slot_bytes > core_cache_bytes, near = slot_bytes <= first_cache_bytes;
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
        const T* const x = has_only_labels<S> ? nullptr : stored.read(i, n, buffer);
        const auto repeats = [labels](int64_t k) { return labels[k] == labels[k + 1]; };
        const bool has_runs = n >= min_run_elements && repeats(n / 3) && repeats(n / 2);
        if (!near && !has_runs) {
            if (is_wide) prefetch_block(all.labels.at(i), n * 8, index_lookahead_bytes);
            if (x && x != buffer)
                prefetch_block(reinterpret_cast<const std::byte*>(x), n * static_cast<int64_t>(sizeof(T)),
                               updates_lookahead_bytes);
        }
        if (has_runs && n == block && labels[0] == labels[n - 1] && equal(labels)) {
            const int64_t r = read_once(labels[0]);
            if (is_bad(r)) return false;
            if (r >= share.groups.first && r < share.groups.last) add_run<S>(slots[r], x, i, out);
        } else if (filters) {
            // The order of labels is unpredictable, so the loop that finds the members has no branch.
            int64_t row[block], at[block], kept = 0;
            bool good = true;
            for (int64_t k = 0; k < n; ++k) {
                const int64_t r = read_once(labels[k]);
                good &= !is_bad(r);
                row[kept] = r;
                at[kept] = k;
                kept += static_cast<uint64_t>(r) - first < size;
            }
            if (!good) return false;
            for (int64_t k = 0; k < kept; ++k) {
                if (far) prefetch(slots + row[std::min(k + slot_lookahead, kept - 1)]);
                add_member<S>(slots[row[k]], x, at[k], i + at[k], out);
            }
        } else if (has_runs) {
            // The slot of a run of members stays in registers.
            for (int64_t k = 0; k < n;) {
                const int64_t r = read_once(labels[k]);
                if (is_bad(r)) return false;
                Slot slot = slots[r];
                do add_member<S>(slot, x, k, i + k, out);
                while (++k < n && read_once(labels[k]) == r);
                slots[r] = slot;
            }
        } else if (far) {
            for (int64_t k = 0; k < n; ++k) {
                const auto ahead = static_cast<uint64_t>(labels[std::min(k + slot_lookahead, n - 1)]);
                prefetch_ahead<Cache::first>(reinterpret_cast<const std::byte*>(slots),
                                             static_cast<int64_t>(ahead * sizeof(Slot)));
                const int64_t r = read_once(labels[k]);
                if (is_bad(r)) return false;
                add_member<S>(slots[r], x, k, i + k, out);
            }
        } else {
            constexpr int64_t at_once = 4;
            int64_t k = 0;
            for (; k + at_once <= n; k += at_once) {
                int64_t r[at_once];
                bool bad = false;
                GS_UNROLL_ALL
                for (int64_t j = 0; j < at_once; ++j) {
                    r[j] = read_once(labels[k + j]);
                    bad |= is_bad(r[j]);
                }
                if (bad) return false;
                GS_UNROLL_ALL
                for (int64_t j = 0; j < at_once; ++j) add_member<S>(slots[r[j]], x, k + j, i + k + j, out);
            }
            for (; k < n; ++k) {
                const int64_t r = read_once(labels[k]);
                if (is_bad(r)) return false;
                add_member<S>(slots[r], x, k, i + k, out);
            }
        }
    }
    return true;
}

// Adds values to rows of slots. Those of the member position[k] are x[at[k]] and the next ones. Running statistics also
// write results.
template <class S, class T, class R>
GS_LOOP void add_rows(typename S::Slot* slots, const T* x, int64_t stride, int64_t width, const int64_t* row,
                      const int64_t* at, const int64_t* position, int64_t n, R* out) {
    for (int64_t k = 0; k < n; ++k) {
        typename S::Slot* const slot = slots + row[k] * stride;
        const T* const values = x + at[k];
        const int64_t i = position[k];
        for (int64_t c = 0; c < width; ++c) {
            S::add(slot[c], values[c], i);
            if constexpr (runs<S>) out[i * stride + c] = S::output(slot[c]);
        }
    }
}

// The same as add_by_label for several columns, and for labels that can be skipped.
template <class S, class T, class R>
bool add_blocks(const LabeledValues& all, const StatisticShare& share, typename S::Slot* slots, R* out) {
    const GroupStatistic& call = all.call;
    const StoredValues stored = all.stored;
    const int64_t columns = call.columns;
    const bool filters = share.groups.size() < call.groups || all.labels.may_skip();
    const auto results = [out](int64_t column) { return runs<S> ? out + column : nullptr; };
    constexpr auto loop = add_rows<S, T, R>;
    const auto add = float_version<loop>();
    int64_t row[block], position[block], at[block];
    T buffer[block];
    for (int64_t i = share.members.first; i < share.members.last; i += block) {
        int64_t n = std::min(block, share.members.last - i);
        if (!all.labels.resolve(i, n, row)) return false;
        const T* const x = columns > 1 || has_only_labels<S> ? nullptr : stored.read(i, n, buffer);
        for (int64_t k = 0; k < n; ++k) position[k] = i + k;
        if (filters) n = keep_members(share.groups, n, row, position);
        if (columns == 1) {
            for (int64_t k = 0; k < n; ++k) add_member<S>(slots[row[k]], x, position[k] - i, position[k], out);
        } else if (!stored.widen) {
            for (int64_t k = 0; k < n; ++k) at[k] = position[k] * columns;
            const int64_t c = share.columns.first;
            add(slots + c, stored.read<T>(c, 0, nullptr), columns, share.columns.size(), row, at, position, n,
                results(c));
        } else {
            for (int64_t c = share.columns.first; c < share.columns.last; c += block) {
                // As many rows as the buffer has room for are read at a time.
                const int64_t width = std::min(block, share.columns.last - c), rows = block / width;
                for (int64_t k = 0; k < rows; ++k) at[k] = k * width;
                for (int64_t k = 0; k < n; k += rows) {
                    const int64_t m = std::min(rows, n - k);
                    if (width == columns && !filters)
                        stored.read(position[k] * columns, m * columns, buffer);
                    else
                        for (int64_t r = 0; r < m; ++r)
                            stored.read(position[k + r] * columns + c, width, buffer + at[r]);
                    add(slots + c, buffer, columns, width, row + k, at, position + k, m, results(c));
                }
            }
        }
    }
    return true;
}

// Adds the members of a share to their slots. Running statistics write their results. False: a label is bad, or the
// call has to stop.
template <class S, class T, class R>
bool add_members(const LabeledValues& all, const StatisticShare& share, typename S::Slot* slots, R* out) {
    if (all.call.columns == 1 && !all.labels.may_skip()) return add_by_label<S, T>(all, share, slots, out);
    return add_blocks<S, T>(all, share, slots, out);
}

template <class S>
typename S::Slot* slots_of(std::byte* slots) {
    return reinterpret_cast<typename S::Slot*>(slots);
}
template <class S>
const typename S::Slot* slots_of(const std::byte* slots) {
    return reinterpret_cast<const typename S::Slot*>(slots);
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
    return add_members<S, T>(all, share, slots_of<S>(slots), reinterpret_cast<R*>(out));
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
    if constexpr (skips || std::same_as<T, int32_t>) {
        if (statistic == Statistic::first_position) return make_loops<Rule<Position<T, false>>, T>();
        if (statistic == Statistic::last_position) return make_loops<Rule<Position<T, true>>, T>();
    }
    using Least = std::conditional_t<skips, RunningExtremumOfNumbers<T, false>, RunningExtremum<T, false>>;
    using Greatest = std::conditional_t<skips, RunningExtremumOfNumbers<T, true>, RunningExtremum<T, true>>;
    switch (statistic) {
        case Statistic::count: return make_loops<Rule<Count<T>>, T>();
        case Statistic::occupied: return make_loops<Rule<Occupied<T>>, T>();
        case Statistic::sum: return make_loops<Rule<Sum<T>>, T>();
        case Statistic::prod: return make_loops<Rule<Product<T>>, T>();
        case Statistic::sum_of_squares: return make_loops<Rule<SumOfSquares<T>>, T>();
        case Statistic::mean: return make_loops<Rule<Mean<T>>, T>();
        case Statistic::min: return make_loops<Rule<Extremum<T, false>>, T>();
        case Statistic::max: return make_loops<Rule<Extremum<T, true>>, T>();
        case Statistic::argmin: return make_loops<Rule<PositionOfExtremum<T, false>>, T>();
        case Statistic::argmax: return make_loops<Rule<PositionOfExtremum<T, true>>, T>();
        case Statistic::any: return make_loops<Rule<Truth<T, false>>, T>();
        case Statistic::all: return make_loops<Rule<Truth<T, true>>, T>();
        case Statistic::cumsum: return make_loops<Rule<Running<Sum<T>, T>>, T>();
        case Statistic::cumprod: return make_loops<Rule<Running<Product<T>, T>>, T>();
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
                             std::same_as<T, float> || std::same_as<T, double> || Complex<T>;

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
        default: return values;
    }
}

StatisticLoops statistic_loops(Statistic statistic, DType computed, bool skip_nan) {
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
