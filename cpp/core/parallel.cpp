#include "parallel.hpp"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>
#include <vector>

#include "float_mode.hpp"
#include "machine.hpp"

#ifndef _WIN32
#include <pthread.h>
#endif
#ifdef __linux__
#include <sched.h>
#endif

namespace gs {

thread_local constinit StopToken* current_stop_token = nullptr;

namespace {

int initial_threads() {
    for (const char* variable : {"GATHERSCATTER_NUM_THREADS", "OMP_NUM_THREADS"})
        if (const char* text = std::getenv(variable))
            if (const int n = std::atoi(text); n >= 1) return std::min(n, max_threads);
    return std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 1, max_threads);
}

std::atomic<int> configured_threads = 0;  // 0: not determined yet

// How long a thread spins before it sleeps: about the time that the system needs to wake it. In back-to-back calls, the
// threads are then still awake.
constexpr auto spin_time = std::chrono::microseconds(50);

template <class Condition>
bool spin_until(Condition&& condition) {
    const auto end = std::chrono::steady_clock::now() + spin_time;
    do {
        for (int i = 0; i < 64; ++i) {
            if (condition()) return true;
            cpu_relax();
        }
    } while (std::chrono::steady_clock::now() < end);
    return false;
}

thread_local bool inside_task = false;
thread_local int call_threads = 0;                // for the current call of this thread; 0: the configured number
thread_local const Executor* executor = nullptr;  // for the current call of this thread; null: the pool

// While this object lives, loops that this thread begins run serially.
class ScopedTask {
  public:
    ScopedTask() : before_(inside_task) { inside_task = true; }
    ~ScopedTask() { inside_task = before_; }
    ScopedTask(const ScopedTask&) = delete;

  private:
    const bool before_;
};

class Pool;
bool is_current(const Pool*);

// Runs one job at a time. Workers sleep in between. Its threads are never joined, because the pool lives as long as the
// process.
class Pool {
  public:
    // Returns whether the job was run. It is not run if another thread is using the pool.
    bool try_run(int n, int threads, FunctionRef<void(int)> task) {
        std::unique_lock owner(owner_, std::try_to_lock);
        if (!owner) return false;
        {
            std::lock_guard lock(mutex_);
            while (static_cast<int>(workers_.size()) < threads - 1 && start_worker()) avoided_processor_ = -1;
            task_ = &task;
            stop_token_ = current_stop_token;
            size_ = n;
            helpers_ = threads - 1;
            next_ = 0;
            ++generation_;
        }
        avoid_caller_processor();
        wake_.notify_all();
        work(n, task);
        if (!is_current(this)) return true;  // a signal handler has forked; the child has no helpers
        {
            std::lock_guard lock(mutex_);
            task_ = nullptr;  // a worker that has not woken yet finds nothing to do
        }
        const auto done = [&] { return busy_ == 0; };
        if (spin_until(done)) return true;
        std::unique_lock lock(mutex_);
        while (!done_.wait_for(lock, std::chrono::milliseconds(50), done)) {
            lock.unlock();
            (void)should_stop_now();  // only this thread can check for signals; the helpers see the result
            if (!is_current(this)) return true;
            lock.lock();
        }
        return true;
    }

  private:
    bool start_worker() {
        try {
            workers_.reserve(workers_.size() + 1);
            std::thread worker([this] { serve(); });
            workers_.push_back(worker.native_handle());
            worker.detach();
            return true;
        } catch (const std::system_error&) {
            return false;  // fewer threads than requested give the same result
        } catch (const std::bad_alloc&) {
            return false;
        }
    }

    // Keeps the workers off the processor of the caller. Linux often wakes a thread that has slept for long on the
    // processor of its waker, although others are idle. There it would wait for milliseconds, until all work is done.
    void avoid_caller_processor() {
#ifdef __linux__
        constexpr size_t few = 8;  // with many processors, Linux finds an idle one anyway
        const int here = sched_getcpu();
        if (here < 0 || here == avoided_processor_ || workers_.size() > few) return;
        avoided_processor_ = here;
        cpu_set_t allowed;
        if (sched_getaffinity(0, sizeof allowed, &allowed) != 0 || CPU_COUNT(&allowed) < 2) return;
        CPU_CLR(static_cast<size_t>(here), &allowed);
        for (const auto worker : workers_) pthread_setaffinity_np(worker, sizeof allowed, &allowed);
#endif
    }

    void work(int n, FunctionRef<void(int)> task) {
        for (int i; (i = next_.fetch_add(1)) < n;) task(i);
    }

    void serve() {
        inside_task = true;
        for (uint64_t seen = 0;;) {
            const auto called = [&] { return generation_ != seen; };
            const bool awake = spin_until(called);
            std::unique_lock lock(mutex_);
            if (!awake) wake_.wait(lock, called);
            seen = generation_;
            if (task_ == nullptr || busy_ >= helpers_) continue;  // all tasks are taken, or enough workers take part
            const auto* task = task_;
            const int n = size_;
            const ScopedStopToken scope(stop_token_);
            ++busy_;
            lock.unlock();
            work(n, *task);
            lock.lock();
            if (--busy_ == 0) done_.notify_one();
        }
    }

    std::mutex owner_;
    std::mutex mutex_;  // protects all members below, except next_
    std::condition_variable wake_, done_;
    const FunctionRef<void(int)>* task_ = nullptr;
    StopToken* stop_token_ = nullptr;
    int size_ = 0, helpers_ = 0;
    std::vector<std::thread::native_handle_type> workers_;
    int avoided_processor_ = -1;  // workers stay off this processor
    std::atomic<int> busy_ = 0, next_ = 0;
    std::atomic<uint64_t> generation_ = 0;
};

// A child of fork() has none of the pool's threads, and its locks may be held. So it starts a new pool and abandons the
// old one.
std::atomic<Pool*> current_pool = nullptr;
std::atomic<int> forked = 0;

bool is_current(const Pool* pool) { return pool == current_pool; }

// Leaves the pool null if there is not enough memory. Nothing throws in a child of fork().
void start_pool() {
    void* const memory = std::malloc(sizeof(Pool));
    current_pool = memory ? new (memory) Pool : nullptr;
}

Pool* pool() {
    static std::once_flag once;
    std::call_once(once, [] {
        start_pool();
#ifndef _WIN32
        pthread_atfork(nullptr, nullptr, [] {
            start_pool();
            inside_task = false;
            ++forked;
        });
#endif
    });
    return current_pool;
}

}  // namespace

ScopedThreadLimit::ScopedThreadLimit(int n) : before_(call_threads) {
    if (n > 0) call_threads = n;
}
ScopedThreadLimit::~ScopedThreadLimit() { call_threads = before_; }

ScopedStopToken::ScopedStopToken(StopToken* stop_token) : before_(current_stop_token) {
    current_stop_token = stop_token;
}
ScopedStopToken::~ScopedStopToken() { current_stop_token = before_; }

ScopedExecutor::ScopedExecutor(const Executor* other) : before_(executor) { executor = other; }
ScopedExecutor::~ScopedExecutor() { executor = before_; }

int num_threads() {
    if (call_threads > 0) return call_threads;
    int n = configured_threads;
    if (n == 0) {
        n = initial_threads();
        configured_threads = n;
    }
    return n;
}

int forks() { return forked; }

void set_num_threads(int n) { configured_threads = std::min(n, max_threads); }

void run_tasks(int n, int threads, FunctionRef<void(int)> task) {
    if (n > 1 && threads > 1 && !inside_task) {
        if (executor) {
            // The host owns these threads and may have set them to flush subnormal numbers.
            StopToken* const stop_token = current_stop_token;
            (*executor)(
                [&](int i) {
                    const ScopedTask inside;
                    const ScopedStopToken scope(stop_token);
                    const ScopedDenormals denormals;
                    task(i);
                },
                n);
            return;
        }
        Pool* const all = pool();
        const ScopedTask inside;
        if (all && all->try_run(n, std::min(n, threads), task)) return;
    }
    for (int i = 0; i < n; ++i) task(i);
}

}  // namespace gs
