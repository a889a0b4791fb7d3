// From index tuples to row numbers. An index is read once, and checked in the form in which it is used.
#pragma once

#include <cstddef>
#include <cstdint>

#include "plan.hpp"

namespace gs {

enum class IndexType : uint8_t { int8, int16, int32, int64, uint8, uint16, uint32, uint64 };

// What becomes of an index outside the valid range.
enum class Mode : uint8_t {
    raise,  // an error
    wrap,   // modulo the size
    clip,   // the nearest valid index
    skip,   // row -1: a gather fills with zeros, a scatter drops the update
};

struct Rule {
    Mode mode = Mode::raise;
    bool negative = true;  // -1 counts from the end (raise and skip; wrap and clip have their own meaning for it)
};

// How many tuples are resolved at a time: the row numbers stay in the first-level cache.
inline constexpr int64_t block = 1024;

// A contiguous tensor of index tuples into `dims`.
class Index {
  public:
    Index(const void* tuples, IndexType, const Shape& dims, Rule);

    // Row numbers of the tuples [first, first + n); false if one is bad (then `rows` is of no use).
    bool resolve(int64_t first, int64_t n, int64_t* rows) const {
        return resolve_(tuples_ + first * tuple_size_, n, *dims_, rule_, rows);
    }

    // Whether all tuples [0, n) are good.
    bool check(int64_t n) const;

    bool may_skip() const { return rule_.mode == Mode::skip; }

  private:
    using Resolve = bool (*)(const std::byte* tuples, int64_t n, const Shape& dims, Rule, int64_t* rows);

    const std::byte* tuples_;
    int64_t tuple_size_;
    const Shape* dims_;
    Rule rule_;
    Resolve resolve_;
};

}  // namespace gs
