#include "sums.hpp"

namespace gs {
namespace {

// `beyond`: the true magnitude is greater than that of `rounded`.
double to_odd(double rounded, bool beyond) {
    const uint64_t bits = std::bit_cast<uint64_t>(rounded);
    return bits & 1 ? rounded : std::bit_cast<double>(beyond ? bits + 1 : bits - 1);
}

// Returns sum / n, rounded to odd.
double quotient(double sum, int64_t n) {
    const double divisor = static_cast<double>(n), nearest = sum / divisor;
    const double rest = std::fma(-nearest, divisor, sum);
    return rest == 0 || rest != rest ? nearest : to_odd(nearest, (rest > 0) == (sum > 0));
}

double known_value(Exact sum, int64_t n) { return n > 0 ? quotient(sum.sum, n) : sum.sum; }

}  // namespace

float16 round_to(std::type_identity<float16>, Exact sum, int64_t n) {
    return float16(round_to_odd(known_value(sum, n)));
}
bfloat16 round_to(std::type_identity<bfloat16>, Exact sum, int64_t n) {
    return bfloat16(round_to_odd(known_value(sum, n)));
}
float round_to(std::type_identity<float>, Exact sum, int64_t n) { return static_cast<float>(known_value(sum, n)); }

double round_to(std::type_identity<double>, ExactPair sum, int64_t n) {
    if (n == 0 || std::isinf(sum.high)) return value_of(sum.high, sum.low);
    // The nearest quotient, and its error to within a small relative error. This almost always suffices to decide the
    // rounding (Ziv 1991).
    const TwoSum whole = two_sum(sum.high, sum.low);
    const double divisor = static_cast<double>(n), nearest = whole.sum / divisor;
    const double missing = std::fma(-nearest, divisor, whole.sum), rest = (missing + whole.error) / divisor;
    const double high = nearest + rest, low = rest - (high - nearest);
    const double doubt = (std::abs(missing) + std::abs(whole.error)) / divisor * 0x1p-48;
    const bool certain = high + (low - doubt) == high && high + (low + doubt) == high;
    if (certain && std::abs(high) > 0x1p-900 && std::abs(high) < 0x1p1000) return high;
    ExactPair::Long exact;
    exact.add(sum.high);
    if (sum.low != 0) exact.add(sum.low);
    return exact.over<double>(n);
}

}  // namespace gs
