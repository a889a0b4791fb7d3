#include "spans.hpp"

#include <algorithm>
#include <atomic>
#include <iterator>

#include "machine.hpp"
#include "parallel.hpp"

namespace gs {
namespace {

GS_LOOP void extend(Span& span, const int64_t* rows, int64_t n) {
    int64_t low = span.low, high = span.high;
    for (int64_t i = 0; i < n; ++i) {
        low = std::min(low, rows[i]);
        high = std::max(high, rows[i]);
    }
    span = {low, high};
}

// False: an index is bad.
bool find_span(const Index& index, int64_t first, int64_t last, Span& span) {
    int64_t row[block];
    const auto extend_span = version<extend>();
    span = {INT64_MAX, INT64_MIN};
    for (int64_t c = first; c < last; c += block) {
        const int64_t n = std::min(block, last - c);
        if (!index.resolve(c, n, row)) return false;
        extend_span(span, row, n);
    }
    return true;
}

}  // namespace

bool find_spans(const Index& index, int64_t n, std::vector<Span>& spans) {
    const int64_t count = n / span_tuples + (n % span_tuples != 0);
    spans.resize(static_cast<size_t>(count));
    std::atomic<bool> good = true;
    for_ranges(count, {count, span_tuples * 8}, [&](int64_t begin, int64_t end) {
        for (int64_t s = begin; s < end && good; ++s) {
            const int64_t first = s * span_tuples;
            if (!find_span(index, first, std::min(first + span_tuples, n), spans[static_cast<size_t>(s)])) good = false;
        }
    });
    return good;
}

bool are_close(const Index& index, int64_t n, int64_t distance) {
    constexpr int64_t samples = 8;
    for (int64_t s = 0; s < samples; ++s) {
        const int64_t first = s * (n / samples);
        Span span;
        if (!find_span(index, first, std::min(first + sample_tuples, n), span)) return false;
        if (span.high - span.low > distance) return false;
    }
    return true;
}

bool name_one_row(const Index& index, int64_t n) {
    constexpr int64_t samples = 8;
    int64_t row[samples];
    for (int64_t s = 0; s < samples; ++s)
        if (!index.resolve(s * (n / samples), 1, row + s)) return false;
    std::sort(row, row + samples);
    return std::count(row, row + samples, row[samples / 2]) >= samples * 3 / 4;
}

bool are_distinct(const Index& index, int64_t n, int64_t rows) {
    constexpr int64_t samples = 128, tuples = 4, most = samples * tuples;
    int64_t row[most], sampled = 0;
    const int64_t step = std::max(n / samples, tuples);
    for (int64_t first = 0; first < n && sampled < most; first += step) {
        // Samples at even distances could miss the period of repeated rows.
        const int64_t shift = first / step * 7919 % (step - tuples + 1), m = std::min(tuples, n - first - shift);
        if (m <= 0) break;
        if (!index.resolve(first + shift, m, row + sampled)) return false;
        sampled += m;
    }
    int64_t* const end = std::remove(row, row + sampled, -1);  // dropped
    const int64_t count = end - row;
    std::sort(row, end);
    const int64_t repeated = end - std::unique(row, end);
    return repeated <= 1 + count * count / (2 * std::max<int64_t>(rows, 1));
}

std::vector<int64_t> sampled_dividing_rows(const Index& index, int64_t n, int64_t data_rows, int64_t unit, int parts,
                                           double& largest_part) {
    std::vector<int64_t> sampled;
    sampled.reserve(samples_of_rows * tuples_per_sample);
    const int64_t step = (n + samples_of_rows - 1) / samples_of_rows;
    for (int64_t first = 0; first < n; first += step) {
        int64_t row[tuples_per_sample];
        const int64_t m = std::min({tuples_per_sample, step, n - first});
        if (!index.resolve(first, m, row)) break;  // the kernel finds the bad index again
        std::copy_if(row, row + m, std::back_inserter(sampled), [](int64_t r) { return r >= 0; });
    }
    std::sort(sampled.begin(), sampled.end());
    const auto samples_below = [&](int64_t row) {
        return std::lower_bound(sampled.begin(), sampled.end(), row) - sampled.begin();
    };
    std::vector<int64_t> rows;
    rows.reserve(static_cast<size_t>(parts) + 1);
    rows.push_back(0);
    int64_t most = 0;
    for (int p = 1; p <= parts; ++p) {
        const size_t sample = sampled.size() * static_cast<size_t>(p) / static_cast<size_t>(parts);
        const int64_t row = p == parts ? data_rows : sampled.empty() ? data_rows / parts * p : sampled[sample];
        rows.push_back(p == parts ? row : std::max(row / unit * unit, rows.back()));
        most = std::max<int64_t>(most, samples_below(rows.back()) - samples_below(rows.end()[-2]));
    }
    largest_part = sampled.empty() ? 1 : static_cast<double>(most) / static_cast<double>(sampled.size());
    return rows;
}

std::vector<int64_t> dividing_rows(const std::vector<Span>& spans, int64_t data_rows, int parts) {
    std::vector<int64_t> middles;
    for (const Span& span : spans) middles.push_back(span.low + (span.high - span.low) / 2);
    std::sort(middles.begin(), middles.end());
    std::vector<int64_t> rows{0};
    size_t cut = 0;
    for (int p = 1; p < parts; ++p) {
        const int64_t middle = middles[middles.size() * static_cast<size_t>(p) / static_cast<size_t>(parts)];
        const int64_t row = middle > rows.back() ? middle : std::min(rows.back() + 1, data_rows);
        for (const Span& span : spans) cut += span.low < row && row <= span.high;
        rows.push_back(row);
    }
    rows.push_back(data_rows);
    if (cut * 2 > spans.size()) rows.clear();
    return rows;
}

}  // namespace gs
