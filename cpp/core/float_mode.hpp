// The denormal mode of a thread. XLA and other libraries make threads treat subnormal numbers as zeros, for speed.
#pragma once

#include <cstdint>

#if defined(__x86_64__) || defined(_M_X64)
#include <xmmintrin.h>
#endif

namespace gs {

// While this object lives, this thread and the threads that it starts compute with subnormal numbers. `computes`: false
// if they only move data. The mode is then neither read nor changed, which takes time.
class ScopedDenormals {
  public:
    explicit ScopedDenormals(bool computes = true) : before_(computes ? read() : 0) {
        if (before_ & flush_bits) write(before_ & ~flush_bits);
    }
    ~ScopedDenormals() {
        if (before_ & flush_bits) write(before_);
    }
    ScopedDenormals(const ScopedDenormals&) = delete;

  private:
#if defined(__x86_64__) || defined(_M_X64)
    using Word = uint32_t;
    static constexpr Word flush_bits = 0x8040;  // for results and for operands
    static Word read() { return _mm_getcsr(); }
    static void write(Word word) { _mm_setcsr(word); }
#elif defined(__aarch64__)
    using Word = uint64_t;
    static constexpr Word flush_bits = Word{1} << 24 | Word{1} << 19;  // the second bit is for 16-bit floats
    static Word read() {
        Word word;
        asm volatile("mrs %0, fpcr" : "=r"(word));
        return word;
    }
    static void write(Word word) { asm volatile("msr fpcr, %0" : : "r"(word)); }
#else
    using Word = uint32_t;
    static constexpr Word flush_bits = 0;
    static Word read() { return 0; }
    static void write(Word) {}
#endif

    const Word before_;
};

}  // namespace gs
