// Memory for large results. New memory costs a page fault for every page, which is often more than the work itself. So
// the blocks of freed results are kept for some time.
#pragma once

#include <cstddef>
#include <cstdint>

#include "sizes.hpp"

namespace gs {

void* pool_allocate(size_t size);  // null: out of memory
void pool_free(void* block);
size_t pool_block_size(const void* block);

int64_t pool_limit();          // the bytes that can be kept
void set_pool_limit(int64_t);  // blocks beyond the limit are freed at once
int64_t pool_size();           // the bytes that are kept

}  // namespace gs
