// The statistics, each as a rule for one group: its slot, how a member is added, how the slots of two parts of the
// members are merged, and the result.
#pragma once

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "element.hpp"
#include "reduction.hpp"

namespace gs::rules {

// ------------------------------------------------------------------------------------------------------- numbers

template <class T>
struct WideType {
    using type = std::conditional_t<Complex<T>, complex128, double>;
};
template <Integer T>
struct WideType<T> {
    using type = std::conditional_t<std::unsigned_integral<T>, uint64_t, int64_t>;
};
// The type in which numbers are added up and multiplied.
template <class T>
using Wide = typename WideType<T>::type;

template <class T>
Wide<T> widen(T x) {
    if constexpr (Complex<T>)
        return {x.real, x.imag};
    else
        return static_cast<Wide<T>>(x);
}

// The opposite, with rounding.
template <class T>
T narrow(Wide<T> x) {
    return static_cast<T>(x);
}

template <class T>
bool is_nan(T x) {
    if constexpr (Half<T>)
        return x.is_nan();
    else if constexpr (Complex<T>)
        return x.real != x.real || x.imag != x.imag;
    else if constexpr (Float<T>)
        return x != x;
    else
        return false;
}

inline bool is_finite(double x) { return x - x == 0; }
inline bool is_finite(complex128 x) { return is_finite(x.real) && is_finite(x.imag); }

template <class T>
bool is_true(T x) {
    if constexpr (Complex<T>)
        return x.real != 0 || x.imag != 0;
    else
        return static_cast<bool>(x);
}

// Complex numbers are ordered by their real parts, and then by their imaginary parts, as in NumPy.
template <class T>
bool less(T a, T b) {
    if constexpr (Half<T>)
        return !a.is_nan() && !b.is_nan() && a.rank() < b.rank();
    else if constexpr (Complex<T>)
        return a.real < b.real || (a.real == b.real && a.imag < b.imag);
    else if constexpr (std::same_as<T, boolean>)
        return !static_cast<bool>(a) && static_cast<bool>(b);
    else
        return a < b;
}

// The greatest or least value of a type.
template <class T, bool greatest>
T limit() {
    constexpr float infinity =
        greatest ? std::numeric_limits<float>::infinity() : -std::numeric_limits<float>::infinity();
    if constexpr (Complex<T>)
        return {infinity, infinity};
    else if constexpr (Float<T>)
        return T(infinity);
    else
        return greatest ? std::numeric_limits<T>::max() : std::numeric_limits<T>::lowest();
}

// ------------------------------------------------------------------------------------------------------- statistics
// A statistic has a slot for each group and column. `add` takes the value of the member with number i, and `merge` the
// slot of later members.

template <class T>
struct Count {
    static constexpr bool is_exact = true, reads_only_labels = true;
    using Slot = int64_t;
    static Slot start() { return 0; }
    static void add(Slot& slot, T, int64_t) { ++slot; }
    static void merge(Slot& slot, Slot later) { slot += later; }
    static int64_t result(Slot slot) { return slot; }
};

template <class T>
struct Occupied {
    static constexpr bool is_exact = true, reads_only_labels = true;
    using Slot = boolean;
    static Slot start() { return boolean(false); }
    static void add(Slot& slot, T, int64_t) { slot = boolean(true); }
    static void merge(Slot& slot, Slot later) { slot = Max{}(slot, later); }
    static Slot result(Slot slot) { return slot; }
};

template <class T>
struct Sum {
    static constexpr bool is_exact = Integer<T>;
    using Slot = Wide<T>;
    static Slot start() { return Slot{}; }
    static void add(Slot& slot, T x, int64_t) { slot = Add{}(slot, widen(x)); }
    static void merge(Slot& slot, Slot later) { slot = Add{}(slot, later); }
    static Slot result(Slot slot) { return slot; }
};

template <class T>
struct Product {
    static constexpr bool is_exact = Integer<T>;
    using Slot = Wide<T>;
    static Slot start() {
        if constexpr (Complex<T>)
            return {1, 0};
        else
            return 1;
    }
    static void add(Slot& slot, T x, int64_t) { slot = Mul{}(slot, widen(x)); }
    static void merge(Slot& slot, Slot later) { slot = Mul{}(slot, later); }
    static Slot result(Slot slot) { return slot; }
};

template <class T>
double square(T x) {
    if constexpr (Complex<T>)
        return double{x.real} * x.real + double{x.imag} * x.imag;
    else
        return static_cast<double>(x) * static_cast<double>(x);
}

template <class T>
struct SumOfSquares {
    using Slot = double;
    static Slot start() { return 0; }
    static void add(Slot& slot, T x, int64_t) { slot += square(widen(x)); }
    static void merge(Slot& slot, Slot later) { slot += later; }
    static double result(Slot slot) { return slot; }
};

// Two doubles. Processors have an instruction that adds both.
#ifdef __GNUC__
using Pair [[gnu::vector_size(2 * sizeof(double))]] = double;
#else
struct Pair {
    double values[2];
    double operator[](int i) const { return values[i]; }
    void operator+=(Pair other) {
        for (int i = 0; i < 2; ++i) values[i] += other[i];
    }
};
#endif

// Sums of integers for a mean do not overflow.
template <class T>
using Total = std::conditional_t<Integer<T>, Int128, Wide<T>>;

// The sum of the values of a group, and their number.
template <class T>
struct SumAndNumber {
    Total<T> sum{};
    int64_t members = 0;

    Total<T> total() const { return sum; }
    int64_t n() const { return members; }
    void operator+=(const SumAndNumber& other) {
        if constexpr (Complex<T>)
            sum = Add{}(sum, other.sum);
        else
            sum = sum + other.sum;
        members += other.members;
    }
};

template <Float T>
struct SumAndNumber<T> {
    Pair pair{};

    double total() const { return pair[0]; }
    int64_t n() const { return static_cast<int64_t>(pair[1]); }
    void operator+=(const SumAndNumber& other) { pair += other.pair; }
};

template <class T>
struct Mean {
    static constexpr bool is_exact = Integer<T>;
    using Slot = SumAndNumber<T>;
    static Slot start() { return {}; }
    static void add(Slot& slot, T x, int64_t) {
        if constexpr (!Float<T>)
            slot += Slot{Total<T>(widen(x)), 1};
        else
            slot += Slot{{widen(x), 1}};
    }
    static void merge(Slot& slot, const Slot& later) { slot += later; }

    // The mean of integers is whole + rest / n, with 0 <= rest < n.
    struct Parts {
        Wide<T> whole;
        double rest;
    };
    static Parts parts(const Slot& slot) {
        const int64_t n = slot.n();
        const uint64_t whole = slot.total().floor_divide(n);
        return {static_cast<Wide<T>>(whole),
                static_cast<double>(slot.total().low() - whole * static_cast<uint64_t>(n))};
    }
    static auto result(const Slot& slot) {
        const auto n = static_cast<double>(slot.n());
        if constexpr (Complex<T>) {
            return complex128{slot.total().real / n, slot.total().imag / n};
        } else if constexpr (Integer<T>) {
            if (slot.n() == 0) return std::numeric_limits<double>::quiet_NaN();
            const Parts mean = parts(slot);
            return static_cast<double>(mean.whole) + mean.rest / n;
        } else {
            return slot.total() / n;
        }
    }
};

// Sums of the squares of numbers, and of the numbers.
template <class Number>
struct SumsOfPowers {
    Pair pair{};
    SumsOfPowers() = default;
    explicit SumsOfPowers(Number x) : pair{square(x), x} {}
    SumsOfPowers(double squares, Number numbers) : pair{squares, numbers} {}
    double squares() const { return pair[0]; }
    Number numbers() const { return pair[1]; }
    void operator+=(const SumsOfPowers& other) { pair += other.pair; }
};

template <>
struct SumsOfPowers<complex128> {
    double second = 0;
    complex128 first{};
    SumsOfPowers() = default;
    explicit SumsOfPowers(complex128 x) : second(square(x)), first(x) {}
    SumsOfPowers(double squares, complex128 numbers) : second(squares), first(numbers) {}
    double squares() const { return second; }
    complex128 numbers() const { return first; }
    void operator+=(const SumsOfPowers& other) {
        second += other.second;
        first = Add{}(first, other.first);
    }
};

// The sum of the squared distances from a center near the mean. The sum of the distances gives the correction to the
// mean (Chan, Golub and LeVeque, Algorithms for computing the sample variance, 1983).
template <class T>
struct SquaredDeviations {
    using Center = Wide<T>;
    using Distance = std::conditional_t<Complex<T>, complex128, double>;
    struct Slot {
        SumsOfPowers<Distance> sums;
        Center center;
        int64_t n;  // the number of members, in DistancesFromFirst only
    };
    static Distance distance(Center wide, Center center) {
        if constexpr (Complex<T>)
            return {wide.real - center.real, wide.imag - center.imag};
        else if constexpr (Integer<T>) {  // exact, and without overflow
            const auto difference = static_cast<int64_t>(static_cast<uint64_t>(wide) - static_cast<uint64_t>(center));
            if (sizeof(T) < sizeof(Center) || (wide >= center) == (difference >= 0)) [[likely]]
                return static_cast<double>(difference);
            return wide >= center ? static_cast<double>(static_cast<uint64_t>(difference))
                                  : -static_cast<double>(-static_cast<uint64_t>(difference));
        } else
            return wide - center;
    }
    static Slot without_members(const Slot& slot) { return {{}, slot.center, 0}; }
    // The number that is so far from a center, or 0 if there is none.
    static double move(double center, double by) {
        const double moved = center + by;
        return is_finite(moved) ? moved : 0;
    }
    template <std::integral I>
    static I move(I center, double by) {
        constexpr double most = 18446744073709549568.0;  // below 2^64
        const auto steps = static_cast<uint64_t>(std::min(std::abs(by), most)), from = static_cast<uint64_t>(center);
        if (by < 0) return static_cast<I>(from - std::min(steps, from - static_cast<uint64_t>(limit<I, false>())));
        return static_cast<I>(from + std::min(steps, static_cast<uint64_t>(limit<I, true>()) - from));
    }
    static complex128 move(complex128 center, complex128 by) {
        return {move(center.real, by.real), move(center.imag, by.imag)};
    }
    // The distance of the mean from the center.
    static Distance rest(const Slot& slot, int64_t n) {
        const auto members = static_cast<double>(std::max<int64_t>(n, 1));
        const Distance sum = slot.sums.numbers();
        if constexpr (Complex<T>)
            return {sum.real / members, sum.imag / members};
        else
            return sum / members;
    }
    // A slot without members whose center is the mean of another slot.
    static Slot start(const Slot& slot) { return {{}, move(slot.center, rest(slot, slot.n)), 0}; }
    static void add(Slot& slot, T x, int64_t) { slot.sums += SumsOfPowers(distance(widen(x), slot.center)); }
    static void merge(Slot& slot, const Slot& later) { slot.sums += later.sums; }
    static double result(const Slot& slot, int64_t n) {
        const double squares = slot.sums.squares();
        if (n < 2) return squares - squares;               // 0, or NaN if a value is not finite
        if (squares > std::numeric_limits<double>::max())  // the squares are too large, or a value is infinite
            return is_finite(slot.sums.numbers()) ? squares : std::numeric_limits<double>::quiet_NaN();
        const double corrected = squares - square(slot.sums.numbers()) / static_cast<double>(n);
        return corrected < 0 ? 0 : corrected;
    }
};

// The same in one walk, with distances from the first member.
template <class T>
struct DistancesFromFirst {
    using Deviations = SquaredDeviations<T>;
    using Distance = typename Deviations::Distance;
    using Slot = typename Deviations::Slot;
    static Slot start() { return {}; }
    static void add(Slot& slot, T x, int64_t i) {
        if (slot.n == 0) slot.center = widen(x);
        Deviations::add(slot, x, i);
        ++slot.n;
    }
    static void merge(Slot& slot, const Slot& later) {
        if (later.n == 0) return;
        if (slot.n == 0) {
            slot = later;
            return;
        }
        const auto n = static_cast<double>(later.n);
        const Distance shift = Deviations::distance(later.center, slot.center), sum = later.sums.numbers();
        if constexpr (Complex<T>) {
            const double product = shift.real * sum.real + shift.imag * sum.imag;
            slot.sums += SumsOfPowers(2 * product, Distance{shift.real * n, shift.imag * n});
        } else {
            slot.sums += SumsOfPowers(2 * shift * sum, shift * n);
        }
        slot.sums += SumsOfPowers(later.sums.squares() + n * square(shift), sum);
        slot.n += later.n;
    }
    // Whether the first member is near the mean: at most 8 standard deviations away. Otherwise the difference of the
    // sums loses digits. This is never so in groups of up to 64 members. Sums that are not finite are not precise.
    static bool is_precise(const Slot& slot) {
        const double square_of_sum = square(slot.sums.numbers()) / static_cast<double>(std::max<int64_t>(slot.n, 1));
        return square_of_sum <= 64 * (slot.sums.squares() - square_of_sum);
    }
};

template <class T, bool greatest>
struct Extremum {
    static constexpr bool is_exact = true;
    using Slot = T;
    static Slot start() { return limit<T, !greatest>(); }
    static void merge(Slot& slot, Slot later) { add(slot, later, 0); }
    static Slot result(Slot slot) { return slot; }
    static void add(Slot& slot, T x, int64_t) {
        if constexpr (Complex<T>) {
            if (!is_nan(slot) && (is_nan(x) || (greatest ? less(slot, x) : less(x, slot)))) slot = x;
        } else {
            slot = std::conditional_t<greatest, Max, Min>{}(slot, x);
        }
    }
};

template <class T, bool greatest>
struct PositionOfExtremum {
    static constexpr bool is_exact = true;
    static constexpr int64_t none = -1, nan = -2;
    struct Slot {
        T value;
        int64_t at;
    };
    static Slot start() { return {limit<T, !greatest>(), none}; }
    static bool beats(T x, T other) { return greatest ? less(other, x) : less(x, other); }
    static void add(Slot& slot, T x, int64_t i) {
        if (!beats(x, slot.value) && slot.at >= 0 && !is_nan(x)) [[likely]]
            return;
        if (slot.at == nan) return;
        if (is_nan(x))
            slot.at = nan;
        else if (slot.at == none || beats(x, slot.value))
            slot = {x, i};
    }
    static void merge(Slot& slot, const Slot& later) {
        if (slot.at == nan || later.at == none) return;
        if (later.at == nan || slot.at == none || beats(later.value, slot.value)) slot = later;
    }
    static int64_t result(const Slot& slot) { return std::max(slot.at, none); }
};

template <class T, bool last>
struct Position {
    static constexpr bool is_exact = true, reads_only_labels = true;
    using Slot = int64_t;
    static Slot start() { return -1; }
    static void add(Slot& slot, T, int64_t i) { slot = last ? i : earlier(slot, i); }
    static void merge(Slot& slot, Slot later) { slot = last ? std::max(slot, later) : earlier(slot, later); }
    // -1 is the greatest unsigned number.
    static Slot earlier(Slot a, Slot b) {
        return static_cast<Slot>(std::min(static_cast<uint64_t>(a), static_cast<uint64_t>(b)));
    }
    static int64_t result(Slot slot) { return slot; }
};

template <class T, bool all>
struct Truth {
    static constexpr bool is_exact = true;
    struct Slot {
        boolean value, occupied;
    };
    static Slot start() { return {boolean(all), boolean(false)}; }
    static void add(Slot& slot, T x, int64_t) {
        slot = {std::conditional_t<all, Min, Max>{}(slot.value, boolean(is_true(x))), boolean(true)};
    }
    static void merge(Slot& slot, Slot later) {
        slot = {std::conditional_t<all, Min, Max>{}(slot.value, later.value), Max{}(slot.occupied, later.occupied)};
    }
    static boolean result(Slot slot, boolean fill) { return bool(slot.occupied) ? slot.value : fill; }
};

// The running statistics have a result after each member.
template <class S, class T>
struct Running : S {
    static constexpr bool running = true;
    static auto output(const typename S::Slot& slot) {
        if constexpr (Integer<T>)
            return slot;
        else
            return narrow<T>(slot);
    }
};

template <class T, bool greatest>
struct RunningExtremum : Extremum<T, greatest> {
    static constexpr bool running = true;
    static T output(T slot) { return slot; }
};

template <class S>
struct SkipNan : S {
    static constexpr bool reads_only_labels = false;
    template <class T>
    static void add(typename S::Slot& slot, T x, int64_t i) {
        if (!is_nan(x)) S::add(slot, x, i);
    }
};

// Without any number so far, the result is NaN.
template <class T, bool greatest>
struct RunningExtremumOfNumbers : RunningExtremum<T, greatest> {
    static T start() {
        constexpr float nan = std::numeric_limits<float>::quiet_NaN();
        if constexpr (Complex<T>)
            return {nan, nan};
        else
            return T(nan);
    }
    static void add(T& slot, T x, int64_t i) {
        if (is_nan(x)) return;
        if (is_nan(slot))
            slot = x;
        else
            RunningExtremum<T, greatest>::add(slot, x, i);
    }
};

template <class S>
constexpr bool has_only_labels = [] {
    if constexpr (requires { S::reads_only_labels; })
        return S::reads_only_labels;
    else
        return false;
}();

template <class S>
constexpr bool runs = requires { S::running; };

// Whether members can be divided in any way without changing a bit of the result.
template <class S>
constexpr bool is_exact = [] {
    if constexpr (requires { S::is_exact; })
        return S::is_exact;
    else
        return false;
}();

}  // namespace gs::rules
