// What depends on compiler and processor: versions of hot loops for newer instruction sets, prefetching, waiting.
#pragma once

#include <cstdint>

// Compiles a function for AVX2 besides the baseline; the loader picks one, by way of glibc's indirect functions. Not
// for targets with fused multiply-add: gcc 12 fuses complex products there although it is told not to, which changes
// bits. Not for ThreadSanitizer, which is not ready when indirect functions are resolved.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && __has_include(<gnu/libc-version.h>) && \
    !defined(__SANITIZE_THREAD__)
#define GS_CLONES __attribute__((target_clones("default", "avx2")))
#else
#define GS_CLONES
#endif

// For functions without products of floats, which no fusing can change: AVX-512, too.
#if defined(__x86_64__) && defined(__GNUC__) && __GNUC__ >= 12 && !defined(__clang__) && \
    __has_include(<gnu/libc-version.h>) && !defined(__SANITIZE_THREAD__)
#define GS_INTEGER_CLONES __attribute__((target_clones("default", "avx2", "arch=x86-64-v4")))
#else
#define GS_INTEGER_CLONES GS_CLONES
#endif

#if defined(_MSC_VER) && (defined(_M_X64) || defined(_M_IX86))
#include <intrin.h>
#endif

namespace gs {

// Reads what other threads may change once: otherwise a compiler may read it for a check, and again for its use.
template <class T>
T read_once(const T& value) {
    return *const_cast<const volatile T*>(&value);
}

inline void prefetch(const void* address) {
#if defined(__GNUC__)
    __builtin_prefetch(address);
#elif defined(_MSC_VER) && (defined(_M_X64) || defined(_M_IX86))
    _mm_prefetch(static_cast<const char*>(address), _MM_HINT_T0);
#else
    (void)address;
#endif
}

// Tells the processor that a loop waits for another thread.
inline void cpu_relax() {
#if defined(__x86_64__) && defined(__GNUC__)
    __builtin_ia32_pause();
#elif defined(_MSC_VER) && (defined(_M_X64) || defined(_M_IX86))
    _mm_pause();
#elif defined(__aarch64__) && defined(__GNUC__)
    __asm__ __volatile__("yield");
#endif
}

}  // namespace gs
