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

// Stands before every block, so that a block knows its size whatever became of its array.
struct alignas(64) Header {
    size_t size;  // with the header
};

constexpr size_t huge_page = size_t{2} << 20;

int64_t initial_limit() {
    if (const char* text = std::getenv("GATHERSCATTER_POOL_BYTES")) return std::max(0ll, std::atoll(text));
#ifdef __linux__
    const int64_t memory = static_cast<int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
    return std::clamp(memory / 16, int64_t{0}, int64_t{1} << 30);
#else
    return 0;  // not measured there
#endif
}

void* new_block(size_t size) {
#ifdef __linux__
    // Straight from the system, so that what is given back is the system's again.
    const bool huge = size >= 2 * huge_page;
    const size_t more = huge ? huge_page : 0;
    void* const memory = mmap(nullptr, size + more, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return nullptr;
    if (!huge) return memory;
    std::byte* const begin = static_cast<std::byte*>(memory);
    const size_t before = (huge_page - reinterpret_cast<uintptr_t>(begin) % huge_page) % huge_page;
    if (before > 0) munmap(begin, before);
    if (before < more) munmap(begin + before + size, more - before);
    madvise(begin + before, size / huge_page * huge_page, MADV_HUGEPAGE);  // a wish
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

    // A block that fits without wasting much; null: there is none.
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

    // False: it is not wanted.
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
    void trim() {  // the oldest first
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

// Outlives all arrays. A child of fork() may find it locked: it starts over, and what was kept is let go.
// It stands in memory that is always there, since NumPy's code, which calls it, knows no exceptions.
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
    const size_t unit = size >= 16 * huge_page ? huge_page : 64 * 1024;  // results of nearly the same size share blocks
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
