// Sorts elements with scattered destinations by the thread that owns their destination. Works in batches of limited
// size, and keeps the order of the elements of each owner.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "function_ref.hpp"
#include "index.hpp"

namespace gs {

// Consecutive elements of one owner, and their destination rows.
struct OwnerBatch {
    const std::byte* elements;
    RowNumbers rows;
};

// The bytes that partitioning n elements takes.
int64_t partition_bytes(int64_t n, int64_t item_size, int threads);

// Distributes elements to owners. All memory is allocated in the constructor.
class Partition {
  public:
    Partition(int64_t n, int64_t item_size, int threads);
    ~Partition();

    // Distributes the elements [0, n), whose tuples begin at `first`. For each owner, one thread calls
    // deliver(owner_batch) with its batches in order. False: an index was bad. Some elements may then have been
    // delivered.
    bool deliver(const Index&, int64_t first, int64_t n, const std::byte* elements, int64_t item_size,
                 int64_t data_rows, FunctionRef<void(const OwnerBatch&)> deliver);

  private:
    class Sorted;
    std::vector<Sorted> sorted_;  // one for each thread
};

}  // namespace gs
