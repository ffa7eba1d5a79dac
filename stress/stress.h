/** @file stress.h  What the stress programs share: options, a watchdog, random numbers, perturbed schedules, pools.
 *
 * A round is some milliseconds with one pool (or one set of deques) and one plan: which points of common/point.h hold
 * threads up, and how. Everything follows from the seed, but for what the system's own scheduler does. */
#ifndef STRESS_STRESS_H
#define STRESS_STRESS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <foldad/fold.h>

/* Sanitizers make everything some ten times slower. */
#if defined(__SANITIZE_THREAD__)
#define STRESS_TSAN 1
#elif defined(__SANITIZE_ADDRESS__)
#define STRESS_ASAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define STRESS_TSAN 1
#elif __has_feature(address_sanitizer)
#define STRESS_ASAN 1
#endif
#endif
#if defined(STRESS_TSAN) || defined(STRESS_ASAN)
#define STRESS_SLOWER 10
#else
#define STRESS_SLOWER 1
#endif

#define STRESS_COUNT(a) (sizeof(a) / sizeof(a)[0])

/* ---- watch.c ---- */

struct stress {
    unsigned threads; /* 0: several numbers in turn */
    double seconds;
    uint64_t seed;
    double end;       /* by stress_now */
};

/** Reads -t threads -s seconds -r seed -w seconds, prints the seed and starts the watchdog: when nobody has called
 * stress_progress for a minute (-w; ten times as long under a sanitizer), or the program does not end, it prints what every
 * thread and every worker is at, and ends the program with 1. */
struct stress stress_options(int argc, char **argv);
/** Something was finished; any thread. */
void stress_progress(void);
/** An invariant is broken: prints that, with the seed, and ends the program with 1. */
_Noreturn void stress_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
/** Has anything been wrong, or nothing been done? Prints why not, returns the exit code. */
int stress_end(unsigned long long done, unsigned long long wrong);

static inline double stress_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* splitmix64 (Steele, Lea, Flood 2014) */
static inline uint64_t stress_random(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static inline size_t stress_below(uint64_t *state, size_t n)
{
    return (size_t)(stress_random(state) % n);
}

/* ---- points.c ---- */

/** From here on the points act by this plan; every thread's generator begins anew. A third of all plans do nothing. */
void stress_plan(uint64_t seed);
/** Changes the plan: every few times that a thread passes the one point it is held until others have passed the other. */
void stress_plan_hold(const char *at, const char *until);
/** What every thread passed last. */
void stress_print_threads(void);

/* ---- pools.c ---- */

/** The round's number of workers: 2, 4, 1, 3, 8, 16, twice as many as there are processors, or what -t says. */
unsigned stress_workers(const struct stress *s, unsigned round);
/** A pool that the watchdog knows, spinning more or less long, with a plan; ends with 77 if there is none to be had. */
fad_pool *stress_pool(unsigned workers, size_t stack_bytes, uint64_t *seed);
/** Ends it; a pool that is still busy is a failure. */
void stress_pool_end(fad_pool *pool);
/** The state of every worker of these pools. */
void stress_print_pools(void);

#define STRESS_CALLERS 4

/** What an application thread gets: it calls on the pool until the round is over. */
struct stress_caller {
    fad_pool *pool;
    void *user;
    uint64_t seed;
    double until;
};

/** Pools of all kinds, one after the other, each used by so many application threads for so many seconds, until the
 * time of the program is over. Returns how many there were. */
unsigned stress_pools(struct stress *s, unsigned callers, double seconds, void *(*call)(void *), void *user);

#endif
