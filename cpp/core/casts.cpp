#include "casts.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
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
constexpr int64_t at_once = tiny ? 3 : 256;

// Casts n contiguous elements. False: a value does not fit.
using CastBlock = bool (*)(const std::byte* from, std::byte* to, int64_t n);

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

// Null: the types do not allow it.
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

// Copies n elements that are `stride` bytes apart to contiguous memory.
using CopyElements = void (*)(const std::byte* from, int64_t stride, std::byte* to, int64_t n, int64_t size);

template <class T>
T swap_bytes(T value) {
    T swapped = 0;
    for (size_t i = 0; i < sizeof(T); ++i) swapped = static_cast<T>(swapped << 8 | (value >> 8 * i & 0xff));
    return swapped;
}

// `T`: an unsigned integer of the size of an element. `parts`: 2 for a complex number, whose parts are swapped alone.
template <class T, bool swap, int64_t parts>
GS_LOOP void copy_elements(const std::byte* from, int64_t stride, std::byte* to, int64_t n, int64_t) {
    constexpr int64_t size = sizeof(T);
    for (int64_t i = 0; i < n; ++i)
        for (int64_t part = 0; part < parts; ++part) {
            T value;
            std::memcpy(&value, from + i * stride + part * size, sizeof value);
            if (swap) value = swap_bytes(value);
            std::memcpy(to + (i * parts + part) * size, &value, sizeof value);
        }
}

// The same, with loops of their own for contiguous elements and for a repeated element.
template <class T, bool swap, int64_t parts>
GS_LOOP void copy_near_elements(const std::byte* from, int64_t stride, std::byte* to, int64_t n, int64_t size) {
    if (stride == sizeof(T) * parts)
        copy_elements<T, swap, parts>(from, sizeof(T) * parts, to, n, size);
    else if (stride == 0)
        copy_elements<T, swap, parts>(from, 0, to, n, size);
    else
        copy_elements<T, swap, parts>(from, stride, to, n, size);
}

void copy_any_elements(const std::byte* from, int64_t stride, std::byte* to, int64_t n, int64_t size) {
    if (stride == size) {
        std::memcpy(to, from, static_cast<size_t>(n * size));
        return;
    }
    for (int64_t i = 0; i < n; ++i) std::memcpy(to + i * size, from + i * stride, static_cast<size_t>(size));
}

template <bool swap>
CopyElements elements_copier(const ElementType& type) {
    const bool is_complex = type.dtype == DType::complex64 || type.dtype == DType::complex128;
    if (is_complex && swap)
        return type.size == 8 ? version<copy_near_elements<uint32_t, true, 2>>()
                              : version<copy_near_elements<uint64_t, true, 2>>();
    switch (type.size) {
        case 1: return version<copy_near_elements<uint8_t, false, 1>>();
        case 2: return version<copy_near_elements<uint16_t, swap, 1>>();
        case 4: return version<copy_near_elements<uint32_t, swap, 1>>();
        case 8: return version<copy_near_elements<uint64_t, swap, 1>>();
        case 16: return version<copy_near_elements<uint64_t, false, 2>>();
        default: return copy_any_elements;
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
        load_ = swaps ? elements_copier<true>(from_) : elements_copier<false>(from_);
        loads_ = swaps;
        if (cast_ && to_.swapped) store_ = elements_copier<true>(to_);
    }

    // Casts n elements that are `stride` bytes apart.
    bool line(const std::byte* from, int64_t stride, std::byte* out, int64_t n) const {
        if (!cast_) {
            load_(from, stride, out, n, from_.size);
            return true;
        }
        alignas(16) std::byte loaded[at_once * 16], made[at_once * 16];
        const bool aligned = reinterpret_cast<uintptr_t>(from) % static_cast<uintptr_t>(from_.size) == 0;
        const bool direct = !loads_ && stride == from_.size && aligned;
        for (int64_t i = 0; i < n; i += at_once) {
            const int64_t m = std::min(at_once, n - i);
            const std::byte* const source = from + i * stride;
            std::byte* const to = out + i * to_.size;
            if (!direct) load_(source, stride, loaded, m, from_.size);
            if (!cast_(direct ? source : loaded, store_ ? made : to, m)) return false;
            if (store_) store_(made, to_.size, to, m, to_.size);
        }
        return true;
    }

  private:
    ElementType from_, to_;
    CastBlock cast_;
    CopyElements load_, store_ = nullptr;
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
    const int inner = shape.rank - 1;
    const int64_t length = shape[inner], stride = strides[inner], size = elements.type.size + to.size;
    std::atomic<bool> good = true;
    // A part is a range of elements. It begins and ends anywhere in a line of the inner dim.
    for_pieces(n, {n, size}, [&](int64_t begin, int64_t end) {
        int64_t at[max_rank], rest = begin / length, first = begin % length;
        const std::byte* from = elements.data;
        for (int d = inner - 1; d >= 0; --d) {
            at[d] = rest % shape[d];
            rest /= shape[d];
            from += at[d] * strides[d];
        }
        for (int64_t i = begin; i < end && good;) {
            const int64_t m = std::min(length - first, end - i);
            if (!caster.line(from + first * stride, stride, out + i * to.size, m)) good = false;
            i += m;
            first = 0;
            for (int d = inner - 1; d >= 0; --d) {
                from += strides[d];
                if (++at[d] < shape[d]) break;
                from -= shape[d] * strides[d];
                at[d] = 0;
            }
        }
    });
    return good && !should_stop_now();
}

}  // namespace gs
