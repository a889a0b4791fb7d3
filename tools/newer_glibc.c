/* Functions of newer versions of glibc that GCC's C++ library calls. tools/build_wheels.py links them into wheels, which
 * also run with older versions. They are hidden, so no other library finds them. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>

#define HIDDEN __attribute__((visibility("hidden")))

/* glibc 2.32: whether the process has one thread. The answer "no" is always safe. */
HIDDEN char __libc_single_threaded = 0;

/* glibc 2.36, for std::random_device. */
HIDDEN uint32_t arc4random(void) {
    uint32_t number;
    while (getentropy(&number, sizeof number) != 0) continue;
    return number;
}

/* glibc 2.30: waits until a time of another clock. The wait may end early, as any wait for a condition may. */
HIDDEN int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                                  const struct timespec* until) {
    const int64_t second = 1000000000;
    struct timespec now, end;
    clock_gettime(clock, &now);
    clock_gettime(CLOCK_REALTIME, &end);
    int64_t nanoseconds = (until->tv_sec - now.tv_sec) * second + until->tv_nsec - now.tv_nsec;
    if (nanoseconds < 0) nanoseconds = 0;
    nanoseconds += end.tv_nsec;
    end.tv_sec += nanoseconds / second;
    end.tv_nsec = nanoseconds % second;
    return pthread_cond_timedwait(condition, mutex, &end);
}
