// All kernels on several threads, called from several threads at once: for ThreadSanitizer, which .ci/sanitize runs.
// Results are compared with those of one thread.
#include <cstdio>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include "../groups.hpp"
#include "../kernels.hpp"
#include "../output_pool.hpp"
#include "../parallel.hpp"

using namespace gs;

namespace {

std::atomic<int> failures = 0;

Shape shape(std::initializer_list<int64_t> dims) { return Shape(dims); }

std::vector<int64_t> random_indices(int64_t n, int64_t size, bool ordered) {
    std::mt19937_64 random(static_cast<uint64_t>(n));
    std::vector<int64_t> indices(static_cast<size_t>(n));
    for (int64_t i = 0; i < n; ++i)
        indices[static_cast<size_t>(i)] =
            ordered ? i * size / n : static_cast<int64_t>(random() % static_cast<uint64_t>(size));
    return indices;
}

// Runs kernel(out) once on one thread and then on many; the bytes must be the same.
template <class Kernel>
void check(const char* what, int64_t elements, Kernel&& kernel) {
    std::vector<float> alone(static_cast<size_t>(elements), 0.5f), together(alone);
    bool good = true;
    {
        const ThreadsForCall one(1);
        good &= kernel(reinterpret_cast<std::byte*>(alone.data()));
    }
    {
        const ThreadsForCall many(5);
        good &= kernel(reinterpret_cast<std::byte*>(together.data()));
    }
    if (!good || std::memcmp(alone.data(), together.data(), alone.size() * sizeof(float)) != 0) {
        std::printf("differs: %s\n", what);
        ++failures;
    }
}

void rows(const char* what, const Shape& data, int64_t count, bool ordered, Reduction reduction,
          Accumulate accumulate) {
    Plan plan;
    if (plan_axis(data, shape({count}), 0, 0, plan) != Fault::none) std::abort();
    const auto indices = random_indices(count, data[0], ordered);
    Layout layout;
    lay_out(plan.rows, 4, layout);
    const Index index(indices.data(), IndexType::int64, plan.rows.dims, layout.weights, Rule{});
    const int64_t elements = plan.rows.data_rows * plan.rows.width, moved = count * plan.rows.width;
    const std::vector<float> values(static_cast<size_t>(std::max(elements, moved)), 1.1f);
    const auto* const from = reinterpret_cast<const std::byte*>(values.data());
    const Combine combine{DType::float32, 4, reduction, reduction != Reduction::mean, accumulate};
    check(what, elements, [&](std::byte* out) { return scatter_rows(plan.rows, index, {}, from, out, combine); });
    check(what, moved, [&](std::byte* out) { return gather_rows(plan.rows, index, layout, from, out, 4); });
}

void lanes(const char* what, const Shape& data, int64_t axis, Reduction reduction) {
    Plan plan;
    if (plan_elements(data, data, axis, plan) != Fault::none) std::abort();
    const int64_t elements = plan.lanes.elements;
    const auto indices = random_indices(elements, plan.lanes.size, false);
    const Index index(indices.data(), IndexType::int64, shape({plan.lanes.size}), shape({1}), Rule{});
    const std::vector<float> values(static_cast<size_t>(elements), 1.1f);
    const auto* const from = reinterpret_cast<const std::byte*>(values.data());
    const Combine combine{DType::float32, 4, reduction};
    check(what, elements, [&](std::byte* out) { return scatter_lanes(plan.lanes, index, from, out, combine); });
    check(what, elements, [&](std::byte* out) { return gather_lanes(plan.lanes, index, from, out, 4); });
}

void everything() {
    using enum Reduction;
    rows("rows", shape({3000, 40}), 8000, false, add, Accumulate::step);
    rows("exact rows", shape({300, 40}), 8000, false, add, Accumulate::exact);
    rows("mean of rows", shape({3000, 40}), 8000, false, mean, Accumulate::wide);
    rows("columns", shape({20, 9000}), 60, false, max, Accumulate::step);
    rows("elements", shape({4500000}), 90000, false, none, Accumulate::step);
    rows("far sums", shape({4500000}), 90000, false, add, Accumulate::exact);
    rows("ordered", shape({400000}), 200000, true, add, Accumulate::step);
    lanes("lanes along", shape({300, 400}), 1, add);
    lanes("lanes across", shape({700, 300}), 0, none);
    for (size_t size = size_t{1} << 20; size < size_t{1} << 23; size *= 2) pool_free(pool_allocate(size));
}

}  // namespace

int main() {
    set_pool_limit(16 << 20);
    std::vector<std::thread> callers;
    for (int i = 0; i < 3; ++i) callers.emplace_back(everything);
    for (std::thread& caller : callers) caller.join();
    std::printf("%d failures\n", failures.load());
    return failures != 0;
}
