// Runs loops on the threads of a session.
#pragma once

#include <atomic>

#include "gatherscatter.h"
#include "host.hpp"

namespace gs::ort {

// Estimates the number of threads of a session, which operators cannot read from ONNX Runtime. More parts than threads
// cost time, because each part of a scatter reads all indices. So the threads that take part in long loops are counted.
// At first there is one part for each processor. Threads may have been busy elsewhere, so the larger of two counts is
// used. After some calls, both counts are repeated. Results do not depend on the number.
class ThreadCount {
  public:
    // Returns the number for the next call.
    int choose();
    // Records the number of threads that took part in a long loop of a call with `chosen` parts.
    void learn(int chosen, int seen);

  private:
    static constexpr int calls_between = 64;

    std::atomic<int> calls_ = 0;     // the number of calls that still use the last count; 0: count again
    std::atomic<int> previous_ = 0;  // the first of two counts; 0: not counted yet
    std::atomic<int> count_ = 0;
};

// The loops of one call. This is the context of gatherscatter_threads.
class Loops {
  public:
    Loops(const Host& host, const KernelContext* context, ThreadCount& count)
        : host_(host), context_(context), count_(count), chosen_(count.choose()) {}
    ~Loops() {
        if (seen_ > 0) count_.learn(chosen_, seen_);
    }
    Loops(const Loops&) = delete;

    gatherscatter_threads threads();

  private:
    void run(void (*task)(void* argument, size_t i), void* argument, size_t n);

    const Host& host_;
    const KernelContext* context_;
    ThreadCount& count_;
    const int chosen_;
    int seen_ = 0;  // the largest number of threads in a long loop
};

}  // namespace gs::ort
