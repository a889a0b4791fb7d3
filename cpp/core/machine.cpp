#include "machine.hpp"

#include <cstdlib>
#include <string_view>

#ifdef GS_VERSIONS
#include <immintrin.h>
#endif
#if defined(__APPLE__)
#include <sys/sysctl.h>
#elif defined(__unix__)
#include <unistd.h>
#endif

namespace gs {
namespace {

InstructionSet newest_supported() {
#ifdef GS_VERSIONS
    __builtin_cpu_init();
    const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
                      __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("f16c");
    if (avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
        return InstructionSet::avx512;
    if (avx2) return InstructionSet::avx2;
#endif
    return InstructionSet::baseline;
}

InstructionSet choose_instruction_set() {
    const InstructionSet newest = newest_supported();
    const char* const wanted = std::getenv("GATHERSCATTER_INSTRUCTION_SET");
    for (int i = 0; wanted && i < static_cast<int>(std::size(instruction_set_names)); ++i)
        if (std::string_view(wanted) == instruction_set_names[i])
            return std::min(newest, static_cast<InstructionSet>(i));
    return newest;
}

// Returns the size of the last cache. 0: the system does not report it.
int64_t last_cache() {
#if defined(__APPLE__)
    for (const char* name : {"hw.l3cachesize", "hw.perflevel0.l2cachesize", "hw.l2cachesize"}) {
        int64_t size = 0;
        size_t length = sizeof size;
        if (sysctlbyname(name, &size, &length, nullptr, 0) == 0 && size > 0) return size;
    }
#elif defined(_SC_LEVEL3_CACHE_SIZE)
    for (const int level : {_SC_LEVEL3_CACHE_SIZE, _SC_LEVEL2_CACHE_SIZE})
        if (const int64_t size = sysconf(level); size > 0) return size;
#endif
    return 0;
}

int64_t choose_cache_bytes() {
    if (tiny) return 64;
    if (const char* text = std::getenv("GATHERSCATTER_CACHE_BYTES"))
        if (const long long size = std::strtoll(text, nullptr, 10); size > 0) return std::min(size, 1ll << 40);
    constexpr int64_t least = int64_t{2} << 20, most = int64_t{16} << 20;
    const int64_t size = last_cache();
    return size > 0 ? std::clamp(size, least, most) : most;
}

int64_t choose_core_cache_bytes() {
    constexpr int64_t least = int64_t{256} << 10, most = int64_t{4} << 20;
    int64_t size = 0;
#if defined(_SC_LEVEL2_CACHE_SIZE)
    size = sysconf(_SC_LEVEL2_CACHE_SIZE);
#endif
    return std::min(choose_cache_bytes(), size > 0 ? std::clamp(size, least, most) : int64_t{1} << 20);
}

#ifdef GS_VERSIONS
GS_AVX2 void stream_half_lines(std::byte* to, const std::byte* from, int64_t size) {
    for (int64_t i = 0; i < size; i += 32)
        _mm256_stream_si256(reinterpret_cast<__m256i*>(to + i),
                            _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + i)));
}
#endif

}  // namespace

const InstructionSet instruction_set = choose_instruction_set();
const int64_t cache_bytes = choose_cache_bytes();
const int64_t core_cache_bytes = choose_core_cache_bytes();

// On Zen 5, stores of half a line are twice as fast as stores of a quarter.
void stream_lines(std::byte* to, const std::byte* from, int64_t size) {
#ifdef GS_VERSIONS
    if (instruction_set >= InstructionSet::avx2) return stream_half_lines(to, from, size);
#endif
    stream_units(to, from, size);
}

}  // namespace gs
