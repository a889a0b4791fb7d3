// Divides loops between threads, using a small pool that starts at its first use and survives fork().
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "function_ref.hpp"
#include "sizes.hpp"

namespace gs {

int num_threads();
void set_num_threads(int n);  // n >= 1; numbers above max_threads count as max_threads
inline constexpr int max_threads = tiny ? 16 : 1024;

// While this object lives, loops that this thread begins use at most `n` threads instead of the configured number. 0:
// the limit does not change.
class ScopedThreadLimit {
  public:
    explicit ScopedThreadLimit(int n);
    ~ScopedThreadLimit();
    ScopedThreadLimit(const ScopedThreadLimit&) = delete;

  private:
    int before_;
};

// Ends the threads of a call early. All of them check it between pieces of work.
class StopToken {
  public:
    virtual ~StopToken() = default;
    virtual bool should_stop() = 0;      // for use after little work, such as a block of indices; only some calls check
    virtual bool should_stop_now() = 0;  // for use after more work; every call checks
};

// While this object lives, this thread and its helpers check the stop token. Null: nothing can stop them.
class ScopedStopToken {
  public:
    explicit ScopedStopToken(StopToken*);
    ~ScopedStopToken();
    ScopedStopToken(const ScopedStopToken&) = delete;

  private:
    StopToken* before_;
};

extern thread_local constinit StopToken* current_stop_token;  // of the call that this thread works for, or null

// Whether the current call has to stop. Its result is then discarded.
inline bool should_stop() { return current_stop_token && current_stop_token->should_stop(); }
inline bool should_stop_now() { return current_stop_token && current_stop_token->should_stop_now(); }

// Runs f(task, n), which calls task(i) for each i in [0, n) on its own threads, and returns when all calls have
// returned.
using Executor = FunctionRef<void(FunctionRef<void(int)> task, int n)>;

// While this object lives, loops that this thread begins run their tasks on this executor instead of the pool. Null:
// the pool is used.
class ScopedExecutor {
  public:
    explicit ScopedExecutor(const Executor*);
    ~ScopedExecutor();
    ScopedExecutor(const ScopedExecutor&) = delete;

  private:
    const Executor* before_;
};

// The cost of a loop. It decides whether threads are faster.
struct Work {
    int64_t steps, bytes_per_step;

    // A rough estimate for data in the cache. Data outside it takes longer, so threads help even more.
    double microseconds() const {
        return static_cast<double>(steps) * (0.0005 + static_cast<double>(bytes_per_step) * 0.000016);
    }
};

inline int threads_for(Work work) { return work.microseconds() < serial_microseconds ? 1 : num_threads(); }

// Calls task(i) for each i in [0, n), on up to `threads` threads of the pool. The calling thread takes part. Within a
// task, or while another thread of this process uses the pool, the tasks run serially. An executor can use more
// threads.
void run_tasks(int n, int threads, FunctionRef<void(int)> task);

// The number of times this process was forked since threads were first used. A forked process has lost its threads.
int forks();

// Calls f(begin, end) for consecutive ranges that cover [0, n). Each thread gets `parts_per_thread` ranges. More than
// one helps where ranges can be short: a thread that wakes late still finds work.
template <class F>
void for_parts(int64_t n, int threads, F&& f, int parts_per_thread = 1) {
    const int parts = static_cast<int>(std::min<int64_t>(threads > 1 ? int64_t{threads} * parts_per_thread : 1, n));
    if (parts <= 1) {
        if (n > 0) f(int64_t{0}, n);
        return;
    }
    const int64_t quotient = n / parts, remainder = n % parts;
    const auto bound = [=](int64_t i) { return i * quotient + std::min(i, remainder); };
    run_tasks(parts, threads, [&](int i) { f(bound(i), bound(i + 1)); });
}

template <class F>
void for_ranges(int64_t n, Work work, F&& f) {
    for_parts(n, threads_for(work), f);
}

// Calls f(begin, end) for consecutive pieces of [begin, end), of about a megabyte each. False: the call has to stop, or
// a call of f has returned false.
template <class F>
bool in_pieces(int64_t begin, int64_t end, int64_t bytes_per_step, F&& f) {
    const auto done = [&](int64_t first, int64_t last) {
        if constexpr (std::is_same_v<decltype(f(first, last)), bool>)
            return f(first, last);
        else
            return f(first, last), true;
    };
    if (end - begin == 1) return done(begin, end);  // avoids a division
    const int64_t piece = std::max<int64_t>(piece_bytes / std::max<int64_t>(bytes_per_step, 1), 1);
    for (; end - begin > piece; begin += piece)
        if (!done(begin, begin + piece) || should_stop_now()) return false;
    return begin == end || done(begin, end);
}

// The same as for_ranges, in pieces.
template <class F>
void for_pieces(int64_t n, Work work, F&& f) {
    for_ranges(n, work, [&](int64_t begin, int64_t end) { (void)in_pieces(begin, end, work.bytes_per_step, f); });
}

}  // namespace gs
