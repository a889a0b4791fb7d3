#include <algorithm>
#include <concepts>
#include <cstring>
#include <numeric>

#include "accumulate.hpp"
#include "halves.hpp"
#include "machine.hpp"
#include "row_moves.hpp"
#include "vectors.hpp"

namespace gs {
namespace {

// The updates whose rows are in a share: own[0] to own[n - 1]. Those behind them, up to own[known - 1], are only
// prefetched.
struct Picked {
    int32_t own[max_rows];
    int64_t n, known;

    // Returns the update to prefetch at update i. `distance` is the largest distance. A shorter one is used if fewer
    // updates are known after own[n - 1]. Otherwise the first updates of the next block would not be prefetched.
    int64_t ahead(int64_t i, int64_t distance) const {
        return own[std::min(i + (known > n ? std::min(distance, known - n) : distance), known - 1)];
    }
};

// The order of rows is unpredictable, so the loop has no branch.
GS_LOOP int64_t pick_own(const RowNumbers& rows, int64_t first, int64_t last, const Share& share, int32_t* own) {
    int64_t n = 0;
    for (int64_t i = first; i < last; ++i) {
        own[n] = static_cast<int32_t>(i);
        n += share.has(rows.row[i]);
    }
    return n;
}

GS_LOOP void pick_own(const RowNumbers& rows, const Share& share, Picked& picked) {
    if (share.has_all_rows() && !rows.skips) {
        std::iota(picked.own, picked.own + rows.known, 0);
        picked.n = rows.n;
        picked.known = rows.known;
        return;
    }
    picked.n = pick_own(rows, 0, rows.n, share, picked.own);
    picked.known = picked.n + pick_own(rows, rows.n, rows.known, share, picked.own + picked.n);
}

// Whether each row is the one behind the row before it.
GS_LOOP bool are_consecutive(const RowNumbers& rows) {
    if (rows.n < 2 || rows.row[1] != rows.row[0] + 1) return false;
    int64_t others = 0;
    for (int64_t i = 0; i < rows.n; ++i) others |= rows.row[i] - i - rows.row[0];
    return others == 0;
}

// Prefetches what follows some updates, which are read in order, at a distance of updates_lookahead_bytes.
GS_LOOP void prefetch_in_order(const std::byte* updates, int64_t size) {
    prefetch_block(updates, std::min<int64_t>(size, 512), updates_lookahead_bytes);
}

// Sets rows that are all in the share. None is -1. `size`: the bytes of a row; `stride`: those between rows.
GS_LOOP void set_all_rows(const Updates& u, int64_t size, int64_t stride) {
    const int64_t *const row = u.rows.row, n = u.rows.n, ahead = row_lookahead(size);
    const std::byte* from = u.updates;
    for (int64_t i = 0; i < n; ++i, from += size) {
        if (u.prefetch_updates) prefetch_in_order(from, size);
        if (u.prefetch) prefetch_row(u.out + row[std::min(i + ahead, u.rows.known - 1)] * stride, size);
        copy_row(u.out + row[i] * stride, from, size);
    }
}

GS_LOOP void set_rows(const Updates& u, const Share& share, const Combine& combine) {
    const int64_t size = combine.item_size, length = (share.last - share.first) * size, stride = u.row_stride * size;
    const std::byte* const updates = u.updates + share.first * size;
    std::byte* const out = u.out + share.first * size;
    const bool all = share.is_all(u.width) && !u.rows.skips;
    if (all && stride == length && are_consecutive(u.rows)) {
        std::byte* const to = out + u.rows.row[0] * length;
        if (u.stream)
            stream_copy(to, updates, u.rows.n * length);
        else
            std::memcpy(to, updates, static_cast<size_t>(u.rows.n * length));
        return;
    }
    if (all && !u.stream) {
        switch (length) {  // a constant size saves time if rows are short
            case 8: return set_all_rows(u, 8, stride);
            case 12: return set_all_rows(u, 12, stride);
            case 16: return set_all_rows(u, 16, stride);
            case 24: return set_all_rows(u, 24, stride);
            case 32: return set_all_rows(u, 32, stride);
            default: return set_all_rows(u, length, stride);
        }
    }
    Picked picked;
    pick_own(u.rows, share, picked);
    const int64_t ahead = row_lookahead(length);
    for (int64_t i = 0; i < picked.n; ++i) {
        const int64_t own = picked.own[i], next = picked.ahead(i, ahead);
        if (u.prefetch_updates) prefetch_lines(updates + next * u.width * size, length);
        const std::byte* const from = updates + own * u.width * size;
        std::byte *const to = out + u.rows.row[own] * stride, *const next_to = out + u.rows.row[next] * stride;
        if (u.stream) {
            prefetch_ends(next_to, length);
            stream_copy(to, from, length);
        } else {
            if (u.prefetch) prefetch_row(next_to, length);
            copy_row(to, from, length);
        }
    }
}

// out = op(out, updates), element by element.
template <class T, class A, class Op>
GS_LOOP void combine_row(A* __restrict out, const T* __restrict updates, int64_t n, Op op) {
    for (int64_t w = 0; w < n; ++w) out[w] = op(out[w], accumulate_as<A>(updates[w]));
}

#ifdef GS_VECTORS
// The types of elements that vectors of GCC and Clang hold.
template <class T>
concept Arithmetic = Integer<T> || std::floating_point<T>;

// a = Op(a, u) for vectors.
template <class Op, class V>
GS_LOOP void combine_vector(V& a, const V& u) {
    if constexpr (std::same_as<Op, Add>) {
        a += u;
    } else if constexpr (std::same_as<Op, Sub>) {
        a -= u;
    } else if constexpr (std::same_as<Op, Mul>) {
        a *= u;
    } else {
        const V chosen = std::same_as<Op, Min> ? (u < a ? u : a) : (u > a ? u : a);
        a = u != u ? u : chosen;  // NaN
    }
}

// If vectors are longer than those of the processor, compilers compare their elements one by one. They split other
// operations into shorter vectors.
template <class Op>
inline constexpr int64_t vector_bytes = Selection<Op> ? 16 : 32;

// Combines elements in `bytes` bytes, at most vector_bytes, with one vector operation. Sums and products of integers
// wrap.
template <int64_t bytes, class Op, class T>
GS_LOOP void combine_bytes(T* out, const T* updates) {
    using Element =
        typename std::conditional_t<Integer<T> && !Selection<Op>, std::make_unsigned<T>, std::type_identity<T>>::type;
    using V = Vector<Element, std::max<int64_t>(bytes, 16) / static_cast<int64_t>(sizeof(T))>;
    V a, u;
    load_vector<bytes>(out, a);
    load_vector<bytes>(updates, u);
    combine_vector<Op>(a, u);
    store_vector<bytes>(out, a);
}

// The same for any number of bytes that is a power of two.
template <int64_t bytes, class Op, class T>
GS_LOOP void combine_some(T* out, const T* updates) {
    constexpr int64_t piece = std::min(bytes, vector_bytes<Op>), elements = piece / static_cast<int64_t>(sizeof(T));
    for (int64_t i = 0; i < bytes / piece; ++i) combine_bytes<piece, Op>(out + i * elements, updates + i * elements);
}

// The last elements of a row, in less than 2 * `bytes` bytes.
template <int64_t bytes, class Op, class T>
GS_LOOP void combine_last(T* out, const T* updates, int64_t n) {
    constexpr int64_t elements = bytes / static_cast<int64_t>(sizeof(T));
    if constexpr (elements > 0) {
        if (n & elements) {
            combine_some<bytes, Op>(out, updates);
            out += elements;
            updates += elements;
        }
        combine_last<bytes / 2, Op>(out, updates, n);
    }
}

// Rows of a few elements take most of their time outside of a loop.
template <Arithmetic T, class Op>
    requires(std::same_as<Op, Add> || std::same_as<Op, Sub> || std::same_as<Op, Mul> || Selection<Op>)
GS_LOOP void combine_row(T* __restrict out, const T* __restrict updates, int64_t n, [[maybe_unused]] Op op) {
    constexpr int64_t lanes = line_size / static_cast<int64_t>(sizeof(T));
    const int64_t whole = n & -lanes;
    if constexpr (Selection<Op>)
        for (int64_t w = 0; w < whole; ++w) out[w] = op(out[w], updates[w]);
    else
        for (int64_t w = 0; w < whole; w += lanes) combine_some<line_size, Op>(out + w, updates + w);
    combine_last<line_size / 2, Op>(out + whole, updates + whole, n);
}
#endif

// Values of float16 are converted many at a time, one piece of the row after the other.
template <std::same_as<float16> T, class A, class Op>
    requires(!Selection<Op>)
GS_LOOP void combine_row(A* __restrict out, const T* __restrict updates, int64_t n, Op op) {
    constexpr int64_t piece = halves_per_piece, few = 8;  // fewer are faster one by one
    if constexpr (std::same_as<A, T>)
        if (combine_float16_row<Op>(out, updates, n)) return;
    float a[piece], u[piece];
    int64_t first = 0;
    for (; n - first >= few; first += std::min(piece, n - first)) {
        const int64_t m = std::min(piece, n - first);
        widen(updates + first, u, m);
        if constexpr (!std::same_as<A, T>) {
            for (int64_t w = 0; w < m; ++w) out[first + w] = op(out[first + w], A(u[w]));
        } else {
            widen(out + first, a, m);
            for (int64_t w = 0; w < m; ++w) a[w] = op(a[w], u[w]);
            narrow(a, out + first, m);
        }
    }
    for (; first < n; ++first) out[first] = op(out[first], accumulate_as<A>(updates[first]));
}

template <class T, class A, class Op>
GS_LOOP void combine_all_rows(const Updates& u, int64_t width, Op op) {
    A* const out = reinterpret_cast<A*>(u.out);
    const T* updates = reinterpret_cast<const T*>(u.updates);
    const int64_t *const row = u.rows.row, n = u.rows.n, row_stride = u.row_stride,
                         size = width * static_cast<int64_t>(sizeof(A)), ahead = row_lookahead(size);
    for (int64_t i = 0; i < n; ++i, updates += width) {
        if (u.prefetch_updates) prefetch_in_order(reinterpret_cast<const std::byte*>(updates), size);
        if (u.prefetch) {
            const int64_t next = row[std::min(i + ahead, u.rows.known - 1)];
            prefetch_row(reinterpret_cast<const std::byte*>(out + next * row_stride), size);
        }
        combine_row(out + row[i] * row_stride, updates, width, op);
    }
}

template <class T, class A, class Op>
GS_LOOP void combine_rows(const Updates& u, const Share& share, const Combine& combine) {
    const Op op = make_op<Op>(combine);
    if (share.is_all(u.width) && !u.rows.skips && !u.visits) {
        switch (u.width) {  // a constant width saves time if rows are short
            case 2: return combine_all_rows<T, A>(u, 2, op);
            case 3: return combine_all_rows<T, A>(u, 3, op);
            case 4: return combine_all_rows<T, A>(u, 4, op);
            default: return combine_all_rows<T, A>(u, u.width, op);
        }
    }
    Picked picked;
    pick_own(u.rows, share, picked);
    const int64_t length = share.last - share.first, ahead = row_lookahead(length * int64_t{sizeof(A)});
    for (int64_t i = 0; i < picked.n; ++i) {
        const int64_t own = picked.own[i], next = picked.ahead(i, ahead);
        if (u.prefetch_updates)
            prefetch_lines(u.updates + (next * u.width + share.first) * static_cast<int64_t>(sizeof(T)),
                           length * static_cast<int64_t>(sizeof(T)));
        if (u.prefetch)
            prefetch_row(u.out + (u.rows.row[next] * u.row_stride + share.first) * static_cast<int64_t>(sizeof(A)),
                         length * static_cast<int64_t>(sizeof(A)));
        const int64_t row = u.rows.row[own];
        A* __restrict out = reinterpret_cast<A*>(u.out) + row * u.row_stride + share.first;
        const T* __restrict updates = reinterpret_cast<const T*>(u.updates) + own * u.width + share.first;
        const bool replace = u.visits && u.visits[row]++ == 0 && !combine.include_self;
        if (replace)
            for (int64_t w = 0; w < length; ++w) out[w] = accumulate_as<A>(updates[w]);
        else
            combine_row(out, updates, length, op);
    }
}

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

// Combines all rows of one element.
template <class T, class A, class Op, bool counted>
void combine_all_elements(const Updates& u, const Share& share, const Combine& combine) {
    if constexpr (!std::derived_from<Op, Set>)
        if (are_runs(u.rows)) return float_version<combine_runs<T, A, Op>>()(u, share, combine);
    const Op op = make_op<Op>(combine);
    const bool include_self = combine.include_self;
    A* __restrict out = reinterpret_cast<A*>(u.out);
    const T* __restrict updates = reinterpret_cast<const T*>(u.updates);
    const int64_t* rows = u.rows.row;
    int64_t* __restrict visits = u.visits;
    const auto apply = [&](int64_t row, T update) {
        const A value = accumulate_as<A>(update), combined = op(out[row], value);
        if constexpr (counted)
            out[row] = visits[row]++ == 0 && !include_self ? value : combined;
        else
            out[row] = combined;
    };
    const int64_t n = u.rows.n;
    constexpr int64_t at_once = 8, per_line = line_size / static_cast<int64_t>(sizeof(T));
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
            A& place = out[row[j]];
            const bool replaces = counted && visits[row[j]]++ == 0 && !include_self;
            place = replaces ? update[j] : op(place, update[j]);
        }
        return true;
    };
    constexpr int64_t at_once = 8, together = 4;
    int64_t i = 0;
    for (; i + at_once <= n; i += at_once) {
        if (prefetches) {
            prefetch_ahead<Cache::second>(indices + i * static_cast<int64_t>(sizeof(I)), index_lookahead_bytes);
            prefetch_ahead<Cache::second>(others + i * static_cast<int64_t>(sizeof(T)), updates_lookahead_bytes);
        }
        GS_UNROLL_ALL
        for (int64_t j = 0; j < at_once; j += together)
            if (!combine(i + j, std::integral_constant<int64_t, together>())) return i + j;
    }
    for (; i < n; ++i)
        if (!combine(i, std::integral_constant<int64_t, 1>())) return i;
    return n;
}

template <class T, class A, class Op, class I>
ApplyByIndex applier_by_index(bool counted) {
    return counted ? combine_by_index<T, A, Op, I, true> : combine_by_index<T, A, Op, I, false>;
}

// There are loops for 32 and 64 bits. Narrower indices are widened first. Indices are read as unsigned numbers, so a
// negative one is out of range and ends the loop. For signed indices of 32 bits, this needs at most 2^31 rows.
template <class T, class A, class Op>
ApplyByIndex applier_by_index(IndexType type, bool counted) {
    return size_of(type) == 8 ? applier_by_index<T, A, Op, uint64_t>(counted)
                              : applier_by_index<T, A, Op, uint32_t>(counted);
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
    if (options.counted) return combine_all_elements<T, A, Op, true>;
    if constexpr (std::same_as<T, float16> && std::same_as<A, float16> && !Selection<Op>)
        if (has_f16c()) return combine_all_float16<Op>;
    return combine_all_elements<T, A, Op, false>;
}

// Prefetches the update of a later member, whose number has not been checked yet.
GS_LOOP void prefetch_member(const std::byte* updates, const Members& members, int64_t i, int64_t size) {
    const int64_t member = members.order[std::min(i, members.known - 1)];
    if (static_cast<uint64_t>(member) < static_cast<uint64_t>(members.count))
        prefetch_row(updates + member * size, size);
}

template <class T, class Op>
GS_LOOP bool combine_group(std::byte* row, const std::byte* all_updates, const Members& members, int64_t width,
                           bool replace) {
    T* __restrict out = reinterpret_cast<T*>(row);
    const T* const updates = reinterpret_cast<const T*>(all_updates);
    const int64_t size = width * static_cast<int64_t>(sizeof(T));
    const Op op;
    if (width == 1) {  // the sum stays in a register
        T sum = *out;
        for (int64_t i = 0; i < members.n; ++i) {
            prefetch_member(all_updates, members, i + lookahead, size);
            const int64_t member = read_once(members.order[i]);
            if (static_cast<uint64_t>(member) >= static_cast<uint64_t>(members.count)) return false;
            sum = i == 0 && replace ? updates[member] : op(sum, updates[member]);
        }
        *out = sum;
        return true;
    }
    for (int64_t i = 0; i < members.n; ++i) {
        prefetch_member(all_updates, members, i + row_lookahead(size), size);
        const int64_t member = read_once(members.order[i]);
        if (static_cast<uint64_t>(member) >= static_cast<uint64_t>(members.count)) return false;
        const T* __restrict update = updates + member * width;
        if (i == 0 && replace)
            std::copy_n(update, width, out);
        else
            combine_row(out, update, width, op);
    }
    return true;
}

// Whether an update replaces a minimum or maximum. Among equal values, and among NaNs, the first one stays.
template <class Op, class T>
GS_LOOP bool beats(T best, T update) {
    constexpr bool minimum = std::same_as<Op, Min>;
    if constexpr (Half<T>)
        return beats<Op>(float(best), float(update));
    else if constexpr (std::same_as<T, boolean>)
        return minimum ? bool(best) && !bool(update) : !bool(best) && bool(update);
    else if constexpr (Float<T>)
        return (minimum ? update < best : update > best) | ((update != update) & (best == best));
    else
        return minimum ? update < best : update > best;
}

template <class T, class Op>
GS_LOOP bool extremum_of_group(std::byte* row, int64_t* __restrict found, const std::byte* all_updates,
                               const Members& members, int64_t width, bool replace) {
    T* __restrict best = reinterpret_cast<T*>(row);
    const int64_t size = width * static_cast<int64_t>(sizeof(T));
    for (int64_t i = 0; i < members.n; ++i) {
        prefetch_member(all_updates, members, i + row_lookahead(size), size);
        const int64_t member = read_once(members.order[i]);
        if (static_cast<uint64_t>(member) >= static_cast<uint64_t>(members.count)) return false;
        const T* __restrict update = reinterpret_cast<const T*>(all_updates) + member * width;
        if (i == 0 && replace) {
            std::copy_n(update, width, best);
            std::fill_n(found, width, member);
        } else {
            for (int64_t w = 0; w < width; ++w) {
                const bool better = beats<Op>(best[w], update[w]);
                best[w] = better ? update[w] : best[w];
                found[w] = better ? member : found[w];
            }
        }
    }
    return true;
}

template <class Op>
ApplyRows setter(int64_t item_size, const ApplyOptions& options) {
    switch (item_size) {
        case 1: return element_applier<Bytes<1>, Bytes<1>, Op>(options);
        case 2: return element_applier<Bytes<2>, Bytes<2>, Op>(options);
        case 4: return element_applier<Bytes<4>, Bytes<4>, Op>(options);
        case 8: return element_applier<Bytes<8>, Bytes<8>, Op>(options);
        case 16: return element_applier<Bytes<16>, Bytes<16>, Op>(options);
        default: return version<set_rows>();
    }
}

// Null: there is no loop for this size.
template <class Op>
ApplyByIndex setter_by_index(int64_t item_size, IndexType type) {
    switch (item_size) {
        case 1: return applier_by_index<Bytes<1>, Bytes<1>, Op>(type, false);
        case 2: return applier_by_index<Bytes<2>, Bytes<2>, Op>(type, false);
        case 4: return applier_by_index<Bytes<4>, Bytes<4>, Op>(type, false);
        case 8: return applier_by_index<Bytes<8>, Bytes<8>, Op>(type, false);
        case 16: return applier_by_index<Bytes<16>, Bytes<16>, Op>(type, false);
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
                             if constexpr ((std::same_as<T, A> && !Half<T>) || Counted<A>)
                                 return applier_by_index<T, A, Op>(type, options.counted);
                             else
                                 return ApplyByIndex{nullptr};
                         });
}

}  // namespace

ApplyRows applier(const Combine& combine, int64_t width, const ApplyOptions& options) {
    if (combine.reduction == Reduction::none)
        return width > 1              ? version<set_rows>()
               : options.prefetch_set ? setter<PrefetchAndSet>(combine.item_size, options)
                                      : setter<Set>(combine.item_size, options);
    return visit_combine(
        combine, ApplyRows{nullptr}, [&]<class T, class A, class Op>(std::type_identity<T>, std::type_identity<A>, Op) {
            return width > 1 ? float_version<combine_rows<T, A, Op>>() : element_applier<T, A, Op>(options);
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

CombineGroup group_combiner(const Combine& combine) {
    return visit_combine(combine, CombineGroup{nullptr},
                         []<class T, class A, class Op>(std::type_identity<T>, std::type_identity<A>, Op) {
                             if constexpr (std::same_as<T, A>)
                                 return float_version<combine_group<T, Op>>();
                             else
                                 return CombineGroup{nullptr};
                         });
}

ExtremumOfGroup extremum_finder(const Combine& combine) {
    return visit(combine.dtype, ExtremumOfGroup{nullptr}, [&]<class T>(std::type_identity<T>) -> ExtremumOfGroup {
        if constexpr (Ordered<T>)
            return combine.reduction == Reduction::min ? float_version<extremum_of_group<T, Min>>()
                                                       : float_version<extremum_of_group<T, Max>>();
        else
            return nullptr;
    });
}

}  // namespace gs
