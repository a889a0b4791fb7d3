#include "partition.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <vector>

#include "parallel.hpp"

namespace gs {
namespace {

constexpr int max_owners = 16;  // more owners would not use memory better

// Finds the owner of a row. Owners have consecutive parts of equal size.
class Owners {
  public:
    Owners(int64_t data_rows, int owners) {
        while (data_rows >> shift_ > UINT32_MAX) ++shift_;
        scale_ = (static_cast<uint64_t>(owners) << 32) / ((static_cast<uint64_t>(data_rows) >> shift_) + 1);
    }
    uint64_t operator()(int64_t row) const { return (static_cast<uint64_t>(row) >> shift_) * scale_ >> 32; }

  private:
    int shift_ = 0;
    uint64_t scale_;
};

int64_t slice_of(int64_t n, int threads) { return (std::min(n, max_held_elements / threads) + threads - 1) / threads; }

}  // namespace

// The elements that one thread has sorted for all owners.
class Partition::Sorted {
  public:
    Sorted(int owners, int64_t max_elements, int64_t item_size, int number) {
        // Arrays that are filled together must not begin at the same offset in a page. Otherwise processors mistake
        // their stores for loads of each other.
        const auto offset = [&](int64_t array) { return (2 * owners * number + array) * 320 % 4096; };
        rows_.resize(static_cast<size_t>(owners));
        elements_.resize(static_cast<size_t>(owners));
        counts_.resize(static_cast<size_t>(owners));
        const int64_t row_bytes = max_elements * 8 + 4096,
                      element_bytes = (max_elements * item_size + 4096 + 63) / 64 * 64;
        memory_.reset(new std::byte[static_cast<size_t>(owners * (row_bytes + element_bytes))]);
        for (int64_t o = 0; o < owners; ++o) {
            rows_[static_cast<size_t>(o)] = reinterpret_cast<int64_t*>(memory_.get() + o * row_bytes + offset(2 * o));
            elements_[static_cast<size_t>(o)] =
                memory_.get() + owners * row_bytes + o * element_bytes + offset(2 * o + 1);
        }
    }

    void clear() { std::fill(counts_.begin(), counts_.end(), 0); }

    void add(const int64_t* rows, const std::byte* elements, int64_t n, int64_t item_size, const Owners& owner) {
        switch (item_size) {
            case 1: return add<1>(rows, elements, n, owner);
            case 2: return add<2>(rows, elements, n, owner);
            case 4: return add<4>(rows, elements, n, owner);
            case 8: return add<8>(rows, elements, n, owner);
            default: return add<16>(rows, elements, n, owner);
        }
    }

    OwnerBatch batch(int owner) const {
        const auto o = static_cast<size_t>(owner);
        return {elements_[o], {rows_[o], counts_[o], counts_[o]}};
    }

  private:
    template <int64_t size>
    void add(const int64_t* rows, const std::byte* elements, int64_t n, const Owners& owner) {
        int64_t* const* const to_rows = rows_.data();
        std::byte* const* const to_elements = elements_.data();
        int32_t* const counts = counts_.data();
        for (int64_t i = 0; i < n; ++i) {
            if (rows[i] < 0) continue;  // dropped: no owner
            const uint64_t o = owner(rows[i]);
            const int64_t position = counts[o]++;
            to_rows[o][position] = rows[i];
            std::memcpy(to_elements[o] + position * size, elements + i * size, size);
        }
    }

    std::unique_ptr<std::byte[]> memory_;
    std::vector<int64_t*> rows_;
    std::vector<std::byte*> elements_;
    std::vector<int32_t> counts_;
};

int64_t partition_bytes(int64_t n, int64_t item_size, int threads) {
    threads = std::min(threads, max_owners);
    return int64_t{threads} * threads * (slice_of(n, threads) * (8 + item_size) + 2 * 4096);
}

Partition::Partition(int64_t n, int64_t item_size, int threads) {
    threads = std::min(threads, max_owners);
    for (int t = 0; t < threads; ++t) sorted_.emplace_back(threads, slice_of(n, threads), item_size, t);
}
Partition::~Partition() = default;

bool Partition::deliver(const Index& index, int64_t first, int64_t n, const std::byte* elements, int64_t item_size,
                        int64_t data_rows, FunctionRef<void(const OwnerBatch&)> deliver) {
    const int threads = static_cast<int>(sorted_.size());
    const int64_t batch = std::min(n, max_held_elements / threads), slice = slice_of(n, threads);
    const Owners owner(data_rows, threads);
    std::atomic<bool> good = true;
    for (int64_t begin = 0; begin < n && good; begin += batch) {
        run_tasks(threads, threads, [&](int t) {
            int64_t row[block];
            Sorted& mine = sorted_[static_cast<size_t>(t)];
            mine.clear();
            const int64_t end = std::min({n, begin + batch, begin + (t + 1) * slice});
            for (int64_t c = begin + t * slice; c < end; c += block) {
                const int64_t m = std::min(block, end - c);
                if (!index.resolve(first + c, m, row)) good = false;
                if (!good) return;
                mine.add(row, elements + c * item_size, m, item_size, owner);
            }
        });
        if (!good) break;
        run_tasks(threads, threads, [&](int o) {
            for (const Sorted& from : sorted_) deliver(from.batch(o));
        });
    }
    return good;
}

}  // namespace gs
