// Splitting a loop over threads: a small pool that starts at first use and survives fork().
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "function_ref.hpp"
#include "sizes.hpp"

namespace gs {

int num_threads();
void set_num_threads(int n);  // n >= 1; more than most_threads counts as that
inline constexpr int most_threads = 1024;

// While it lives, loops that this thread begins have so many threads; 0: as many as usual.
class ThreadsForCall {
  public:
    explicit ThreadsForCall(int n);
    ~ThreadsForCall();
    ThreadsForCall(const ThreadsForCall&) = delete;

  private:
    int before_;
};

// Asked between pieces of a long call, by all its threads, whether to stop.
class Watch {
  public:
    virtual ~Watch() = default;
    virtual bool stop() = 0;      // after a little work, such as a block of indices: it does not look every time
    virtual bool stop_now() = 0;  // after more work
};

// While it lives, this thread and those that help it ask this watch; null: nothing can stop them.
class Watched {
  public:
    explicit Watched(Watch*);
    ~Watched();
    Watched(const Watched&) = delete;

  private:
    Watch* before_;
};

extern thread_local constinit Watch* current_watch;  // of the call that this thread works for, or null

// Whether that call is to stop. Its result is discarded then.
inline bool should_stop() { return current_watch && current_watch->stop(); }
inline bool should_stop_now() { return current_watch && current_watch->stop_now(); }

// The cost of a loop, from which follows whether threads pay.
struct Work {
    int64_t steps, bytes_per_step;

    // A rough guess, for data that is near; what is far takes longer, and pays for threads all the more.
    double microseconds() const {
        return static_cast<double>(steps) * (0.0005 + static_cast<double>(bytes_per_step) * 0.000016);
    }
};

inline int threads_for(Work work) { return work.microseconds() < serial_microseconds ? 1 : num_threads(); }

// Calls task(i) for each i in [0, n), on up to `threads` threads; the calling thread takes part. Called from within a
// task, or while another thread of this process has the pool, it runs serially.
void run_tasks(int n, int threads, FunctionRef<void(int)> task);

// How often this process was forked off since threads were first used: what runs then has lost them.
int forks();

// Calls f(begin, end) for consecutive ranges that cover [0, n), `each` of them a thread: more than one where a range
// can be short, so that a thread which takes long to wake finds work all the same.
template <class F>
void for_parts(int64_t n, int threads, F&& f, int each = 1) {
    const int parts = static_cast<int>(std::min<int64_t>(threads > 1 ? int64_t{threads} * each : 1, n));
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
