// Subnormal numbers are numbers: XLA, and others who want speed, let a thread take them for zeros.
#pragma once

#include <cstdint>

#if defined(__x86_64__) || defined(_M_X64)
#include <xmmintrin.h>
#endif

namespace gs {

// While it lives, this thread and those that it starts compute with subnormal numbers.
class WithSubnormals {
  public:
    WithSubnormals() : before_(read()) {
        if (before_ & flushes) write(before_ & ~flushes);
    }
    ~WithSubnormals() {
        if (before_ & flushes) write(before_);
    }
    WithSubnormals(const WithSubnormals&) = delete;

  private:
#if defined(__x86_64__) || defined(_M_X64)
    using Word = uint32_t;
    static constexpr Word flushes = 0x8040;  // results, and operands
    static Word read() { return _mm_getcsr(); }
    static void write(Word word) { _mm_setcsr(word); }
#elif defined(__aarch64__)
    using Word = uint64_t;
    static constexpr Word flushes = Word{1} << 24 | Word{1} << 19;  // those of 16 bits apart
    static Word read() {
        Word word;
        asm volatile("mrs %0, fpcr" : "=r"(word));
        return word;
    }
    static void write(Word word) { asm volatile("msr fpcr, %0" : : "r"(word)); }
#else
    using Word = uint32_t;
    static constexpr Word flushes = 0;
    static Word read() { return 0; }
    static void write(Word) {}
#endif

    const Word before_;
};

}  // namespace gs
