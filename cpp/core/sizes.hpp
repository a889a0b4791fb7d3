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
// The prefetch distance: how many more are resolved, to prefetch their memory.
inline constexpr int64_t lookahead = tiny ? 2 : 64;
// At most this many are resolved at a time. Only batches of one owner have more.
inline constexpr int64_t max_rows = 2 * block;
// The prefetch distance of wide rows, in rows.
inline constexpr int64_t row_lookahead = tiny ? 2 : 8;
// At most this many lines of batch and outer use the same block of indices in turn, if there are several blocks.
inline constexpr int64_t max_lines = tiny ? 2 : 8;

// Tuples that are copied and resolved together, and how far ahead indices are prefetched.
inline constexpr int64_t resolved_at_once = tiny ? 2 : 64;
inline constexpr int64_t index_lookahead_bytes = 4096;
// The same for updates that are single elements.
inline constexpr int64_t updates_lookahead_bytes = 4096;
// Elements that are gathered by one loop before it looks whether to stop.
inline constexpr int64_t gathered_at_once = tiny ? 4 : 4096;
// Lines with fewer elements are gathered many at a time, by row numbers.
inline constexpr int64_t min_line_elements = tiny ? 2 : 32;
// Below this many bytes of indices, one thread checks them.
inline constexpr int64_t min_shared_check_bytes = tiny ? 32 : 1 << 20;
// Results smaller than this are not written past the caches.
inline constexpr int64_t min_stream_bytes = tiny ? 128 : 8 << 20;
// Below this, waking another thread costs more than it saves.
inline constexpr double serial_microseconds = tiny ? 0 : 10;
// Below this many bytes, releasing the interpreter lock costs more than it gives.
inline constexpr int64_t gil_release_bytes = tiny ? 32 : 64 * 1024;
// NumPy allocates smaller results itself.
inline constexpr size_t min_pooled_bytes = size_t{tiny ? 256 : 1 << 20};

// Bytes of a copy after which a call checks for signals.
inline constexpr int64_t piece_bytes = tiny ? 64 : 1 << 20;
// Rows of a block are moved one by one, in such pieces, if they are larger together.
inline constexpr int64_t wide_bytes = 16 * piece_bytes;
// Elements that NumPy copies or converts at a time.
inline constexpr int64_t numpy_weight = tiny ? 64 : 1 << 17;

// Wide rows are divided into columns of this many bytes: two lines of cache, which processors fetch together.
inline constexpr int64_t column_size = tiny ? 8 : 128;
// Rows up to this many bytes are copied without a call of memcpy.
inline constexpr int64_t max_inlined_row = tiny ? 256 : 512;
// Rows of at least this many bytes fill lines of cache, so each thread can own some of them.
inline constexpr int64_t min_owned_bytes = tiny ? 8 : 64;
// From this many elements on, each thread owns a range of them, if the processor picks updates many at a time.
inline constexpr int64_t min_owned_elements = tiny ? 16 : 1 << 17;
// Ranges of elements begin at multiples of this many bytes. Processors fetch neighbouring lines, too, so busy lines
// near a border would move between cores.
inline constexpr int64_t owned_unit_bytes = tiny ? 8 : 4096;
// Each thread gets at least this many columns of a box.
inline constexpr int64_t min_columns_per_thread = tiny ? 1 : 32;
// Rows of a box shorter than this are moved many at a time, by their places.
inline constexpr int64_t short_columns = max_rows;
// What a tile of a box touches stays in this much cache. Narrower tiles than the minimum cost more than they save.
inline constexpr int64_t tile_cache = tiny ? 32 : 1024 * 1024;
inline constexpr int64_t min_tile_columns = tiny ? 2 : 32;
// Rows of a box that have one position each are moved whole if they have at least this many elements.
inline constexpr int64_t min_uniform_columns = tiny ? 2 : 8;

// Runs of one destination are looked for among at least this many elements.
inline constexpr int64_t min_run_elements = tiny ? 4 : 16;

// Updates of a group that stay in the cache while one result after the other is made of them.
inline constexpr int64_t group_bytes = tiny ? 32 : 16 * 1024;

// How many halves are widened at a time.
inline constexpr int64_t halves_per_piece = tiny ? 3 : 64;
// There is space for this many elements while they are handed out: any thread may own all elements of a batch.
inline constexpr int64_t max_held_elements = tiny ? 24 : int64_t{1} << 19;
// Tuples of a span; and of the samples from which their order is judged.
inline constexpr int64_t span_tuples = tiny ? 4 : 4096;
inline constexpr int64_t sample_tuples = tiny ? 2 : 256;
// Memory for sums that are added up again in long integers.
inline constexpr int64_t long_sum_bytes = tiny ? 2048 : int64_t{64} << 20;

}  // namespace gs
