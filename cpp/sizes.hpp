// The sizes at which calls take another way, found by measuring. Compiled with GATHERSCATTER_TINY they are so small
// that a few dozen elements fill several blocks and go through every way, on all threads: for the fuzzer, not for use.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gs {

#ifdef GATHERSCATTER_TINY
inline constexpr bool tiny = true;
#else
inline constexpr bool tiny = false;
#endif

// How many tuples are resolved at a time: few, so that reading indices and moving rows overlap.
inline constexpr int64_t block = tiny ? 4 : 256;
// How many more are looked at, to ask for their memory in advance.
inline constexpr int64_t lookahead = tiny ? 2 : 64;
// Most that are resolved at a time. Only parcels, which are all their owner's, have more.
inline constexpr int64_t most_rows = 2 * block;
// How many rows ahead the memory of wide rows is asked for.
inline constexpr int64_t rows_ahead = tiny ? 2 : 8;
// How many lines of batch and outer take turns with the same block of indices, if there are several.
inline constexpr int64_t most_lines = tiny ? 2 : 8;

// Elements in more memory than this are asked for in advance; in less, processors find them fast enough.
inline constexpr int64_t far_bytes = tiny ? 64 : 16 * 1024 * 1024;
// Below this, waking another thread costs more than it saves.
inline constexpr double serial_microseconds = tiny ? 0 : 10;
// Below this many bytes, releasing the interpreter lock costs more than it gives.
inline constexpr int64_t unlock_bytes = tiny ? 32 : 64 * 1024;
// Smaller results are left to NumPy.
inline constexpr size_t pooled_from = size_t{tiny ? 256 : 1 << 20};

// Bytes of a copy after which a call looks for signals.
inline constexpr int64_t piece_bytes = tiny ? 64 : 1 << 20;
// Rows of a block are moved one by one, in such pieces, if they are larger together.
inline constexpr int64_t wide_bytes = 16 * piece_bytes;
// Elements that NumPy copies or converts at a time.
inline constexpr int64_t numpy_weight = tiny ? 64 : 1 << 17;

// Wide rows are divided into columns of this many bytes: two lines of cache, which processors fetch together.
inline constexpr int64_t column_size = tiny ? 8 : 128;
// Rows of so many bytes fill lines of cache, so that threads can own some each.
inline constexpr int64_t owned_size = tiny ? 8 : 64;
// Columns of a box for each thread, at least.
inline constexpr int64_t columns_each = tiny ? 1 : 32;
// Rows of a box shorter than this are moved many at a time, by their places.
inline constexpr int64_t short_columns = most_rows;
// What a tile of a box touches stays in this much cache; narrower tiles cost more than they save.
inline constexpr int64_t tile_cache = tiny ? 32 : 1024 * 1024;
inline constexpr int64_t narrowest_tile = tiny ? 2 : 32;
// Rows of one position each are moved as wholes from so many elements on.
inline constexpr int64_t uniform_from = tiny ? 2 : 8;

// Elements among which runs of one destination are looked for, at least.
inline constexpr int64_t runs_from = tiny ? 4 : 16;

// Updates of a group that stay in the cache while one result after the other is made of them.
inline constexpr int64_t group_bytes = tiny ? 32 : 16 * 1024;

// Halves that are widened at a time.
inline constexpr int64_t halves_at_once = tiny ? 3 : 64;
// Elements for which there is space, whoever owns them, while they are handed out to their owners.
inline constexpr int64_t most_held = tiny ? 24 : int64_t{1} << 19;
// Tuples of a span; and of the samples from which their order is judged.
inline constexpr int64_t span_tuples = tiny ? 4 : 4096;
inline constexpr int64_t sample_tuples = tiny ? 2 : 256;
// Memory for sums that are added up again in long integers.
inline constexpr int64_t long_sum_bytes = tiny ? 2048 : int64_t{64} << 20;

}  // namespace gs
