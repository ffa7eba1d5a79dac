/** @file arch.h  What depends on the processor, the system and the checker: pause, time, a 32-bit wait, RCU. */
#ifndef FADI_ARCH_H
#define FADI_ARCH_H

#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#include <sched.h>
#include <stdint.h>
#include <time.h>
#include <urcu/urcu-bp.h>

/* liburcu's compiled half is not instrumented: tell ThreadSanitizer what a grace period orders. */
#if defined(__SANITIZE_THREAD__)
#define FADI_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define FADI_TSAN 1
#endif
#endif
#ifdef FADI_TSAN
void __tsan_acquire(void *addr);
void __tsan_release(void *addr);
#define FADI_TSAN_ACQUIRE(p) __tsan_acquire(p)
#define FADI_TSAN_RELEASE(p) __tsan_release(p)
#else
#define FADI_TSAN_ACQUIRE(p) ((void)(p))
#define FADI_TSAN_RELEASE(p) ((void)(p))
#endif

static inline void fadi_pause(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    /* yield is a no-op on most cores; isb waits some tens of cycles, as pause does */
    __asm__ volatile("isb" ::: "memory");
#endif
}

/* 0 where the clock fails. What it is used for has to be right with any clock. */
static inline uint64_t fadi_now_ns(void)
{
    struct timespec t;
    if (clock_gettime(CLOCK_MONOTONIC, &t))
        return 0;
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* A counter that is cheaper to read than the clock (12 against 27 ns), and about how far it gets in 10 us: on x86-64, where
 * it runs at 2 to 5 GHz, only roughly. For decisions that need no more. */
#if defined(__x86_64__)
static inline uint64_t fadi_ticks(void)
{
    return __builtin_ia32_rdtsc();
}
static inline uint64_t fadi_ticks_10us(void)
{
    return 30000;
}
#elif defined(__aarch64__)
static inline uint64_t fadi_ticks(void)
{
    uint64_t t;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(t));
    return t;
}
static inline uint64_t fadi_ticks_10us(void)
{
    uint64_t frequency;
    __asm__ volatile("mrs %0, cntfrq_el0" : "=r"(frequency));
    return frequency / 100000 + 1;
}
#endif

static inline void fadi_rcu_lock(void)
{
    urcu_bp_read_lock();
}
static inline void fadi_rcu_unlock(void *tag)
{
    (void)tag;
    FADI_TSAN_RELEASE(tag);
    urcu_bp_read_unlock();
}
static inline void fadi_rcu_synchronize(void *tag)
{
    (void)tag;
    urcu_bp_synchronize_rcu();
    FADI_TSAN_ACQUIRE(tag);
}

#endif
