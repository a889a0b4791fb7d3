#include "gather_reduce.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "bags.hpp"
#include "groups.hpp"
#include "kernel_call.hpp"
#include "machine.hpp"
#include "parallel.hpp"
#include "scratch.hpp"
#include "sizes.hpp"

namespace gs {
namespace {

class Numbers {
  public:
    explicit Numbers(int64_t count) : memory_(count * 8, false) {}
    int64_t* get() const { return reinterpret_cast<int64_t*>(memory_.get()); }

  private:
    Scratch memory_;
};

// Resolves `count` indices into row numbers below `size`. False: an index is bad.
bool resolve(const void* indices, IndexType type, int64_t count, int64_t size, Rule rule, int64_t* rows) {
    return Index(indices, type, Shape{size}, Shape{1}, rule).resolve_all(count, rows);
}

// out[i] = elements[order[i]]
bool permute(const std::byte* elements, const int64_t* order, int64_t count, int64_t item_size, std::byte* out) {
    KernelCall call;
    const Shape line{count};
    if (make_plan(Kernel::gather, line, line, 0, 0, call.plan) != Fault::none) return false;
    complete(call, Operation{}, DType::opaque, item_size, order, IndexType::int64);
    return run(call, elements, out);
}

// Calls f(begin, end) for pieces of [0, n) on several threads. False: a call of f has returned false, or the call has
// to stop.
template <class F>
bool all_of_pieces(int64_t n, int64_t bytes_per_step, F&& f) {
    std::atomic<bool> all = true;
    for_ranges(n, {n, bytes_per_step}, [&](int64_t begin, int64_t end) {
        if (!in_pieces(begin, end, bytes_per_step, [&](int64_t first, int64_t last) { return all && f(first, last); }))
            all = false;
    });
    return all;
}

// Whether all bytes are 0. If so, no element is -0.0.
bool are_zeros(const std::byte* bytes, int64_t count) {
    constexpr int64_t word = 8, words = 64;  // the number of words that are checked together
    const int64_t chunk = word * words;
    const auto is_zero = [=](int64_t begin, int64_t end) {
        uint64_t any = 0, next = 0;
        for (; end - begin >= word; begin += word) {
            std::memcpy(&next, bytes + begin, sizeof next);
            any |= next;
        }
        for (; begin < end; ++begin) any |= std::to_integer<uint64_t>(bytes[begin]);
        return any == 0;
    };
    return all_of_pieces(count / chunk + 1, chunk, [=](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i)
            if (!is_zero(i * chunk, std::min((i + 1) * chunk, count))) return false;
        return true;
    });
}

// Turns -0.0 into 0.0, as a sum that begins with 0 would.
void add_zero(DType dtype, std::byte* out, int64_t count) {
    visit(dtype, 0, [=]<class T>(std::type_identity<T>) {
        if constexpr (!Integer<T> && !std::same_as<T, boolean>)
            for_pieces(count, {count, sizeof(T)}, [=](int64_t begin, int64_t end) {
                T* const values = reinterpret_cast<T*>(out);
                for (int64_t i = begin; i < end; ++i) values[i] = Add{}(values[i], T{});
            });
        return 0;
    });
}

bool resolve_ids(const GatherReduce& call, const GatherReduceInputs& inputs, const Numbers& ids) {
    return resolve(inputs.places, inputs.place_type, call.members, call.bags, call.segment_rule(), ids.get());
}

// The start of each bag, and the members in the order of their bags.
struct Order {
    Numbers starts, order;
    bool is_sorted = true;  // the members are already in that order

    explicit Order(const GatherReduce& call)
        : starts(call.bags + 1), order(call.form == BagForm::segment_ids ? call.members : 0) {}
};

BagFault find_bags(const GatherReduce& call, const GatherReduceInputs& inputs, Order& found) {
    int64_t* const starts = found.starts.get();
    if (call.form == BagForm::last_dimension) {
        const int64_t length = call.bags > 0 ? call.members / call.bags : 0;
        for (int64_t b = 0; b <= call.bags; ++b) starts[b] = b * length;
        return BagFault::none;
    }
    if (call.form == BagForm::offsets) {
        if (!resolve(inputs.places, inputs.place_type, call.bags, call.members + 1, {Mode::raise, false}, starts))
            return BagFault::offsets;
        starts[call.bags] = call.members;
        if (!std::is_sorted(starts, starts + call.bags)) return BagFault::offsets_order;
        return starts[0] == 0 ? BagFault::none : BagFault::offsets_start;
    }
    const Numbers ids(call.members);
    if (!resolve_ids(call, inputs, ids)) return BagFault::segment_ids;
    found.is_sorted = std::is_sorted(ids.get(), ids.get() + call.members);
    if (!group(ids.get(), call.members, call.bags, starts, found.order.get())) return BagFault::changed;
    return BagFault::none;
}

// Checks the inputs of a call whose rows have no elements. The number of bags can then be larger than memory.
BagFault check_inputs(const GatherReduce& call, const GatherReduceInputs& inputs) {
    const Numbers members(call.members);
    if (call.form == BagForm::segment_ids && !resolve_ids(call, inputs, members)) return BagFault::segment_ids;
    if (call.form == BagForm::offsets) {
        Order found(call);
        if (const BagFault fault = find_bags(call, inputs, found); fault != BagFault::none) return fault;
    }
    return resolve(inputs.indices, inputs.index_type, call.members, call.data_rows, call.rule, members.get())
               ? BagFault::none
               : BagFault::indices;
}

}  // namespace

BagFault gather_reduce(const GatherReduce& call, const GatherReduceInputs& inputs, std::byte* out) {
    if (call.width == 0) return check_inputs(call, inputs);
    Order found(call);
    if (const BagFault fault = find_bags(call, inputs, found); fault != BagFault::none) return fault;
    const int64_t size = call.combine.item_size;
    constexpr std::byte empty[16] = {};
    Bags bags{found.starts.get(), call.bags, nullptr, call.members, inputs.weights, call.rule.mode == Mode::skip};
    const auto reduce = [&](const int64_t* rows, const Combine& combine) {
        bags.rows = rows;
        return reduce_bags(bags, inputs.data, call.data_rows, call.width, empty, out, combine);
    };

    // The loops check each row that they read. So int64 indices are first tried as row numbers, without a separate
    // check.
    const bool are_rows = inputs.index_type == IndexType::int64 && call.rule.mode == Mode::raise;
    if (are_rows && found.is_sorted && !call.combine.include_self &&
        reduce(static_cast<const int64_t*>(inputs.indices), call.combine))
        return BagFault::none;

    const Numbers resolved(call.members);
    if (!resolve(inputs.indices, inputs.index_type, call.members, call.data_rows, call.rule, resolved.get()))
        return BagFault::indices;
    const Numbers sorted(found.is_sorted ? 0 : call.members);
    const Scratch sorted_weights(found.is_sorted || !inputs.weights ? 0 : call.members * size, false);
    const int64_t* rows = resolved.get();
    if (!found.is_sorted) {
        const int64_t* const order = found.order.get();
        const auto* const elements = reinterpret_cast<const std::byte*>(rows);
        if (!permute(elements, order, call.members, 8, reinterpret_cast<std::byte*>(sorted.get())))
            return BagFault::changed;
        if (inputs.weights) {
            if (!permute(inputs.weights, order, call.members, size, sorted_weights.get())) return BagFault::changed;
            bags.weights = sorted_weights.get();
        }
        rows = sorted.get();
    }
    Combine combine = call.combine;
    // Sums that begin with zeros do not need first members. Their result differs from a sum that begins with the first
    // row only where that sum is -0.0.
    const int64_t elements = call.bags * call.width;
    const bool onto_zeros =
        combine.include_self && combine.reduction == Reduction::add && are_zeros(out, elements * size);
    combine.include_self &= !onto_zeros;
    if (!reduce(rows, combine)) return BagFault::changed;
    if (onto_zeros) add_zero(combine.dtype, out, elements);
    return BagFault::none;
}

}  // namespace gs
