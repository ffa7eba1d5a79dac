/* What the tests of the scheduler share. Include it instead of cmocka.h. */
#ifndef TESTS_SCHED_HELP_H
#define TESTS_SCHED_HELP_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <foldad/fold.h>

/* Sanitizers make everything some ten times slower: do less, wait longer. */
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define SLOWER 10
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
#define SLOWER 10
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define THREAD_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define THREAD_SANITIZER 1
#endif
#endif
#ifndef SLOWER
#define SLOWER 1
#endif

#define COUNT(a) (sizeof(a) / sizeof(a)[0])

/* Whether make check runs programs under qemu-user. It has threads of its own, its threads do not survive fork(), and it is
 * slow; what it alone breaks is skipped there, and scripts/check-arm64 runs it on a machine that is emulated as a whole. */
static inline bool emulated(void)
{
    const char *wrapper = getenv("TEST_WRAPPER");
    return wrapper && strstr(wrapper, "qemu");
}

static inline void skip_if_emulated(const char *why)
{
    if (emulated()) {
        print_message("skipped under an emulator: %s\n", why);
        skip();
    }
}

/* A test that hangs ends by SIGALRM, which is a failure. TEST_PATIENCE: how many times slower the machine may be. */
static inline void watchdog(void)
{
    const char *patience = getenv("TEST_PATIENCE");
    unsigned times = patience ? (unsigned)strtoul(patience, NULL, 10) : 1;
    alarm(60 * SLOWER * (times > 0 ? times : 1));
}

/* splitmix64 (Steele, Lea, Flood 2014) */
static inline uint64_t next_random(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static inline size_t below(uint64_t *state, size_t n)
{
    return (size_t)(next_random(state) % n);
}

/* in [0, 1), a multiple of 2^-53 */
static inline double unit_random(uint64_t *state)
{
    return (double)(next_random(state) >> 11) * 0x1p-53;
}

static inline fad_pool *pool_of(unsigned workers)
{
    struct fad_pool_options o = {.workers = workers};
    fad_pool *pool = NULL;
    assert_int_equal(fad_pool_create(&pool, &o), FAD_OK);
    assert_non_null(pool);
    return pool;
}

static inline void end_pool(fad_pool *pool)
{
    assert_int_equal(fad_pool_destroy(pool), FAD_OK);
}

/* Keeps the thread busy; how long depends on the machine, results never do. */
static inline void stall(unsigned rounds)
{
    for (unsigned i = 0; i < rounds; i++)
        __asm__ volatile("" ::: "memory");
}

#endif
