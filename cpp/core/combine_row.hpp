// The parts that the loops over rows, single elements and groups share: which updates a thread applies, and how one row
// is combined.
#pragma once

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
namespace {  // each file that includes this has its own loops

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

// Combines a few elements. This is a separate function, so that the loops stay short.
template <class T, class A, class Op>
GS_NO_INLINE void combine_few(A* __restrict out, const T* __restrict updates, int64_t n, Op op) {
    for (int64_t i = 0; i < n; ++i) out[i] = op(out[i], accumulate_as<A>(updates[i]));
}

// The same for a row, for processors without F16C.
template <class Op>
GS_NO_INLINE void combine_pieces(float16* out, const float16* updates, int64_t n, Op op) {
    constexpr int64_t piece = halves_per_piece, few = 8;
    float a[piece], u[piece];
    int64_t first = 0;
    for (; n - first >= few; first += std::min(piece, n - first)) {
        const int64_t m = std::min(piece, n - first);
        widen(updates + first, u, m);
        widen(out + first, a, m);
        for (int64_t w = 0; w < m; ++w) a[w] = op(a[w], u[w]);
        narrow(a, out + first, m);
    }
    combine_few(out + first, updates + first, n - first, op);
}

// Copies a row into sums.
template <class T, class A>
GS_NO_INLINE void copy_row_as(A* __restrict out, const T* __restrict updates, int64_t n) {
    for (int64_t w = 0; w < n; ++w) out[w] = accumulate_as<A>(updates[w]);
}

// Values of float16 are converted many at a time, one piece of the row after the other.
template <std::same_as<float16> T, class A, class Op>
    requires(!Selection<Op>)
GS_LOOP void combine_row(A* __restrict out, const T* __restrict updates, int64_t n, Op op) {
    constexpr int64_t piece = halves_per_piece, few = 8;  // fewer are faster one by one
    if constexpr (std::same_as<A, T>) {
        if (!combine_float16_row<Op>(out, updates, n)) combine_pieces(out, updates, n, op);
    } else {
        float u[piece];
        int64_t first = 0;
        for (; n - first >= few; first += std::min(piece, n - first)) {
            const int64_t m = std::min(piece, n - first);
            widen(updates + first, u, m);
            for (int64_t w = 0; w < m; ++w) out[first + w] = op(out[first + w], A(u[w]));
        }
        if (first < n) combine_few(out + first, updates + first, n - first, op);
    }
}

}  // namespace

// Combines single elements (combine_elements.cpp). Null: elements of this size are set as rows.
ApplyRows element_applier(const Combine&, const ApplyOptions&);

}  // namespace gs
