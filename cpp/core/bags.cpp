#include "bags.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <utility>
#include <vector>

#include "accumulate.hpp"
#include "machine.hpp"
#include "parallel.hpp"
#include "row_moves.hpp"
#include "scratch.hpp"
#include "sizes.hpp"

namespace gs {
namespace {

// Some members of a bag.
struct BagPart {
    const int64_t* rows;  // n of them; those up to `known` come next
    int64_t n, known;
    const std::byte* weights;  // of the members, or null
    bool first;                // the bag begins with these members
};

// Rows of data, and which columns of them are reduced: `length` from `first` on.
struct Columns {
    const std::byte* data;
    int64_t data_rows, width, first, length;
    bool prefetch;  // data is not in the cache
};

// Threads divide columns in units of this many bytes. So each column goes through the same instructions for any number
// of threads: of two NaN, they decide which one stays.
constexpr int64_t column_unit_bytes = 256;

// Copies an element of at most 16 bytes to n places.
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

// The element of a member times its weight, rounded as an element.
template <bool weighted, class T>
GS_LOOP T times(T value, T weight) {
    if constexpr (weighted)
        return Mul{}(value, weight);
    else
        return value;
}

// The row of a member, from the column that `data` points to; null: it is out of range. Prefetches `size` bytes of the
// row of a later member.
template <int64_t size, class T>
GS_LOOP const T* find_row(const T* data, const BagPart& part, const Columns& columns, int64_t i) {
    constexpr int64_t ahead = std::clamp<int64_t>(4096 / size, 8, 32);
    const auto rows = static_cast<uint64_t>(columns.data_rows);
    if (columns.prefetch) {
        const int64_t next = part.rows[std::min(i + ahead, part.known - 1)];
        if (static_cast<uint64_t>(next) < rows)
            prefetch_row(reinterpret_cast<const std::byte*>(data + next * columns.width), size);
    }
    const int64_t member = read_once(part.rows[i]);
    return static_cast<uint64_t>(member) < rows ? data + member * columns.width : nullptr;
}

// Reduces n columns of all members, from `column` on. Their sums stay in registers, which is why n is a constant.
template <class T, class Op, bool weighted, int64_t n>
GS_LOOP bool reduce_block(T* sums, const BagPart& part, const Columns& columns, int64_t column) {
    constexpr int64_t size = n * static_cast<int64_t>(sizeof(T));
    const Op op;
    const T* const data = reinterpret_cast<const T*>(columns.data) + column;
    const T* const weights = reinterpret_cast<const T*>(part.weights);
    T sum[n];
    int64_t i = 0;
    if (part.first) {
        const T* const row = find_row<size>(data, part, columns, 0);
        if (!row) return false;
        const T weight = weighted ? weights[0] : T{};
        for (int64_t w = 0; w < n; ++w) sum[w] = times<weighted>(row[w], weight);
        i = 1;
    } else
        std::memcpy(sum, sums + column, size);
    for (; i < part.n; ++i) {
        const T* const row = find_row<size>(data, part, columns, i);
        if (!row) return false;
        const T weight = weighted ? weights[i] : T{};
        if constexpr (n <= 16) {
            GS_UNROLL_ALL
            for (int64_t w = 0; w < n; ++w) sum[w] = op(sum[w], times<weighted>(row[w], weight));
        } else {
            GS_INDEPENDENT
            for (int64_t w = 0; w < n; ++w) sum[w] = op(sum[w], times<weighted>(row[w], weight));
        }
    }
    std::memcpy(sums + column, sum, size);
    return true;
}

// Reduces columns from `column` on, n at a time, and what remains with ever smaller n.
template <class T, class Op, bool weighted, int64_t n>
GS_LOOP bool reduce_columns(T* sums, const BagPart& part, const Columns& columns, int64_t column) {
    for (; columns.first + columns.length - column >= n; column += n)
        if (!reduce_block<T, Op, weighted, n>(sums, part, columns, column)) return false;
    if constexpr (n > 1)
        return reduce_columns<T, Op, weighted, n / 2>(sums, part, columns, column);
    else
        return true;
}

// Which bags of a call are reduced, and which members of these.
struct Window {
    int64_t begin, end;   // bags
    int64_t first, last;  // members
    int64_t known;        // members up to here are reduced next
};

// Reduces bags into rows of `out`; a bag without members gives `empty`. False: bags or rows are out of range.
using ReduceWindow = bool (*)(const Bags&, const Window&, const Columns&, const std::byte* empty, std::byte* out);

// `bytes` are those of the registers that hold sums.
template <class T, class Op, bool weighted, int64_t bytes>
GS_LOOP bool reduce_window(const Bags& bags, const Window& window, const Columns& columns, const std::byte* empty,
                           std::byte* out) {
    constexpr auto size = static_cast<int64_t>(sizeof(T));
    for (int64_t b = window.begin; b < window.end; ++b) {
        const int64_t start = read_once(bags.starts[b]), stop = read_once(bags.starts[b + 1]);
        if (start < 0 || stop < start || stop > bags.members) return false;
        const int64_t first = std::max(start, window.first), last = std::min(stop, window.last);
        T* const row = reinterpret_cast<T*>(out) + b * columns.width;
        if (start == stop) fill(reinterpret_cast<std::byte*>(row + columns.first), columns.length, empty, size);
        if (first >= last) continue;
        const BagPart part{bags.rows + first, last - first, std::max(window.known, last) - first,
                           weighted ? bags.weights + first * size : nullptr, first == start};
        if (!reduce_columns<T, Op, weighted, bytes / size>(row, part, columns, columns.first)) return false;
    }
    return true;
}

// The reducer for this processor: eight registers hold sums.
template <class T, class Op, bool weighted>
ReduceWindow reducer_of() {
    // Compilers fuse only products of complex numbers against their orders (see float_version).
    if constexpr (Complex<T>) return float_version<reduce_window<T, Op, weighted, 256>>();
#ifdef GS_VERSIONS
    if (instruction_set == InstructionSet::avx512) return Versions<reduce_window<T, Op, weighted, 512>>::avx512;
    if (instruction_set == InstructionSet::avx2) return Versions<reduce_window<T, Op, weighted, 256>>::avx2;
#endif
    return Versions<reduce_window<T, Op, weighted, 128>>::baseline;
}

// Null: sums need another type than the elements have, or there is a faster way.
ReduceWindow bag_reducer(const Combine& combine, bool weighted) {
    return visit_combine(combine, ReduceWindow{nullptr},
                         [=]<class T, class A, class Op>(std::type_identity<T>, std::type_identity<A>, Op) {
                             // Halves are faster when many are converted at a time.
                             if constexpr (!std::same_as<T, A> || std::same_as<Op, Sub> || Half<T>)
                                 return ReduceWindow{nullptr};
                             else if constexpr (std::same_as<Op, Add>)
                                 return weighted ? reducer_of<T, Op, true>() : reducer_of<T, Op, false>();
                             else
                                 return weighted ? ReduceWindow{nullptr} : reducer_of<T, Op, false>();
                         });
}

// Multiplies n rows by a weight each.
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

// The bags [begin, end) that one task reduces, and which columns of them.
struct Task {
    int64_t begin, end, first, length;
};

// Tasks with about as many members each. Bags with very many members are divided by columns, in multiples of
// `column_unit`; 0: they are not.
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
        const bool divided = pieces > 1 && begin < end && bags.starts[end] - bags.starts[end - 1] > 2 * share;
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

// Calls f(bag, first member, end) for the bags of a task; false as soon as f says so, bags are out of range, or the
// call is to stop.
template <class F>
bool each_bag(const Bags& bags, const Task& task, F&& f) {
    for (int64_t b = task.begin; b < task.end; ++b) {
        const int64_t first = read_once(bags.starts[b]), end = read_once(bags.starts[b + 1]);
        if (first < 0 || end < first || end > bags.members || should_stop()) return false;
        if (!f(b, first, end)) return false;
    }
    return true;
}

// Runs f(number of the task, task) for all tasks; false if it is false for one.
template <class F>
bool run_all(const std::vector<Task>& tasks, int threads, F&& f) {
    std::atomic<bool> good = true;
    run_tasks(static_cast<int>(tasks.size()), threads, [&](int i) {
        if (good && !f(i, tasks[static_cast<size_t>(i)])) good = false;
    });
    return good;
}

// Bags whose sums are made in the element type, about a megabyte of members at a time.
bool reduce_directly(const Bags& bags, const Columns& all, const std::byte* empty, std::byte* out,
                     const Combine& combine, ReduceWindow reduce, int threads) {
    const int64_t size = combine.item_size, row_size = all.width * size;
    const int64_t piece = std::max<int64_t>(piece_bytes / row_size, 1);
    const auto finish = accumulator(combine).finish;
    const std::vector<Task> tasks = divide(bags, all.width, column_unit_bytes / size, threads);
    return run_all(tasks, threads, [&](int, const Task& task) {
        const Columns columns{all.data, all.data_rows, all.width, task.first, task.length, all.prefetch};
        const int64_t known = std::min(read_once(bags.starts[task.end]), bags.members);
        for (int64_t begin = task.begin, end; begin < task.end; begin = end) {
            const int64_t first = read_once(bags.starts[begin]);
            for (end = begin + 1; end < task.end && end - begin < piece; ++end)
                if (bags.starts[end + 1] - first > piece) break;
            const int64_t last = read_once(bags.starts[end]);
            for (int64_t i = first; i == first || i < last; i += piece) {
                const Window window{begin, end, i, std::min(i + piece, last), known};
                if (should_stop() || !reduce(bags, window, columns, empty, out)) return false;
            }
            for (int64_t b = begin; finish && b < end; ++b) {
                int64_t n = bags.starts[b + 1] - bags.starts[b];
                std::byte* const row = out + b * row_size + task.first * size;
                if (n > 0) finish({row, row, &n, 1, task.length}, combine);
            }
        }
        return true;
    });
}

// Other bags: a few rows at a time are gathered, weighed and combined with accumulators.
class BlockReducer {
  public:
    BlockReducer(const Bags& bags, const std::byte* data, int64_t data_rows, int64_t width, const Combine& combine,
                 int threads)
        : bags_(bags),
          data_(data),
          data_rows_(data_rows),
          width_(width),
          row_size_(width * combine.item_size),
          threads_(threads),
          at_once_(std::clamp<int64_t>(group_bytes / row_size_, 1, block)),
          tasks_(divide(bags, width, 0, threads)),
          gathered_(static_cast<int64_t>(tasks_.size()) * at_once_ * row_size_, false),
          copy_(copier(row_size_, {true, bags.may_skip, false, false})),
          weigh_(row_weigher(combine.dtype)) {}

    bool run(std::byte* target, int64_t* visits, const Combine& combine) const {
        const ApplyRows apply = applier(combine, width_, {true, visits != nullptr, false});
        return run_all(tasks_, threads_, [&](int i, const Task& task) {
            Block now{};
            std::byte* const gathered = gathered_.get() + i * at_once_ * row_size_;
            const auto flush = [&](int64_t next) {
                if (now.n > 0) combine_block(now, gathered, target, visits, apply, combine);
                now.n = 0;
                now.first = next;
            };
            const bool good = each_bag(bags_, task, [&](int64_t b, int64_t first, int64_t end) {
                if (now.n == 0) now.first = first;
                for (int64_t m = first; m < end; ++m) {
                    const int64_t row = read_once(bags_.rows[m]);
                    if (row < -int64_t{bags_.may_skip} || row >= data_rows_) return false;
                    now.row[now.n] = row;
                    now.bag[now.n++] = b;
                    if (now.n < at_once_) continue;
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
        int64_t n, first;  // members from `first` on
        int64_t row[block], bag[block];
    };

    void combine_block(Block& now, std::byte* gathered, std::byte* target, int64_t* visits, ApplyRows apply,
                       const Combine& combine) const {
        copy_(gathered, row_size_, {data_, row_size_, 0}, {now.row, now.n, now.n}, row_size_);
        if (bags_.weights) weigh_(gathered, bags_.weights + now.first * combine.item_size, now.n, width_);
        apply({target, gathered, visits, {now.bag, now.n, now.n}, width_, width_}, {0, bags_.count, 0, width_},
              combine);
    }

    const Bags& bags_;
    const std::byte* data_;
    int64_t data_rows_, width_, row_size_;
    int threads_;
    int64_t at_once_;
    std::vector<Task> tasks_;
    Scratch gathered_;
    CopyRows copy_;
    WeighRows weigh_;
};

}  // namespace

bool reduce_bags(const Bags& bags, const std::byte* data, int64_t data_rows, int64_t width, const std::byte* empty,
                 std::byte* out, Combine combine) {
    if (bags.count == 0 || width == 0) return true;
    combine.include_self = false;
    const int64_t size = combine.item_size;
    const int threads = threads_for({bags.members + bags.count, width * size});
    const Columns all{data, data_rows, width, 0, width, data_rows * width * size > core_cache_bytes};
    const ReduceWindow reduce = bag_reducer(combine, bags.weights != nullptr);
    if (reduce && !bags.may_skip) return reduce_directly(bags, all, empty, out, combine, reduce, threads);
    for_pieces(bags.count, {bags.count, width * size}, [&](int64_t begin, int64_t end) {
        fill(out + begin * width * size, (end - begin) * width, empty, size);
    });
    const BlockReducer reducer(bags, data, data_rows, width, combine, threads);
    return scatter_with_accumulators(combine, bags.count, width, out,
                                     [&](std::byte* target, int64_t, int64_t* visits, const Combine& how) {
                                         return reducer.run(target, visits, how);
                                     });
}

}  // namespace gs
