// out[t] = f(out[t], updates[p]), where t is p with the index at p in place of its axis coordinate; p in row-major
// order
#include <atomic>
#include <cstring>

#include "accumulate.hpp"
#include "lane_walk.hpp"
#include "machine.hpp"
#include "parallel.hpp"

namespace gs {
namespace {

// What one thread owns: the axis positions [first, last). Position -1 is nobody's.
struct Share {
    int64_t first, last;
    bool has(int64_t position) const {
        return static_cast<uint64_t>(position - first) < static_cast<uint64_t>(last - first);
    }
};

constexpr int64_t ahead = 32;  // how many elements ahead memory is asked for what will be needed

// The inner loop: the updates of one run into their places.
struct Lane {
    std::byte* out;
    const std::byte* updates;
    int64_t* visits;  // of data's elements, or null
    const int64_t* positions;
    Run run;
    int64_t stride;

    int64_t place(int64_t j) const { return run.base + positions[j] * stride + j * run.step; }
};
using ApplyLane = void (*)(const Lane&, const Share&, const Combine&);

template <int64_t fixed_size>
void set_elements(const Lane& lane, const Share& share, const Combine& combine) {
    const int64_t size = fixed_size > 0 ? fixed_size : combine.item_size;
    for (int64_t j = 0; j < lane.run.length; ++j)
        if (share.has(lane.positions[j]))
            std::memcpy(lane.out + lane.place(j) * size, lane.updates + j * size, static_cast<size_t>(size));
}

template <class T, class A, class Op>
GS_CLONES void combine_elements(const Lane& lane, const Share& share, const Combine& combine) {
    const Op op;
    A* __restrict out = reinterpret_cast<A*>(lane.out);
    const T* __restrict updates = reinterpret_cast<const T*>(lane.updates);
    for (int64_t j = 0; j < lane.run.length; ++j) {
        prefetch(out + lane.place(std::min(j + ahead, lane.run.length - 1)));
        if (!share.has(lane.positions[j])) continue;
        const int64_t at = lane.place(j);
        const bool replace = lane.visits && lane.visits[at]++ == 0 && !combine.include_self;
        const A update = accumulate_as<A>(updates[j]);
        out[at] = replace ? update : op(out[at], update);
    }
}

ApplyLane applier(const Combine& combine) {
    if (combine.reduction != Reduction::none)
        return visit_combine(combine, ApplyLane{nullptr},
                             []<class T, class A, class Op>(std::type_identity<T>, std::type_identity<A>, Op) {
                                 return ApplyLane{combine_elements<T, A, Op>};
                             });
    switch (combine.item_size) {
        case 1: return set_elements<1>;
        case 2: return set_elements<2>;
        case 4: return set_elements<4>;
        case 8: return set_elements<8>;
        case 16: return set_elements<16>;
        default: return set_elements<0>;
    }
}

}  // namespace

bool scatter_lanes(const Lanes& lanes, const Index& index, const std::byte* updates, std::byte* out,
                   const Combine& combine) {
    if (lanes.elements == 0) return true;
    const Box box(lanes);
    const auto scatter = [&](std::byte* target, int64_t target_size, int64_t* visits) {
        const ApplyLane apply_lane = applier(combine);
        std::atomic<bool> good = true;
        const auto part = [&](const Share& share, auto&& walk) {
            int64_t positions[block];
            const bool ok = walk([&](int64_t first, int64_t n) { return index.resolve(first, n, positions); },
                                 [&](int64_t first, int64_t offset, const Run& run) {
                                     apply_lane({target, updates + first * combine.item_size, visits,
                                                 positions + offset, run, lanes.stride},
                                                share, combine);
                                 });
            if (!ok) good = false;
        };
        // A thread owns destinations, never updates: the result does not depend on how many there are.
        const Share all{0, lanes.size};
        const Work work{lanes.elements, combine.item_size};
        const int64_t tile = tile_columns(box, target_size), group = lanes.elements / box.groups;
        const auto columns = [&](int64_t first_group, int64_t last_group, int64_t begin, int64_t end) {
            part(all, [&](auto&& resolve, auto&& apply) {
                return walk_columns(box, first_group, last_group, begin, end, tile ? tile : block, resolve, apply);
            });
        };
        const auto elements = [&](int64_t begin, int64_t end, const Share& share) {
            part(share, [&](auto&& resolve, auto&& apply) { return walk_elements(box, begin, end, resolve, apply); });
        };
        if (box.groups >= num_threads())
            for_ranges(box.groups, work, [&](int64_t begin, int64_t end) {
                tile ? columns(begin, end, 0, box.columns) : elements(begin * group, end * group, all);
            });
        else if (box.has_after && box.columns >= 32 * num_threads())
            for_ranges(box.columns, work, [&](int64_t begin, int64_t end) { columns(0, box.groups, begin, end); });
        else if (lanes.data_elements * target_size < cached_bytes)
            elements(0, lanes.elements, all);
        else
            for_ranges(lanes.size, work,
                       [&](int64_t begin, int64_t end) { elements(0, lanes.elements, {begin, end}); });
        return good.load();
    };
    return scatter_around(combine, lanes.data_elements, 1, out, scatter);
}

}  // namespace gs
