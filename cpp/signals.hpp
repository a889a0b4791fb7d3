// Ctrl-C, while a kernel runs.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>

#include "numpy_arrays.hpp"
#include "parallel.hpp"

namespace gs {

// Asks Python for signals in the calling thread, some twenty times a second, while kernels of the call run.
class Signals : public Watch {
  public:
    explicit Signals(Unlocked& unlocked, int64_t bytes_per_index = piece_bytes)
        : unlocked_(unlocked),
          every_(std::clamp<int64_t>(piece_bytes / block / std::max<int64_t>(bytes_per_index, 1), 1, 64)) {}

    bool stop() override {
        if (stopped_.load(std::memory_order_relaxed)) return true;
        return std::this_thread::get_id() == caller_ && ++asked_ % every_ == 0 && look();
    }
    bool stop_now() override {
        if (stopped_.load(std::memory_order_relaxed)) return true;
        return std::this_thread::get_id() == caller_ && look();
    }
    // Whether a signal has ended the call; then an exception is set.
    bool stopped() const { return stopped_; }

  private:
    static constexpr std::chrono::milliseconds interval{50};
    static constexpr std::chrono::steady_clock::time_point never{};

    bool look() {
        const auto now = std::chrono::steady_clock::now();
        if (now < next_) return false;
        if (next_ != never) {
            const Watched not_this_call(nullptr);  // a signal handler may call this package
            if (unlocked_.interrupted(forks_)) stopped_ = true;
        }
        next_ = now + interval;  // the first time only starts the clock: most calls are over before it matters
        return stopped_;
    }

    Unlocked& unlocked_;
    const std::thread::id caller_ = std::this_thread::get_id();
    const int64_t every_;  // a look at the clock takes as long as some indices
    const int forks_ = forks();
    int64_t asked_ = 0;
    std::chrono::steady_clock::time_point next_ = never;
    std::atomic<bool> stopped_ = false;
};

}  // namespace gs
