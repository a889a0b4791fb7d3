#include "threads.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <thread>

namespace gs::ort {
namespace {

// In shorter loops, sleeping threads do not wake in time to take part.
constexpr auto long_loop = std::chrono::microseconds(300);

int processors() {
    static const int number = std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 1, 1024);
    return number;  // cached, because finding it takes longer than a small call
}

struct Loop {
    void (*task)(void* argument, size_t i);
    void* argument;
    const uint64_t number;
    std::atomic<int> threads = 0;

    void call(size_t i) {
        thread_local uint64_t last = 0;  // the last loop in which this thread was counted
        if (last != number) {
            last = number;
            ++threads;
        }
        task(argument, i);
    }
};

}  // namespace

int ThreadCount::choose() {
    const int left = calls_.load();
    if (left <= 0) return processors();
    calls_ = left - 1;
    return count_;
}

void ThreadCount::learn(int chosen, int seen) {
    if (chosen < processors()) return;
    const int previous = previous_.exchange(seen);
    if (previous == 0) return;
    previous_ = 0;
    count_ = std::max(previous, seen);
    calls_ = calls_between;
}

gatherscatter_threads Loops::threads() {
    const auto parallel_for = [](void* context, void (*task)(void*, size_t), void* argument, size_t n) {
        static_cast<Loops*>(context)->run(task, argument, n);
    };
    return {sizeof(gatherscatter_threads), chosen_, parallel_for, this};
}

void Loops::run(void (*task)(void* argument, size_t i), void* argument, size_t n) {
    static std::atomic<uint64_t> loops = 0;
    const auto begin = std::chrono::steady_clock::now();
    Loop loop{task, argument, ++loops};
    const auto call = [](void* data, size_t i) { static_cast<Loop*>(data)->call(i); };
    if (!host_.succeeds(host_->KernelContext_ParallelFor(context_, call, n, n, &loop)))
        for (size_t i = 0; i < n; ++i) task(argument, i);
    if (n >= static_cast<size_t>(chosen_) && std::chrono::steady_clock::now() - begin >= long_loop)
        seen_ = std::max(seen_, loop.threads.load());
}

}  // namespace gs::ort
