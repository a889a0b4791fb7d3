// From index tuples to row numbers. An index is read once, and checked in the form in which it is used.
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

// f is called with an integer of the type.
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

// What happens to an index outside the valid range.
enum class Mode : uint8_t {
    raise,  // an error
    wrap,   // modulo the size
    clip,   // the nearest valid index
    skip,   // row -1: a gather fills with zeros, a scatter drops the update
};
inline constexpr const char* mode_names[] = {"raise", "wrap", "clip", "skip"};
static_assert(std::size(mode_names) == static_cast<size_t>(Mode::skip) + 1);

struct Rule {
    Mode mode = Mode::raise;
    bool negative = true;  // -1 counts from the end (raise and skip; wrap and clip have their own meaning for it)
};

// The numbers of n rows to move; those up to `known` come next.
struct RowNumbers {
    int64_t* row;
    int64_t n, known;
};

// out[i] = line[indices[i]] for n elements of a line of `dim`. False: an index is bad.
using GatherElements = bool (*)(const std::byte* indices, int64_t n, int64_t dim, bool negative, const std::byte* line,
                                std::byte* out);

// A contiguous tensor of index tuples into `dims`. A tuple t names row sum(t[j] * weights[j]); a single column names
// the row itself.
class Index {
  public:
    Index(const void* tuples, IndexType, const Shape& dims, const Shape& weights, Rule);

    // Row numbers of the tuples [first, first + n); false if one is bad or the call is to stop.
    bool resolve(int64_t first, int64_t n, int64_t* rows) const {
        return !should_stop() && resolve_(tuples_ + first * tuple_size_, n, dims_, weights_, rule_, rows);
    }

    // The next block of the tuples [first, end), and up to `prefetch_distance` after it.
    bool next_block(int64_t first, int64_t end, int64_t prefetch_distance, RowNumbers& rows) const {
        rows.n = std::min(block, end - first);
        rows.known = std::min(block + prefetch_distance, end - first);
        return resolve(first, rows.known, rows.row);
    }

    // One loop that reads, checks and moves elements that lie one after the other. Null: there is no such loop for this
    // size and these indices. Then the caller uses row numbers.
    GatherElements element_gatherer(int64_t item_size, bool use_prefetch) const;

    // Runs it on the tuples [first, first + n); false if one is bad or the call is to stop.
    bool gather(GatherElements gather_elements, int64_t first, int64_t n, const std::byte* line, std::byte* out) const {
        return !should_stop() && gather_elements(tuples_ + first * tuple_size_, n, dims_[0], rule_.negative, line, out);
    }

    // Row numbers of all tuples [0, n), by several threads; false as for `resolve`.
    [[nodiscard]] bool resolve_all(int64_t n, int64_t* rows) const;

    // Whether all tuples [0, n) are good.
    bool check(int64_t n) const;

    bool may_skip() const { return rule_.mode == Mode::skip; }

  private:
    using Resolve = bool (*)(const std::byte* tuples, int64_t n, const Shape& dims, const Shape& weights, Rule,
                             int64_t* rows);

    const std::byte* tuples_;
    IndexType type_;
    int64_t tuple_size_;
    Shape dims_, weights_;
    Rule rule_;
    Resolve resolve_;
};

}  // namespace gs
