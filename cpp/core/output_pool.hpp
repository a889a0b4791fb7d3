// Memory for large results. New memory costs a page fault for every page, often more than the work itself; so blocks
// of results that are gone are kept for a while.
#pragma once

#include <cstddef>
#include <cstdint>

#include "sizes.hpp"

namespace gs {

void* pool_allocate(size_t size);  // null: out of memory
void pool_free(void* block);
size_t pool_block_size(const void* block);

int64_t pool_limit();          // bytes that may be kept
void set_pool_limit(int64_t);  // what is beyond it is given back at once
int64_t pool_size();           // bytes that are kept

}  // namespace gs
