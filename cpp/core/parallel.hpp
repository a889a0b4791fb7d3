// Splitting a loop over threads: a small pool that starts at first use and survives fork().
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "function_ref.hpp"
#include "sizes.hpp"

namespace gs {

int num_threads();
void set_num_threads(int n);  // n >= 1; more than max_threads counts as that
inline constexpr int max_threads = 1024;

// Scoped limit: loops that this thread begins meanwhile have at most `n` threads, instead of the configured number; 0:
// as many as before.
class ScopedThreadLimit {
  public:
    explicit ScopedThreadLimit(int n);
    ~ScopedThreadLimit();
    ScopedThreadLimit(const ScopedThreadLimit&) = delete;

  private:
    int before_;
};

// Tells the threads of a call to end early. All of them check it between pieces of work.
class StopToken {
  public:
    virtual ~StopToken() = default;
    virtual bool should_stop() = 0;      // after little work, such as a block of indices: not every call checks
    virtual bool should_stop_now() = 0;  // after more work: every call checks
};

// Scoped stop token: this thread and those that help it check it meanwhile; null: nothing can stop them.
class ScopedStopToken {
  public:
    explicit ScopedStopToken(StopToken*);
    ~ScopedStopToken();
    ScopedStopToken(const ScopedStopToken&) = delete;

  private:
    StopToken* before_;
};

extern thread_local constinit StopToken* current_stop_token;  // of the call that this thread works for, or null

// Whether that call is to stop. Its result is discarded then.
inline bool should_stop() { return current_stop_token && current_stop_token->should_stop(); }
inline bool should_stop_now() { return current_stop_token && current_stop_token->should_stop_now(); }

// Runs f(task, n): calls task(i) for each i in [0, n) on threads of its own, and returns when all calls have returned.
using Executor = FunctionRef<void(FunctionRef<void(int)> task, int n)>;

// Scoped executor: loops that this thread begins meanwhile run their tasks there, instead of in the pool; null: in the
// pool.
class ScopedExecutor {
  public:
    explicit ScopedExecutor(const Executor*);
    ~ScopedExecutor();
    ScopedExecutor(const ScopedExecutor&) = delete;

  private:
    const Executor* before_;
};

// The cost of a loop, from which follows whether threads pay.
struct Work {
    int64_t steps, bytes_per_step;

    // A rough guess for data in the cache. Data outside it takes longer, so threads pay even more.
    double microseconds() const {
        return static_cast<double>(steps) * (0.0005 + static_cast<double>(bytes_per_step) * 0.000016);
    }
};

inline int threads_for(Work work) { return work.microseconds() < serial_microseconds ? 1 : num_threads(); }

// Calls task(i) for each i in [0, n), on up to `threads` threads of the pool; the calling thread takes part. Called
// from within a task, or while another thread of this process has the pool, it runs serially. An executor may use more
// threads.
void run_tasks(int n, int threads, FunctionRef<void(int)> task);

// How often this process was forked off since threads were first used: what runs then has lost them.
int forks();

// Calls f(begin, end) for consecutive ranges that cover [0, n), `parts_per_thread` of them for each
// thread. More than one helps where ranges can be short: a thread that is slow to wake still finds work.
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

// Calls f(begin, end) for consecutive pieces of [begin, end), of about a megabyte each; false: the call is to stop, as
// f may find, too.
template <class F>
bool in_pieces(int64_t begin, int64_t end, int64_t bytes_per_step, F&& f) {
    const auto done = [&](int64_t first, int64_t last) {
        if constexpr (std::is_same_v<decltype(f(first, last)), bool>)
            return f(first, last);
        else
            return f(first, last), true;
    };
    if (end - begin == 1) return done(begin, end);  // without a division
    const int64_t piece = std::max<int64_t>(piece_bytes / std::max<int64_t>(bytes_per_step, 1), 1);
    for (; end - begin > piece; begin += piece)
        if (!done(begin, begin + piece) || should_stop_now()) return false;
    return begin == end || done(begin, end);
}

// As for_ranges, in pieces.
template <class F>
void for_pieces(int64_t n, Work work, F&& f) {
    for_ranges(n, work, [&](int64_t begin, int64_t end) { (void)in_pieces(begin, end, work.bytes_per_step, f); });
}

}  // namespace gs
