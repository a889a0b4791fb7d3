// out[t] = f(out[t], updates[p]), where t is p with the index at p in place of its axis coordinate; p in row-major
// order
#include <atomic>
#include <cstring>

#include "accumulate.hpp"
#include "lane_walk.hpp"
#include "parallel.hpp"

namespace gs {
namespace {

// What one thread owns: the axis positions [first, last). Position -1 is nobody's.
struct Share {
    int64_t first, last;
};

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
        if (lane.positions[j] >= share.first && lane.positions[j] < share.last)
            std::memcpy(lane.out + lane.place(j) * size, lane.updates + j * size, static_cast<size_t>(size));
}

template <class T, class A, class Op>
void combine_elements(const Lane& lane, const Share& share, const Combine& combine) {
    const Op op;
    A* __restrict out = reinterpret_cast<A*>(lane.out);
    const T* __restrict updates = reinterpret_cast<const T*>(lane.updates);
    for (int64_t j = 0; j < lane.run.length; ++j) {
        if (lane.positions[j] < share.first || lane.positions[j] >= share.last) continue;
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

struct Scatter {
    const Lanes& lanes;
    const Index& index;
    const std::byte* updates;
    std::byte* out;
    int64_t* visits;
    const Combine& combine;
    ApplyLane apply;

    // The box elements [begin, end), as far as they are in the share.
    bool part(int64_t begin, int64_t end, const Share& share) const {
        LaneWalk walk(lanes, begin);
        int64_t positions[block];
        for (int64_t first = begin; first < end; first += block) {
            const int64_t n = std::min(block, end - first);
            if (!index.resolve(first, n, positions)) return false;
            for (int64_t done = 0; done < n;) {
                const Run run = walk.next(n - done);
                apply({out, updates + (first + done) * combine.item_size, visits, positions + done, run, lanes.stride},
                      share, combine);
                done += run.length;
            }
        }
        return true;
    }
};

}  // namespace

bool scatter_lanes(const Lanes& lanes, const Index& index, const std::byte* updates, std::byte* out,
                   const Combine& combine) {
    if (lanes.elements == 0) return true;
    int64_t groups = 1;  // index elements of different groups never meet
    for (int64_t n : lanes.before) groups *= n;
    const auto walk = [&](std::byte* target, int64_t target_size, int64_t* visits) {
        const Scatter scatter{lanes, index, updates, target, visits, combine, applier(combine)};
        // A thread owns destinations, never updates: the result does not depend on how many there are.
        const Work work{lanes.elements, combine.item_size};
        const int64_t group = lanes.elements / groups;
        std::atomic<bool> good = true;
        const auto keep = [&](bool ok) {
            if (!ok) good = false;
        };
        if (groups >= num_threads())
            for_ranges(groups, work, [&](int64_t begin, int64_t end) {
                keep(scatter.part(begin * group, end * group, {0, lanes.size}));
            });
        else if (lanes.data_elements * target_size < cached_bytes)
            keep(scatter.part(0, lanes.elements, {0, lanes.size}));
        else
            for_ranges(lanes.size, work,
                       [&](int64_t begin, int64_t end) { keep(scatter.part(0, lanes.elements, {begin, end})); });
        return good.load();
    };
    return scatter_around(combine, lanes.data_elements, 1, out, walk);
}

}  // namespace gs
