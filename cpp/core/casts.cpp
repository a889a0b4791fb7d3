#include "casts.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "halves.hpp"
#include "parallel.hpp"
#include "sums.hpp"

namespace gs {
namespace {

// The elements that are cast at a time. They stay in the first-level cache between the steps of a cast.
constexpr int64_t at_once = cast_block;

// The loops have no branches, so that compilers can vectorize them.

// Whether all integers that a value of `seen` combines with "or" have at most this number of bits.
template <std::unsigned_integral T>
bool have_bits(T seen, int bits) {
    return bits >= std::numeric_limits<T>::digits || seen >> bits == 0;
}

template <Integer From, Integer To>
bool cast_numbers(const From* from, To* to, int64_t n) {
    using Bits = std::make_unsigned_t<From>;
    constexpr int from_bits = std::numeric_limits<Bits>::digits, to_bits = static_cast<int>(8 * sizeof(To));
    constexpr bool both_signed = std::is_signed_v<From> && std::is_signed_v<To>;
    // Of two signed types, values are shifted so that those that fit are not negative.
    constexpr Bits shift = both_signed && to_bits < from_bits ? static_cast<Bits>(Bits{1} << (to_bits - 1)) : Bits{0};
    Bits seen = 0;
    for (int64_t i = 0; i < n; ++i) {
        to[i] = static_cast<To>(from[i]);
        seen |= static_cast<Bits>(static_cast<Bits>(from[i]) + shift);
    }
    if constexpr (both_signed) return to_bits >= from_bits || have_bits(seen, to_bits);
    return have_bits(seen, std::min(to_bits - std::is_signed_v<To>, from_bits - std::is_signed_v<From>));
}

// Integers stay equal. A float can hold every integer up to a power of two, and some of those beyond it.
template <Integer From, std::floating_point To>
bool cast_numbers(const From* from, To* to, int64_t n) {
    using Bits = std::make_unsigned_t<From>;
    constexpr int digits = std::numeric_limits<To>::digits, from_digits = std::numeric_limits<From>::digits;
    constexpr bool holds_all = from_digits <= digits;
    constexpr Bits shift = std::is_signed_v<From> && !holds_all ? static_cast<Bits>(Bits{1} << digits) : Bits{0};
    Bits seen = 0;
    for (int64_t i = 0; i < n; ++i) {
        to[i] = static_cast<To>(from[i]);
        seen |= static_cast<Bits>(static_cast<Bits>(from[i]) + shift);
    }
    if (holds_all || have_bits(seen, digits + std::is_signed_v<From>)) return true;
    const To end = std::ldexp(To{1}, from_digits);  // beyond all integers of the type
    return std::all_of(from, from + n, [=](From value) {
        const To made = static_cast<To>(value);
        return made < end && static_cast<From>(made) == value;
    });
}

template <Integer From, Half To>
bool cast_numbers(const From* from, To* to, int64_t n) {
    float wide[at_once] = {}, back[at_once];
    if (!cast_numbers(from, wide, n)) return false;
    narrow(wide, to, n);
    widen(to, back, n);
    uint32_t changed = 0;
    for (int64_t i = 0; i < n; ++i) changed |= static_cast<uint32_t>(back[i] != wide[i]);
    return !changed;
}

template <Float From, Float To>
bool cast_numbers(const From* from, To* to, int64_t n) {
    if constexpr (Half<From> && std::same_as<To, float>) {
        widen(from, to, n);
    } else if constexpr (Half<From>) {
        float wide[at_once];
        widen(from, wide, n);
        return cast_numbers(wide, to, n);
    } else if constexpr (std::same_as<From, float> && Half<To>) {
        narrow(from, to, n);
    } else if constexpr (Half<To>) {
        float single[at_once];
        // bfloat16 is rounded through float, as ml_dtypes does it. float16 is rounded once, as NumPy does it.
        for (int64_t i = 0; i < n; ++i)
            single[i] = std::same_as<To, float16> ? round_to_odd(from[i]) : static_cast<float>(from[i]);
        narrow(single, to, n);
    } else {
        for (int64_t i = 0; i < n; ++i) to[i] = static_cast<To>(from[i]);
    }
    return true;
}

template <class From, Complex To>
bool cast_numbers(const From* from, To* to, int64_t n) {
    using Part = decltype(To{}.real);
    if constexpr (Complex<From>) {
        for (int64_t i = 0; i < n; ++i) to[i] = {static_cast<Part>(from[i].real), static_cast<Part>(from[i].imag)};
        return true;
    } else {
        Part real[at_once];
        const bool fits = cast_numbers(from, real, n);
        for (int64_t i = 0; i < n; ++i) to[i] = {real[i], 0};
        return fits;
    }
}

template <class To>
bool cast_numbers(const boolean* from, To* to, int64_t n) {
    uint8_t number[at_once];
    for (int64_t i = 0; i < n; ++i) number[i] = static_cast<bool>(from[i]);
    return cast_numbers(number, to, n);
}

// Each kind of number can hold the kinds before it.
template <class T>
constexpr int kind = std::same_as<T, boolean> ? 0
                     : Integer<T>             ? 1
                     : Float<T>               ? 2
                                              : 3;

// Lines of elements. Distances are in bytes.
struct Lines {
    const std::byte* from;
    int64_t count, length;     // lines, and elements in each
    int64_t distance, stride;  // from a line to the next, and from an element to the next

    // Whether elements of different lines share a cache line, and those of a line do not.
    bool is_transposed() const {
        return distance != 0 && std::abs(distance) < line_size && std::abs(distance) < std::abs(stride);
    }
};
constexpr int64_t tile_lines = tiny ? 2 : 64, tile_length = tiny ? 3 : 8;

// Copies the elements of lines to contiguous memory. `size`: of an element.
using CopyLines = void (*)(const Lines&, std::byte* to, int64_t size);

template <class T>
T swap_bytes(T value) {
#ifdef __GNUC__  // its own functions become vectors at any level of optimization
    if constexpr (sizeof(T) == 2) return __builtin_bswap16(value);
    if constexpr (sizeof(T) == 4) return __builtin_bswap32(value);
    if constexpr (sizeof(T) == 8) return __builtin_bswap64(value);
#endif
    T swapped = 0;
    for (size_t i = 0; i < sizeof(T); ++i) swapped = static_cast<T>(swapped << 8 | (value >> 8 * i & 0xff));
    return swapped;
}

// `T`: an unsigned integer of the size of an element. `parts`: 2 for a complex number, whose parts are swapped alone.
template <class T, bool swap, int64_t parts>
GS_LOOP void copy_elements(const std::byte* from, int64_t stride, std::byte* to, int64_t n) {
    constexpr int64_t size = sizeof(T);
    for (int64_t i = 0; i < n; ++i)
        for (int64_t part = 0; part < parts; ++part) {
            T value;
            std::memcpy(&value, from + i * stride + part * size, sizeof value);
            if (swap) value = swap_bytes(value);
            std::memcpy(to + (i * parts + part) * size, &value, sizeof value);
        }
}

// Copies elements that are far apart, and stores 8 bytes at a time. GCC would use vector gathers, which are slower.
template <class T, bool swap, int64_t parts>
GS_LOOP void copy_far_elements(const std::byte* from, int64_t stride, std::byte* to, int64_t n) {
    constexpr int64_t size = sizeof(T), at_a_time = 8 / size;
    int64_t i = 0;
    GS_UNROLL_4
    for (; !swap && parts == 1 && i + at_a_time <= n; i += at_a_time) {
        uint64_t word = 0;
        GS_UNROLL_ALL
        for (int64_t k = 0; k < at_a_time; ++k) {
            T value;
            std::memcpy(&value, from + (i + k) * stride, sizeof value);
            const int64_t byte_number = std::endian::native == std::endian::little ? k : at_a_time - 1 - k;
            word |= uint64_t{value} << (8 * size * byte_number);
        }
#ifdef __GNUC__
        __asm__("" : "+r"(word));
#endif
        std::memcpy(to + i * size, &word, sizeof word);
    }
    copy_elements<T, swap, parts>(from + i * stride, stride, to + i * size * parts, n - i);
}

// Copies transposed lines in tiles.
template <class T, bool swap, int64_t parts>
GS_LOOP void copy_tiles(const Lines& lines, std::byte* to) {
    constexpr int64_t size = sizeof(T) * parts;
    const int64_t step = lines.length * size;
    for (int64_t first = 0; first < lines.count; first += tile_lines)
        for (int64_t i = 0; i < lines.length; i += tile_length) {
            const std::byte* from = lines.from + first * lines.distance + i * lines.stride;
            std::byte* out = to + first * step + i * size;
            const int64_t n = std::min(tile_length, lines.length - i);
            for (int64_t k = std::min(tile_lines, lines.count - first); k > 0; --k, from += lines.distance, out += step)
                if (n == tile_length)
                    copy_far_elements<T, swap, parts>(from, lines.stride, out, tile_length);
                else
                    copy_far_elements<T, swap, parts>(from, lines.stride, out, n);
        }
}

// Contiguous elements, a repeated element, and contiguous lines of 2 to 4 elements have separate loops. `memcpy` is
// faster than a loop for lines of some 100 bytes, but can be slow for large memory that is not aligned.
template <class T, bool swap, int64_t parts>
GS_LOOP void copy_lines(const Lines& lines, std::byte* to, int64_t) {
    constexpr int64_t size = sizeof(T) * parts;
    const auto copy_short = [&]<int64_t length>(std::integral_constant<int64_t, length>) {
        const std::byte* from = lines.from;
        for (int64_t i = 0; i < lines.count; ++i, from += lines.distance, to += length * size)
            copy_elements<T, swap, parts>(from, size, to, length);
    };
    if (lines.stride == size) switch (lines.length) {
            case 2: return copy_short(std::integral_constant<int64_t, 2>{});
            case 3: return copy_short(std::integral_constant<int64_t, 3>{});
            case 4: return copy_short(std::integral_constant<int64_t, 4>{});
            default: break;
        }
    if (lines.is_transposed()) return copy_tiles<T, swap, parts>(lines, to);
    const std::byte* from = lines.from;
    for (int64_t i = 0; i < lines.count; ++i, from += lines.distance, to += lines.length * size)
        if (lines.stride == size && !swap && lines.count > 1)
            std::memcpy(to, from, static_cast<size_t>(lines.length * size));
        else if (lines.stride == size)
            copy_elements<T, swap, parts>(from, size, to, lines.length);
        else if (lines.stride == 0)
            copy_elements<T, swap, parts>(from, 0, to, lines.length);
        else
            copy_far_elements<T, swap, parts>(from, lines.stride, to, lines.length);
}

void copy_any_lines(const Lines& lines, std::byte* to, int64_t size) {
    for (int64_t line = 0; line < lines.count; ++line) {
        const std::byte* from = lines.from + line * lines.distance;
        const int64_t pieces = lines.stride == size ? 1 : lines.length, piece = lines.length / pieces * size;
        for (int64_t i = 0; i < pieces; ++i, to += piece)
            std::memcpy(to, from + i * lines.stride, static_cast<size_t>(piece));
    }
}

template <bool swap>
CopyLines lines_copier(const ElementType& type) {
    const bool is_complex = type.dtype == DType::complex64 || type.dtype == DType::complex128;
    if (is_complex && swap)
        return type.size == 8 ? version<copy_lines<uint32_t, true, 2>>() : version<copy_lines<uint64_t, true, 2>>();
    switch (type.size) {
        case 1: return version<copy_lines<uint8_t, false, 1>>();
        case 2: return version<copy_lines<uint16_t, swap, 1>>();
        case 4: return version<copy_lines<uint32_t, swap, 1>>();
        case 8: return version<copy_lines<uint64_t, swap, 1>>();
        case 16: return version<copy_lines<uint64_t, false, 2>>();
        default: return copy_any_lines;
    }
}

// The steps of a cast: elements are copied and put into the native order, cast, and put into the order of the target.
class Caster {
  public:
    Caster(const Elements& from, const ElementType& to)
        : from_(from.type),
          to_(to),
          cast_(from.type.dtype == to.dtype ? nullptr : block_caster(from.type.dtype, to.dtype)) {
        const bool swaps = cast_ ? from_.swapped : from_.swapped != to_.swapped;
        load_ = swaps ? lines_copier<true>(from_) : lines_copier<false>(from_);
        loads_ = swaps;
        if (cast_ && to_.swapped) store_ = lines_copier<true>(to_);
    }

    // Casts the elements of lines. Several short lines are cast at a time.
    bool lines(const Lines& all, std::byte* out) const {
        if (!cast_) {
            load_(all, out, from_.size);
            return true;
        }
        const int64_t together = all.length < at_once / 8 ? at_once / all.length : 1;
        for (int64_t line = 0; line < all.count; line += together)
            for (int64_t i = 0; i < all.length; i += at_once) {
                const int64_t count = std::min(together, all.count - line), n = std::min(at_once, all.length - i);
                const std::byte* const from = all.from + line * all.distance + i * all.stride;
                if (!block({from, count, n, all.distance, all.stride}, out)) return false;
                out += count * n * to_.size;
            }
        return true;
    }

  private:
    // Casts at most `at_once` elements.
    bool block(const Lines& part, std::byte* out) const {
        alignas(16) std::byte loaded[at_once * 16], made[at_once * 16];
        const int64_t n = part.count * part.length;
        const bool aligned = reinterpret_cast<uintptr_t>(part.from) % static_cast<uintptr_t>(from_.size) == 0;
        const bool direct = !loads_ && part.count == 1 && part.stride == from_.size && aligned;
        if (!direct) load_(part, loaded, from_.size);
        if (!cast_(direct ? part.from : loaded, store_ ? made : out, n)) return false;
        if (store_) store_({made, 1, n, 0, to_.size}, out, to_.size);
        return true;
    }

    ElementType from_, to_;
    CastBlock cast_;
    CopyLines load_, store_ = nullptr;
    bool loads_;
};

// Joins dims whose elements are evenly spaced, and leaves out dims of size 1.
void join_dims(const Elements& elements, Shape& shape, Shape& strides) {
    shape.rank = strides.rank = 0;
    for (int d = 0; d < elements.shape.rank; ++d) {
        const int64_t size = elements.shape[d], stride = elements.strides[d];
        if (size == 1) continue;
        const int last = shape.rank - 1;
        if (last >= 0 && strides[last] == stride * size) {
            shape.dim[last] *= size;
            strides.dim[last] = stride;
        } else {
            shape.push(size);
            strides.push(stride);
        }
    }
    if (shape.rank == 0) {
        shape.push(1);
        strides.push(0);
    }
}

}  // namespace

CastBlock block_caster(DType from, DType to) {
    return visit(from, CastBlock{nullptr}, [=]<class From>(std::type_identity<From>) {
        return visit(to, CastBlock{nullptr}, []<class To>(std::type_identity<To>) -> CastBlock {
            if constexpr (kind<From> > kind<To> || kind<To> == 0 || std::same_as<From, To>)
                return nullptr;
            else
                return [](const std::byte* source, std::byte* out, int64_t n) {
                    return cast_numbers(reinterpret_cast<const From*>(source), reinterpret_cast<To*>(out), n);
                };
        });
    });
}

bool can_cast(const ElementType& from, const ElementType& to) {
    if (from.dtype == to.dtype) return from.size == to.size;
    return block_caster(from.dtype, to.dtype) != nullptr;
}

bool cast(const Elements& elements, const ElementType& to, std::byte* out) {
    const int64_t n = count_elements(elements.shape);
    if (n == 0) return true;
    const Caster caster(elements, to);
    Shape shape, strides;
    join_dims(elements, shape, strides);
    const int inner = shape.rank - 1, outer = inner - 1;  // the dims in and across lines
    const int64_t length = shape[inner], stride = strides[inner], size = elements.type.size + to.size;
    std::atomic<bool> good = true;
    // A part is a range of elements. It begins and ends anywhere in a line.
    const auto copy_part = [&](int64_t begin, int64_t end) {
        int64_t at[max_rank], rest = begin / length, first = begin % length;
        const std::byte* from = elements.data;
        for (int d = outer; d >= 0; --d) {
            at[d] = rest % shape[d];
            rest /= shape[d];
            from += at[d] * strides[d];
        }
        for (int64_t i = begin; i < end && good;) {
            const bool whole = first == 0 && end - i >= length;
            const int64_t count = whole && outer >= 0 ? std::min(shape[outer] - at[outer], (end - i) / length) : 1;
            const int64_t m = std::min(length - first, end - i), distance = outer >= 0 ? strides[outer] : 0;
            if (!caster.lines({from + first * stride, count, m, distance, stride}, out + i * to.size)) good = false;
            i += count * m;
            first = 0;
            from += count * distance;
            if (outer < 0) continue;
            at[outer] += count;
            for (int d = outer; at[d] == shape[d]; --d) {
                from -= shape[d] * strides[d];
                at[d] = 0;
                if (d == 0) break;
                from += strides[d - 1];
                ++at[d - 1];
            }
        }
    };
    // A piece of transposed lines contains enough of them for a tile, as long as it has at most 2^20 elements.
    const bool transposed = outer >= 0 && Lines{nullptr, shape[outer], length, strides[outer], stride}.is_transposed();
    const int64_t piece_step =
        transposed ? std::min(std::max<int64_t>(piece_bytes / tile_lines / length, 1), size) : size;
    for_ranges(n, {n, size}, [&](int64_t begin, int64_t end) { (void)in_pieces(begin, end, piece_step, copy_part); });
    return good && !should_stop_now();
}

}  // namespace gs
