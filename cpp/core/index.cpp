#include "index.hpp"

#include <atomic>
#include <cstring>
#include <type_traits>

#include "machine.hpp"
#include "parallel.hpp"

namespace gs {
namespace {

// Maps one index value to [0, size). Returns 1 if the index is bad. The value has 64 bits, because adding a size in
// the type of the index could overflow. W tells whether indices have a sign. The code has no branches, so that
// compilers can vectorize it.
template <Mode mode, class W>
GS_LOOP uint64_t resolve_value(W value, uint64_t size, uint64_t if_negative, uint64_t& position) {
    if constexpr (mode == Mode::wrap) {
        // An index that is at most one size out of range needs no division. Others count as bad here.
        position = static_cast<uint64_t>(value);
        if constexpr (std::is_signed_v<W>) position += static_cast<uint64_t>(static_cast<int64_t>(value) >> 63) & size;
        position -= position >= size ? size : 0;
        return position >= size;
    } else if constexpr (mode == Mode::clip) {
        if constexpr (std::is_signed_v<W>) {
            const int64_t last = static_cast<int64_t>(size) - 1;
            position = static_cast<uint64_t>(std::min(std::max(static_cast<int64_t>(value), int64_t{0}), last));
        } else {
            position = std::min(static_cast<uint64_t>(value), size - 1);
        }
        return size == 0;
    } else {
        position = static_cast<uint64_t>(value);
        if constexpr (std::is_signed_v<W>)
            position += static_cast<uint64_t>(static_cast<int64_t>(value) >> 63) & if_negative;
        return position >= size;
    }
}

template <class I>
GS_LOOP I load(const std::byte* tuples, int64_t i) {
    I value;
    std::memcpy(&value, tuples + i * static_cast<int64_t>(sizeof(I)), sizeof(I));
    return value;
}

// The same as `resolve_value` for any index in mode "wrap".
template <class I>
uint64_t wrap(I value, uint64_t size) {
    if constexpr (std::is_unsigned_v<I>) return value % size;
    const int64_t remainder = static_cast<int64_t>(value) % static_cast<int64_t>(size);
    return static_cast<uint64_t>(remainder) + (remainder < 0 ? size : 0);
}

// Resolves tuples, if some need a division.
template <class W>
Resolved wrap_tuples(const int64_t* tuples, int64_t n, const Columns& columns, int64_t* rows) {
    for (int j = 0; j < columns.k; ++j)
        if (columns.size[j] == 0) return Resolved::none;
    for (int64_t t = 0; t < n; ++t) {
        uint64_t row = 0;
        for (int j = 0; j < columns.k; ++j)
            row += wrap(static_cast<W>(tuples[t * columns.k + j]), columns.size[j]) * columns.weight[j];
        rows[t] = static_cast<int64_t>(row);
    }
    return Resolved::all;
}

// Resolves tuples of `fixed_k` columns, or of any number of them if it is 0.
template <Mode mode, class W, int fixed_k>
GS_LOOP Resolved resolve_wide(const int64_t* __restrict tuples, int64_t n, const Columns& columns,
                              int64_t* __restrict rows) {
    const int k = fixed_k > 0 ? fixed_k : columns.k;
    uint64_t any_bad = 0;
    for (int64_t t = 0; t < n; ++t) {
        uint64_t row = 0, bad = 0;  // unsigned: the row of a bad tuple is never used, but must not overflow
        for (int j = 0; j < k; ++j) {
            uint64_t position = 0;
            bad |= resolve_value<mode>(static_cast<W>(tuples[t * k + j]), columns.size[j], columns.if_negative[j],
                                       position);
            row += fixed_k == 1 ? position : position * columns.weight[j];
        }
        if constexpr (mode == Mode::skip)
            rows[t] = bad ? -1 : static_cast<int64_t>(row);
        else
            rows[t] = static_cast<int64_t>(row);
        any_bad |= bad;
    }
    if (!any_bad) return Resolved::all;
    if (mode == Mode::wrap) return wrap_tuples<W>(tuples, n, columns, rows);
    return mode == Mode::skip ? Resolved::some : Resolved::none;
}

// Resolves tuples whose negative indices are skipped or bad, while the mode handles those that are too large.
template <Mode mode, Negative negative>
GS_LOOP Resolved resolve_signed(const int64_t* __restrict tuples, int64_t n, const Columns& columns,
                                int64_t* __restrict rows) {
    uint64_t any_bad = 0, any_skipped = 0;
    for (int64_t t = 0; t < n; ++t) {
        uint64_t row = 0, skipped = 0, bad = 0;
        for (int j = 0; j < columns.k; ++j) {
            const int64_t value = tuples[t * columns.k + j];
            const uint64_t size = columns.size[j], below = value < 0;
            uint64_t position = 0, outside = resolve_value<mode>(value, size, 0, position);
            if (mode == Mode::wrap && outside && size > 0) {
                position = wrap(value, size);
                outside = 0;
            }
            (negative == Negative::skip ? skipped : bad) |= below;
            (mode == Mode::skip ? skipped : bad) |= outside & !below;
            row += position * columns.weight[j];
        }
        rows[t] = skipped ? -1 : static_cast<int64_t>(row);
        any_bad |= bad;
        any_skipped |= skipped;
    }
    return any_bad ? Resolved::none : any_skipped ? Resolved::some : Resolved::all;
}

// Copies n indices to 64-bit numbers. Other threads may change the indices at any time, so the copy is checked and
// used.
template <class I>
GS_LOOP const int64_t* copy_indices(const std::byte* indices, int64_t n, int64_t* copy) {
    for (int64_t i = 0; i < n; ++i) copy[i] = static_cast<int64_t>(load<I>(indices, i));
    return read_copy(copy);
}

// Resolves tuples of one index. The row numbers begin as a copy of the indices. Most indices are row numbers already.
template <class I>
GS_LOOP Resolved resolve_column(const std::byte* indices, int64_t n, const Columns& columns, ResolveWide resolve_wide,
                                int64_t* rows) {
    const uint64_t size = columns.size[0];
    constexpr int64_t index_size = static_cast<int64_t>(sizeof(I));
    Resolved resolved = Resolved::all;
    for (int64_t done = 0; done < n; done += resolved_at_once) {
        const int64_t m = std::min(resolved_at_once, n - done);
        const std::byte* const from = indices + done * index_size;
        prefetch_block(from, m * index_size, index_lookahead_bytes);
        int64_t* const copy = rows + done;
        const auto are_rows = [=](int64_t count) {
            const int64_t* const own = copy_indices<I>(from, count, copy);
            uint64_t outside = 0;
            for (int64_t t = 0; t < count; ++t) outside |= static_cast<uint64_t>(own[t]) >= size;
            return !outside;
        };
        if (m == resolved_at_once ? are_rows(resolved_at_once) : are_rows(m)) continue;
        int64_t others[resolved_at_once];
        std::copy_n(copy, m, others);
        resolved = std::max(resolved, resolve_wide(others, m, columns, copy));
    }
    return resolved;
}

// Resolves tuples of several indices, or of none.
template <class I>
GS_LOOP Resolved resolve_columns(const std::byte* tuples, int64_t n, const Columns& columns, ResolveWide resolve_wide,
                                 int64_t* rows) {
    constexpr int64_t most = std::max<int64_t>(3 * resolved_at_once, max_rank);
    alignas(line_size) int64_t copy[most];
    const int64_t k = columns.k, at_once = std::min(resolved_at_once, most / std::max<int64_t>(k, 1)),
                  tuple_size = k * static_cast<int64_t>(sizeof(I));
    Resolved resolved = Resolved::all;
    for (int64_t done = 0; done < n; done += at_once) {
        const int64_t m = std::min(at_once, n - done);
        const std::byte* const from = tuples + done * tuple_size;
        prefetch_block(from, m * tuple_size, index_lookahead_bytes);
        resolved = std::max(resolved, resolve_wide(copy_indices<I>(from, m * k, copy), m, columns, rows + done));
    }
    return resolved;
}

template <int64_t size, bool use_prefetch, bool packed, bool may_skip>
GS_LOOP void move_elements(const std::byte* line, int64_t stride, const int64_t* position, const int64_t* next,
                           int64_t n, std::byte* out) {
    if (packed) stride = size;
    GS_UNROLL
    for (int64_t i = 0; i < n; ++i) {
        if (use_prefetch) prefetch(line + next[i] * stride);
        if (!may_skip || position[i] >= 0)
            std::memcpy(out + i * size, line + position[i] * stride, size);
        else
            std::memset(out + i * size, 0, size);
    }
}

GS_LOOP void prefetch_indices(const std::byte* next, Spread spread) {
    if (spread == Spread::middle) {
        prefetch_ahead<Cache::first>(next, index_lookahead_bytes);
    } else if (spread == Spread::distant) {
        prefetch_ahead<Cache::second>(next, index_lookahead_bytes);
        prefetch_ahead<Cache::first>(next, near_lookahead_bytes);
    }
}

// Checks each index and uses it at once. This takes fewer instructions than a copy of the indices, and the processor
// runs further ahead.
template <class I, int64_t size, bool packed>
int64_t move_by_index(const std::byte* indices, int64_t n, uint64_t rows, const std::byte* line, int64_t stride,
                      Spread spread, std::byte* out) {
    if (packed) stride = size;
    const I* const index = reinterpret_cast<const I*>(indices);
    const auto move = [&](int64_t i) {
        const auto row = static_cast<uint64_t>(read_once(index[i]));
        if (row >= rows) [[unlikely]]
            return false;
        std::memcpy(out + i * size, line + static_cast<int64_t>(row) * stride, size);
        return true;
    };
    constexpr int64_t at_once = 8;
    int64_t i = 0;
    for (; i + at_once <= n; i += at_once) {
        prefetch_indices(indices + i * static_cast<int64_t>(sizeof(I)), spread);
        GS_UNROLL_ALL
        for (int64_t j = 0; j < at_once; ++j)
            if (!move(i + j)) return i + j;
    }
    for (; i < n; ++i)
        if (!move(i)) return i;
    return n;
}

// The same for packed elements. They are collected in words, which are written past the caches.
template <class I, int64_t size>
int64_t stream_by_index(const std::byte* indices, int64_t n, uint64_t rows, const std::byte* line, int64_t stride,
                        Spread spread, std::byte* out) {
    const auto move = [&](int64_t first, int64_t count) {
        return move_by_index<I, size, true>(indices + first * static_cast<int64_t>(sizeof(I)), count, rows, line,
                                            stride, Spread::close, out + first * size);
    };
    constexpr int64_t word_size = sizeof(uint64_t), at_once = std::max(word_size, stream_unit / size),
                      words = at_once * size / word_size;
    const I* const index = reinterpret_cast<const I*>(indices);
    int64_t i = 0;
    for (; i < n && !is_unit_aligned(out + i * size); ++i)
        if (move(i, 1) == 0) return i;
    for (; i + at_once <= n; i += at_once) {
        prefetch_indices(indices + i * static_cast<int64_t>(sizeof(I)), spread);
        uint64_t word[words] = {};
        GS_UNROLL_ALL
        for (int64_t j = 0; j < at_once; ++j) {
            const auto row = static_cast<uint64_t>(read_once(index[i + j]));
            if (row >= rows) [[unlikely]]
                return i;
            const std::byte* const element = line + static_cast<int64_t>(row) * size;
            if constexpr (size >= word_size) {
                std::memcpy(word + j * size / word_size, element, size);
            } else {
                uint64_t bits = 0;
                std::memcpy(&bits, element, size);
                word[j * size / word_size] |= bits << (j * size % word_size * 8);
            }
        }
        GS_UNROLL_ALL
        for (int64_t w = 0; w < words; w += 2) stream_words(out + i * size + w * word_size, word[w], word[w + 1]);
    }
    return i + move(i, n - i);
}

// Whether all indices are in range. They are not copied here, because kernels check them again.
template <class I, int fixed_k>
GS_LOOP bool are_in_range(const std::byte* tuples, int64_t n, const Columns& columns) {
    const int k = fixed_k > 0 ? fixed_k : columns.k;
    uint64_t any_bad = 0;
    for (int64_t t = 0; t < n; ++t)
        for (int j = 0; j < k; ++j) {
            // The valid range -size..size - 1, shifted to begin at 0.
            const I value = load<I>(tuples, t * k + j);
            const uint64_t below = std::is_signed_v<I> ? columns.if_negative[j] : 0;
            any_bad |= static_cast<uint64_t>(value) + below >= columns.size[j] + below;
        }
    return !any_bad;
}

template <class F>
auto visit_columns(int k, F&& f) {
    switch (k) {
        case 1: return f(std::integral_constant<int, 1>{});
        case 2: return f(std::integral_constant<int, 2>{});
        case 3: return f(std::integral_constant<int, 3>{});
        default: return f(std::integral_constant<int, 0>{});
    }
}

template <class W, int columns>
ResolveWide wide_resolver(Mode mode) {
    switch (mode) {
        case Mode::wrap: return version<resolve_wide<Mode::wrap, W, columns>>();
        case Mode::clip: return version<resolve_wide<Mode::clip, W, columns>>();
        case Mode::skip: return version<resolve_wide<Mode::skip, W, columns>>();
        default: return version<resolve_wide<Mode::raise, W, columns>>();
    }
}

template <Negative negative>
ResolveWide signed_resolver(Mode mode) {
    switch (mode) {
        case Mode::wrap: return version<resolve_signed<Mode::wrap, negative>>();
        case Mode::clip: return version<resolve_signed<Mode::clip, negative>>();
        case Mode::skip: return version<resolve_signed<Mode::skip, negative>>();
        default: return version<resolve_signed<Mode::raise, negative>>();
    }
}

// Whether `resolve_wide` handles negative indices: it counts them from the end, or treats them as too large.
bool is_plain(Rule rule) {
    switch (rule.negative) {
        case Negative::error: return rule.mode == Mode::raise;
        case Negative::skip: return rule.mode == Mode::skip;
        default: return true;
    }
}

// A single loop with branches for the modes and columns would be several times slower.
ResolveWide wide_resolver(IndexType type, Rule rule, int k) {
    const Mode mode = rule.mode;
    if (!is_plain(rule))
        return rule.negative == Negative::skip ? signed_resolver<Negative::skip>(mode)
                                               : signed_resolver<Negative::error>(mode);
    return visit_columns(k, [=]<int columns>(std::integral_constant<int, columns>) {
        return type == IndexType::uint64 ? wide_resolver<uint64_t, columns>(mode)
                                         : wide_resolver<int64_t, columns>(mode);
    });
}

Resolve resolver(IndexType type, int k) {
    return visit_index_type(
        type, [=]<class I>(I) { return k == 1 ? version<resolve_column<I>>() : version<resolve_columns<I>>(); });
}

auto range_checker(IndexType type, int k) {
    return visit_index_type(type, [=]<class I>(I) {
        return visit_columns(
            k, [=]<int columns>(std::integral_constant<int, columns>) { return version<are_in_range<I, columns>>(); });
    });
}

template <int64_t size, bool packed>
MoveByIndex mover_by_index(IndexType type, bool stream) {
    return visit_index_type(type, [=]<class I>(I) -> MoveByIndex {
        if constexpr (packed && can_stream)
            if (stream) return stream_by_index<I, size>;
        return move_by_index<I, size, packed>;
    });
}

template <int64_t size, bool use_prefetch, bool packed>
ElementMover element_mover(IndexType type, bool stream) {
    return {version<move_elements<size, use_prefetch, packed, false>>(), move_elements<size, false, packed, true>,
            use_prefetch ? nullptr : mover_by_index<size, packed>(type, stream), size};
}

template <bool use_prefetch, bool packed>
ElementMover element_mover(int64_t size, IndexType type, bool stream) {
    switch (size) {
        case 1: return element_mover<1, use_prefetch, packed>(type, stream);
        case 2: return element_mover<2, use_prefetch, packed>(type, stream);
        case 4: return element_mover<4, use_prefetch, packed>(type, stream);
        case 8: return element_mover<8, use_prefetch, packed>(type, stream);
        case 16: return element_mover<16, use_prefetch, packed>(type, stream);
        default: return {};
    }
}

}  // namespace

Index::Index(const void* tuples, IndexType type, const Shape& dims, const Shape& weights, Rule rule)
    : tuples_(static_cast<const std::byte*>(tuples)),
      type_(type),
      tuple_size_(size_of(type) * dims.rank),
      dims_(dims),
      rule_{rule.mode, type < IndexType::uint8 ? rule.negative : Negative::end},
      resolve_(resolver(type, dims.rank)),
      resolve_wide_(wide_resolver(type, rule_, dims.rank)) {
    columns_.k = dims.rank;
    for (int j = 0; j < dims.rank; ++j) {
        columns_.size[j] = static_cast<uint64_t>(dims.dim[j]);
        columns_.if_negative[j] = rule.negative == Negative::end ? columns_.size[j] : 0;
        columns_.weight[j] = dims.rank == 1 ? 1 : static_cast<uint64_t>(weights.dim[j]);
    }
}

ElementMover Index::element_mover(int64_t size, int64_t stride, bool use_prefetch, Spread spread, bool stream) const {
    ElementMover mover;
    if (stride == size)
        mover = use_prefetch ? gs::element_mover<true, true>(size, type_, stream)
                             : gs::element_mover<false, true>(size, type_, stream);
    else
        mover = use_prefetch ? gs::element_mover<true, false>(size, type_, false)
                             : gs::element_mover<false, false>(size, type_, false);
    if (!is_single()) mover.move_by_index = nullptr;
    mover.stride = stride;
    mover.spread = spread;
    return mover;
}

// Most indices are row numbers, and are used directly. Others are resolved, some at a time. Indices are resolved
// before those in front of them are used, because a processor waits if it reads data that it has just written.
bool Index::gather(const ElementMover& mover, int64_t first, int64_t n, const std::byte* line, std::byte* out) const {
    if (should_stop()) return false;
    constexpr int64_t at_once = resolved_at_once;
    alignas(line_size) int64_t position[2][at_once];
    if (mover.move_by_index) {
        for (int64_t done = 0; done < n;) {
            done += mover.move_by_index(at(first + done), n - done, size(), line, mover.stride, mover.spread,
                                        out + done * mover.size);
            const int64_t m = std::min(at_once, n - done);
            const Resolved resolved = m > 0 ? resolve_some(first + done, m, position[0]) : Resolved::all;
            if (resolved == Resolved::none) return false;
            (resolved == Resolved::all ? mover.move : mover.move_or_skip)(line, mover.stride, position[0], position[0],
                                                                          m, out + done * mover.size);
            done += m;
        }
        return true;
    }
    Resolved resolved = resolve_some(first, std::min(at_once, n), position[0]), next = resolved;
    for (int64_t done = 0, now = 0; done < n; done += at_once, now = !now, resolved = next) {
        if (resolved == Resolved::none) return false;
        const int64_t m = std::min(at_once, n - done), after = std::min(at_once, n - done - m);
        if (after > 0) next = resolve_some(first + done + m, after, position[!now]);
        if (next == Resolved::none) return false;
        const bool prefetches_next = after == m && next == Resolved::all;
        (resolved == Resolved::all ? mover.move : mover.move_or_skip)(
            line, mover.stride, position[now], position[prefetches_next ? !now : now], m, out + done * mover.size);
    }
    return true;
}

bool Index::are_runs(int64_t first, int64_t n) const {
    const auto repeats = [&](int64_t i) {
        return std::memcmp(at(first + i), at(first + i + 1), static_cast<size_t>(tuple_size_)) == 0;
    };
    return n >= min_run_elements && repeats(n / 3) && repeats(n / 2);
}

bool Index::resolve_all(int64_t n, int64_t* rows) const {
    std::atomic<bool> good = true;
    for_ranges(n, {n, 8}, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end && good; i += block)
            if (!resolve(i, std::min(block, end - i), rows + i)) good = false;
    });
    return good;
}

bool Index::check(int64_t n) const {
    const bool has_room = std::ranges::all_of(dims_, [](int64_t d) { return d > 0; });
    if (is_plain(rule_) && rule_.mode != Mode::raise) return may_skip() || n == 0 || has_room;  // no index is bad
    if (tuple_size_ == 0) return true;
    const auto are_in_range = range_checker(type_, dims_.rank);
    const auto are_good = [&](int64_t first, int64_t last) {
        if (is_plain(rule_)) return are_in_range(tuples_ + first * tuple_size_, last - first, columns_);
        int64_t rows[block];
        for (int64_t i = first; i < last; i += block)
            if (resolve_some(i, std::min(block, last - i), rows) == Resolved::none) return false;
        return true;
    };
    const int threads = n * tuple_size_ < min_shared_check_bytes ? 1 : num_threads();
    std::atomic<bool> good = true;
    for_parts(n, threads, [&](int64_t begin, int64_t end) {
        if (!in_pieces(begin, end, tuple_size_, are_good)) good = false;
    });
    return good;
}

}  // namespace gs
