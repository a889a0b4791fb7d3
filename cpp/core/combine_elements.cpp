#include "combine_row.hpp"

namespace gs {
namespace {

// Combines rows of one element: those in the share.
template <class T, class A, class Op>
void combine_elements(const Updates& u, const Share& share, const Combine& combine) {
    const Op op = make_op<Op>(combine);
    A* __restrict out = reinterpret_cast<A*>(u.out);
    const T* __restrict updates = reinterpret_cast<const T*>(u.updates);
    Picked picked;
    pick_own(u.rows, share, picked);
    for (int64_t i = 0; i < picked.n; ++i) {
        if (u.prefetch) prefetch(out + u.rows.row[picked.ahead(i, lookahead)]);
        const int64_t own = picked.own[i], row = u.rows.row[own];
        const bool replace = u.visits && u.visits[row]++ == 0 && !combine.include_self;
        const A update = accumulate_as<A>(updates[own]);
        out[row] = replace ? update : op(out[row], update);
    }
}

// Overwrites an element. Only the size of the element matters.
struct Set {
    template <class T>
    T operator()(T, T u) const {
        return u;
    }
};
// The same for elements that are not in the first cache. A processor fetches many lines at a time for loads, but few
// for stores.
struct PrefetchAndSet : Set {};
template <int64_t size>
struct Bytes {
    std::byte bytes[size];
};

GS_LOOP int64_t count_repeats(const int64_t* rows, int64_t n) {
    int64_t repeats = 0;
    for (int64_t i = 1; i < n; ++i) repeats += rows[i] == rows[i - 1];
    return repeats;
}

// Whether most rows repeat the row before. Two samples are almost always enough.
bool are_runs(const RowNumbers& rows) {
    const int64_t n = rows.n, *const row = rows.row;
    if (n < min_run_elements || row[n / 3] != row[n / 3 + 1] || row[n / 2] != row[n / 2 + 1]) return false;
    return version<count_repeats>()(row, n) * 4 >= n * 3;
}

// The number of rows at the beginning that are equal.
GS_LOOP int64_t run_length(const int64_t* rows, int64_t n) {
    constexpr int64_t at_once = 8;
    int64_t i = 1;
    for (; i + at_once <= n; i += at_once) {
        int64_t differences = 0;
        for (int64_t j = 0; j < at_once; ++j) differences |= rows[i + j] ^ rows[0];
        if (differences) break;
    }
    while (i < n && rows[i] == rows[0]) ++i;
    return i;
}

#ifdef GS_VECTORS
template <class T>
inline constexpr int64_t floats_at_once = line_size / static_cast<int64_t>(sizeof(T));

// Finds the minimum or maximum of n floats, a multiple of floats_at_once. False: its bits depend on the order of the
// floats, because one is NaN, or the result is zero.
template <class Op, class T>
GS_LOOP bool find_extremum(const T* values, int64_t n, T& best) {
    using V = Vector<T, vector_bytes<Op> / sizeof(T)>;
    constexpr int64_t lanes = sizeof(V) / sizeof(T), parts = floats_at_once<T> / lanes;
    V part[parts];
    std::memcpy(part, values, sizeof(part));
    auto has_nan = part[0] != part[0];
    GS_UNROLL_ALL
    for (int64_t p = 1; p < parts; ++p) has_nan |= part[p] != part[p];
    for (int64_t i = floats_at_once<T>; i < n; i += floats_at_once<T>) {
        GS_UNROLL_ALL
        for (int64_t p = 0; p < parts; ++p) {
            V v;
            load_vector<sizeof(V)>(values + i + p * lanes, v);
            has_nan |= v != v;
            part[p] = std::same_as<Op, Min> ? (v < part[p] ? v : part[p]) : (v > part[p] ? v : part[p]);
        }
    }
    bool is_nan = false;
    best = part[0][0];
    for (int64_t p = 0; p < parts; ++p)
        for (int64_t l = 0; l < lanes; ++l) {
            best = Op{}(best, part[p][l]);
            is_nan |= has_nan[l] != 0;
        }
    return !is_nan && best != 0;
}
#endif

// Combines a value with n updates, in their order.
template <class T, class A, class Op>
GS_LOOP A combine_run(A value, const T* updates, int64_t n, Op op) {
#ifdef GS_VECTORS
    // Compilers do not vectorize this. Vectors would take longer for a few floats.
    if constexpr (Selection<Op> && std::floating_point<T>)
        if (const int64_t whole = n & -floats_at_once<T>; whole >= 4 * floats_at_once<T>)
            if (T best; find_extremum<Op>(updates, whole, best)) {
                value = op(value, best);
                updates += whole;
                n -= whole;
            }
#endif
    for (int64_t i = 0; i < n; ++i) value = op(value, accumulate_as<A>(updates[i]));
    return value;
}

// Combines rows of one element, in runs of equal rows. The combined value stays in a register and avoids a round trip
// through memory.
template <class T, class A, class Op>
GS_LOOP void combine_runs(const Updates& u, const Share&, const Combine& combine) {
    const Op op = make_op<Op>(combine);
    A* __restrict out = reinterpret_cast<A*>(u.out);
    const T* __restrict updates = reinterpret_cast<const T*>(u.updates);
    for (int64_t i = 0; i < u.rows.n;) {
        const int64_t row = u.rows.row[i], end = i + run_length(u.rows.row + i, u.rows.n - i);
        const bool is_first = u.visits && u.visits[row] == 0 && !combine.include_self;
        if (u.visits) u.visits[row] += end - i;
        const A value = is_first ? accumulate_as<A>(updates[i]) : out[row];
        i += is_first;
        out[row] = combine_run(value, updates + i, end - i, op);
        i = end;
    }
}

// Combines all rows of one element. `counted`: there are visits to count. A branch for them in the loop would make it
// take a third longer.
template <class T, class A, class Op, bool counted>
void combine_all_elements(const Updates& u, const Share& share, const Combine& combine) {
    if constexpr (!std::derived_from<Op, Set>)
        if (are_runs(u.rows)) {
            if constexpr (Selection<Op> && std::floating_point<T>)  // the only ones with vectors
                return float_version<combine_runs<T, A, Op>>()(u, share, combine);
            else
                return Versions<combine_runs<T, A, Op>>::baseline(u, share, combine);
        }
    const Op op = make_op<Op>(combine);
    const bool include_self = combine.include_self;
    A* __restrict out = reinterpret_cast<A*>(u.out);
    const T* __restrict updates = reinterpret_cast<const T*>(u.updates);
    const int64_t* rows = u.rows.row;
    int64_t* __restrict visits = u.visits;
    const auto apply = [&](int64_t row, T update) {
        const A value = accumulate_as<A>(update), combined = op(out[row], value);
        out[row] = counted && visits[row]++ == 0 && !include_self ? value : combined;
    };
    const int64_t n = u.rows.n;
    constexpr int64_t at_once = 4, per_line = line_size / static_cast<int64_t>(sizeof(T));
    int64_t i = 0;
    for (; i + at_once <= n; i += at_once) {
        if (per_line <= at_once || i % per_line == 0)
            prefetch_ahead<Cache::second>(reinterpret_cast<const std::byte*>(updates + i), updates_lookahead_bytes);
        if (u.prefetch)
            for (int64_t j = 0; j < at_once; ++j) {
                const int64_t next = rows[std::min(i + j + lookahead, u.rows.known - 1)];
                prefetch(out + next);
                if constexpr (counted) prefetch(visits + next);
            }
        else if constexpr (std::same_as<Op, PrefetchAndSet>)
            for (int64_t j = 0; j < at_once; ++j) prefetch(out + rows[i + j]);
        GS_UNROLL_ALL
        for (int64_t j = 0; j < at_once; ++j) apply(rows[i + j], updates[i + j]);
    }
    for (; i < n; ++i) apply(rows[i], updates[i]);
}

// Checks each index and uses it at once, as move_by_index() of index.cpp does.
template <class T, class A, class Op, class I, bool counted>
int64_t combine_by_index(const std::byte* indices, int64_t n, uint64_t rows, std::byte* all, const std::byte* others,
                         int64_t* __restrict visits, bool include_self, bool prefetches) {
    const I* const index = reinterpret_cast<const I*>(indices);
    A* __restrict out = reinterpret_cast<A*>(all);
    const T* __restrict updates = reinterpret_cast<const T*>(others);
    const Op op;
    // Handles `count` updates. Their indices are checked and the updates are read before the first is combined: reading
    // between writes is slower. Returns false, and does nothing, if an index is out of range.
    const auto combine = [&]<int64_t count>(int64_t i, std::integral_constant<int64_t, count>) {
        uint64_t row[count];
        A update[count];
        GS_UNROLL_ALL
        for (int64_t j = 0; j < count; ++j) {
            row[j] = static_cast<uint64_t>(read_once(index[i + j]));
            if (row[j] >= rows) [[unlikely]]
                return false;
        }
        if constexpr (std::same_as<Op, PrefetchAndSet>) {
            GS_UNROLL_ALL
            for (int64_t j = 0; j < count; ++j) prefetch(out + row[j]);
        }
        GS_UNROLL_ALL
        for (int64_t j = 0; j < count; ++j) update[j] = accumulate_as<A>(updates[i + j]);
        GS_UNROLL_ALL
        for (int64_t j = 0; j < count; ++j) {
            A& target = out[row[j]];
            const bool replaces = counted && visits[row[j]]++ == 0 && !include_self;
            target = replaces ? update[j] : op(target, update[j]);
        }
        return true;
    };
    constexpr int64_t at_once = 4, per_prefetch = 8;
    int64_t i = 0;
    for (; i + at_once <= n; i += at_once) {
        if (prefetches && i % per_prefetch == 0) {
            prefetch_ahead<Cache::second>(indices + i * static_cast<int64_t>(sizeof(I)), index_lookahead_bytes);
            prefetch_ahead<Cache::second>(others + i * static_cast<int64_t>(sizeof(T)), updates_lookahead_bytes);
        }
        if (!combine(i, std::integral_constant<int64_t, at_once>())) return i;
    }
    for (; i < n; ++i)
        if (!combine(i, std::integral_constant<int64_t, 1>())) return i;
    return n;
}

// There are loops for 32 and 64 bits. Narrower indices are widened first. Indices are read as unsigned numbers, so a
// negative one is out of range and ends the loop. For signed indices of 32 bits, this needs at most 2^31 rows.
template <class T, class A, class Op, bool counted>
ApplyByIndex applier_by_index(IndexType type) {
    return size_of(type) == 8 ? combine_by_index<T, A, Op, uint64_t, counted>
                              : combine_by_index<T, A, Op, uint32_t, counted>;
}

template <class I>
GS_LOOP void widen_indices(const std::byte* indices, int64_t n, int32_t* wide) {
    const I* const narrow = reinterpret_cast<const I*>(indices);
    for (int64_t i = 0; i < n; ++i) wide[i] = narrow[i];
}

// Null: indices of this type are wide.
WidenIndices widener(IndexType type) {
    switch (type) {
        case IndexType::int8: return version<widen_indices<int8_t>>();
        case IndexType::int16: return version<widen_indices<int16_t>>();
        case IndexType::uint8: return version<widen_indices<uint8_t>>();
        case IndexType::uint16: return version<widen_indices<uint16_t>>();
        default: return nullptr;
    }
}

template <class Op>
void combine_all_float16(const Updates& u, const Share&, const Combine&) {
    const auto combine = are_runs(u.rows) ? combine_float16_runs<Op> : combine_float16<Op>;
    combine(reinterpret_cast<float16*>(u.out), reinterpret_cast<const float16*>(u.updates), u.rows.row, u.rows.n);
}

template <class T, class A, class Op>
ApplyRows element_applier(const ApplyOptions& options) {
    if (!options.all) return combine_elements<T, A, Op>;
    if constexpr (std::same_as<T, float16> && std::same_as<A, float16> && !Selection<Op>)
        if (has_f16c() && !options.counted) return combine_all_float16<Op>;
    return options.counted ? combine_all_elements<T, A, Op, true> : combine_all_elements<T, A, Op, false>;
}

// Null: there is no loop for this size.
template <class Op>
ApplyRows setter(int64_t item_size, const ApplyOptions& options) {
    switch (item_size) {
        case 1: return element_applier<Bytes<1>, Bytes<1>, Op>(options);
        case 2: return element_applier<Bytes<2>, Bytes<2>, Op>(options);
        case 4: return element_applier<Bytes<4>, Bytes<4>, Op>(options);
        case 8: return element_applier<Bytes<8>, Bytes<8>, Op>(options);
        case 16: return element_applier<Bytes<16>, Bytes<16>, Op>(options);
        default: return nullptr;
    }
}

// The same for a loop that reads indices.
template <class Op>
ApplyByIndex setter_by_index(int64_t item_size, IndexType type) {
    switch (item_size) {
        case 1: return applier_by_index<Bytes<1>, Bytes<1>, Op, false>(type);
        case 2: return applier_by_index<Bytes<2>, Bytes<2>, Op, false>(type);
        case 4: return applier_by_index<Bytes<4>, Bytes<4>, Op, false>(type);
        case 8: return applier_by_index<Bytes<8>, Bytes<8>, Op, false>(type);
        case 16: return applier_by_index<Bytes<16>, Bytes<16>, Op, false>(type);
        default: return nullptr;
    }
}

// Null: there is no loop for this reduction or these indices.
ApplyByIndex applier_by_index(const Combine& combine, const Index& index, const ApplyOptions& options) {
    const IndexType type = index.type();
    const bool reads_int32 = size_of(type) < 8 && type != IndexType::uint32;
    if (!index.is_single() || (reads_int32 && index.size() > uint64_t{1} << 31)) return nullptr;
    if (combine.reduction == Reduction::none)
        return options.prefetch_set ? setter_by_index<PrefetchAndSet>(combine.item_size, type)
                                    : setter_by_index<Set>(combine.item_size, type);
    return visit_combine(combine, ApplyByIndex{nullptr},
                         [&]<class T, class A, class Op>(std::type_identity<T>, std::type_identity<A>, Op) {
                             if constexpr ((std::same_as<T, A> && !Half<T>) || Counted<A>) {
                                 return options.counted ? applier_by_index<T, A, Op, true>(type)
                                                        : applier_by_index<T, A, Op, false>(type);
                             } else {
                                 return ApplyByIndex{nullptr};
                             }
                         });
}

}  // namespace

ApplyRows element_applier(const Combine& combine, const ApplyOptions& options) {
    if (combine.reduction == Reduction::none)
        return options.prefetch_set ? setter<PrefetchAndSet>(combine.item_size, options)
                                    : setter<Set>(combine.item_size, options);
    return visit_combine(combine, ApplyRows{nullptr},
                         [&]<class T, class A, class Op>(std::type_identity<T>, std::type_identity<A>, Op) {
                             return element_applier<T, A, Op>(options);
                         });
}

ElementScatter::ElementScatter(const Index& index, const Combine& combine, const ApplyOptions& options, Spread spread)
    : index_(index),
      combine_(combine),
      by_index_(applier_by_index(combine, index, options)),
      widen_(widener(index.type())),
      prefetches_(spread != Spread::close),
      apply_(applier(combine, 1, options)),
      apply_or_skip_(applier(combine, 1, {false, options.counted})) {}

// Indices that are not row numbers are resolved, a block at a time. So are runs of equal indices, whose sums stay in a
// register.
bool ElementScatter::scatter(int64_t first, int64_t n, std::byte* line, const std::byte* updates,
                             int64_t* visits) const {
    int32_t wide[block];
    const bool may_be_runs = combine_.reduction != Reduction::none;
    for (int64_t done = 0; done < n;) {
        if (should_stop()) return false;
        const int64_t piece = std::min(widen_ ? block : scattered_at_once, n - done), before = done;
        // Only indices that are read next are sampled. Reading further ahead misses the caches.
        const bool runs = may_be_runs && index_.are_runs(first + done, std::min(piece, min_run_elements));
        if (!runs) {
            const std::byte* indices = index_.at(first + done);
            if (widen_) {
                widen_(indices, piece, wide);
                indices = reinterpret_cast<const std::byte*>(wide);
            }
            done += by_index_(indices, piece, index_.size(), line, updates + done * combine_.item_size, visits,
                              combine_.include_self, prefetches_);
        }
        const int64_t others = runs ? piece : std::min(block, before + piece - done);
        if (!scatter_blocks(first + done, others, line, updates + done * combine_.item_size, visits)) return false;
        done += others;
    }
    return true;
}

bool ElementScatter::scatter_blocks(int64_t first, int64_t n, std::byte* line, const std::byte* updates,
                                    int64_t* visits) const {
    int64_t row[block];
    RowNumbers rows{row, 0, 0};
    const Share all = Share::all(1);
    for (int64_t done = 0; done < n; done += rows.n) {
        if (!index_.next_block(first + done, first + n, 0, rows)) return false;
        (rows.skips ? apply_or_skip_ : apply_)({line, updates + done * combine_.item_size, visits, rows, 1, 1}, all,
                                               combine_);
    }
    return true;
}

}  // namespace gs
