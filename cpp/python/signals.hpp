// Checks for signals, such as that of Ctrl-C, while a kernel runs.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>

#include "machine.hpp"
#include "numpy_arrays.hpp"
#include "parallel.hpp"

namespace gs {

// Checks for signals in the calling thread, about twenty times a second, while kernels of the call run.
class InterruptCheck : public StopToken {
  public:
    explicit InterruptCheck(GilRelease& gil_release, int64_t bytes_per_index = piece_bytes)
        : gil_release_(gil_release),
          calls_per_check_(std::clamp<int64_t>(piece_bytes / block / std::max<int64_t>(bytes_per_index, 1), 1, 64)) {}

    bool should_stop() override {
        if (interrupted_.load(std::memory_order_relaxed)) return true;
        return std::this_thread::get_id() == caller_ && ++calls_ % calls_per_check_ == 0 && check();
    }
    bool should_stop_now() override {
        if (interrupted_.load(std::memory_order_relaxed)) return true;
        return std::this_thread::get_id() == caller_ && check();
    }
    // Whether a signal has ended the call. If so, an exception is set.
    bool interrupted() const { return interrupted_; }

  private:
    static constexpr std::chrono::milliseconds interval{50};
    static constexpr std::chrono::steady_clock::time_point never{};

    bool check() {
        const auto now = std::chrono::steady_clock::now();
        if (now < next_check_) return false;
        if (next_check_ != never) {
            const ScopedStopToken outside_call(nullptr);  // a signal handler may call this package
            if (gil_release_.check_signals(forks_)) interrupted_ = true;
        }
        next_check_ = now + interval;  // the first time only starts the clock, because most calls end before it matters
        return interrupted_;
    }

    GilRelease& gil_release_;
    const std::thread::id caller_ = std::this_thread::get_id();
    const int64_t calls_per_check_;  // reading the clock takes as long as resolving several indices
    const int forks_ = forks();
    std::atomic<bool> interrupted_ = false;
    // The caller writes these often. They have a separate cache line, because helpers often read the other members.
    alignas(line_size) int64_t calls_ = 0;
    std::chrono::steady_clock::time_point next_check_ = never;
};

// Runs part of a call. A large part runs without the interpreter lock, and signals can end it if it `may_stop`. False:
// a signal has ended it, and an exception is set.
template <class F>
bool run_part(bool large, bool may_stop, int64_t bytes_per_index, F&& part) {
    if (!large) return part(), true;
    GilRelease gil_release(true);
    InterruptCheck interrupts(gil_release, bytes_per_index);
    const ScopedStopToken scope(may_stop ? &interrupts : nullptr);
    part();
    return !interrupts.interrupted();
}

}  // namespace gs
