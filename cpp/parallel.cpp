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

#include "machine.hpp"

#ifndef _WIN32
#include <pthread.h>
#endif
#ifdef __linux__
#include <sched.h>
#endif

namespace gs {

thread_local constinit Watch* current_watch = nullptr;

namespace {

int initial_threads() {
    for (const char* variable : {"GATHERSCATTER_NUM_THREADS", "OMP_NUM_THREADS"})
        if (const char* text = std::getenv(variable))
            if (const int n = std::atoi(text); n >= 1) return std::min(n, most_threads);
    return std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 1, most_threads);
}

std::atomic<int> configured_threads = 0;  // 0: not asked yet

// How long a thread looks for something to do, or for others to finish, before it goes to sleep: about as long as the
// system takes to wake it. Back-to-back calls then find their threads awake.
constexpr auto patience = std::chrono::microseconds(50);

template <class Condition>
bool spin_until(Condition&& condition) {
    const auto end = std::chrono::steady_clock::now() + patience;
    do {
        for (int i = 0; i < 64; ++i) {
            if (condition()) return true;
            relax();
        }
    } while (std::chrono::steady_clock::now() < end);
    return false;
}

thread_local bool inside_task = false;
thread_local int call_threads = 0;  // for the call that this thread is in; 0: as configured

class Pool;
bool is_current(const Pool*);

// One job at a time; workers sleep in between. Its threads are never joined: it lives as long as the process.
class Pool {
  public:
    // Whether the job was run; not if another thread has the pool.
    bool try_run(int n, int threads, FunctionRef<void(int)> task) {
        std::unique_lock owner(owner_, std::try_to_lock);
        if (!owner) return false;
        {
            std::lock_guard lock(mutex_);
            while (static_cast<int>(workers_.size()) < threads - 1 && start_worker()) avoided_ = -1;
            task_ = &task;
            watch_ = current_watch;
            size_ = n;
            helpers_ = threads - 1;
            next_ = 0;
            ++generation_;
        }
        keep_away();
        wake_.notify_all();
        work(n, task);
        if (!is_current(this)) return true;  // a signal handler has forked: here the helpers are no more
        {
            std::lock_guard lock(mutex_);
            task_ = nullptr;  // a worker that has not woken yet finds nothing to do
        }
        const auto done = [&] { return busy_ == 0; };
        if (spin_until(done)) return true;
        std::unique_lock lock(mutex_);
        while (!done_.wait_for(lock, std::chrono::milliseconds(50), done)) {
            lock.unlock();
            (void)should_stop_now();  // only this thread can ask for signals; the helpers learn of it
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
            return false;  // fewer threads than asked for give the same result
        } catch (const std::bad_alloc&) {
            return false;
        }
    }

    // Forbids the workers the processor that the caller is on. Linux likes to wake a thread that has slept for long
    // where its waker runs, though others are idle: there it would wait for milliseconds, until all is done.
    void keep_away() {
#ifdef __linux__
        constexpr size_t few = 8;  // among many processors one is found anyway
        const int here = sched_getcpu();
        if (here < 0 || here == avoided_ || workers_.size() > few) return;
        avoided_ = here;
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
            if (task_ == nullptr || busy_ >= helpers_) continue;  // the others have done it all, or are enough
            const auto* task = task_;
            const int n = size_;
            const Watched watched(watch_);
            ++busy_;
            lock.unlock();
            work(n, *task);
            lock.lock();
            if (--busy_ == 0) done_.notify_one();
        }
    }

    std::mutex owner_;
    std::mutex mutex_;  // held to change what follows, except next_
    std::condition_variable wake_, done_;
    const FunctionRef<void(int)>* task_ = nullptr;
    Watch* watch_ = nullptr;
    int size_ = 0, helpers_ = 0;
    std::vector<std::thread::native_handle_type> workers_;
    int avoided_ = -1;  // the processor that workers keep away from
    std::atomic<int> busy_ = 0, next_ = 0;
    std::atomic<uint64_t> generation_ = 0;
};

// A child of fork() has none of the pool's threads and perhaps its locks held: it starts over, the old one is let go.
std::atomic<Pool*> current_pool = nullptr;
std::atomic<int> forked = 0;

bool is_current(const Pool* pool) { return pool == current_pool; }

// Null when there is no memory for it; nothing throws in a child of fork().
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

ThreadsForCall::ThreadsForCall(int n) : before_(call_threads) {
    if (n > 0) call_threads = n;
}
ThreadsForCall::~ThreadsForCall() { call_threads = before_; }

Watched::Watched(Watch* watch) : before_(current_watch) { current_watch = watch; }
Watched::~Watched() { current_watch = before_; }

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

void set_num_threads(int n) { configured_threads = std::min(n, most_threads); }

void run_tasks(int n, int threads, FunctionRef<void(int)> task) {
    if (n > 1 && threads > 1 && !inside_task) {
        Pool* const all = pool();
        inside_task = true;
        const bool done = all && all->try_run(n, std::min(n, threads), task);
        inside_task = false;
        if (done) return;
    }
    for (int i = 0; i < n; ++i) task(i);
}

}  // namespace gs
