// The sizes at which calls take different paths, found by measuring. With GATHERSCATTER_TINY, they are so small that a
// few dozen elements fill several blocks and take every path, on all threads. That is for the fuzzer only.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace gs {

#ifdef GATHERSCATTER_TINY
inline constexpr bool tiny = true;
#else
inline constexpr bool tiny = false;
#endif

// The number of tuples that are resolved at a time. It is small so that reading indices and moving rows overlap.
inline constexpr int64_t block = tiny ? 4 : 256;
// The prefetch distance: this number of additional tuples is resolved to prefetch their memory.
inline constexpr int64_t lookahead = tiny ? 2 : 64;
// The largest number of tuples that are resolved at a time. Only batches of one owner are larger.
inline constexpr int64_t max_rows = 2 * block;
// The prefetch distance of rows: about this number of bytes, in rows of `size` bytes.
inline constexpr int64_t row_lookahead_bytes = 4096;
constexpr int64_t row_lookahead(int64_t size) {
    return tiny ? 2 : std::clamp<int64_t>(row_lookahead_bytes / std::max<int64_t>(size, 1), 16, lookahead);
}
// If there are several blocks of indices, at most this number of lines of batch and outer share a block.
inline constexpr int64_t max_lines = tiny ? 2 : 8;
// Lines of at most this number of tuples are gathered many at a time.
inline constexpr int64_t max_short_line = tiny ? 2 : 64;

// The number of tuples that are copied and resolved together, and how far ahead indices are prefetched.
inline constexpr int64_t resolved_at_once = tiny ? 2 : 64;
inline constexpr int64_t index_lookahead_bytes = 4096;
// How far ahead indices are fetched from the second cache, if both caches are prefetched.
inline constexpr int64_t near_lookahead_bytes = 512;
// How far ahead updates are prefetched that are read in order.
inline constexpr int64_t updates_lookahead_bytes = 4096;
// Elements in fewer bytes are in the first cache, even if other data are read at the same time.
inline constexpr int64_t first_cache_bytes = tiny ? 16 : 8 << 10;
// The number of elements that one loop gathers between two checks of the stop token.
inline constexpr int64_t gathered_at_once = tiny ? 20 : 4096;
// The number of elements that one loop scatters between two checks.
inline constexpr int64_t scattered_at_once = tiny ? 4 : 2048;
// Lines with fewer elements are gathered many at a time, by row numbers.
inline constexpr int64_t min_line_elements = tiny ? 2 : 32;
// Fewer bytes of indices are checked by one thread.
inline constexpr int64_t min_shared_check_bytes = tiny ? 32 : 1 << 20;
// Smaller results are not written past the caches.
inline constexpr int64_t min_stream_bytes = tiny ? 128 : 8 << 20;
// Shorter rows that a scatter sets are only written past the caches if they are whole cache lines.
inline constexpr int64_t min_unaligned_row = tiny ? 8 : 256;
// For shorter loops, waking another thread costs more than it saves.
inline constexpr double serial_microseconds = tiny ? 0 : 10;
// For fewer bytes, releasing the interpreter lock costs more than it saves.
inline constexpr int64_t gil_release_bytes = tiny ? 32 : 64 * 1024;
// NumPy allocates smaller results itself.
inline constexpr size_t min_pooled_bytes = size_t{tiny ? 256 : 1 << 20};

// The number of copied bytes between two checks for signals.
inline constexpr int64_t piece_bytes = tiny ? 64 : 1 << 20;
// If the rows of a block are larger together, they are moved one by one, in such pieces.
inline constexpr int64_t wide_bytes = 16 * piece_bytes;
// The number of elements that NumPy copies or converts at a time.
inline constexpr int64_t numpy_weight = tiny ? 64 : 1 << 17;

// If threads divide the columns of rows, each gets multiples of this number of bytes: two cache lines, which processors
// fetch together.
inline constexpr int64_t column_size = tiny ? 8 : 128;
// Rows of up to this number of bytes are copied without calling memcpy.
inline constexpr int64_t max_inlined_row = tiny ? 256 : 512;
// Each thread can own some of the rows of a destination beyond the cache if the size of a row, multiplied by the number
// of threads, is at least this number of bytes. Other destinations need a multiple of it.
inline constexpr int64_t min_owned_bytes = tiny ? 2 : 64;
// Ranges of elements begin at multiples of this number of bytes. Processors fetch neighbouring lines, too, so busy
// lines near a border would move between cores.
inline constexpr int64_t owned_unit_bytes = tiny ? 8 : 4096;
// Each thread gets at least this number of columns of a box.
inline constexpr int64_t min_columns_per_thread = tiny ? 1 : 32;
// Shorter rows of a box are moved many at a time, by their positions.
inline constexpr int64_t short_columns = max_rows;
// The data of a tile of a box fits in this amount of cache. Tiles narrower than the minimum cost more than they save.
inline constexpr int64_t tile_cache = tiny ? 32 : 1024 * 1024;
inline constexpr int64_t min_tile_columns = tiny ? 2 : 32;
// Rows of a box that have one position each are moved whole if they have at least this number of elements.
inline constexpr int64_t min_uniform_columns = tiny ? 2 : 8;

// Runs of one destination are only searched for among at least this number of elements.
inline constexpr int64_t min_run_elements = tiny ? 4 : 16;

// The bytes of updates of a group that stay in the cache while all results are computed from them.
inline constexpr int64_t group_bytes = tiny ? 32 : 16 * 1024;

// The number of halves that are converted to float at a time.
inline constexpr int64_t halves_per_piece = tiny ? 3 : 64;
// The number of elements that a partition has space for. Any thread may own all elements of a batch.
inline constexpr int64_t max_held_elements = tiny ? 64 : int64_t{1} << 19;
// The number of tuples in a span, and in each sample that tests their order.
inline constexpr int64_t span_tuples = tiny ? 4 : 4096;
inline constexpr int64_t sample_tuples = tiny ? 2 : 256;
// The memory for sums that are recomputed as long integers.
inline constexpr int64_t long_sum_bytes = tiny ? 2048 : int64_t{64} << 20;

}  // namespace gs
