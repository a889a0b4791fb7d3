// Loops on the threads of a session.
#pragma once

#include <atomic>

#include "gatherscatter.h"
#include "host.hpp"

namespace gs::ort {

// The number of threads of a session. Operators can't read it from ONNX Runtime. More parts than threads cost time,
// because each part of a scatter reads all indices. So the threads that take part in long loops are counted, first with
// as many parts as there are processors. Threads may have been busy elsewhere: the larger of two counts is used, and
// after some calls both are taken again. Results do not depend on the number.
class ThreadCount {
  public:
    // For the next call.
    int choose();
    // How many threads took part in a long loop of a call that could have had `chosen`.
    void learn(int chosen, int seen);

  private:
    static constexpr int calls_between = 64;

    std::atomic<int> calls_ = 0;     // that the last count is still to serve; 0: count again
    std::atomic<int> previous_ = 0;  // the first count of two; 0: it is missing
    std::atomic<int> count_ = 0;
};

// The loops of one call. It is the context of gatherscatter_threads.
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
    int seen_ = 0;  // the most threads in a long loop
};

}  // namespace gs::ort
