// Runs all kernels on several threads, called from several threads at once, for ThreadSanitizer (.ci/sanitize). Results
// are compared with those of one thread.
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include "casts.hpp"
#include "gather_reduce.hpp"
#include "groups.hpp"
#include "kernel_call.hpp"
#include "output_pool.hpp"
#include "parallel.hpp"
#include "statistics.hpp"

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

// Runs tasks as a host with its own threads does.
void run_on_host(FunctionRef<void(int)> task, int n) {
    std::atomic<int> next = 0;
    const auto work = [&] {
        for (int i; (i = next++) < n;) task(i);
    };
    std::vector<std::thread> threads;
    for (int i = 0; i < 2; ++i) threads.emplace_back(work);
    for (std::thread& thread : threads) thread.join();
}

// Runs kernel(out) on one thread, then on many, then on those of a host. The results must be bit-for-bit identical.
template <class Kernel>
void check(const char* what, int64_t elements, Kernel&& kernel) {
    std::vector<float> alone(static_cast<size_t>(elements), 0.5f), together(alone), hosted(alone);
    bool good = true;
    {
        const ScopedThreadLimit one(1);
        good &= kernel(reinterpret_cast<std::byte*>(alone.data()));
    }
    {
        const ScopedThreadLimit many(5);
        good &= kernel(reinterpret_cast<std::byte*>(together.data()));
    }
    {
        const ScopedThreadLimit many(3);
        const auto run = [](FunctionRef<void(int)> task, int n) { run_on_host(task, n); };
        const Executor executor(run);
        const ScopedExecutor host(&executor);
        good &= kernel(reinterpret_cast<std::byte*>(hosted.data()));
    }
    const auto differs = [&](const std::vector<float>& other) {
        return std::memcmp(alone.data(), other.data(), alone.size() * sizeof(float)) != 0;
    };
    if (!good || differs(together) || differs(hosted)) {
        std::printf("differs: %s\n", what);
        ++failures;
    }
}

// Checks a scatter and the gather of the same form.
void both(const char* what, Operation operation, const Shape& data, const Shape& indices, bool ordered,
          DType dtype = DType::float32) {
    KernelCall call;
    if (make_plan(operation.kernel, data, indices, operation.axis, 0, call.plan) != Fault::none) std::abort();
    int64_t elements = 1, moved = 1, count = 1;
    for (int64_t n : data) elements *= n;
    for (int64_t n : call.plan.slots) moved *= n;
    for (int64_t n : indices) count *= n;
    const auto positions = random_indices(count, data[static_cast<int>(operation.axis)], ordered);
    const std::vector<float> values(static_cast<size_t>(std::max(elements, moved)), 1.1f);
    const auto* const from = reinterpret_cast<const std::byte*>(values.data());
    const auto prepare = [&] {  // the route depends on the threads
        KernelCall ready;
        ready.plan = call.plan;
        complete(ready, operation, dtype, 4, positions.data(), IndexType::int64);
        return ready;
    };
    const auto run_on = [&](std::byte* out) { return run(prepare(), from, out); };
    check(what, elements, run_on);
    check(what, elements, [&](std::byte* out) {
        KernelCall ready = prepare();
        return check_indices(ready) && run(ready, from, out);
    });
    operation.kernel = operation.kernel == Kernel::scatter_update ? Kernel::gather : Kernel::gather_elements;
    check(what, moved, run_on);
}

void rows(const char* what, const Shape& data, int64_t count, bool ordered, Reduction reduction, Accumulate accumulate,
          DType dtype = DType::float32) {
    const bool include_self = reduction != Reduction::mean;
    both(what, {Kernel::scatter_update, 0, 0, Rule{}, reduction, include_self, accumulate}, data, shape({count}),
         ordered, dtype);
}

void casts() {
    const std::vector<double> values(90000, 1.1);
    const Elements elements{
        reinterpret_cast<const std::byte*>(values.data()), {DType::float64, 8}, shape({300, 300}), shape({8, 2400})};
    check("casts", 90000, [&](std::byte* out) { return cast(elements, {DType::float32, 4}, out); });
}

void lanes(const char* what, const Shape& data, int64_t axis, Reduction reduction) {
    both(what, {Kernel::scatter_elements, axis, 0, Rule{}, reduction, true, Accumulate::step}, data, data, false);
}

// Reduces bags given by segment ids onto the rows of `check`, and compares with the two separate steps, which give the
// same bits.
void bags(const char* what, int64_t bags, int64_t width, Reduction reduction, Accumulate accumulate) {
    const int64_t members = 9000, data_rows = 500;
    const auto rows = random_indices(members, data_rows, false), ids = random_indices(members, bags, false);
    std::vector<float> data(static_cast<size_t>(data_rows * width)), gathered(static_cast<size_t>(members * width));
    for (size_t i = 0; i < data.size(); ++i) data[i] = static_cast<float>(i % 1000) / 999;
    for (int64_t m = 0; m < members; ++m)
        std::memcpy(&gathered[static_cast<size_t>(m * width)],
                    &data[static_cast<size_t>(rows[static_cast<size_t>(m)] * width)],
                    static_cast<size_t>(width) * sizeof(float));
    const auto bytes = [](const std::vector<float>& values) {
        return reinterpret_cast<const std::byte*>(values.data());
    };
    const Combine combine{DType::float32, 4, reduction, true, accumulate};
    const GatherReduce call{BagForm::segment_ids, members, bags, data_rows, width, Rule{}, combine};
    const GatherReduceInputs inputs{bytes(data), rows.data(), IndexType::int64, ids.data(), IndexType::int64, nullptr};
    check(what, bags * width, [&](std::byte* out) {
        const bool good = gather_reduce(call, inputs, out) == BagFault::none;
        std::vector<float> two_steps(static_cast<size_t>(bags * width), 0.5f);
        KernelCall scatter;
        Operation operation{Kernel::scatter_update, 0, 0, Rule{}, reduction, true, accumulate};
        if (make_plan(operation.kernel, shape({bags, width}), shape({members}), 0, 0, scatter.plan) != Fault::none)
            std::abort();
        complete(scatter, operation, DType::float32, 4, ids.data(), IndexType::int64);
        return good && run(scatter, bytes(gathered), reinterpret_cast<std::byte*>(two_steps.data())) &&
               std::memcmp(out, two_steps.data(), two_steps.size() * sizeof(float)) == 0;
    });
}

// Gathers rows of a table with codes of 4 bits, and reduces bags of them.
void quantized(const char* what, int64_t width) {
    const int64_t data_rows = 500, members = 9000, bags = 300;
    const auto rows = random_indices(members, data_rows, false), ids = random_indices(members, bags, false);
    std::vector<uint8_t> codes(static_cast<size_t>(data_rows * width / 2));
    for (size_t i = 0; i < codes.size(); ++i) codes[i] = static_cast<uint8_t>(i * 37);
    const std::vector<float> scales(static_cast<size_t>(data_rows * (width / 16)), 0.1f);
    QuantizedTable table;
    table.codes = {CodeFormat::unsigned_integer, 4, 2, 8};
    lay_out(shape({data_rows, width}), 0, 1, 16, shape({data_rows, width / 16}), 0, table);
    const QuantizedMemory memory{reinterpret_cast<const std::byte*>(codes.data()),
                                 reinterpret_cast<const std::byte*>(scales.data()), nullptr};
    check(what, members * width, [&](std::byte* out) {
        return gather_quantized(table, memory, Index(rows.data(), IndexType::int64, shape({data_rows}), shape({1}), {}),
                                members, out);
    });
    const RowDecoder decoder(table, memory);
    const Combine combine{DType::float32, 4, Reduction::add, false, Accumulate::step};
    const GatherReduce call{BagForm::segment_ids, members, bags, data_rows, width, Rule{}, combine};
    GatherReduceInputs inputs{nullptr, rows.data(), IndexType::int64, ids.data(), IndexType::int64, nullptr};
    inputs.decoder = &decoder;
    check(what, bags * width, [&](std::byte* out) { return gather_reduce(call, inputs, out) == BagFault::none; });
}

// Computes statistics of groups. Labels in any order divide the members or the groups between threads, and rows their
// columns.
void statistics(const char* what, Statistic statistic, int64_t members, int64_t columns, int64_t groups, bool sorted,
                int64_t outer = 1, double first = 0) {
    auto labels = random_indices(members, groups, false);
    if (sorted) std::sort(labels.begin(), labels.end());
    std::vector<double> values(static_cast<size_t>(outer * members * columns));
    for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i % 101) - 50;
    values[0] += first;
    GroupStatistic call{statistic, DType::float64, false, outer, members, columns, groups};
    const double fill = -1;
    call.fill = reinterpret_cast<const std::byte*>(&fill);
    const int64_t results = outer * call.results() * columns;
    const auto many = static_cast<size_t>(results);
    std::vector<int64_t> counts(many);
    std::vector<double> centers(many), rests(many);
    const Index index(labels.data(), IndexType::int64, shape({groups}), shape({1}), strict);
    check(what, 2 * results, [&](std::byte* out) {
        const StatisticResults to{out, counts.data(), reinterpret_cast<std::byte*>(centers.data()),
                                  reinterpret_cast<std::byte*>(rests.data())};
        return compute_statistic(call, reinterpret_cast<const std::byte*>(values.data()), index, to);
    });
}

void everything() {
    using enum Reduction;
    rows("rows", shape({3000, 40}), 8000, false, add, Accumulate::step);
    rows("exact rows", shape({300, 40}), 8000, false, add, Accumulate::exact);
    rows("mean of rows", shape({3000, 40}), 8000, false, mean, Accumulate::wide);
    rows("wide rows", shape({20, 9000}), 60, false, max, Accumulate::step);
    rows("columns", shape({2, 9000}), 60, false, max, Accumulate::step);
    rows("elements", shape({4500000}), 90000, false, none, Accumulate::step);
    rows("elements in the cache", shape({300000}), 200000, false, add, Accumulate::step);
    rows("means of elements", shape({4500000}), 90000, false, mean, Accumulate::step);
    rows("exact elements", shape({4500000}), 90000, false, add, Accumulate::exact);
    rows("ordered", shape({400000}), 200000, true, add, Accumulate::step);
    rows("integers", shape({300}), 200000, false, sub, Accumulate::step, DType::int32);
    casts();
    lanes("lanes along", shape({300, 400}), 1, add);
    lanes("lanes across", shape({700, 300}), 0, none);
    bags("bags", 300, 40, add, Accumulate::step);
    bags("means of bags", 300, 40, mean, Accumulate::wide);
    bags("exact bags", 30, 5, add, Accumulate::exact);
    quantized("quantized rows", 48);
    statistics("means of few groups", Statistic::mean, 200000, 1, 50, false);
    statistics("variances of sorted groups", Statistic::squared_deviations, 200000, 1, 5000, true);
    statistics("maxima of many groups", Statistic::max, 200000, 1, 150000, false);
    statistics("moments, two walks", Statistic::moments, 200000, 1, 500, false, 1, 1e6);
    statistics("variances of several tables", Statistic::squared_deviations, 50000, 1, 500, false, 4, 1e6);
    statistics("first values of several tables", Statistic::first, 50000, 1, 500, true, 4);
    statistics("last values", Statistic::last, 200000, 1, 500, false);
    statistics("running sums", Statistic::cumsum, 200000, 1, 500, false);
    statistics("sums of columns", Statistic::sum, 5000, 64, 40, false);
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
