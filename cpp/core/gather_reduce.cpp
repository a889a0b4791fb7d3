#include "gather_reduce.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <numeric>

#include "groups.hpp"
#include "machine.hpp"
#include "parallel.hpp"
#include "plan.hpp"
#include "sizes.hpp"

namespace gs {
namespace {

// The memory of `count` numbers.
int64_t* allocate(std::optional<Scratch>& memory, int64_t count) {
    memory.emplace(count * 8, false);
    return reinterpret_cast<int64_t*>(memory->get());
}

Index index_of(const void* values, IndexType type, int64_t size, Rule rule) {
    return Index(values, type, Shape{size}, Shape{1}, rule);
}

// Resolves `count` indices into row numbers below `size`. False: an index is bad.
bool resolve(const void* indices, IndexType type, int64_t count, int64_t size, Rule rule, int64_t* rows) {
    return index_of(indices, type, size, rule).resolve_all(count, rows);
}

Index ids_of(const GatherReduce& call, const GatherReduceInputs& inputs) {
    return index_of(inputs.bag_values, inputs.bag_type, call.bags, call.segment_rule());
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

// Whether some number is less than the one before it.
GS_LOOP bool descend(const int64_t* numbers, int64_t n, int64_t before) {
    int64_t any = numbers[0] < before;
    for (int64_t j = 1; j < n; ++j) any |= numbers[j] < numbers[j - 1];
    return any;
}

// Resolves numbers and checks that they ascend.
BagFault resolve_ascending(const Index& numbers, int64_t count, int64_t* resolved) {
    std::atomic<bool> good = true, ascends = true;
    for_ranges(count, {count, 8}, [&](int64_t begin, int64_t end) {
        int64_t before = 0;
        if (begin > 0 && !numbers.resolve(begin - 1, 1, &before)) good = false;
        for (int64_t i = begin; i < end && good; i += block) {
            const int64_t n = std::min(block, end - i);
            int64_t* const now = resolved + i;
            if (!numbers.resolve(i, n, now)) {
                good = false;
                return;
            }
            if (version<descend>()(now, n, before)) ascends = false;
            before = now[n - 1];
        }
    });
    return !good ? BagFault::offsets : ascends ? BagFault::none : BagFault::offsets_order;
}

enum class IdOrder : uint8_t { bad, unsorted, sorted };

// Turns segment ids into the starts of their bags, if the ids are sorted. Each thread writes the starts of the bags
// that end within its members.
IdOrder find_starts(const Index& ids, int64_t members, int64_t bags, int64_t* starts) {
    std::atomic<bool> good = true, is_sorted = true;
    // Moves a position to the end of the bag of the member before it, whose id is stored in `id`.
    const auto end_of_bag = [&](int64_t position, int64_t& id) {
        id = -1;
        if (position > 0 && !ids.resolve(position - 1, 1, &id)) good = false;
        int64_t now[block];
        while (good && position > 0 && position < members) {
            const int64_t n = std::min(block, members - position);
            if (!ids.resolve(position, n, now)) good = false;
            const int64_t same = std::find_if(now, now + n, [=](int64_t other) { return other != id; }) - now;
            position += same;
            if (same < n) break;
        }
        return position;
    };
    for_ranges(members, {members, 16}, [&](int64_t begin, int64_t end) {
        int64_t before, last;
        const int64_t first = end_of_bag(begin, before), next = end_of_bag(end, last);
        if (!good) return;
        if (last < before) {
            is_sorted = false;
            return;
        }
        int64_t* const ends = starts + 1;
        std::fill(ends + before + 1, ends + last + 1, 0);
        int64_t now[block], previous = before;
        for (int64_t i = first; i < next; i += block) {
            const int64_t n = std::min(block, next - i);
            if (!ids.resolve(i, n, now)) good = false;
            if (!good || !is_sorted) return;
            // Other threads write the starts after that of `last`.
            if (version<descend>()(now, n, previous) || now[n - 1] > last) {
                is_sorted = false;
                return;
            }
            const bool is_one_bag = now[0] == now[n - 1];
            for (int64_t j = is_one_bag ? n - 1 : 0; j < n; ++j) ends[now[j]] = i + j + 1;
            previous = now[n - 1];
        }
        int64_t reached = first;
        for (int64_t b = before + 1; b <= last; ++b) reached = ends[b] = std::max(ends[b], reached);
    });
    if (!good) return IdOrder::bad;
    if (!is_sorted) return IdOrder::unsorted;
    int64_t last = -1;
    if (members > 0 && !ids.resolve(members - 1, 1, &last)) return IdOrder::bad;
    starts[0] = 0;
    (void)in_pieces(last + 1, bags, 8,
                    [&](int64_t begin, int64_t end) { std::fill(starts + begin + 1, starts + end + 1, members); });
    return IdOrder::sorted;
}

}  // namespace

int64_t count_bags(const GatherReduceInputs& inputs, int64_t members) {
    std::atomic<uint64_t> greatest = 0;  // plus 1
    visit_index_type(inputs.bag_type, [&]<class I>(I) {
        const I* const ids = static_cast<const I*>(inputs.bag_values);
        for_pieces(members, {members, 8}, [&](int64_t begin, int64_t end) {
            I most = ids[begin];
            for (int64_t i = begin; i < end; ++i) most = std::max(most, ids[i]);
            uint64_t known = greatest;
            const uint64_t count = most < I{0} ? 0 : std::min<uint64_t>(static_cast<uint64_t>(most), INT64_MAX - 1) + 1;
            while (known < count && !greatest.compare_exchange_weak(known, count)) {
            }
        });
    });
    return static_cast<int64_t>(greatest.load());
}

namespace {

// The rows that members can name are below this number, except -1 for zeros.
int64_t rows_to_sort(const GatherReduce& call) {
    return call.rule.may_skip() ? INT64_MAX : std::max(call.data_rows, call.members);
}

// Puts rows and weights in the order of their bags.
BagFault sort_members(const GatherReduce& call, const GatherReduceInputs& inputs, const Index& ids, int64_t* starts,
                      FoundBags& found) {
    const int64_t size = call.combine.item_size;
    int64_t* const rows = allocate(found.rows_memory, call.members);
    std::byte* weights = nullptr;
    if (inputs.weights) weights = found.weights_memory.emplace(call.members * size, false).get();
    const Index indices = index_of(inputs.indices, inputs.index_type, call.data_rows, call.rule);
    std::atomic<bool> has_good_ids = true, has_good_indices = true;
    const auto read_ids = [&](int64_t first, int64_t n, int64_t* id) {
        if (!ids.resolve(first, n, id)) has_good_ids = false;
        return has_good_ids.load();
    };
    const auto read_indices = [&](int64_t first, int64_t n, int64_t* row) {
        if (!inputs.indices) std::iota(row, row + n, first);
        if (inputs.indices && !indices.resolve(first, n, row)) has_good_indices = false;
        return has_good_indices.load();
    };
    const RowSort sort{call.members, call.bags, rows_to_sort(call), read_ids, read_indices, inputs.weights, size};
    const bool done = sort_by_row(sort, starts, rows, weights);
    found.is_sorted = false;
    found.rows = rows;
    found.weights = weights;
    if (done) return BagFault::none;
    return !has_good_ids ? BagFault::segment_ids : !has_good_indices ? BagFault::indices : BagFault::changed;
}

bool are_too_many(int64_t bags) { return saturating_multiply(saturating_add(bags, 1), 8) == INT64_MAX; }

BagFault find_segments(GatherReduce& call, const GatherReduceInputs& inputs, FoundBags& found) {
    const bool is_unknown = call.bags == unknown_bags;
    if (is_unknown) {  // if the ids are sorted, the last one is the greatest
        const int64_t members = call.members, likely = saturating_add(saturating_multiply(members, 4), block);
        int64_t last = -1;
        if (members > 0 &&
            index_of(inputs.bag_values, inputs.bag_type, likely, strict).resolve(members - 1, 1, &last)) {
            call.bags = last + 1;
            if (find_starts(ids_of(call, inputs), members, call.bags, allocate(found.starts_memory, call.bags + 1)) ==
                IdOrder::sorted)
                return BagFault::none;
        }
        call.bags = count_bags(inputs, members);
        if (are_too_many(call.bags)) return BagFault::too_large;
    }
    const Index ids = ids_of(call, inputs);
    int64_t* const starts = allocate(found.starts_memory, call.bags + 1);
    switch (find_starts(ids, call.members, call.bags, starts)) {
        case IdOrder::bad: return BagFault::segment_ids;
        case IdOrder::sorted: return BagFault::none;
        default:
            if (!call.embedding_rules) return sort_members(call, inputs, ids, starts, found);
            return ids.check(call.members) ? BagFault::ids_order : BagFault::segment_ids;
    }
}

BagFault find_offsets(const GatherReduce& call, const GatherReduceInputs& inputs, FoundBags& found) {
    int64_t* const starts = allocate(found.starts_memory, call.bags + 1);
    const Index index = index_of(inputs.bag_values, inputs.bag_type, call.members + 1, strict);
    if (const BagFault fault = resolve_ascending(index, call.bags, starts); fault != BagFault::none) return fault;
    starts[call.bags] = call.members;
    return starts[0] == 0 || call.embedding_rules ? BagFault::none : BagFault::offsets_start;
}

BagFault find_indptr(const GatherReduce& call, const GatherReduceInputs& inputs, FoundBags& found) {
    int64_t* const starts = allocate(found.starts_memory, call.bags + 1);
    const Index index = index_of(inputs.bag_values, inputs.bag_type, call.members + 1, strict);
    if (const BagFault fault = resolve_ascending(index, call.bags + 1, starts); fault != BagFault::none) return fault;
    if (starts[0] != 0) return BagFault::offsets_start;
    return starts[call.bags] == call.members ? BagFault::none : BagFault::offsets_end;
}

// The row of each member, if the members are the rows of data or all rows have to be resolved first.
BagFault find_rows(const GatherReduce& call, const GatherReduceInputs& inputs, int64_t* rows) {
    if (inputs.indices)
        return resolve(inputs.indices, inputs.index_type, call.members, call.data_rows, call.rule, rows)
                   ? BagFault::none
                   : BagFault::indices;
    for_pieces(call.members, {call.members, 8}, [=](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) rows[i] = i;
    });
    return BagFault::none;
}

// Whether the loops can use the indices as row numbers. They check each row that they read.
bool may_be_rows(const GatherReduce& call, const GatherReduceInputs& inputs) {
    return inputs.indices && inputs.index_type == IndexType::int64 && call.rule.mode == Mode::raise &&
           !call.combine.include_self;
}

Bags bags_of(const GatherReduce& call, const GatherReduceInputs& inputs, const FoundBags& found, const int64_t* rows) {
    return {found.starts,
            call.bags,
            rows,
            found.is_sorted ? call.members : found.starts[call.bags],
            found.is_sorted ? inputs.weights : found.weights,
            call.rule.may_skip()};
}

// Fills the rows of bags without members.
void fill_empty_bags(const FoundBags& found, int64_t bags, const std::byte* row, int64_t row_size, std::byte* out) {
    for_pieces(bags, {bags, 16}, [=, starts = found.starts](int64_t begin, int64_t end) {
        for (int64_t b = begin; b < end; ++b)
            if (starts[b] == starts[b + 1]) std::memcpy(out + b * row_size, row, static_cast<size_t>(row_size));
    });
}

BagFault find_all_bags(GatherReduce& call, const GatherReduceInputs& inputs, FoundBags& found) {
    BagFault fault = BagFault::none;
    switch (call.form) {
        case BagForm::last_dimension: {
            int64_t* const starts = allocate(found.starts_memory, call.bags + 1);
            const int64_t length = call.bags > 0 ? call.members / call.bags : 0;
            for (int64_t b = 0; b <= call.bags; ++b) starts[b] = b * length;
            break;
        }
        case BagForm::offsets: fault = find_offsets(call, inputs, found); break;
        case BagForm::indptr: fault = find_indptr(call, inputs, found); break;
        case BagForm::segment_ids: fault = find_segments(call, inputs, found); break;
    }
    if (!found.starts && found.starts_memory) found.starts = reinterpret_cast<int64_t*>(found.starts_memory->get());
    return fault;
}

// Whether an integer is negative.
bool any_negative(const void* values, IndexType type, int64_t count) {
    return visit_index_type(type, [=]<class I>(I) {
        if constexpr (std::is_unsigned_v<I>) return false;
        const I* const numbers = static_cast<const I*>(values);
        return !all_of_pieces(count, sizeof(I), [=](int64_t begin, int64_t end) {
            I any = 0;
            for (int64_t i = begin; i < end; ++i) any |= numbers[i];
            return any >= 0;
        });
    });
}

// Finds the bags of a call with members that are skipped. The others are copied. All indices and segment ids are
// checked first.
BagFault find_kept_bags(GatherReduce& call, const GatherReduceInputs& inputs, FoundBags& found) {
    const bool has_ids = call.form == BagForm::segment_ids;
    if (has_ids && call.bags == unknown_bags) call.bags = count_bags(inputs, call.members);
    if (has_ids && are_too_many(call.bags)) return BagFault::too_large;
    std::optional<Scratch> rows_memory, ids_memory, weights_memory;
    int64_t* const ids = has_ids ? allocate(ids_memory, call.members) : nullptr;
    if (has_ids && !ids_of(call, inputs).resolve_all(call.members, ids)) return BagFault::segment_ids;
    if (!has_ids)
        if (const BagFault fault = find_all_bags(call, inputs, found); fault != BagFault::none) return fault;
    int64_t* const rows = allocate(rows_memory, call.members);
    if (const BagFault fault = find_rows(call, inputs, rows); fault != BagFault::none) return fault;
    const int64_t size = call.combine.item_size;
    std::byte* const weights = inputs.weights ? weights_memory.emplace(call.members * size, false).get() : nullptr;
    int64_t* const starts = has_ids ? nullptr : reinterpret_cast<int64_t*>(found.starts_memory->get());
    int64_t kept = 0, bag = 0;
    const auto begin_bags = [&](int64_t member) {
        for (; starts && bag <= call.bags && starts[bag] == member; ++bag) starts[bag] = kept;
    };
    visit_index_type(inputs.indices ? inputs.index_type : IndexType::uint8, [&]<class I>(I) {
        const I* const indices = static_cast<const I*>(inputs.indices);
        for (int64_t m = 0; m < call.members; ++m) {
            begin_bags(m);
            if ((std::is_signed_v<I> && indices[m] < I{0}) || (ids && ids[m] < 0)) continue;
            rows[kept] = rows[m];
            if (ids) ids[kept] = ids[m];
            if (weights) std::memcpy(weights + kept * size, inputs.weights + m * size, static_cast<size_t>(size));
            ++kept;
        }
    });
    begin_bags(call.members);
    if (has_ids) {
        GatherReduce named = call;
        named.members = kept;
        named.data_rows = std::max(call.data_rows, call.members);  // the rows are already resolved
        named.rule = {Mode::skip, Negative::skip};                 // for rows of zeros, which are -1
        GatherReduceInputs copies = inputs;
        copies.indices = rows;
        copies.bag_values = ids;
        copies.index_type = copies.bag_type = IndexType::int64;
        copies.weights = weights;
        if (const BagFault fault = find_segments(named, copies, found); fault != BagFault::none) return fault;
        if (!found.starts) found.starts = reinterpret_cast<int64_t*>(found.starts_memory->get());
        if (!found.is_sorted) return BagFault::none;
    }
    found.is_sorted = false;
    found.rows_memory = std::move(rows_memory);
    found.weights_memory = std::move(weights_memory);
    found.rows = rows;
    found.weights = weights;
    return BagFault::none;
}

}  // namespace

BagFault find_bags(GatherReduce& call, const GatherReduceInputs& inputs, FoundBags& found) {
    const bool skips =
        call.rule.negative == Negative::skip &&
        ((inputs.indices && any_negative(inputs.indices, inputs.index_type, call.members)) ||
         (call.form == BagForm::segment_ids && any_negative(inputs.bag_values, inputs.bag_type, call.members)));
    return skips ? find_kept_bags(call, inputs, found) : find_all_bags(call, inputs, found);
}

BagFault check_inputs(GatherReduce& call, const GatherReduceInputs& inputs) {
    if (call.bags == unknown_bags) call.bags = count_bags(inputs, call.members);
    if (call.form == BagForm::segment_ids) {
        const Index ids = ids_of(call, inputs);
        if (!ids.check(call.members)) return BagFault::segment_ids;
        if (call.embedding_rules) {
            std::optional<Scratch> memory;
            const BagFault fault = resolve_ascending(ids, call.members, allocate(memory, call.members));
            if (fault != BagFault::none)
                return fault == BagFault::offsets ? BagFault::segment_ids : BagFault::ids_order;
        }
    } else if (call.form != BagForm::last_dimension) {
        FoundBags found;
        if (const BagFault fault = find_bags(call, inputs, found); fault != BagFault::none) return fault;
    }
    const bool good =
        !inputs.indices || index_of(inputs.indices, inputs.index_type, call.data_rows, call.rule).check(call.members);
    return good ? BagFault::none : BagFault::indices;
}

BagFault reduce_found(const GatherReduce& call, const GatherReduceInputs& inputs, const FoundBags& found,
                      std::byte* out) {
    const int64_t size = call.combine.item_size;
    constexpr std::byte zeros[16] = {};
    const bool has_first_members = call.combine.include_self;  // then no bag is empty
    const std::byte* const empty = inputs.empty && !has_first_members ? inputs.empty : zeros;
    const auto reduce = [&](const int64_t* rows, const Combine& combine) {
        const SourceRows source{inputs.data, call.data_rows, inputs.decoder};
        if (!reduce_bags(bags_of(call, inputs, found, rows), source, call.width, empty, out, combine)) return false;
        if (inputs.empty_row && !has_first_members)
            fill_empty_bags(found, call.bags, inputs.empty_row, call.width * size, out);
        return true;
    };
    if (found.is_sorted && may_be_rows(call, inputs) &&
        // The loops do not read the members before the first bag.
        index_of(inputs.indices, inputs.index_type, call.data_rows, call.rule).check(found.starts[0]) &&
        reduce(static_cast<const int64_t*>(inputs.indices), call.combine))
        return BagFault::none;
    std::optional<Scratch> memory;
    const int64_t* rows = found.rows;
    if (found.is_sorted) {
        int64_t* const all = allocate(memory, call.members);
        if (const BagFault fault = find_rows(call, inputs, all); fault != BagFault::none) return fault;
        rows = all;
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

BagFault gather_reduce(const GatherReduce& given, const GatherReduceInputs& inputs, std::byte* out) {
    GatherReduce call = given;
    if (call.width == 0) return check_inputs(call, inputs);
    FoundBags found;
    const BagFault fault = find_bags(call, inputs, found);
    return fault == BagFault::none ? reduce_found(call, inputs, found, out) : fault;
}

BagCosts estimate_costs(const GatherReduce& call, const GatherReduceInputs& inputs, const FoundBags& found,
                        bool has_negative) {
    const auto numbers = [](int64_t count) { return saturating_multiply(count, 8); };
    const SourceRows source{inputs.data, call.data_rows, inputs.decoder};
    BagCosts costs{0, route_bags(bags_of(call, inputs, found, nullptr), source, call.width, call.combine)};
    int64_t sort = 0, sorted = 0, rows = 0;
    if (!found.is_sorted) {
        sort = sort_scratch(call.members, call.bags, rows_to_sort(call), inputs.weights ? call.combine.item_size : 0);
        sorted = numbers(call.members) + (inputs.weights ? call.members * call.combine.item_size : 0);
    } else if (!may_be_rows(call, inputs) || has_negative) {
        rows = numbers(call.members);
    }
    costs.scratch = numbers(call.bags + 1) + sorted + std::max(sort, saturating_add(rows, costs.route.scratch));
    return costs;
}

}  // namespace gs
