// Temporary memory of a kernel. Large pieces come from the pool of freed results.
#pragma once

#include <cstring>
#include <new>
#include <utility>

#include "output_pool.hpp"
#include "parallel.hpp"

namespace gs {

class Scratch {
  public:
    Scratch(int64_t size, bool zeros) : size_(static_cast<size_t>(size)) {
        if (size == 0) return;
        memory_ = static_cast<std::byte*>(pooled() ? pool_allocate(size_) : ::operator new(size_, std::nothrow));
        if (!memory_) throw std::bad_alloc();
        if (zeros)
            for_pieces(size / 64 + 1, {size / 64, 64}, [&](int64_t begin, int64_t end) {
                std::memset(memory_ + begin * 64, 0, static_cast<size_t>(std::min(end * 64, size) - begin * 64));
            });
    }
    ~Scratch() {
        if (pooled())
            pool_free(memory_);
        else
            ::operator delete(memory_);
    }
    Scratch(Scratch&& other) noexcept
        : size_(std::exchange(other.size_, 0)), memory_(std::exchange(other.memory_, nullptr)) {}
    Scratch& operator=(Scratch&& other) noexcept {
        std::swap(size_, other.size_);
        std::swap(memory_, other.memory_);
        return *this;
    }
    std::byte* get() const { return memory_; }

  private:
    bool pooled() const { return size_ >= min_pooled_bytes; }

    size_t size_;
    std::byte* memory_ = nullptr;
};

}  // namespace gs
