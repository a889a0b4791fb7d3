#include "statistics.hpp"

#include <algorithm>
#include <atomic>
#include <functional>
#include <initializer_list>
#include <optional>

#include "casts.hpp"
#include "element.hpp"
#include "groups.hpp"
#include "machine.hpp"
#include "parallel.hpp"
#include "scratch.hpp"
#include "sizes.hpp"
#include "statistic_loops.hpp"
#include "statistic_rules.hpp"

namespace gs {
namespace {

using namespace rules;

int64_t size_of(DType dtype) {
    return visit(dtype, int64_t{0}, []<class T>(std::type_identity<T>) { return int64_t{sizeof(T)}; });
}

template <class L>
GS_LOOP int64_t count_descents(const L* labels, int64_t n) {
    int64_t descents = 0;
    for (int64_t k = 0; k < n; ++k) descents += labels[k] > labels[k + 1];
    return descents;
}

// Whether labels ascend, at some samples and then everywhere.
template <class L>
bool ascend(const L* labels, int64_t count, int threads) {
    constexpr int64_t samples = 32;
    if (count < samples) return false;
    for (int64_t s = 0; s + 1 < samples; ++s)
        if (labels[count / samples * s] > labels[count / samples * (s + 1)]) return false;
    std::atomic<bool> good = true;
    constexpr auto loop = count_descents<L>;
    for_parts(count - 1, threads, [&](int64_t first, int64_t last) {
        constexpr int64_t at_once = 1 << 14;
        for (int64_t i = first; i < last && good; i += at_once) {
            if (version<loop>()(labels + i, std::min(at_once, last - i)) > 0) good = false;
        }
    });
    return good;
}

// The first member that belongs to a share of the ascending labels. All members of a group are in one share.
int64_t first_of_share(const Index& labels, int64_t members, int64_t i, int64_t shares) {
    if (i == 0 || i == shares) return i == 0 ? 0 : members;
    return visit_index_type(labels.type(), [&]<class L>(L) {
        const L* const typed = reinterpret_cast<const L*>(labels.at(0));
        return int64_t{std::lower_bound(typed, typed + members, typed[members / shares * i]) - typed};
    });
}

// The number of parts of the members. Unless the statistic is exact, it does not depend on the number of threads.
int64_t count_parts(const GroupStatistic& call, const StatisticLoops& loops, bool ascending, int threads) {
    constexpr int64_t min_members = tiny ? 2 : 1 << 14;
    const int64_t most = loops.is_exact ? std::min(threads, 8) : 8;
    const int64_t slots = std::max<int64_t>(saturating_multiply(call.groups, call.columns), 1);
    if (is_running(call.statistic) || ascending) return 1;
    // Clearing and merging slots takes less time than reading the members.
    const int64_t cost = std::max(saturating_multiply(slots, loops.slot_size) / 4, min_members);
    return std::clamp<int64_t>(call.members / cost, 1, most);
}

// Threads share columns if each gets at least this number of them.
constexpr int64_t min_columns = tiny ? 2 : 16;

// Arrays of slots, one for each part of the members. They share no cache lines, because different threads write them.
class SlotArrays {
  public:
    SlotArrays(int64_t arrays, int64_t count, int64_t slot_size)
        : stride_(saturating_multiply(count / line_size + 2, line_size * slot_size)),
          memory_(saturating_multiply(arrays, stride_) + line_size, false),
          offset_((line_size - reinterpret_cast<uintptr_t>(memory_.get()) % line_size) % line_size) {}
    std::byte* operator[](int64_t i) const { return memory_.get() + offset_ + i * stride_; }

  private:
    int64_t stride_;  // in bytes
    Scratch memory_;
    int64_t offset_;
};

// Makes slots without members.
using StartSlots = FunctionRef<void(std::byte* slots, Range)>;

// Computes the slots of a part of the outer dims. Further parts of the members have the spare arrays from
// `first_spare`.
bool fill_slots(const LabeledValues& all, const StatisticLoops& loops, int threads, StartSlots start, std::byte* slots,
                const SlotArrays& spares, int64_t first_spare, std::byte* out) {
    const GroupStatistic& call = all.call;
    const int64_t parts = count_parts(call, loops, all.ascending, threads), count = all.slots();
    const StatisticShare whole{{0, call.members}, {0, call.columns}, {0, call.groups}};
    std::atomic<bool> good = true;
    const auto add = [&](const StatisticShare& share, std::byte* target) {
        if (good && !loops.add(all, share, target, out)) good = false;
    };
    const auto bound = [](int64_t n, int64_t i, int64_t of) { return n / of * i + std::min(n % of, i); };
    if (parts > 1) {
        const auto run = [&](int64_t p, std::byte* target) {
            start(target, {0, count});
            StatisticShare share = whole;
            share.members = {bound(call.members, p, parts), bound(call.members, p + 1, parts)};
            add(share, target);
        };
        if (threads == 1) {
            run(0, slots);
            for (int64_t p = 1; p < parts && good; ++p) {
                run(p, spares[first_spare]);
                loops.merge(slots, spares[first_spare], {0, count});
            }
            return good;
        }
        run_tasks(static_cast<int>(parts), threads,
                  [&](int p) { run(p, p == 0 ? slots : spares[first_spare + p - 1]); });
        for_ranges(count, {count * parts, 16}, [&](int64_t first, int64_t last) {
            for (int64_t p = 1; p < parts; ++p) loops.merge(slots, spares[first_spare + p - 1], {first, last});
        });
        return good;
    }
    const int64_t units = call.columns / min_columns;
    const bool by_columns = units >= threads;
    // To find the members of its groups takes a thread about as long as to add them.
    const bool has_few_threads = is_running(call.statistic) && !by_columns && !all.ascending && threads < 4;
    if (threads == 1 || has_few_threads) {
        start(slots, {0, count});
        add(whole, slots);
        return good;
    }
    for_ranges(count, {count, 16}, [&](int64_t first, int64_t last) { start(slots, {first, last}); });
    run_tasks(threads, threads, [&](int i) {
        StatisticShare share = whole;
        if (by_columns)
            share.columns = {bound(units, i, threads) * min_columns,
                             i + 1 == threads ? call.columns : bound(units, i + 1, threads) * min_columns};
        else if (all.ascending)
            share.members = {first_of_share(all.labels, call.members, i, threads),
                             first_of_share(all.labels, call.members, i + 1, threads)};
        else
            share.groups = {bound(call.groups, i, threads), bound(call.groups, i + 1, threads)};
        add(share, slots);
    });
    return good;
}

// Calls f(o, lane, threads) for the parts of the outer dims. Lanes run at the same time, each with its own memory.
template <class F>
bool each_outer(const GroupStatistic& call, int lanes, int threads, F f) {
    std::atomic<bool> good = true;
    if (lanes == 1) {
        for (int64_t o = 0; o < call.outer; ++o)
            if (!f(o, 0, threads)) return false;
        return true;
    }
    run_tasks(lanes, lanes, [&](int lane) {
        for (int64_t o = call.outer * lane / lanes; o < call.outer * (lane + 1) / lanes && good; ++o)
            if (!f(o, lane, 1)) good = false;
    });
    return good;
}

// How a call is divided, and the memory for its slots.
struct Division {
    int threads, lanes;
    bool ascending;
    int64_t count;  // slots of a lane
    int64_t slot_size;
    int64_t spares = 0;  // arrays of further slots

    // `walks` use the memory one after the other.
    Division(const GroupStatistic& call, const Index& labels, int64_t value_size,
             std::initializer_list<const StatisticLoops*> walks)
        : threads(threads_for({call.outer * call.members * call.columns, value_size + 16})),
          lanes(threads > 1 && call.outer >= threads ? threads : 1),
          ascending(visit_index_type(
              labels.type(),
              [&]<class L>(L) { return ascend(reinterpret_cast<const L*>(labels.at(0)), call.members, threads); })),
          count(call.groups * call.columns),
          slot_size((*walks.begin())->slot_size) {
        const int at_once = lanes == 1 ? threads : 1;
        for (const StatisticLoops* walk : walks)
            if (const int64_t parts = count_parts(call, *walk, ascending, at_once); parts > 1)
                spares = std::max(spares, at_once > 1 ? parts - 1 : 1);
    }
    // The slots of each lane, and its spare ones after them.
    SlotArrays allocate(int64_t own) const { return SlotArrays(lanes * (own + spares), count, slot_size); }
};

LabeledValues values_of(const GroupStatistic& call, int64_t o, const StoredValues& values, const Index& labels,
                        const Division& division) {
    return {call, values.from(o * call.members * call.columns), labels, division.ascending};
}

bool reduce(const GroupStatistic& call, const StatisticLoops& loops, const StoredValues& values, const Index& labels,
            const StatisticResults& to) {
    if (!loops.add) return false;
    const Division division(call, labels, values.size, {&loops});
    const bool running = is_running(call.statistic);
    const int64_t own = running || loops.finish ? 1 : 0;  // otherwise slots are results
    const SlotArrays memory = division.allocate(own);
    return each_outer(call, division.lanes, division.threads, [&](int64_t o, int lane, int threads) {
        const int64_t array = lane * (own + division.spares), first = o * call.results() * call.columns;
        std::byte* const results = to.values + first * loops.result_size;
        std::byte* const slots = own == 0 ? results : memory[array];
        if (!fill_slots(values_of(call, o, values, labels, division), loops, threads, loops.start, slots, memory,
                        array + own, results))
            return false;
        if (loops.finish)
            for_ranges(division.count, {division.count, 32}, [&](int64_t begin, int64_t end) {
                loops.finish(slots, {begin, end}, call.fill, results, to.counts ? to.counts + first : nullptr);
            });
        return true;
    });
}

// The squared deviations. A second walk takes the distances from the means, if those from the first members are not
// precise enough.
bool reduce_deviations(const GroupStatistic& call, const DeviationLoops& loops, const StoredValues& values,
                       const Index& labels, const StatisticResults& to) {
    if (!loops.finish) return false;
    const Division division(call, labels, values.size, {&loops.from_first, &loops.from_mean});
    // A lane must not allocate memory. A single one allocates it when the second walk is needed.
    const int own = division.lanes == 1 ? 1 : 2;
    const SlotArrays memory = division.allocate(own);
    return each_outer(call, division.lanes, division.threads, [&](int64_t o, int lane, int threads) {
        const LabeledValues all = values_of(call, o, values, labels, division);
        const int64_t count = division.count, first = o * count, array = lane * (own + division.spares),
                      spare = array + own;
        std::byte* slots = memory[array];
        if (!fill_slots(all, loops.from_first, threads, loops.from_first.start, slots, memory, spare, nullptr))
            return false;
        std::atomic<bool> precise = true;
        for_ranges(count, {count, 32}, [&](int64_t begin, int64_t end) {
            if (!loops.count(slots, {begin, end}, to.counts + first)) precise = false;
        });
        std::optional<SlotArrays> further;
        if (!precise) {
            const std::byte* const found = slots;
            const auto restart = [&](std::byte* target, Range range) { loops.restart(target, found, range); };
            slots = own == 2 ? memory[array + 1] : further.emplace(1, count, division.slot_size)[0];
            if (!fill_slots(all, loops.from_mean, threads, restart, slots, memory, spare, nullptr)) return false;
        }
        StatisticResults results{to.values + first * int64_t{sizeof(double)}, to.counts + first};
        if (to.centers) {
            results.centers = to.centers + first * size_of(center_type(call.dtype));
            results.rests = to.rests + first * size_of(rest_type(call.dtype));
        }
        for_ranges(count, {count, 32}, [&](int64_t begin, int64_t end) { loops.finish(slots, {begin, end}, results); });
        return true;
    });
}

// A further statistic of a call. If NaN is not skipped, only labels are read, and results have one column.
struct Further {
    GroupStatistic call;
    DType computed;
    StatisticLoops loops;
    Scratch memory;

    Further(const GroupStatistic& of, DType type, Statistic statistic)
        : call(of),
          computed(of.skip_nan ? type : DType::int32),
          loops(statistic_loops(statistic, computed, of.skip_nan)),
          memory(saturating_multiply(of.skip_nan ? of.outer * of.groups * of.columns : of.groups, loops.result_size),
                 false) {
        call.statistic = statistic;
        if (!call.skip_nan) call.outer = call.columns = 1;
    }
    bool compute(const StoredValues& values, const Index& labels) const {
        return reduce(call, loops, call.skip_nan ? values : StoredValues{}, labels, {memory.get()});
    }
    template <class R>
    R result(int64_t outer, int64_t group, int64_t column) const {
        const int64_t at = call.skip_nan ? (outer * call.groups + group) * call.columns + column : group;
        return reinterpret_cast<const R*>(memory.get())[at];
    }
};

// Calls f(o, g, c) for the results of a call.
template <class F>
void each_result(const GroupStatistic& call, int64_t bytes, F f) {
    const int64_t columns = call.outer * call.columns;
    for_ranges(call.groups, {call.groups * columns, bytes}, [&](int64_t first, int64_t next) {
        for (int64_t o = 0; o < call.outer; ++o)
            for (int64_t g = first; g < next; ++g)
                for (int64_t c = 0; c < call.columns; ++c) f(o, g, c);
    });
}

// The values of the first or last members. They are moved, not computed with.
bool take_ends(const GroupStatistic& call, DType computed, const StoredValues& values, const Index& labels,
               std::byte* results) {
    const bool last = call.statistic == Statistic::last;
    const Further ends(call, computed, last ? Statistic::last_position : Statistic::first_position);
    if (!ends.compute(values, labels)) return false;
    return visit(call.dtype, false, [&]<class V>(std::type_identity<V>) {
        const auto* const from = reinterpret_cast<const V*>(values.values);
        auto* const out = reinterpret_cast<V*>(results);
        const V fill = *reinterpret_cast<const V*>(call.fill);
        each_result(call, 2 * sizeof(V), [&](int64_t o, int64_t g, int64_t c) {
            const auto at = ends.result<int64_t>(o, g, c);
            out[(o * call.groups + g) * call.columns + c] =
                at < 0 ? fill : from[(o * call.members + at) * call.columns + c];
        });
        return true;
    });
}

// Extrema. Groups without members have the fill value.
bool reduce_extrema(const GroupStatistic& call, DType computed, const StoredValues& values, const Index& labels,
                    const StatisticResults& to) {
    if (!reduce(call, statistic_loops(call.statistic, computed, call.skip_nan), values, labels, to)) return false;
    return visit(computed, false, [&]<class T>(std::type_identity<T>) {
        const bool greatest = call.statistic == Statistic::max;
        const T start = greatest ? limit<T, false>() : limit<T, true>(), fill = *reinterpret_cast<const T*>(call.fill);
        T* const out = reinterpret_cast<T*>(to.values);
        const auto may_be_empty = [&](T x) { return !is_nan(x) && !(greatest ? less(start, x) : less(x, start)); };
        std::atomic<bool> none = true;
        const int64_t count = call.outer * call.groups * call.columns;
        for_ranges(count, {count, sizeof(T)}, [&](int64_t first, int64_t next) {
            if (std::any_of(out + first, out + next, may_be_empty)) none = false;
        });
        if (none) return true;
        const Further occupied(call, computed, Statistic::occupied);
        if (!occupied.compute(values, labels)) return false;
        each_result(call, sizeof(T), [&](int64_t o, int64_t g, int64_t c) {
            if (!occupied.result<bool>(o, g, c)) out[(o * call.groups + g) * call.columns + c] = fill;
        });
        return true;
    });
}

// Calls the function for a statistic whose results have the type with which it computes, or that only moves values.
bool compute_as(DType computed, const GroupStatistic& call, const StoredValues& values, const Index& labels,
                const StatisticResults& to) {
    switch (call.statistic) {
        case Statistic::squared_deviations:
        case Statistic::moments:
            return reduce_deviations(call, deviation_loops(computed, call.skip_nan), values, labels, to);
        case Statistic::min:
        case Statistic::max: return reduce_extrema(call, computed, values, labels, to);
        case Statistic::first:
        case Statistic::last: return take_ends(call, computed, values, labels, to.values);
        default: return reduce(call, statistic_loops(call.statistic, computed, call.skip_nan), values, labels, to);
    }
}

// The order of NumPy's sort. Numbers without NaN come first, then those with an imaginary NaN, and then the others.
template <class T>
bool sorts_before(T a, T b) {
    if constexpr (Complex<T>) {
        if (sorts_before(a.real, b.real)) return !is_nan(a.imag) || is_nan(b.imag) || is_nan(b.real);
        if (sorts_before(b.real, a.real)) return is_nan(b.imag) && !is_nan(a.imag) && !is_nan(a.real);
        return sorts_before(a.imag, b.imag);
    } else {
        return less(a, b) || (!is_nan(a) && is_nan(b));
    }
}

// The greatest label as an unsigned number. Negative labels are the greatest.
template <class L>
GS_LOOP uint64_t greatest_of(const L* labels, int64_t n) {
    using U = std::make_unsigned_t<L>;
    U greatest = 0;
    for (int64_t k = 0; k < n; ++k) greatest = std::max(greatest, static_cast<U>(labels[k]));
    if constexpr (std::is_signed_v<L>)
        return static_cast<uint64_t>(int64_t{static_cast<L>(greatest)});
    else
        return greatest;
}

}  // namespace

DType center_type(DType values) {
    return values >= DType::complex64                          ? DType::complex128
           : values >= DType::float16                          ? DType::float64
           : values >= DType::uint8 && values <= DType::uint64 ? DType::uint64
                                                               : DType::int64;
}

DType rest_type(DType values) { return values >= DType::complex64 ? DType::complex128 : DType::float64; }

DType result_type(Statistic statistic, DType values) {
    const bool whole = values < DType::float16, complex = values >= DType::complex64;
    const DType wide = center_type(values);
    if (values == DType::opaque) return DType::opaque;
    switch (statistic) {
        case Statistic::sum:
        case Statistic::prod: return wide;
        case Statistic::cumsum:
        case Statistic::cumprod: return whole ? wide : values;
        case Statistic::sum_of_squares:
        case Statistic::squared_deviations:
        case Statistic::moments: return DType::float64;
        case Statistic::mean: return complex ? DType::complex128 : DType::float64;
        case Statistic::min:
        case Statistic::max:
        case Statistic::first:
        case Statistic::last:
        case Statistic::cummin:
        case Statistic::cummax: return values;
        case Statistic::occupied:
        case Statistic::any:
        case Statistic::all: return DType::boolean;
        default: return DType::int64;
    }
}

bool compute_statistic(const GroupStatistic& call, const std::byte* values, const Index& labels,
                       const StatisticResults& to) {
    if (call.outer == 0 || call.columns == 0) return labels.check(call.members);
    const DType computed = computed_type(call.dtype);
    GroupStatistic inner = call;
    inner.skip_nan = call.skip_nan && computed >= DType::float16;  // other types have no NaN
    if (reads_labels_only(call.statistic, inner.skip_nan))
        return reduce(inner, statistic_loops(call.statistic, DType::int32, false), StoredValues{}, labels, to);
    const ElementType from{call.dtype, size_of(call.dtype)}, wide{computed, size_of(computed)};
    const StoredValues stored{values, computed == call.dtype ? nullptr : block_caster(call.dtype, computed), from.size};
    const DType wide_result = result_type(call.statistic, computed);
    const int64_t result_size = size_of(result_type(call.statistic, call.dtype));
    const bool moves = call.statistic == Statistic::first || call.statistic == Statistic::last;
    if (moves || size_of(wide_result) == result_size) return compute_as(computed, inner, stored, labels, to);
    // Results of the type of the values are computed in the wider type.
    const int64_t count = saturating_multiply(call.outer * call.columns, call.results());
    const bool has_gaps = labels.may_skip();  // running statistics then leave out the results of some members
    const Scratch results(saturating_multiply(count, size_of(wide_result)), has_gaps);
    alignas(16) std::byte fill[16];
    if (call.fill) {
        if (!cast({call.fill, from, Shape{1}, Shape{from.size}}, wide, fill)) return false;
        inner.fill = fill;
    }
    StatisticResults inner_to = to;
    inner_to.values = results.get();
    const ElementType narrow{call.dtype == DType::boolean ? DType::uint8 : call.dtype, result_size};
    return compute_as(computed, inner, stored, labels, inner_to) &&
           cast({results.get(), wide, Shape{count}, Shape{wide.size}}, narrow, to.values);
}

namespace {

struct Stopped {};

// Compares two values. Throws Stopped if the call has to stop.
template <class T>
class Comparison {
  public:
    bool operator()(T x, T y) {
        if (++calls_ % (1 << 16) == 0 && should_stop_now()) throw Stopped();
        return less(x, y);
    }

  private:
    int64_t calls_ = 0;
};

}  // namespace

bool sort_groups(const int64_t* starts, int64_t groups, int64_t count, DType dtype, std::byte* values,
                 const int64_t* ranks) {
    return visit(dtype, false, [&]<class T>(std::type_identity<T>) {
        T* const typed = reinterpret_cast<T*>(values);
        const int64_t cost = ranks ? 32 : 128;  // about as many bytes could be moved in the time for one value
        return each_range(starts, groups, count, cost, [&](int64_t g, int64_t first, int64_t next) {
            T* const begin = typed + first;
            T* end = typed + next;
            // Comparisons are faster if they need not test for NaN.
            constexpr bool has_nan = Float<T> || Complex<T>;
            if constexpr (has_nan) end = std::partition(begin, end, [](T x) { return !is_nan(x); });
            const int64_t rank = ranks ? ranks[g] : -1;
            if (rank >= next - first) return false;
            Comparison<T> compare;
            try {
                if (!ranks) {
                    std::sort(begin, end, std::ref(compare));
                    if constexpr (has_nan) std::sort(end, typed + next, sorts_before<T>);
                } else if (rank >= 0 && rank < end - begin) {
                    std::nth_element(begin, begin + rank, end, std::ref(compare));
                    if (rank + 1 < end - begin)
                        std::iter_swap(begin + rank + 1, std::min_element(begin + rank + 1, end, less<T>));
                }
            } catch (const Stopped&) {
                return false;
            }
            return true;
        });
    });
}

int64_t find_greatest_label(const void* labels, IndexType type, int64_t count) {
    return visit_index_type(type, [&]<class L>(L) {
        constexpr auto loop = greatest_of<L>;
        constexpr int64_t most_tasks = 64;
        uint64_t greatest[most_tasks];
        const int tasks = static_cast<int>(
            std::min<int64_t>({threads_for({count, int64_t{sizeof(L)}}), most_tasks, std::max<int64_t>(count, 1)}));
        run_tasks(tasks, tasks, [&](int i) {
            const int64_t first = count / tasks * i, last = i + 1 == tasks ? count : count / tasks * (i + 1);
            greatest[i] = version<loop>()(static_cast<const L*>(labels) + first, last - first);
        });
        return static_cast<int64_t>(*std::max_element(greatest, greatest + tasks));
    });
}

}  // namespace gs
