#include "combine_row.hpp"

namespace gs {
namespace {

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

}  // namespace

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
