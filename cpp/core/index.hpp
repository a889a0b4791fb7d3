// Converts index tuples to row numbers. An index is read once, and the checked value is the one that is used.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>

#include "dtype.hpp"
#include "parallel.hpp"
#include "plan.hpp"
#include "sizes.hpp"

namespace gs {

enum class IndexType : uint8_t { int8, int16, int32, int64, uint8, uint16, uint32, uint64 };

// False: the type is not an integer.
inline bool index_type_of(DType dtype, IndexType& type) {
    constexpr int first = static_cast<int>(DType::int8);
    static_assert(static_cast<int>(DType::uint64) - first == static_cast<int>(IndexType::uint64));
    if (dtype < DType::int8 || dtype > DType::uint64) return false;
    type = static_cast<IndexType>(static_cast<int>(dtype) - first);
    return true;
}

inline const char* name(IndexType type) {
    return name(static_cast<DType>(static_cast<int>(DType::int8) + static_cast<int>(type)));
}

inline int64_t size_of(IndexType type) { return int64_t{1} << (static_cast<int>(type) & 3); }

// Calls f with an integer of the type.
template <class F>
auto visit_index_type(IndexType type, F&& f) {
    switch (type) {
        case IndexType::int8: return f(int8_t{});
        case IndexType::int16: return f(int16_t{});
        case IndexType::int32: return f(int32_t{});
        case IndexType::uint8: return f(uint8_t{});
        case IndexType::uint16: return f(uint16_t{});
        case IndexType::uint32: return f(uint32_t{});
        case IndexType::uint64: return f(uint64_t{});
        default: return f(int64_t{});
    }
}

// How an index outside the valid range is handled.
enum class Mode : uint8_t {
    raise,  // the call fails
    wrap,   // the index is taken modulo the size
    clip,   // the nearest valid index is used
    skip,   // the row number is -1: a gather fills with zeros, a scatter drops the update
};
inline constexpr const char* mode_names[] = {"raise", "wrap", "clip", "skip"};
static_assert(std::size(mode_names) == static_cast<size_t>(Mode::skip) + 1);

// How a negative index is handled, before its mode. Negative::end leaves it to Mode::wrap and Mode::clip.
enum class Negative : uint8_t {
    error,  // the call fails
    end,    // the index counts from the end
    skip,   // as in Mode::skip. The other indices of the tuple are still checked
};
inline constexpr const char* negative_names[] = {"error", "end", "skip"};
static_assert(std::size(negative_names) == static_cast<size_t>(Negative::skip) + 1);
inline const char* name(Negative negative) { return negative_names[static_cast<int>(negative)]; }

struct Rule {
    Mode mode = Mode::raise;
    Negative negative = Negative::end;

    // Whether a row number can be -1.
    bool may_skip() const { return mode == Mode::skip || negative == Negative::skip; }

    // Whether an index can be bad, if no dim is empty.
    bool may_fail() const { return mode == Mode::raise || negative == Negative::error; }
};
inline constexpr Rule strict{Mode::raise, Negative::error};  // only numbers in [0, size) are good

// Numbers of rows. Rows row[0] to row[n - 1] are moved next. Rows row[n] to row[known - 1] follow them and are only
// prefetched.
struct RowNumbers {
    int64_t* row;
    int64_t n, known;
    bool skips = false;  // some of the rows are -1
};

// How far apart the elements are that consecutive indices name: in the first cache, in the cache of a core, or beyond
// it. This decides how indices and updates are prefetched. A call that is in the cache of a core as a whole is `close`.
enum class Spread : uint8_t { close, middle, distant };

// The outcome of resolving some tuples. The greater one of two parts holds for both.
enum class Resolved : uint8_t {
    all,   // every tuple names a row
    some,  // some row numbers are -1, because the rule skips the tuples
    none,  // a tuple is bad, or the call has to stop
};

// Whether there are loops for elements of this size.
inline bool is_element(int64_t item_size) {
    return item_size > 0 && item_size <= 16 && (item_size & (item_size - 1)) == 0;
}

// Moves elements: out[i] = line[position[i] * stride] for n elements. `next` has the same number of positions to
// prefetch.
using MoveElements = void (*)(const std::byte* line, int64_t stride, const int64_t* position, const int64_t* next,
                              int64_t n, std::byte* out);

// The same for indices: moves elements as long as the indices are in [0, rows), and returns the number moved.
using MoveByIndex = int64_t (*)(const std::byte* indices, int64_t n, uint64_t rows, const std::byte* line,
                                int64_t stride, Spread, std::byte* out);

// Moves elements of one size that are `stride` bytes apart.
struct ElementMover {
    MoveElements move = nullptr, move_or_skip = nullptr;  // null: there is no loop for this size
    MoveByIndex move_by_index = nullptr;                  // null: there is no loop for these indices
    int64_t size = 0, stride = 0;
    Spread spread = Spread::close;
    explicit operator bool() const { return move != nullptr; }
};

// The columns of index tuples: the sizes of their dims, the numbers to add to negative indices, and the weights of the
// positions in a row number.
struct Columns {
    int k;
    uint64_t size[max_rank], if_negative[max_rank], weight[max_rank];
};

// Resolves tuples of 64-bit numbers.
using ResolveWide = Resolved (*)(const int64_t* tuples, int64_t n, const Columns&, int64_t* rows);

// The same for tuples in memory. Some are copied at a time and then resolved. Those of one column may be row numbers
// already.
using Resolve = Resolved (*)(const std::byte* tuples, int64_t n, const Columns&, ResolveWide, int64_t* rows);

// A contiguous tensor of index tuples into `dims`. The tuple t names row sum(t[j] * weights[j]). With a single column,
// the index is the row number.
class Index {
  public:
    Index(const void* tuples, IndexType, const Shape& dims, const Shape& weights, Rule);

    // Computes the row numbers of the tuples [first, first + n). False: a tuple is bad, or the call has to stop.
    bool resolve(int64_t first, int64_t n, int64_t* rows) const {
        return !should_stop() && resolve_some(first, n, rows) != Resolved::none;
    }

    // Resolves the tuples [first, first + n) as a block without tuples that are only prefetched.
    bool resolve(int64_t first, int64_t n, RowNumbers& rows) const {
        const Resolved resolved = should_stop() ? Resolved::none : resolve_some(first, n, rows.row);
        rows.n = rows.known = n;
        rows.skips = resolved == Resolved::some;
        return resolved != Resolved::none;
    }

    // Resolves the next block of the tuples [first, end), and up to `prefetch_distance` tuples after it.
    bool next_block(int64_t first, int64_t end, int64_t prefetch_distance, RowNumbers& rows) const {
        const int64_t known = std::min(block + prefetch_distance, end - first);
        const bool good = resolve(first, known, rows);
        rows.n = std::min(block, end - first);
        return good;
    }

    // Returns the loops for `gather`.
    ElementMover element_mover(int64_t size, int64_t stride, bool use_prefetch, Spread, bool stream) const;

    // Moves the elements of `line` that the tuples [first, first + n) name. Skipped elements become zeros. False: a
    // tuple is bad, or the call has to stop.
    bool gather(const ElementMover&, int64_t first, int64_t n, const std::byte* line, std::byte* out) const;

    // Computes the row numbers of all tuples [0, n), on several threads. False: as for `resolve`.
    [[nodiscard]] bool resolve_all(int64_t n, int64_t* rows) const;

    // Whether all tuples [0, n) are valid.
    bool check(int64_t n) const;

    // The type of single indices, which may be row numbers, and where the first one is.
    bool is_single() const { return dims_.rank == 1; }
    IndexType type() const { return type_; }
    const std::byte* at(int64_t first) const { return tuples_ + first * tuple_size_; }
    uint64_t size() const { return static_cast<uint64_t>(dims_[0]); }

    // Whether samples of single indices repeat the index before.
    bool are_runs(int64_t first, int64_t n) const;

    bool may_skip() const { return rule_.may_skip(); }

  private:
    Resolved resolve_some(int64_t first, int64_t n, int64_t* rows) const {
        return resolve_(tuples_ + first * tuple_size_, n, columns_, resolve_wide_, rows);
    }

    const std::byte* tuples_;
    IndexType type_;
    int64_t tuple_size_;
    Shape dims_;
    Columns columns_;
    Rule rule_;
    Resolve resolve_;
    ResolveWide resolve_wide_;
};

}  // namespace gs
