#include "groups.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>
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

// A sort has two steps. Elements are first moved to the bucket of their row, and then to their position in the bucket.
// Processors write fast to a few hundred lines at once, and to all lines of a bucket that fits in the cache.
constexpr int64_t most_buckets = tiny ? 4 : 256;

struct Buckets {
    int shift = 0;  // a bucket has 2^shift rows
    int64_t count;
    int parts;    // of the elements. Each counts its own
    int workers;  // threads that sort buckets
    bool narrow;  // rows of a bucket and values have at most 32 bits

    Buckets(int64_t elements, int64_t rows, int64_t values) {
        while (((rows - 1) >> shift) >= most_buckets) ++shift;
        count = ((rows - 1) >> shift) + 1;
        constexpr int64_t bytes_per_element = 64;  // an element touches at least this number of bytes
        parts = threads_for({elements, bytes_per_element});
        workers = static_cast<int>(std::min<int64_t>(threads_for({elements + rows, bytes_per_element}), count));
        narrow = values <= UINT32_MAX && elements <= UINT32_MAX && shift < 32;
    }
    int64_t size() const { return int64_t{1} << shift; }
};

template <class Number>
struct Entry {
    Number row, value;  // the row within its bucket
};

// Calls f with the type of the numbers of entries.
template <class F>
auto visit_width(const Buckets& buckets, F&& f) {
    return buckets.narrow ? f(uint32_t{}) : f(uint64_t{});
}

// Copies weights of 1, 2, 4, 8 or 16 bytes: to[to_position] = from[from_position].
void copy_weight(std::byte* to, int64_t to_position, const std::byte* from, int64_t from_position, int64_t size) {
    std::byte* const target = to + to_position * size;
    const std::byte* const source = from + from_position * size;
    switch (size) {
        case 4: std::memcpy(target, source, 4); break;
        case 8: std::memcpy(target, source, 8); break;
        default: std::memcpy(target, source, static_cast<size_t>(size));
    }
}

template <class Number>
class Sorter {
  public:
    Sorter(const RowSort& sort, const Buckets& buckets)
        : sort_(sort),
          buckets_(buckets),
          entries_(sort.count * int64_t{sizeof(Entry<Number>)}, false),
          weights_(sort.weights ? sort.count * sort.weight_size : 0, false),
          counts_(buckets.parts * buckets.count * 8, true),
          rows_(buckets.workers * buckets.size() * int64_t{sizeof(Number)}, false) {}

    bool run(int64_t* starts, int64_t* values, std::byte* weights) const {
        if (!each_block([shift = buckets_.shift](int64_t, int64_t n, const int64_t* row, int64_t* counts) {
                for (int64_t j = 0; j < n; ++j) ++counts[row[j] >> shift];
                return true;
            }))
            return false;
        std::vector<int64_t> ends;  // of each bucket
        int64_t next = 0;
        for (int64_t b = 0; b < buckets_.count; ++b) {
            // A count becomes the position of the next element of its bucket and part.
            for (int p = 0; p < buckets_.parts; ++p) next += std::exchange(counts_of(p)[b], next);
            ends.push_back(next);
        }
        if (!each_block([this](int64_t first, int64_t n, const int64_t* row, int64_t* positions) {
                return move_to_buckets(first, n, row, positions);
            }))
            return false;
        starts[sort_.rows] = sort_.count;
        std::atomic<bool> good = true;
        std::atomic<int64_t> bucket = 0;
        run_tasks(buckets_.workers, buckets_.workers, [&](int worker) {
            Number* const positions = reinterpret_cast<Number*>(rows_.get()) + worker * buckets_.size();
            for (int64_t b; good && (b = bucket++) < buckets_.count;)
                if (!sort_bucket(b, b == 0 ? 0 : ends[static_cast<size_t>(b - 1)], ends[static_cast<size_t>(b)],
                                 positions, starts, values, weights))
                    good = false;
        });
        return good;
    }

  private:
    Entry<Number>* entries() const { return reinterpret_cast<Entry<Number>*>(entries_.get()); }
    int64_t* counts_of(int part) const { return reinterpret_cast<int64_t*>(counts_.get()) + part * buckets_.count; }

    // Calls f(first, n, rows, counts of the part) for the blocks of all parts.
    template <class F>
    bool each_block(F&& f) const {
        std::atomic<bool> good = true;
        const int64_t share = sort_.count / buckets_.parts;
        run_tasks(buckets_.parts, buckets_.parts, [&](int p) {
            const int64_t end = p + 1 == buckets_.parts ? sort_.count : share * (p + 1);
            int64_t row[block];
            for (int64_t i = share * p; i < end && good; i += block) {
                const int64_t n = std::min(block, end - i);
                if (!sort_.read_rows(i, n, row) || !f(i, n, row, counts_of(p))) good = false;
            }
        });
        return good;
    }

    bool move_to_buckets(int64_t first, int64_t n, const int64_t* row, int64_t* positions) const {
        int64_t value[block], position[block];
        if (!sort_.read_values(first, n, value)) return false;
        const int shift = buckets_.shift;
        for (int64_t j = 0; j < n; ++j) position[j] = positions[row[j] >> shift]++;
        // Another thread may have changed the rows since they were counted.
        if (std::any_of(position, position + n, [count = sort_.count](int64_t at) { return at >= count; }))
            return false;
        // Fetch a bucket's next line while other buckets are written. Processors prefetch only a few streams.
        constexpr int64_t line = line_size / int64_t{sizeof(Entry<Number>)};
        Entry<Number>* const to = entries();
        const auto mask = static_cast<Number>(buckets_.size() - 1);
        for (int64_t j = 0; j < n; ++j) {
            Entry<Number>* const at = to + position[j];
            if (position[j] % line == 0) prefetch(at + line);
            *at = {static_cast<Number>(static_cast<Number>(row[j]) & mask), static_cast<Number>(value[j])};
        }
        if (sort_.weights) move_weights(sort_.weights + first * sort_.weight_size, n, position);
        return true;
    }

    void move_weights(const std::byte* from, int64_t n, const int64_t* position) const {
        for (int64_t j = 0; j < n; ++j) copy_weight(weights_.get(), position[j], from, j, sort_.weight_size);
    }

    // If another thread has changed the rows, entries can hold any numbers.
    bool sort_bucket(int64_t bucket, int64_t begin, int64_t end, Number* positions, int64_t* starts, int64_t* values,
                     std::byte* weights) const {
        const Entry<Number>* const entry = entries();
        const auto mask = static_cast<Number>(buckets_.size() - 1);
        const int64_t first_row = bucket << buckets_.shift, rows = std::min(buckets_.size(), sort_.rows - first_row);
        constexpr int64_t bytes_per_step = 16;
        const auto in_bucket = [=](auto&& f) {
            return in_pieces(begin, end, bytes_per_step, [=](int64_t first, int64_t last) {
                for (int64_t i = first; i < last; ++i) f(i, entry[i].row & mask);
            });
        };
        std::fill(positions, positions + buckets_.size(), Number{0});
        if (!in_bucket([=](int64_t i, Number row) {
                ++positions[row];
                if (i % (line_size / 8) == 0) prefetch(values + i);
            }))
            return false;
        auto next = static_cast<Number>(0);
        if (!in_pieces(0, rows, bytes_per_step, [&](int64_t from, int64_t to) {
                for (int64_t r = from; r < to; ++r) {
                    starts[first_row + r] = begin + static_cast<int64_t>(next);
                    next += std::exchange(positions[r], next);
                }
            }))
            return false;
        const bool weighted = sort_.weights != nullptr;
        return in_bucket([=, this](int64_t i, Number row) {
            const int64_t position = begin + static_cast<int64_t>(positions[row]++);
            if (position >= end) return;
            values[position] = static_cast<int64_t>(entry[i].value);
            if (weighted) copy_weight(weights, position, weights_.get(), i, sort_.weight_size);
        });
    }

    const RowSort& sort_;
    const Buckets& buckets_;
    Scratch entries_, weights_, counts_, rows_;
};

}  // namespace

bool sort_by_row(const RowSort& sort, int64_t* starts, int64_t* values, std::byte* weights) {
    starts[0] = 0;
    if (sort.rows == 0) return sort.count == 0;
    const Buckets buckets(sort.count, sort.rows, sort.values);
    return visit_width(
        buckets, [&]<class Number>(Number) { return Sorter<Number>(sort, buckets).run(starts, values, weights); });
}

int64_t sort_scratch(int64_t count, int64_t rows, int64_t values, int64_t weight_size) {
    if (rows == 0) return 0;
    const Buckets buckets(count, rows, values);
    const int64_t number = visit_width(buckets, [](auto width) { return static_cast<int64_t>(sizeof width); });
    return count * (2 * number + weight_size) + buckets.parts * buckets.count * 8 +
           buckets.workers * buckets.size() * number;
}

bool group(const int64_t* numbers, int64_t count, int64_t rows, int64_t* starts, int64_t* order) {
    const Index index(numbers, IndexType::int64, Shape{rows}, Shape{1}, strict);
    const auto read_rows = [&](int64_t first, int64_t n, int64_t* row) { return index.resolve(first, n, row); };
    const auto read_values = [](int64_t first, int64_t n, int64_t* value) {
        std::iota(value, value + n, first);
        return true;
    };
    return sort_by_row({count, rows, count, read_rows, read_values}, starts, order, nullptr);
}

bool supports_groups(const Combine& combine) {
    return combine.reduction != Reduction::none && supports(combine.dtype, combine.reduction) &&
           !accumulator(combine).load;
}

namespace {

// Calls f(row, members) for every row and its updates, on several threads. False: see each_range.
template <class F>
bool each_group(const Groups& groups, int64_t row_size, F f) {
    return each_range(groups.starts, groups.rows, groups.count, row_size, [&](int64_t r, int64_t first, int64_t next) {
        return f(r, Members{groups.order + first, next - first, groups.count - first, groups.count});
    });
}

// Fills a row with the result of a reduction without updates.
void fill_empty(std::byte* row, int64_t width, const Combine& combine) {
    std::memset(row, 0, static_cast<size_t>(width * combine.item_size));
    if (combine.reduction != Reduction::mul) return;
    visit(combine.dtype, 0, [&]<class T>(std::type_identity<T>) {
        if constexpr (Half<T>)
            std::fill_n(reinterpret_cast<T*>(row), width, T(1.0f));
        else if constexpr (Complex<T>)
            std::fill_n(reinterpret_cast<T*>(row), width, T{1, 0});
        else
            std::fill_n(reinterpret_cast<T*>(row), width, T(1));
        return 0;
    });
}

}  // namespace

bool scatter_groups(const Groups& groups, const std::byte* updates, std::byte* out, int64_t width, bool zeros,
                    const Combine& combine) {
    const int64_t row_size = width * combine.item_size;
    const CombineGroup combine_group = group_combiner(combine);
    const auto finish = accumulator(combine).finish;
    return each_group(groups, row_size, [&](int64_t r, const Members& members) {
        std::byte* const row = out + r * row_size;
        if (zeros) std::memset(row, 0, static_cast<size_t>(row_size));
        if (members.n == 0) return true;
        const bool sound = in_pieces(0, members.n, row_size, [&](int64_t begin, int64_t end) {
            const Members part{members.order + begin, end - begin, members.known - begin, members.count};
            return combine_group(row, updates, part, width, begin == 0 && !combine.include_self);
        });
        if (!sound) return false;
        int64_t visits = members.n;
        if (finish) finish({row, row, &visits, 1, width}, combine);
        return true;
    });
}

bool supports_group_reduction(const Combine& combine, bool members) {
    return supports_groups(combine) && (!members || extremum_finder(combine));
}

bool reduce_groups(const Groups& groups, const std::byte* updates, int64_t width,
                   const std::vector<GroupReduction>& all) {
    const int64_t row_size = width * all[0].combine.item_size;
    // This many updates fit in the first-level cache. They are used for all results before the next ones are read.
    const int64_t at_once = std::max<int64_t>(group_bytes / std::max<int64_t>(row_size, 1), 1);
    const auto reduce = [&](const GroupReduction& reduced, int64_t r, const Members& part, bool first) {
        std::byte* const row = reduced.out + r * row_size;
        int64_t* const found = reduced.members ? reduced.members + r * width : nullptr;
        if (part.n > 0 && found) return extremum_finder(reduced.combine)(row, found, updates, part, width, first);
        if (part.n > 0) return group_combiner(reduced.combine)(row, updates, part, width, first);
        fill_empty(row, width, reduced.combine);
        if (found) std::fill_n(found, width, groups.count);
        return true;
    };
    return each_group(groups, row_size, [&](int64_t r, const Members& members) {
        for (int64_t first = 0; first == 0 || first < members.n; first += at_once) {
            const int64_t n = std::min(at_once, members.n - first);
            const Members part{members.order + first, n, members.known - first, members.count};
            for (const GroupReduction& reduced : all)
                if (!reduce(reduced, r, part, first == 0)) return false;
            if (first > 0 && should_stop()) return false;
        }
        return true;
    });
}

}  // namespace gs
