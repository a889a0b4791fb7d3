// Vectors of GCC and Clang.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "machine.hpp"

#ifdef __GNUC__
#define GS_VECTORS

namespace gs {

template <class T, int64_t n>
using Vector [[gnu::vector_size(n * sizeof(T))]] = T;

// An unsigned integer of 1, 2, 4 or 8 bytes.
template <int64_t bytes>
using Word =
    std::conditional_t<bytes == 8, uint64_t,
                       std::conditional_t<bytes == 4, uint32_t, std::conditional_t<bytes == 2, uint16_t, uint8_t>>>;

// Loads a vector. If it has more than `bytes` bytes, the others are 0. A copy in memory would be slow there, because a
// processor must wait until the short store has reached the cache before it can load the vector.
template <int64_t bytes, class V>
GS_LOOP void load_vector(const void* from, V& loaded) {
    if constexpr (bytes == sizeof(V)) {
        std::memcpy(&loaded, from, bytes);
    } else {
        static_assert(sizeof(V) == 16);
        Word<bytes> word;
        std::memcpy(&word, from, bytes);
        loaded = reinterpret_cast<V>(Vector<Word<bytes>, 16 / bytes>{word});
    }
}

// Stores the first `bytes` bytes of a vector.
template <int64_t bytes, class V>
GS_LOOP void store_vector(void* to, const V& v) {
    if constexpr (bytes == sizeof(V)) {
        std::memcpy(to, &v, bytes);
    } else {
        const Word<bytes> word = reinterpret_cast<Vector<Word<bytes>, 16 / bytes>>(v)[0];
        std::memcpy(to, &word, bytes);
    }
}

// sums += numbers, which may have another type.
template <class V, class N>
GS_LOOP void add_converted(V& sums, const N& numbers) {
    sums += __builtin_convertvector(numbers, V);
}

}  // namespace gs

#else

// Other compilers need these names to parse templates, which they never instantiate.
namespace gs {
template <class T, int64_t n>
struct Vector;
template <class V, class N>
void add_converted(V&, const N&) = delete;
}  // namespace gs

#endif
