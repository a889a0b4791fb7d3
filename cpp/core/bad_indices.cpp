#include "bad_indices.hpp"

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <vector>

namespace gs {
namespace {

using Kind = IndexHint::Kind;

struct Range {
    IndexValue least, greatest;

    void add(IndexValue value, bool first) {
        if (first || value < least) least = value;
        if (first || greatest < value) greatest = value;
    }
};

IndexValue index_value(auto value) {
    if constexpr (std::is_signed_v<decltype(value)>)
        if (value < 0) return {true, ~static_cast<uint64_t>(static_cast<int64_t>(value)) + 1};
    return {false, static_cast<uint64_t>(value)};
}

// Calls f(position, column, value) for each index, until the call has to stop.
template <class F>
void each_index(const IndexTuples& tuples, F&& f) {
    visit_index_type(tuples.type, [&]<class I>(I) {
        const auto* const bytes = static_cast<const std::byte*>(tuples.values);
        const int64_t tuple_size = tuples.columns * static_cast<int64_t>(sizeof(I));
        (void)in_pieces(0, tuples.count, tuple_size, [&](int64_t begin, int64_t end) {
            for (int64_t position = begin * tuples.columns, t = begin; t < end; ++t)
                for (int j = 0; j < tuples.columns; ++j, ++position) {
                    I value;
                    std::memcpy(&value, bytes + position * static_cast<int64_t>(sizeof(I)), sizeof(I));
                    f(position, j, index_value(value));
                }
        });
    });
}

bool at_least_minus(IndexValue value, int64_t size) {
    return !value.negative || value.magnitude <= static_cast<uint64_t>(size);
}
bool is_below(IndexValue value, int64_t size) {
    return value.negative || value.magnitude < static_cast<uint64_t>(size);
}

// The ranges of the values in all columns, and the sizes that the columns index.
class Hints {
  public:
    Hints(const IndexTuples& tuples, const std::vector<Range>& ranges)
        : tuples_(tuples), ranges_(ranges), sizes_(tuples.data.dim + tuples.first_axis, tuples.columns) {}

    IndexHint find(bool negative) const {
        if (!negative && fit(sizes_) && std::ranges::any_of(ranges_, [](const Range& r) { return r.least.negative; }))
            return {Kind::refused_negatives, {}, 0, 0, 0};
        if (tuples_.may_be_batched && fit(Shape(tuples_.data.dim + tuples_.first_axis + 1, tuples_.columns)))
            return {Kind::forgotten_batch_dims, {}, tuples_.data[0], 0, 0};
        if (count_from_one()) return {Kind::counted_from_one, {}, 0, 0, 0};
        if (const IndexHint hint = find_overflow(); hint.kind != Kind::none) return hint;
        if (const IndexHint hint = find_swapped_columns(); hint.kind != Kind::none) return hint;
        return find_axis();
    }

  private:
    // Whether all indices are in range for these sizes, including negative ones that count from the end.
    bool fit(const Shape& sizes) const {
        for (int j = 0; j < sizes.rank; ++j)
            if (!at_least_minus(ranges_[j].least, sizes[j]) || !is_below(ranges_[j].greatest, sizes[j])) return false;
        return true;
    }

    // Whether all values lie in 1..size and at least one equals the size.
    bool count_from_one() const {
        for (int j = 0; j < sizes_.rank; ++j)
            if (ranges_[j].least < IndexValue{false, 1} ||
                ranges_[j].greatest.magnitude > static_cast<uint64_t>(sizes_[j]))
                return false;
        return true;
    }

    // Finds a negative number that was stored without a sign, or a number shifted by 2^32.
    IndexHint find_overflow() const {
        constexpr uint64_t shift = uint64_t{1} << 32;
        const bool is_unsigned = tuples_.type >= IndexType::uint8;
        const int bits = 8 * static_cast<int>(size_of(tuples_.type));
        for (int j = 0; j < sizes_.rank; ++j) {
            const IndexValue high = ranges_[j].greatest;
            const auto size = static_cast<uint64_t>(sizes_[j]);
            // How far the value is below 2^bits. It wraps to 0 for the value 0, which is 2^64 below.
            const uint64_t below = (bits == 64 ? 0 : uint64_t{1} << bits) - high.magnitude;
            // In 8 or 16 bits, most large numbers are plain mistakes. Only the largest is read as -1.
            if (is_unsigned && (bits >= 32 ? below != 0 && below <= size : below == 1))
                return {Kind::unsigned_type, high, -static_cast<int64_t>(below), 0, 0};
            if (size <= shift / 2 && !high.negative && high.magnitude >= shift - size && high.magnitude < shift + size)
                return {Kind::overflow, high, static_cast<int64_t>(high.magnitude - shift), 0, 0};
        }
        return {};
    }

    // Finds tuples that are in range when two of their columns are swapped.
    IndexHint find_swapped_columns() const {
        for (int i = 0; i < sizes_.rank; ++i)
            for (int j = i + 1; j < sizes_.rank; ++j) {
                Shape swapped = sizes_;
                std::swap(swapped.dim[i], swapped.dim[j]);
                if (fit(swapped)) return {Kind::swapped_columns, {}, 0, i, j};
            }
        return {};
    }

    // Finds values along one axis that reach exactly to the end of exactly one other axis.
    IndexHint find_axis() const {
        if (sizes_.rank != 1 || ranges_[0].least.negative) return {};
        IndexHint hint;
        for (int axis = 0; axis < tuples_.data.rank; ++axis) {
            if (axis == tuples_.first_axis || tuples_.data[axis] == 0 ||
                ranges_[0].greatest.magnitude != static_cast<uint64_t>(tuples_.data[axis] - 1))
                continue;
            if (hint.kind != Kind::none) return {};
            hint = {Kind::wrong_axis, {}, 0, axis, 0};
        }
        return hint;
    }

    const IndexTuples& tuples_;
    const std::vector<Range>& ranges_;
    Shape sizes_;
};

bool is_good(IndexValue value, int64_t size, Rule rule) {
    if (value.negative && rule.negative != Negative::end) return rule.negative == Negative::skip;
    switch (rule.mode) {
        case Mode::raise: return is_below(value, size) && at_least_minus(value, size);
        case Mode::skip: return true;
        default: return size > 0;
    }
}

}  // namespace

BadIndices find_bad_indices(const IndexTuples& tuples, Rule rule) {
    BadIndices bad;
    if (tuples.count == 0 || tuples.columns == 0) return bad;
    Range spread;
    std::vector<Range> ranges(static_cast<size_t>(tuples.columns));
    each_index(tuples, [&](int64_t position, int j, IndexValue value) {
        const int64_t size = tuples.data[tuples.first_axis + j];
        ranges[static_cast<size_t>(j)].add(value, position < tuples.columns);
        const bool good = is_good(value, size, rule);
        if (good) return;
        if (bad.count == 0) bad.axis = tuples.first_axis + j;
        if (bad.count < BadIndices::shown) {
            bad.positions[static_cast<size_t>(bad.count)] = position;
            bad.values[static_cast<size_t>(bad.count)] = value;
        }
        spread.add(value, bad.count++ == 0);
    });
    bad.least = spread.least;
    bad.greatest = spread.greatest;
    if (bad.count > 0) bad.hint = Hints(tuples, ranges).find(rule.negative != Negative::error);
    return bad;
}

IndexHint find_index_hint(const IndexTuples& tuples, bool negative) {
    std::vector<Range> ranges(static_cast<size_t>(tuples.columns));
    each_index(tuples, [&](int64_t position, int j, IndexValue value) {
        ranges[static_cast<size_t>(j)].add(value, position < tuples.columns);
    });
    return Hints(tuples, ranges).find(negative);
}

}  // namespace gs
