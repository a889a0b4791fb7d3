// Elements that go all over a large destination, sorted by the thread that owns their place: in batches of bounded
// size, and so that each thread finds its own in their order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "function_ref.hpp"
#include "index.hpp"

namespace gs {

// Consecutive elements of one owner, and the rows they go to.
struct OwnerBatch {
    const std::byte* elements;
    RowNumbers rows;
};

// Whether elements have a size that can be handed out.
inline bool is_element(int64_t item_size) {
    return item_size > 0 && item_size <= 16 && (item_size & (item_size - 1)) == 0;
}

// Bytes that it takes to hand out n of them.
int64_t partition_bytes(int64_t n, int64_t item_size, int threads);

// Hands out elements. All memory for this is allocated at the beginning.
class Partition {
  public:
    Partition(int64_t n, int64_t item_size, int threads);
    ~Partition();

    // Hands out the elements [0, n), whose tuples begin at `first`; deliver(owner_batch) is called by one thread for
    // each owner, with its batches in order. False: there was a bad index, and some may have been delivered.
    bool deliver(const Index&, int64_t first, int64_t n, const std::byte* elements, int64_t item_size,
                 int64_t data_rows, FunctionRef<void(const OwnerBatch&)> deliver);

  private:
    class Sorted;
    std::vector<Sorted> sorted_;  // what each thread has found for all owners
};

}  // namespace gs
