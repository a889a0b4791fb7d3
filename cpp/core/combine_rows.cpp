#include "combine_row.hpp"

namespace gs {
namespace {

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

// `has_widths`: short rows have loops.
template <class T, class A, class Op, bool has_widths>
GS_LOOP void combine_rows(const Updates& u, const Share& share, const Combine& combine) {
    const Op op = make_op<Op>(combine);
    if constexpr (has_widths)
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
            copy_row_as(out, updates, length);
        else
            combine_row(out, updates, length, op);
    }
}

// Processors without AVX2 are rare, so they have no loops for short rows. The arithmetic of long sums and of sums in
// two parts takes longer than what these save, and gains nothing from vectors.
template <class T, class A, class Op>
ApplyRows row_applier() {
    constexpr bool is_slow = std::same_as<Op, AddToLongSums> || std::same_as<A, ComplexPair> || std::same_as<A, Int128>;
#ifdef GS_VERSIONS
    if constexpr (!is_slow)
        if (instruction_set >= InstructionSet::avx2) return Versions<combine_rows<T, A, Op, true>>::avx2;
    return Versions<combine_rows<T, A, Op, false>>::baseline;
#else
    return Versions<combine_rows<T, A, Op, !is_slow>>::baseline;
#endif
}

}  // namespace

ApplyRows applier(const Combine& combine, int64_t width, const ApplyOptions& options) {
    if (width == 1)
        if (const ApplyRows elements = element_applier(combine, options)) return elements;
    if (combine.reduction == Reduction::none) return version<set_rows>();
    return visit_combine(combine, ApplyRows{nullptr},
                         []<class T, class A, class Op>(std::type_identity<T>, std::type_identity<A>, Op) {
                             return row_applier<T, A, Op>();
                         });
}

}  // namespace gs
