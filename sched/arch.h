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

static inline uint64_t fadi_now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

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
