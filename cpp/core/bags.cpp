#include "bags.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <utility>
#include <vector>

#include "accumulate.hpp"
#include "bag_loops.hpp"
#include "machine.hpp"
#include "parallel.hpp"
#include "plan.hpp"
#include "row_moves.hpp"
#include "scratch.hpp"
#include "sizes.hpp"

namespace gs {
namespace {

// When threads divide the columns of a bag, each thread takes a multiple of this number. The number of threads then
// decides which loop reduces a column, but it must not change the bits. Loops can only differ if the sum and the row
// are both NaN. Loops over floats in memory keep the sum. In loops over halves and over codes, the compiler's choice
// differs from loop to loop. Therefore threads divide these only if all of them run the largest loop.
int64_t column_unit(const BagLoops& loops, const SourceRows& rows, const Combine& combine) {
    const bool halves = combine.dtype == DType::float16 || combine.dtype == DType::bfloat16;
    return halves || rows.decoder ? loops.columns : 256 / combine.item_size;
}

// Copies an element of at most 16 bytes n times.
void fill(std::byte* out, int64_t n, const std::byte* element, int64_t size) {
    constexpr std::byte zeros[16] = {};
    const auto all = static_cast<size_t>(n * size), one = static_cast<size_t>(size);
    if (n == 0) return;
    if (std::memcmp(element, zeros, one) == 0) {
        std::memset(out, 0, all);
        return;
    }
    std::memcpy(out, element, one);
    for (size_t done = one; done < all; done *= 2) std::memcpy(out + done, out, std::min(done, all - done));
}

// Multiplies each of n rows by its weight.
using WeighRows = void (*)(std::byte* rows, const std::byte* weights, int64_t n, int64_t width);

template <class T>
GS_LOOP void weigh_rows(std::byte* rows, const std::byte* weights, int64_t n, int64_t width) {
    T* const values = reinterpret_cast<T*>(rows);
    for (int64_t i = 0; i < n; ++i) {
        const T weight = reinterpret_cast<const T*>(weights)[i];
        for (int64_t w = 0; w < width; ++w) values[i * width + w] = Mul{}(values[i * width + w], weight);
    }
}

WeighRows row_weigher(DType dtype) {
    return visit(dtype, WeighRows{nullptr},
                 []<class T>(std::type_identity<T>) { return float_version<weigh_rows<T>>(); });
}

// One task: the bags [begin, end), and the columns to reduce.
struct Task {
    int64_t begin, end, first, length;
};

// The number of members between two offsets. Another thread may have changed the offsets to any numbers.
uint64_t distance(int64_t first, int64_t last) { return static_cast<uint64_t>(last) - static_cast<uint64_t>(first); }

// Divides bags into tasks with about the same number of members. Bags with very many members are divided by columns, in
// multiples of `column_unit`. 0: no bag is divided.
std::vector<Task> divide(const Bags& bags, int64_t width, int64_t column_unit, int threads) {
    const int64_t parts = threads > 1 ? int64_t{threads} * 4 : 1, share = bags.members / parts;
    const int64_t pieces = column_unit > 0 ? std::min<int64_t>(threads, width / column_unit) : 1;
    std::vector<Task> tasks;
    const auto add = [&](int64_t begin, int64_t end, int64_t first, int64_t length) {
        if (begin < end && length > 0) tasks.push_back({begin, end, first, length});
    };
    int64_t begin = 0;
    for (int64_t p = 1; p <= parts; ++p) {
        const int64_t* const bound = std::lower_bound(bags.starts, bags.starts + bags.count, share * p);
        const int64_t end = p == parts ? bags.count : std::max<int64_t>(bound - bags.starts, begin);
        const bool divided = pieces > 1 && begin < end &&
                             distance(bags.starts[end - 1], bags.starts[end]) > static_cast<uint64_t>(2 * share);
        add(begin, end - divided, 0, width);
        for (int64_t i = 0; divided && i < pieces; ++i) {
            const int64_t first = width / column_unit * i / pieces * column_unit;
            const int64_t last = i + 1 == pieces ? width : width / column_unit * (i + 1) / pieces * column_unit;
            add(end - 1, end, first, last - first);
        }
        begin = end;
    }
    return tasks;
}

// Calls f(bag, first member, end) for the bags of a task. False: a call of f has returned false, bags are out of range,
// or the call has to stop.
template <class F>
bool each_bag(const Bags& bags, const Task& task, F&& f) {
    for (int64_t b = task.begin; b < task.end; ++b) {
        const int64_t first = read_once(bags.starts[b]), end = read_once(bags.starts[b + 1]);
        if (first < 0 || end < first || end > bags.members || should_stop()) return false;
        if (!f(b, first, end)) return false;
    }
    return true;
}

// How a call divides its bags between threads, and the loops that reduce them.
struct Method {
    BagLoops loops;  // without columns: rows are gathered, `at_once` at a time, and then combined
    std::vector<Task> tasks;
    int workers;
    int64_t at_once;

    Method(const Bags& bags, const SourceRows& rows, int64_t width, const Combine& combine)
        : loops(choose_loops(bags, rows, combine)) {
        const int64_t size = combine.item_size, row_size = saturating_multiply(width, size);
        const int threads = threads_for({bags.members + bags.count, row_size});
        tasks = divide(bags, width, loops.columns > 0 ? column_unit(loops, rows, combine) : 0, threads);
        workers = static_cast<int>(std::min<int64_t>(threads, static_cast<int64_t>(tasks.size())));
        at_once = loops.columns > 0 ? 0 : std::clamp<int64_t>(group_bytes / row_size, 1, block);
    }

    static BagLoops choose_loops(const Bags& bags, const SourceRows& rows, const Combine& combine) {
        if (combine.include_self || (rows.decoder && !rows.decoder->coded())) return {};
        return (rows.decoder ? coded_bag_loops : bag_loops)(combine, bags.weights != nullptr);
    }

    // Runs f(worker, task) for all tasks. Each worker runs one task after the other. False: a call of f has returned
    // false.
    template <class F>
    bool run(F&& f) const {
        std::atomic<bool> good = true;
        std::atomic<size_t> next = 0;
        run_tasks(workers, workers, [&](int worker) {
            for (size_t i; good && (i = next++) < tasks.size();)
                if (!f(worker, tasks[i])) good = false;
        });
        return good;
    }
};

// Reduces bags whose sums stay in registers, about a megabyte of members at a time.
bool reduce_directly(const Bags& bags, const BagRows& rows, const Method& method, const std::byte* empty,
                     std::byte* out, const Combine& combine) {
    const int64_t size = combine.item_size, piece = std::max<int64_t>(piece_bytes / rows.size, 1);
    const bool mean = combine.reduction == Reduction::mean;
    return method.run([&](int, const Task& task) {
        alignas(line_size) std::byte sums[max_sum_bytes];
        // At least 1, because members are prefetched up to the last known one.
        const int64_t known = std::max<int64_t>(std::min(read_once(bags.starts[task.end]), bags.members), 1);
        for (int64_t begin = task.begin, end; begin < task.end; begin = end) {
            const int64_t first = read_once(bags.starts[begin]);
            for (end = begin + 1; end < task.end && end - begin < piece; ++end)
                if (distance(first, bags.starts[end + 1]) > static_cast<uint64_t>(piece)) break;
            const int64_t last = read_once(bags.starts[end]);
            if (first < 0 || last < first || last > bags.members) return false;
            const auto reduce = [&](ReduceColumns loop, int64_t column) {
                for (int64_t m = first; m == first || m < last; m += piece) {
                    const BagRange range{begin, end, m, std::min(m + piece, last), known, sums};
                    if (should_stop() || !loop(bags, range, rows, column * size, empty, out, mean)) return false;
                }
                return true;
            };
            int64_t column = task.first, n = method.loops.columns;
            for (size_t i = 0; n > 0; n /= 2, ++i)
                for (; task.first + task.length - column >= n; column += n)
                    if (!reduce(method.loops.loop[i], column)) return false;
        }
        return true;
    });
}

// Reduces all other bags: a few rows at a time are gathered, weighted, and combined with accumulators.
class BlockReducer {
  public:
    BlockReducer(const Bags& bags, const Method& method, const SourceRows& rows, int64_t width, const Combine& combine)
        : bags_(bags),
          method_(method),
          rows_(rows),
          width_(width),
          row_size_(width * combine.item_size),
          gathered_(gathered_bytes(method, row_size_), false),
          copy_(copier(row_size_, {true, bags.may_skip, false, false})),
          weigh_(row_weigher(combine.dtype)) {}

    // The bytes of gathered rows that all workers hold together.
    static int64_t gathered_bytes(const Method& method, int64_t row_size) {
        return saturating_multiply(method.workers * method.at_once, row_size);
    }

    bool run(std::byte* target, int64_t* visits, const Combine& combine) const {
        const ApplyRows apply = applier(combine, width_, {true, visits != nullptr});
        return method_.run([&](int worker, const Task& task) {
            Block now{};
            std::byte* const gathered = gathered_.get() + worker * method_.at_once * row_size_;
            const auto flush = [&](int64_t next) {
                if (now.n > 0) combine_block(now, gathered, target, visits, apply, combine);
                now.n = 0;
                now.first = next;
            };
            const bool good = each_bag(bags_, task, [&](int64_t b, int64_t first, int64_t end) {
                if (now.n == 0) now.first = first;
                for (int64_t m = first; m < end; ++m) {
                    const int64_t row = read_once(bags_.rows[m]);
                    if (row < -int64_t{bags_.may_skip} || row >= rows_.count) return false;
                    now.row[now.n] = row;
                    now.bag[now.n++] = b;
                    if (now.n < method_.at_once) continue;
                    flush(m + 1);
                    if (should_stop()) return false;
                }
                return true;
            });
            flush(0);
            return good;
        });
    }

  private:
    struct Block {
        int64_t n, first;  // `n` members, starting at `first`
        int64_t row[block], bag[block];
    };

    void combine_block(Block& now, std::byte* gathered, std::byte* target, int64_t* visits, ApplyRows apply,
                       const Combine& combine) const {
        if (rows_.decoder)
            rows_.decoder->decode_rows(0, now.row, now.n, gathered);
        else
            copy_(gathered, row_size_, {rows_.data, row_size_, 0}, {now.row, now.n, now.n}, row_size_);
        if (bags_.weights) weigh_(gathered, bags_.weights + now.first * combine.item_size, now.n, width_);
        apply({target, gathered, visits, {now.bag, now.n, now.n}, width_, width_}, Share::all(width_), combine);
    }

    const Bags& bags_;
    const Method& method_;
    const SourceRows& rows_;
    int64_t width_, row_size_;
    Scratch gathered_;
    CopyRows copy_;
    WeighRows weigh_;
};

}  // namespace

bool reduce_bags(const Bags& bags, const SourceRows& rows, int64_t width, const std::byte* empty, std::byte* out,
                 const Combine& combine) {
    if (bags.count == 0 || width == 0) return true;
    const int64_t size = combine.item_size;
    const Method method(bags, rows, width, combine);
    if (method.loops.columns > 0) {
        const Scratch zeros(bags.may_skip ? method.loops.columns * size : 0, true);
        const CodedRows* const coded = rows.decoder ? rows.decoder->coded() : nullptr;
        const int64_t row_bytes = coded ? coded->row_bytes : width * size;
        // Members and results also take much of the cache.
        const bool prefetch = saturating_multiply(rows.count, row_bytes) > core_cache_bytes / 4;
        const BagRows source{
            rows.data, rows.count, width * size, zeros.get(), coded, prefetch, combine.accumulate == Accumulate::step};
        return reduce_directly(bags, source, method, empty, out, combine);
    }
    if (!combine.include_self)
        for_pieces(bags.count, {bags.count, width * size}, [&](int64_t begin, int64_t end) {
            fill(out + begin * width * size, (end - begin) * width, empty, size);
        });
    const BlockReducer reducer(bags, method, rows, width, combine);
    return scatter_with_accumulators(combine, bags.count, width, out,
                                     [&](std::byte* target, int64_t, int64_t* visits, const Combine& how) {
                                         return reducer.run(target, visits, how);
                                     });
}

BagRoute route_bags(const Bags& bags, const SourceRows& rows, int64_t width, const Combine& combine) {
    if (bags.count == 0 || width == 0) return {};
    const Method method(bags, rows, width, combine);
    BagRoute route;
    route.threads = std::max(method.workers, 1);
    route.gathers_rows = method.loops.columns == 0;
    route.divides_columns = std::ranges::any_of(method.tasks, [=](const Task& task) { return task.length < width; });
    if (route.gathers_rows)
        route.scratch =
            saturating_add(BlockReducer::gathered_bytes(method, saturating_multiply(width, combine.item_size)),
                           accumulator_bytes(combine, bags.count, width));
    else if (bags.may_skip)
        route.scratch = method.loops.columns * combine.item_size;
    return route;
}

}  // namespace gs
