#include "output_pool.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <list>
#include <mutex>
#include <new>

#ifndef _WIN32
#include <pthread.h>
#endif
#ifdef __linux__
#include <sys/mman.h>
#include <unistd.h>
#endif

namespace gs {
namespace {

// Precedes every block, so that the size of a block is known independently of its array.
struct alignas(64) Header {
    size_t size;  // includes the header
};

constexpr size_t huge_page = size_t{2} << 20;

int64_t initial_limit() {
    if (const char* text = std::getenv("GATHERSCATTER_POOL_BYTES")) return std::max(0ll, std::atoll(text));
#ifdef __linux__
    const int64_t memory = static_cast<int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
    return std::clamp(memory / 16, int64_t{0}, int64_t{1} << 30);
#else
    return 0;  // no benefit has been measured on other systems
#endif
}

void* new_block(size_t size) {
#ifdef __linux__
    // Allocated from the system directly, so that freed memory returns to the system.
    const bool huge = size >= 2 * huge_page;
    const size_t more = huge ? huge_page : 0;
    void* const memory = mmap(nullptr, size + more, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return nullptr;
    if (!huge) return memory;
    std::byte* const begin = static_cast<std::byte*>(memory);
    const size_t before = (huge_page - reinterpret_cast<uintptr_t>(begin) % huge_page) % huge_page;
    if (before > 0) munmap(begin, before);
    if (before < more) munmap(begin + before + size, more - before);
    madvise(begin + before, size / huge_page * huge_page, MADV_HUGEPAGE);  // only a hint
    return begin + before;
#else
    return ::operator new(size, std::align_val_t{alignof(Header)}, std::nothrow);
#endif
}

void delete_block(Header* block) {
#ifdef __linux__
    munmap(block, block->size);
#else
    ::operator delete(block, std::align_val_t{alignof(Header)});
#endif
}

class Pool {
  public:
    explicit Pool(int64_t limit) : limit_(limit) {}

    // Returns a block that fits without much waste. Null: there is none.
    Header* take(size_t size) {
        std::lock_guard lock(mutex_);
        auto best = kept_.end();
        for (auto block = kept_.begin(); block != kept_.end(); ++block)
            if ((*block)->size >= size && (*block)->size <= size + size / 4 &&
                (best == kept_.end() || (*block)->size < (*best)->size))
                best = block;
        if (best == kept_.end()) return nullptr;
        Header* const found = *best;
        kept_.erase(best);
        size_ -= static_cast<int64_t>(found->size);
        return found;
    }

    // Keeps a block. False: the pool does not keep it, and the caller must free it.
    bool keep(Header* block) {
        std::lock_guard lock(mutex_);
        const int64_t size = static_cast<int64_t>(block->size);
        if (size > limit_) return false;
        try {
            kept_.push_back(block);
        } catch (const std::bad_alloc&) {
            return false;
        }
        size_ += size;
        trim();
        return true;
    }

    int64_t limit() const { return limit_; }
    int64_t size() const { return size_; }

    void set_limit(int64_t limit) {
        std::lock_guard lock(mutex_);
        limit_ = limit;
        trim();
    }

  private:
    void trim() {  // frees the oldest blocks first
        while (size_ > limit_) {
            size_ -= static_cast<int64_t>(kept_.front()->size);
            delete_block(kept_.front());
            kept_.pop_front();
        }
    }

    std::mutex mutex_;
    std::list<Header*> kept_;
    std::atomic<int64_t> limit_, size_ = 0;
};

// The pool outlives all arrays. A child of fork() may find it locked; the child then starts a new pool and abandons the
// kept blocks. The pool lies in static memory, because NumPy's code calls it and cannot handle an exception from an
// allocation.
alignas(Pool) std::byte pool_memory[sizeof(Pool)];

Pool& pool() {
    static std::once_flag once;
    static Pool* current;
    std::call_once(once, [] {
        current = new (pool_memory) Pool(initial_limit());
#ifndef _WIN32
        pthread_atfork(nullptr, nullptr, [] { current = new (pool_memory) Pool(current->limit()); });
#endif
    });
    return *current;
}

}  // namespace

void* pool_allocate(size_t size) {
    if (size > SIZE_MAX / 2) return nullptr;
    // Sizes are rounded up, so that results of nearly the same size can share blocks.
    const size_t unit = size >= 16 * huge_page ? huge_page : 64 * 1024;
    const size_t whole = (size + sizeof(Header) + unit - 1) / unit * unit;
    Header* block = pool().take(whole);
    if (!block) {
        block = static_cast<Header*>(new_block(whole));
        if (!block) return nullptr;
        block->size = whole;
    }
    return block + 1;
}

void pool_free(void* block) {
    if (!block) return;
    Header* const header = static_cast<Header*>(block) - 1;
    if (!pool().keep(header)) delete_block(header);
}

size_t pool_block_size(const void* block) { return (static_cast<const Header*>(block) - 1)->size - sizeof(Header); }

int64_t pool_limit() { return pool().limit(); }
void set_pool_limit(int64_t limit) { pool().set_limit(limit); }
int64_t pool_size() { return pool().size(); }

}  // namespace gs
