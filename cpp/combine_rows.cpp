#include <algorithm>
#include <cstring>

#include "accumulate.hpp"
#include "machine.hpp"
#include "row_moves.hpp"

namespace gs {
namespace {

constexpr int64_t ahead = 32, rows_ahead = 8;  // how many elements and rows ahead memory is asked for

inline void prefetch_row(const std::byte* row, int64_t size) {
    for (int64_t line = 0; line < std::min<int64_t>(size, 512); line += 64) prefetch(row + line);
}

void set_rows(const Updates& u, const Share& share, const Combine& combine) {
    const int64_t size = combine.item_size, offset = share.first * size, length = (share.last - share.first) * size;
    for (int64_t i = 0; i < u.n; ++i)
        if (share.has(u.rows[i]))
            std::memcpy(u.out + u.rows[i] * u.width * size + offset, u.updates + i * u.width * size + offset,
                        static_cast<size_t>(length));
}

template <int64_t size>
GS_CLONES void set_elements(const Updates& u, const Share& share, const Combine&) {
    for (int64_t i = 0; i < u.n; ++i) {
        prefetch(u.out + u.rows[std::min(i + ahead, u.n - 1)] * size);
        if (share.has(u.rows[i])) std::memcpy(u.out + u.rows[i] * size, u.updates + i * size, size);
    }
}

// Which of the updates go to rows in the share: as good as random, so they are picked without a branch.
inline int64_t pick_own(const Updates& u, const Share& share, int32_t* own) {
    int64_t n = 0;
    for (int64_t i = 0; i < u.n; ++i) {
        own[n] = static_cast<int32_t>(i);
        n += share.has(u.rows[i]);
    }
    return n;
}

template <class T, class A, class Op>
GS_CLONES void combine_rows(const Updates& u, const Share& share, const Combine& combine) {
    const Op op;
    int32_t own[block];
    const int64_t n = pick_own(u, share, own);
    const int64_t length = share.last - share.first;
    for (int64_t i = 0; i < n; ++i) {
        const int64_t next = own[std::min(i + rows_ahead, n - 1)];
        prefetch_row(u.updates + (next * u.width + share.first) * static_cast<int64_t>(sizeof(T)),
                     length * static_cast<int64_t>(sizeof(T)));
        prefetch_row(u.out + (u.rows[next] * u.width + share.first) * static_cast<int64_t>(sizeof(A)),
                     length * static_cast<int64_t>(sizeof(A)));
        const int64_t row = u.rows[own[i]];
        A* __restrict out = reinterpret_cast<A*>(u.out) + row * u.width;
        const T* __restrict updates = reinterpret_cast<const T*>(u.updates) + own[i] * u.width;
        const bool replace = u.visits && u.visits[row]++ == 0 && !combine.include_self;
        if (replace)
            for (int64_t w = share.first; w < share.last; ++w) out[w] = accumulate_as<A>(updates[w]);
        else
            for (int64_t w = share.first; w < share.last; ++w) out[w] = op(out[w], accumulate_as<A>(updates[w]));
    }
}

// Rows of one element.
template <class T, class A, class Op>
GS_CLONES void combine_elements(const Updates& u, const Share& share, const Combine& combine) {
    const Op op;
    A* __restrict out = reinterpret_cast<A*>(u.out);
    const T* __restrict updates = reinterpret_cast<const T*>(u.updates);
    int32_t own[block];
    const int64_t n = pick_own(u, share, own);
    for (int64_t i = 0; i < n; ++i) {
        prefetch(out + u.rows[own[std::min(i + ahead, n - 1)]]);
        const int64_t row = u.rows[own[i]];
        const bool replace = u.visits && u.visits[row]++ == 0 && !combine.include_self;
        const A update = accumulate_as<A>(updates[own[i]]);
        out[row] = replace ? update : op(out[row], update);
    }
}

template <class T, class A, class Op>
GS_CLONES void combine_all_elements(const Updates& u, const Share&, const Combine&) {
    const Op op;
    A* __restrict out = reinterpret_cast<A*>(u.out);
    const T* __restrict updates = reinterpret_cast<const T*>(u.updates);
    const int64_t* rows = u.rows;
    for (int64_t i = 0, n = u.n; i < n; ++i) out[rows[i]] = op(out[rows[i]], accumulate_as<A>(updates[i]));
}

ApplyRows setter(int64_t item_size) {
    switch (item_size) {
        case 1: return set_elements<1>;
        case 2: return set_elements<2>;
        case 4: return set_elements<4>;
        case 8: return set_elements<8>;
        case 16: return set_elements<16>;
        default: return set_rows;
    }
}

}  // namespace

ApplyRows applier(const Combine& combine, int64_t width, bool whole) {
    if (combine.reduction == Reduction::none) return width == 1 ? setter(combine.item_size) : set_rows;
    return visit_combine(
        combine, ApplyRows{nullptr}, [&]<class T, class A, class Op>(std::type_identity<T>, std::type_identity<A>, Op) {
            if (width > 1) return ApplyRows{combine_rows<T, A, Op>};
            return whole ? ApplyRows{combine_all_elements<T, A, Op>} : ApplyRows{combine_elements<T, A, Op>};
        });
}

}  // namespace gs
