// The parts that depend on the compiler and the processor: versions of hot loops for instruction sets, sizes of caches,
// prefetching, stores that bypass the caches, and waiting.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>

#include "sizes.hpp"

#if defined(_MSC_VER)
#include <intrin.h>
#endif
#if defined(__x86_64__) || defined(_M_X64)
#define GS_X86_64
#include <emmintrin.h>
#elif defined(__aarch64__) && defined(__GNUC__)
#define GS_NEON
#include <arm_neon.h>
#endif

namespace gs {

// Marks a loop that has versions. It is inlined into each of them.
#if defined(__GNUC__)
#define GS_LOOP [[gnu::always_inline]] inline
#elif defined(_MSC_VER)
#define GS_LOOP __forceinline
#else
#define GS_LOOP inline
#endif

// Marks a function that is never inlined, so that the loops that call it stay short.
#if defined(__GNUC__)
#define GS_NO_INLINE [[gnu::noinline]]
#elif defined(_MSC_VER)
#define GS_NO_INLINE __declspec(noinline)
#else
#define GS_NO_INLINE
#endif

#if defined(__x86_64__) && defined(__GNUC__) && !defined(GATHERSCATTER_BASELINE)
#define GS_VERSIONS
#define GS_AVX2 __attribute__((target("avx2,bmi,bmi2,f16c")))
#if defined(__clang__)
#define GS_WIDE ""
#else
#define GS_WIDE ",prefer-vector-width=512"
#endif
#define GS_AVX512 __attribute__((target("avx2,bmi,bmi2,f16c,avx512f,avx512bw,avx512cd,avx512dq,avx512vl" GS_WIDE)))
#else
#define GS_AVX2
#define GS_AVX512
#endif

// Unrolls the loop that follows. Compilers do not unroll a loop of unknown length.
#if defined(__GNUC__) && !defined(__clang__)
#define GS_UNROLL _Pragma("GCC unroll 8")
#elif defined(__clang__)
#define GS_UNROLL _Pragma("unroll 8")
#else
#define GS_UNROLL
#endif

// Unrolls the loop that follows: fully, if it has at most 16 steps, or four steps of it.
#if defined(__GNUC__) && !defined(__clang__)
#define GS_UNROLL_ALL _Pragma("GCC unroll 16")
#define GS_UNROLL_4 _Pragma("GCC unroll 4")
#elif defined(__clang__)
#define GS_UNROLL_ALL _Pragma("unroll 16")
#define GS_UNROLL_4 _Pragma("unroll 4")
#else
#define GS_UNROLL_ALL
#define GS_UNROLL_4
#endif

// Tells the compiler that no step of the loop that follows writes data that a later step reads.
#if defined(__clang__)
#define GS_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#elif defined(__GNUC__)
#define GS_INDEPENDENT _Pragma("GCC ivdep")
#else
#define GS_INDEPENDENT
#endif

// The instruction sets that hot loops are compiled for. The baseline is the compiler's default: SSE2 on x86-64, NEON on
// AArch64.
enum class InstructionSet : uint8_t { baseline, avx2, avx512 };
inline constexpr const char* instruction_set_names[] = {"baseline", "avx2", "avx512"};
static_assert(std::size(instruction_set_names) == static_cast<size_t>(InstructionSet::avx512) + 1);

// The newest instruction set of both processor and compiler, or an older one that GATHERSCATTER_INSTRUCTION_SET names.
extern const InstructionSet instruction_set;

// The versions of a loop, which is a function marked GS_LOOP. All versions give the same results, bit for bit.
template <auto loop>
struct Versions;

template <class R, class... A, R (*loop)(A...)>
struct Versions<loop> {
    static R baseline(A... arguments) { return loop(arguments...); }
    GS_AVX2 static R avx2(A... arguments) { return loop(arguments...); }
    GS_AVX512 static R avx512(A... arguments) { return loop(arguments...); }
};

// Returns the version for this processor.
template <auto loop>
auto version() {
#ifdef GS_VERSIONS
    if (instruction_set == InstructionSet::avx512) return Versions<loop>::avx512;
    if (instruction_set == InstructionSet::avx2) return Versions<loop>::avx2;
#endif
    return Versions<loop>::baseline;
}

// Returns the version of a loop that multiplies floats. It is never the version for AVX-512, which includes fused
// multiply-add. Fusing changes bits, and GCC 12 fuses complex products despite the option that forbids it.
template <auto loop>
auto float_version() {
#ifdef GS_VERSIONS
    if (instruction_set >= InstructionSet::avx2) return Versions<loop>::avx2;
#endif
    return Versions<loop>::baseline;
}

// The memory that one call can use and still find in the caches. It is the size of the last cache that the system
// reports, within limits because other programs share it. GATHERSCATTER_CACHE_BYTES overrides it.
extern const int64_t cache_bytes;
// The size of the cache of one core, in bytes. Random reads from this cache are as fast as the loop itself.
extern const int64_t core_cache_bytes;

// Reads a value once that other threads may change. Without this, a compiler may read it for a check and again for its
// use.
template <class T>
T read_once(const T& value) {
    return *const_cast<const volatile T*>(&value);
}

// Returns the address of a new copy and hides its origin from the compiler. Without this, the compiler may read the
// original again.
GS_LOOP int64_t* read_copy(int64_t* copy) {
#if defined(__GNUC__)
    __asm__ __volatile__("" : "+r"(copy) : : "memory");
    return copy;
#else
    int64_t* volatile hidden = copy;
    return hidden;
#endif
}

enum class Cache { first, second };

// These must be inlined. GCC removes calls of them, because the functions seem to have no effect.
template <Cache cache = Cache::first>
GS_LOOP void prefetch(const void* address) {
#if defined(__GNUC__)
    __builtin_prefetch(address, 0, cache == Cache::first ? 3 : 2);
#elif defined(_MSC_VER) && (defined(_M_X64) || defined(_M_IX86))
    _mm_prefetch(static_cast<const char*>(address), cache == Cache::first ? _MM_HINT_T0 : _MM_HINT_T1);
#else
    (void)address;
#endif
}

// Prefetches the address `distance` bytes ahead. It can lie beyond the end of the array. Data that is read in order
// belongs into the second cache, because few requests of the first one can wait for memory at a time.
template <Cache cache>
GS_LOOP void prefetch_ahead(const std::byte* address, int64_t distance) {
    prefetch<cache>(
        reinterpret_cast<const void*>(reinterpret_cast<uintptr_t>(address) + static_cast<uintptr_t>(distance)));
}

// The size of a cache line, in bytes.
inline constexpr int64_t line_size = 64;

// Prefetches the lines of a block that is read in order, `distance` bytes ahead.
GS_LOOP void prefetch_block(const std::byte* address, int64_t bytes, int64_t distance) {
    for (int64_t line = 0; line < bytes; line += line_size) prefetch_ahead<Cache::second>(address, line + distance);
}

inline bool is_line_aligned(const void* address) { return reinterpret_cast<uintptr_t>(address) % line_size == 0; }

#ifdef GS_X86_64
inline constexpr bool can_stream = true;
#else
inline constexpr bool can_stream = false;
#endif

// The functions below write past the caches. The old contents of cache lines are not loaded. Call end_stream() before
// another thread reads what they wrote. A unit is written to an address that is a multiple of its size, in bytes.
inline constexpr int64_t stream_unit = 16;

inline bool is_unit_aligned(const void* address) { return reinterpret_cast<uintptr_t>(address) % stream_unit == 0; }

// Writes one unit.
GS_LOOP void stream_words(std::byte* to, uint64_t low, uint64_t high) {
#ifdef GS_X86_64
    _mm_stream_si128(reinterpret_cast<__m128i*>(to),
                     _mm_set_epi64x(static_cast<int64_t>(high), static_cast<int64_t>(low)));
#else
    std::memcpy(to, &low, sizeof low);
    std::memcpy(to + sizeof low, &high, sizeof high);
#endif
}

// Copies units.
GS_LOOP void stream_units(std::byte* to, const std::byte* from, int64_t size) {
#ifdef GS_X86_64
    for (int64_t i = 0; i < size; i += stream_unit)
        _mm_stream_si128(reinterpret_cast<__m128i*>(to + i),
                         _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i)));
#else
    std::memcpy(to, from, static_cast<size_t>(size));
#endif
}

// Copies whole cache lines to the beginning of a line.
void stream_lines(std::byte* to, const std::byte* from, int64_t size);

inline void end_stream() {
#ifdef GS_X86_64
    _mm_sfence();
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
