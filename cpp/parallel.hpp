// Splitting a loop over threads: a small pool that starts at first use and survives fork().
#pragma once

#include <algorithm>
#include <cstdint>

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

}  // namespace gs
