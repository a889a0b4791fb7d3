#include "statistics.hpp"

#include <algorithm>
#include <atomic>
#include <concepts>
#include <optional>
#include <type_traits>

#include "casts.hpp"
#include "element.hpp"
#include "groups.hpp"
#include "machine.hpp"
#include "parallel.hpp"
#include "scratch.hpp"
#include "sizes.hpp"
#include "statistic_rules.hpp"

namespace gs {
namespace {

using namespace rules;

struct Range {
    int64_t first, last;
    int64_t size() const { return last - first; }
};

// The members, columns and groups that a task handles.
struct Share {
    Range members, columns, groups;
};

// Values in memory. Statistics compute with numbers of type T. `widen` converts the values to T. It is null if they
// have this type.
struct Stored {
    const std::byte* values;  // null if only labels are read
    CastBlock widen;
    int64_t size;  // of a value

    Stored from(int64_t i) const { return {values ? values + i * size : nullptr, widen, size}; }
    // Returns the values i to i + n. `buffer` must have room for them.
    template <class T>
    const T* read(int64_t i, int64_t n, T* buffer) const {
        if (!widen) return reinterpret_cast<const T*>(values) + i;
        for (int64_t k = 0; k < n; k += cast_block)
            (void)widen(values + (i + k) * size, reinterpret_cast<std::byte*>(buffer + k), std::min(cast_block, n - k));
        return buffer;
    }
};

// The values of one part of the outer dims, and what belongs to them.
struct Members {
    const GroupStatistic& call;
    Stored stored;
    const Index& labels;
    bool ascending;  // labels ascend

    int64_t slots() const { return call.groups * call.columns; }
};

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
bool add_by_label(const Members& all, const Share& share, typename S::Slot* slots, R* out) {
    using Slot = typename S::Slot;
    T buffer[block];
    int64_t widened[block];
    const bool is_wide = all.labels.type() == IndexType::int64;
    const auto equal = version<are_equal>();
    const Stored stored = all.stored;
    const auto groups = static_cast<uint64_t>(all.call.groups);
    const auto is_bad = [groups](int64_t r) { return static_cast<uint64_t>(r) >= groups; };
    const bool filters = share.groups.size() < all.call.groups;
    const auto first = static_cast<uint64_t>(share.groups.first), size = static_cast<uint64_t>(share.groups.size());
    const bool far = all.slots() * static_cast<int64_t>(sizeof(Slot)) > core_cache_bytes;
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
                prefetch_ahead(reinterpret_cast<const std::byte*>(slots), static_cast<int64_t>(ahead * sizeof(Slot)));
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
bool add_blocks(const Members& all, const Share& share, typename S::Slot* slots, R* out) {
    const GroupStatistic& call = all.call;
    const Stored stored = all.stored;
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
bool add_members(const Members& all, const Share& share, typename S::Slot* slots, R* out) {
    if (all.call.columns == 1 && !all.labels.may_skip()) return add_by_label<S, T>(all, share, slots, out);
    return add_blocks<S, T>(all, share, slots, out);
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
template <class S>
int64_t count_parts(const GroupStatistic& call, bool ascending, int threads) {
    constexpr int64_t min_members = tiny ? 2 : 1 << 14;
    const int64_t most = is_exact<S> ? std::min(threads, 8) : 8;
    const int64_t slots = std::max<int64_t>(saturating_multiply(call.groups, call.columns), 1);
    if (is_running(call.statistic) || ascending) return 1;
    // Clearing and merging slots takes less time than reading the members.
    const int64_t cost = std::max(saturating_multiply(slots, sizeof(typename S::Slot)) / 4, min_members);
    return std::clamp<int64_t>(call.members / cost, 1, most);
}

// Threads share columns if each gets at least this number of them.
constexpr int64_t min_columns = tiny ? 2 : 16;

// Arrays of slots, one for each part of the members. They share no cache lines, because different threads write them.
template <class Slot>
class SlotArrays {
  public:
    SlotArrays(int64_t arrays, int64_t count)
        : stride_(saturating_multiply(count / line_size + 2, line_size * int64_t{sizeof(Slot)})),
          memory_(saturating_multiply(arrays, stride_) + line_size, false),
          offset_((line_size - reinterpret_cast<uintptr_t>(memory_.get()) % line_size) % line_size) {}
    Slot* operator[](int64_t i) const { return reinterpret_cast<Slot*>(memory_.get() + offset_ + i * stride_); }

  private:
    int64_t stride_;  // in bytes
    Scratch memory_;
    int64_t offset_;
};

// Computes the slots of a part of the outer dims. Further parts of the members have the spare arrays from
// `first_spare`.
template <class S, class T, class R, class Start>
bool fill_slots(const Members& all, int threads, Start start, typename S::Slot* slots,
                const SlotArrays<typename S::Slot>& spares, int64_t first_spare, R* out) {
    const GroupStatistic& call = all.call;
    const int64_t parts = count_parts<S>(call, all.ascending, threads), count = all.slots();
    const Share whole{{0, call.members}, {0, call.columns}, {0, call.groups}};
    std::atomic<bool> good = true;
    const auto clear = [&](typename S::Slot* target, Range range) {
        for (int64_t s = range.first; s < range.last; ++s) target[s] = start(s);
    };
    const auto add = [&](const Share& share, typename S::Slot* target) {
        if (good && !add_members<S, T>(all, share, target, out)) good = false;
    };
    const auto bound = [](int64_t n, int64_t i, int64_t of) { return n / of * i + std::min(n % of, i); };
    if constexpr (!runs<S>) {
        if (parts > 1) {
            const auto run = [&](int64_t p, typename S::Slot* target) {
                clear(target, {0, count});
                Share share = whole;
                share.members = {bound(call.members, p, parts), bound(call.members, p + 1, parts)};
                add(share, target);
            };
            const auto merge = [&](typename S::Slot* later, Range range) {
                for (int64_t s = range.first; s < range.last; ++s) S::merge(slots[s], later[s]);
            };
            if (threads == 1) {
                run(0, slots);
                for (int64_t p = 1; p < parts && good; ++p) {
                    run(p, spares[first_spare]);
                    merge(spares[first_spare], {0, count});
                }
                return good;
            }
            run_tasks(static_cast<int>(parts), threads,
                      [&](int p) { run(p, p == 0 ? slots : spares[first_spare + p - 1]); });
            for_ranges(count, {count * parts, 16}, [&](int64_t first, int64_t last) {
                for (int64_t p = 1; p < parts; ++p) merge(spares[first_spare + p - 1], {first, last});
            });
            return good;
        }
    }
    const int64_t units = call.columns / min_columns;
    const bool by_columns = units >= threads;
    // To find the members of its groups takes a thread about as long as to add them.
    const bool has_few_threads = runs<S> && !by_columns && !all.ascending && threads < 4;
    if (threads == 1 || has_few_threads) {
        clear(slots, {0, count});
        add(whole, slots);
        return good;
    }
    for_ranges(count, {count, 16}, [&](int64_t first, int64_t last) { clear(slots, {first, last}); });
    run_tasks(threads, threads, [&](int i) {
        Share share = whole;
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
    int64_t count;       // slots of a lane
    int64_t spares = 0;  // arrays of further slots

    template <class... S>  // the statistics that use the memory
    Division(const GroupStatistic& call, const Index& labels, int64_t value_size, std::type_identity<S>...)
        : threads(threads_for({call.outer * call.members * call.columns, value_size + 16})),
          lanes(threads > 1 && call.outer >= threads ? threads : 1),
          ascending(visit_index_type(
              labels.type(),
              [&]<class L>(L) { return ascend(reinterpret_cast<const L*>(labels.at(0)), call.members, threads); })),
          count(call.groups * call.columns) {
        const int at_once = lanes == 1 ? threads : 1;
        for (const int64_t parts : {count_parts<S>(call, ascending, at_once)...})
            if (parts > 1) spares = std::max(spares, at_once > 1 ? parts - 1 : 1);
    }
    // The slots of each lane, and its spare ones after them.
    template <class Slot>
    SlotArrays<Slot> allocate(int64_t own) const {
        return SlotArrays<Slot>(lanes * (own + spares), count);
    }
};

template <class S>
auto result_of(const typename S::Slot& slot, const std::byte* fill) {
    if constexpr (requires { S::result(slot); })
        return S::result(slot);
    else
        return S::result(slot, *reinterpret_cast<const decltype(slot.value)*>(fill));
}

template <class S, class T>
bool reduce(const GroupStatistic& call, const Stored& values, const Index& labels, const StatisticResults& to) {
    using Slot = typename S::Slot;
    const Division division(call, labels, values.size, std::type_identity<S>{});
    const auto start = [](int64_t) { return S::start(); };
    const auto at = [&](int64_t o) {
        return Members{call, values.from(o * call.members * call.columns), labels, division.ascending};
    };
    if constexpr (runs<S>) {
        using R = decltype(S::output(std::declval<Slot>()));
        const auto memory = division.allocate<Slot>(1);
        return each_outer(call, division.lanes, division.threads, [&](int64_t o, int lane, int threads) {
            return fill_slots<S, T>(at(o), threads, start, memory[lane], memory, 0,
                                    reinterpret_cast<R*>(to.values) + o * call.members * call.columns);
        });
    } else {
        using R = decltype(result_of<S>(std::declval<Slot>(), nullptr));
        constexpr bool direct = std::same_as<R, Slot>;  // slots are results
        const int64_t own = direct ? 0 : 1;
        const auto memory = division.allocate<Slot>(own);
        return each_outer(call, division.lanes, division.threads, [&](int64_t o, int lane, int threads) {
            const int64_t array = lane * (own + division.spares);
            R* const results = reinterpret_cast<R*>(to.values) + o * division.count;
            Slot* slots;
            if constexpr (direct)
                slots = results;
            else
                slots = memory[array];
            if (!fill_slots<S, T>(at(o), threads, start, slots, memory, array + own, results)) return false;
            if constexpr (!direct) {
                for_ranges(division.count, {division.count, 32}, [&](int64_t first, int64_t last) {
                    for (int64_t s = first; s < last; ++s) {
                        results[s] = result_of<S>(slots[s], call.fill);
                        if constexpr (requires { slots[s].n(); }) to.counts[o * division.count + s] = slots[s].n();
                    }
                });
            }
            return true;
        });
    }
}

// The squared deviations. A second walk takes the distances from the means, if those from the first members are not
// precise enough.
template <class T, template <class> class Rule>
bool reduce_deviations(const GroupStatistic& call, const Stored& values, const Index& labels,
                       const StatisticResults& to) {
    using Distances = Rule<DistancesFromFirst<T>>;
    using Deviations = Rule<SquaredDeviations<T>>;
    using Slot = typename Deviations::Slot;
    const Division division(call, labels, values.size, std::type_identity<Distances>{},
                            std::type_identity<Deviations>{});
    // A lane must not allocate memory. A single one allocates it when the second walk is needed.
    const int own = division.lanes == 1 ? 1 : 2;
    const auto memory = division.allocate<Slot>(own);
    return each_outer(call, division.lanes, division.threads, [&](int64_t o, int lane, int threads) {
        const Members all{call, values.from(o * call.members * call.columns), labels, division.ascending};
        const int64_t count = division.count, array = lane * (own + division.spares), spare = array + own;
        Slot* slots = memory[array];
        double* const none = nullptr;  // these statistics write no results while members are added
        const auto first_start = [](int64_t) { return Distances::start(); };
        if (!fill_slots<Distances, T>(all, threads, first_start, slots, memory, spare, none)) return false;
        std::atomic<bool> precise = true;
        for_ranges(count, {count, 32}, [&](int64_t first, int64_t last) {
            for (int64_t s = first; s < last; ++s) {
                to.counts[o * count + s] = slots[s].n;
                if (!Distances::is_precise(slots[s])) precise = false;
            }
        });
        std::optional<SlotArrays<Slot>> centered;
        if (!precise) {
            const Slot* const found = slots;
            const auto start = [found](int64_t s) { return Deviations::start(found[s]); };
            slots = own == 2 ? memory[array + 1] : centered.emplace(1, count)[0];
            if (!fill_slots<Deviations, T>(all, threads, start, slots, memory, spare, none)) return false;
        }
        for_ranges(count, {count, 32}, [&](int64_t first, int64_t last) {
            for (int64_t s = first; s < last; ++s) {
                const int64_t at = o * count + s, n = to.counts[at];
                reinterpret_cast<double*>(to.values)[at] = Deviations::result(slots[s], n);
                if (!to.centers) continue;
                reinterpret_cast<typename Deviations::Center*>(to.centers)[at] = slots[s].center;
                reinterpret_cast<typename Deviations::Distance*>(to.rests)[at] = Deviations::rest(slots[s], n);
            }
        });
        return true;
    });
}

template <template <class> class Rule>
constexpr bool skips_nan = !std::same_as<Rule<Count<float>>, Count<float>>;

// The type of the values for a statistic that reads only labels, unless NaN is skipped.
template <class T, template <class> class Rule>
using ReadType = std::conditional_t<skips_nan<Rule>, T, int32_t>;

// A further statistic of a call. Its results have one column if it reads only labels.
template <template <class> class Rule>
struct Further {
    static constexpr bool skips = skips_nan<Rule>;
    GroupStatistic call;
    Scratch memory;

    Further(const GroupStatistic& of, Statistic statistic, int64_t result_size)
        : call(of),
          memory(saturating_multiply(skips ? of.outer * of.groups * of.columns : of.groups, result_size), false) {
        call.statistic = statistic;
        call.skip_nan = skips;
        if (!skips) call.outer = call.columns = 1;
    }
    template <class R>
    R result(int64_t outer, int64_t group, int64_t column) const {
        const int64_t at = skips ? (outer * call.groups + group) * call.columns + column : group;
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
template <class T, template <class> class Rule>
bool take_ends(const GroupStatistic& call, const Stored& values, const Index& labels, std::byte* results) {
    using L = ReadType<T, Rule>;
    const bool last = call.statistic == Statistic::last;
    const Further<Rule> ends(call, last ? Statistic::last_position : Statistic::first_position, sizeof(int64_t));
    if (last ? !reduce<Rule<Position<L, true>>, L>(ends.call, values, labels, {ends.memory.get()})
             : !reduce<Rule<Position<L, false>>, L>(ends.call, values, labels, {ends.memory.get()}))
        return false;
    return visit(call.dtype, false, [&]<class V>(std::type_identity<V>) {
        const auto* const from = reinterpret_cast<const V*>(values.values);
        auto* const out = reinterpret_cast<V*>(results);
        const V fill = *reinterpret_cast<const V*>(call.fill);
        each_result(call, 2 * sizeof(V), [&](int64_t o, int64_t g, int64_t c) {
            const auto at = ends.template result<int64_t>(o, g, c);
            out[(o * call.groups + g) * call.columns + c] =
                at < 0 ? fill : from[(o * call.members + at) * call.columns + c];
        });
        return true;
    });
}

// Extrema. Groups without members have the fill value.
template <class T, template <class> class Rule, bool greatest>
bool reduce_extrema(const GroupStatistic& call, const Stored& values, const Index& labels, T* out) {
    using Each = Extremum<T, greatest>;
    if (!reduce<Rule<Each>, T>(call, values, labels, {reinterpret_cast<std::byte*>(out)})) return false;
    const T start = Each::start(), fill = *reinterpret_cast<const T*>(call.fill);
    const auto may_be_empty = [&](T x) { return !is_nan(x) && !(greatest ? less(start, x) : less(x, start)); };
    std::atomic<bool> none = true;
    const int64_t count = call.outer * call.groups * call.columns;
    for_ranges(count, {count, sizeof(T)}, [&](int64_t first, int64_t next) {
        if (std::any_of(out + first, out + next, may_be_empty)) none = false;
    });
    if (none) return true;
    using L = ReadType<T, Rule>;
    const Further<Rule> occupied(call, Statistic::occupied, 1);
    if (!reduce<Rule<Occupied<L>>, L>(occupied.call, values, labels, {occupied.memory.get()})) return false;
    each_result(call, sizeof(T), [&](int64_t o, int64_t g, int64_t c) {
        if (!occupied.template result<bool>(o, g, c)) out[(o * call.groups + g) * call.columns + c] = fill;
    });
    return true;
}

template <class S>
using KeepAll = S;

// Calls f with the type of a statistic of numbers of type T.
template <class T, template <class> class Rule>
bool reduce_values(const GroupStatistic& call, const Stored& values, const Index& labels, const StatisticResults& to) {
    const auto run = [&]<class S>(std::type_identity<S>) { return reduce<S, T>(call, values, labels, to); };
    constexpr bool skips = skips_nan<Rule>;
    using Least = std::conditional_t<skips, RunningExtremumOfNumbers<T, false>, RunningExtremum<T, false>>;
    using Greatest = std::conditional_t<skips, RunningExtremumOfNumbers<T, true>, RunningExtremum<T, true>>;
    switch (call.statistic) {
        case Statistic::count: return run(std::type_identity<Rule<Count<T>>>{});
        case Statistic::occupied: return run(std::type_identity<Rule<Occupied<T>>>{});
        case Statistic::sum: return run(std::type_identity<Rule<Sum<T>>>{});
        case Statistic::prod: return run(std::type_identity<Rule<Product<T>>>{});
        case Statistic::sum_of_squares: return run(std::type_identity<Rule<SumOfSquares<T>>>{});
        case Statistic::mean: return run(std::type_identity<Rule<Mean<T>>>{});
        case Statistic::squared_deviations:
        case Statistic::moments: return reduce_deviations<T, Rule>(call, values, labels, to);
        case Statistic::min:
            return reduce_extrema<T, Rule, false>(call, values, labels, reinterpret_cast<T*>(to.values));
        case Statistic::max:
            return reduce_extrema<T, Rule, true>(call, values, labels, reinterpret_cast<T*>(to.values));
        case Statistic::argmin: return run(std::type_identity<Rule<PositionOfExtremum<T, false>>>{});
        case Statistic::argmax: return run(std::type_identity<Rule<PositionOfExtremum<T, true>>>{});
        case Statistic::first:
        case Statistic::last: return take_ends<T, Rule>(call, values, labels, to.values);
        case Statistic::first_position:
        case Statistic::last_position: return false;  // they read only labels
        case Statistic::any: return run(std::type_identity<Rule<Truth<T, false>>>{});
        case Statistic::all: return run(std::type_identity<Rule<Truth<T, true>>>{});
        case Statistic::cumsum: return run(std::type_identity<Rule<Running<Sum<T>, T>>>{});
        case Statistic::cumprod: return run(std::type_identity<Rule<Running<Product<T>, T>>>{});
        case Statistic::cummin: return run(std::type_identity<Least>{});
        case Statistic::cummax: return run(std::type_identity<Greatest>{});
    }
    return false;
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

// The type with which statistics of values compute. It holds all of the values.
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

template <class T>
constexpr bool is_computed = std::same_as<T, int32_t> || std::same_as<T, int64_t> || std::same_as<T, uint64_t> ||
                             std::same_as<T, float> || std::same_as<T, double> || Complex<T>;

bool compute_as(DType computed, const GroupStatistic& call, const Stored& values, const Index& labels,
                const StatisticResults& to) {
    return visit(computed, false, [&]<class T>(std::type_identity<T>) {
        if constexpr (!is_computed<T>)
            return false;
        else if constexpr (Float<T> || Complex<T>)
            return call.skip_nan ? reduce_values<T, SkipNan>(call, values, labels, to)
                                 : reduce_values<T, KeepAll>(call, values, labels, to);
        else
            return reduce_values<T, KeepAll>(call, values, labels, to);
    });
}

int64_t size_of(DType dtype) {
    return visit(dtype, int64_t{0}, []<class T>(std::type_identity<T>) { return int64_t{sizeof(T)}; });
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
    if (reads_labels_only(call.statistic, call.skip_nan)) {
        using T = int32_t;
        const Stored none{};
        if (call.statistic == Statistic::count) return reduce<Count<T>, T>(call, none, labels, to);
        if (call.statistic == Statistic::occupied) return reduce<Occupied<T>, T>(call, none, labels, to);
        if (call.statistic == Statistic::first_position) return reduce<Position<T, false>, T>(call, none, labels, to);
        return reduce<Position<T, true>, T>(call, none, labels, to);
    }
    const DType computed = computed_type(call.dtype);
    const ElementType from{call.dtype, size_of(call.dtype)}, wide{computed, size_of(computed)};
    const Stored stored{values, computed == call.dtype ? nullptr : block_caster(call.dtype, computed), from.size};
    const DType wide_result = result_type(call.statistic, computed);
    const int64_t result_size = size_of(result_type(call.statistic, call.dtype));
    const bool moves = call.statistic == Statistic::first || call.statistic == Statistic::last;
    if (moves || size_of(wide_result) == result_size) return compute_as(computed, call, stored, labels, to);
    // Results of the type of the values are computed in the wider type.
    const int64_t count = saturating_multiply(call.outer * call.columns, call.results());
    const bool has_gaps = labels.may_skip();  // running statistics then leave out the results of some members
    const Scratch results(saturating_multiply(count, size_of(wide_result)), has_gaps);
    alignas(16) std::byte fill[16];
    GroupStatistic inner = call;
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
            if (!ranks) {
                std::sort(begin, end, less<T>);
                if constexpr (has_nan) std::sort(end, typed + next, sorts_before<T>);
                return true;
            }
            const int64_t rank = ranks[g];
            if (rank >= next - first) return false;
            if (rank < 0 || rank >= end - begin) return true;
            std::nth_element(begin, begin + rank, end, less<T>);
            if (rank + 1 < end - begin)
                std::iter_swap(begin + rank + 1, std::min_element(begin + rank + 1, end, less<T>));
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
