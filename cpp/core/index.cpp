#include "index.hpp"

#include <atomic>
#include <cstring>
#include <iterator>
#include <type_traits>

#include "parallel.hpp"

namespace gs {
namespace {

// Maps one index value to [0, size); 1 if it is bad. Widened first: never add a size in the type of the index. Written
// without branches and in 64 bits throughout, so that compilers make vector code of it.
template <Mode mode, class I>
inline uint64_t place(I value, uint64_t size, uint64_t if_negative, uint64_t& position) {
    if constexpr (mode == Mode::wrap) {
        if (size == 0) return 1;
        if constexpr (std::is_unsigned_v<I>) {
            position = value % size;
        } else {
            const int64_t remainder = static_cast<int64_t>(value) % static_cast<int64_t>(size);
            position = static_cast<uint64_t>(remainder) + (remainder < 0 ? size : 0);
        }
        return 0;
    } else if constexpr (mode == Mode::clip) {
        const bool below = value < I{0}, above = !below && static_cast<uint64_t>(value) >= size;
        position = below ? 0 : above ? size - 1 : static_cast<uint64_t>(value);
        return size == 0;
    } else {
        position = static_cast<uint64_t>(value);
        if constexpr (std::is_signed_v<I>)
            position += static_cast<uint64_t>(static_cast<int64_t>(value) >> 63) & if_negative;
        return position >= size;
    }
}

// `fixed_k` columns, or as many as `dims` has when it is 0.
template <Mode mode, class I, int fixed_k>
GS_INTEGER_CLONES bool resolve(const std::byte* tuples, int64_t n, const Shape& dims, const Shape& weights, Rule rule,
                               int64_t* rows) {
    const int k = fixed_k > 0 ? fixed_k : dims.rank;
    uint64_t size[fixed_k > 0 ? fixed_k : max_rank], if_negative[std::size(size)], weight[std::size(size)];
    for (int j = 0; j < k; ++j) {
        size[j] = static_cast<uint64_t>(dims.dim[j]);
        if_negative[j] = rule.negative ? size[j] : 0;
        weight[j] = static_cast<uint64_t>(weights.dim[j]);
    }
    uint64_t any_bad = 0;
    for (int64_t t = 0; t < n; ++t) {
        uint64_t row = 0, bad = 0;  // unsigned: the row of a bad tuple is never used, but must not overflow
        for (int j = 0; j < k; ++j) {
            I value;
            std::memcpy(&value, tuples + (t * k + j) * static_cast<int64_t>(sizeof(I)), sizeof(I));
            uint64_t position = 0;
            bad |= place<mode>(value, size[j], if_negative[j], position);
            row += k == 1 ? position : position * weight[j];
        }
        if constexpr (mode == Mode::skip)
            rows[t] = bad ? -1 : static_cast<int64_t>(row);
        else
            rows[t] = static_cast<int64_t>(row);
        any_bad |= bad;
    }
    return mode == Mode::skip || !any_bad;
}

// There is a function for each of 8 index types, 4 modes, and 1, 2, 3 or any number of columns: 128 in all. One loop
// with a branch for each of these inside would be several times slower.
template <Mode mode, class I>
auto resolver(int k) {
    switch (k) {
        case 1: return resolve<mode, I, 1>;
        case 2: return resolve<mode, I, 2>;
        case 3: return resolve<mode, I, 3>;
        default: return resolve<mode, I, 0>;
    }
}

template <class I>
auto resolver(Mode mode, int k) {
    switch (mode) {
        case Mode::wrap: return resolver<Mode::wrap, I>(k);
        case Mode::clip: return resolver<Mode::clip, I>(k);
        case Mode::skip: return resolver<Mode::skip, I>(k);
        default: return resolver<Mode::raise, I>(k);
    }
}

auto resolver(IndexType type, Mode mode, int k) {
    switch (type) {
        case IndexType::int8: return resolver<int8_t>(mode, k);
        case IndexType::int16: return resolver<int16_t>(mode, k);
        case IndexType::int32: return resolver<int32_t>(mode, k);
        case IndexType::uint8: return resolver<uint8_t>(mode, k);
        case IndexType::uint16: return resolver<uint16_t>(mode, k);
        case IndexType::uint32: return resolver<uint32_t>(mode, k);
        case IndexType::uint64: return resolver<uint64_t>(mode, k);
        default: return resolver<int64_t>(mode, k);
    }
}

int64_t size_of(IndexType type) { return int64_t{1} << (static_cast<int>(type) & 3); }

}  // namespace

Index::Index(const void* tuples, IndexType type, const Shape& dims, const Shape& weights, Rule rule)
    : tuples_(static_cast<const std::byte*>(tuples)),
      tuple_size_(size_of(type) * dims.rank),
      at_once_(tuple_size_ > 0 ? copied_bytes / tuple_size_ : INT64_MAX),
      dims_(dims),
      weights_(weights),
      rule_(rule),
      resolve_(resolver(type, rule.mode, dims.rank)) {}

bool Index::check(int64_t n) const {
    const bool any_is_good = rule_.mode != Mode::raise && std::ranges::all_of(dims_, [](int64_t d) { return d > 0; });
    if (may_skip() || any_is_good || tuple_size_ == 0) return true;
    std::atomic<bool> good = true;
    for_ranges(n, Work{n, tuple_size_}, [&](int64_t begin, int64_t end) {
        int64_t rows[block];
        for (int64_t first = begin; first < end && good.load(std::memory_order_relaxed); first += block)
            if (!resolve(first, std::min(block, end - first), rows)) good = false;
    });
    return good;
}

}  // namespace gs
