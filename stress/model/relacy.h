/** @file relacy.h  The shipped sources under relacy's random schedules: its atomics in place of ours, and stand-ins for what
 * depends on the system. The sources are compiled as C++, unchanged (check-mutations: with its mutations switched off).
 *
 * Relacy runs threads as fibers and each access in program order; a load may find a value that is up to two stores old if
 * the orders allow that. Not modelled: stores that become visible before earlier loads are done (load buffering), time,
 * and signals.
 *
 * A seq_cst access is done in three ways, and a program has to be right in each:
 *   native   relacy's own: a seq_cst load finds nothing older than the last seq_cst store
 *   after    acquire and release, then a seq_cst fence
 *   before   a seq_cst fence, then acquire and release
 * The last two are how processors with fences implement it: Batty, Memarian, Owens, Sarkar and Sewell, Clarifying and
 * compiling C/C++ concurrency (POPL 2012); shown right, also among weaker accesses, for RC11 by Lahav, Vafeiadis, Kang, Hur
 * and Dreyer, Repairing sequential consistency in C/C++11 (PLDI 2017). So whatever fails in one of them is wrong in C11,
 * and an access that is made weaker loses its fence. Relacy's fences order more than C11's, as if each read from the
 * one before: orders that they cover show in the native way. */
#ifndef FADI_MODEL_RELACY_H
#define FADI_MODEL_RELACY_H

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

#include <relacy/relacy.hpp>

enum model_way { MODEL_NATIVE, MODEL_AFTER, MODEL_BEFORE, MODEL_WAYS };
static enum model_way model_way;

static inline bool model_fenced(rl::memory_order order)
{
    return order == rl::mo_seq_cst && model_way != MODEL_NATIVE;
}
static inline void model_fence(rl::memory_order order, enum model_way way)
{
    if (order == rl::mo_seq_cst && model_way == way)
        rl::atomic_thread_fence(rl::mo_seq_cst, $);
}

template <typename T> static inline T model_load(rl::atomic<T> const *p, rl::memory_order order, rl::debug_info_param info)
{
    model_fence(order, MODEL_BEFORE);
    T v = p->load(model_fenced(order) ? rl::mo_acquire : order, info);
    model_fence(order, MODEL_AFTER);
    return v;
}
template <typename T> static inline void model_store(rl::atomic<T> *p, T v, rl::memory_order order, rl::debug_info_param info)
{
    model_fence(order, MODEL_BEFORE);
    p->store(v, model_fenced(order) ? rl::mo_release : order, info);
    model_fence(order, MODEL_AFTER);
}
template <typename T> static inline T model_exchange(rl::atomic<T> *p, T v, rl::memory_order order, rl::debug_info_param info)
{
    model_fence(order, MODEL_BEFORE);
    T old = p->exchange(v, model_fenced(order) ? rl::mo_acq_rel : order, info);
    model_fence(order, MODEL_AFTER);
    return old;
}
template <typename T, typename D>
static inline T model_add(rl::atomic<T> *p, D v, rl::memory_order order, rl::debug_info_param info)
{
    model_fence(order, MODEL_BEFORE);
    T old = p->fetch_add((T)v, model_fenced(order) ? rl::mo_acq_rel : order, info);
    model_fence(order, MODEL_AFTER);
    return old + (T)v;
}
/* Relacy's own fails only on the last value; ours may fail on an older one too. */
template <typename T>
static inline bool model_cas(rl::atomic<T> *p, T *expected, T v, rl::memory_order order, rl::debug_info_param info)
{
    T seen = p->load(rl::mo_relaxed, info);
    if (seen != *expected) {
        *expected = seen;
        return false;
    }
    model_fence(order, MODEL_BEFORE);
    bool done = p->compare_exchange_strong(*expected, v, model_fenced(order) ? rl::mo_acq_rel : order, info, rl::mo_relaxed, info);
    if (done)
        model_fence(order, MODEL_AFTER);
    return done;
}

/* ---- include/foldad/order.h ---- */
#define FAD_ATOMIC(type) rl::atomic<type>
#define FAD_LOAD(p, order) model_load((p), (order), $)
#define FAD_STORE(p, v, order) model_store<MODEL_TYPE(p)>((p), (v), (order), $)
#define FAD_RELAXED rl::mo_relaxed
/* ---- sched/order.h ---- */
#define MODEL_TYPE(p) decltype((p)->load(rl::mo_relaxed, $))
#define FADI_EXCHANGE(p, v, order) model_exchange<MODEL_TYPE(p)>((p), (v), (order), $)
#define FADI_ADD(p, v, order) model_add((p), (v), (order), $)
#define FADI_CAS(p, expected, v, order) model_cas<MODEL_TYPE(p)>((p), (expected), (v), (order), $)
#define FADI_ACQUIRE rl::mo_acquire
#define FADI_RELEASE rl::mo_release
#define FADI_ACQ_REL rl::mo_acq_rel
#define FADI_SEQ_CST rl::mo_seq_cst
/* ---- sched/deque.h, worker.h ---- */
#define FADI_SLOT_BOUND 8
#define FADI_DEQUE_MOST 8
#define FADI_GUESTS 2u

#ifdef MODEL_MUTABLE
#include "mutable.h" /* made by scripts/check-mutations: orders and expressions that a run can change */
#endif

#include "sched/piece.h"
#include "sched/worker.h"

/* ---- sched/arch.h ---- */
#define FADI_ARCH_H

static inline void fadi_pause(void)
{
    rl::yield(1, $);
}

static inline int model_sched_yield(void)
{
    rl::yield(1, $);
    return 0;
}
#define sched_yield model_sched_yield

static inline uint64_t fadi_now_ns(void)
{
    return 0;
}

/* A grace period, with no more order than RCU promises: who begins to read after its beginning sees what came before it, and
 * what readers did is over at its end. The number of readers is relacy's own, not part of the program. */
struct model_rcu {
    int readers;
    rl::atomic<int> begun, left;
};
static struct model_rcu *model_rcu;

static inline void fadi_rcu_lock(void)
{
    model_rcu->readers++;
    model_rcu->begun.fetch_add(0, rl::mo_acquire, $);
}
static inline void fadi_rcu_unlock(void *)
{
    model_rcu->left.fetch_add(1, rl::mo_release, $);
    model_rcu->readers--;
}
static inline void fadi_rcu_synchronize(void *)
{
    model_rcu->begun.fetch_add(1, rl::mo_release, $);
    while (model_rcu->readers)
        rl::yield(1, $);
    model_rcu->left.fetch_add(0, rl::mo_acquire, $);
}

/* ---- sched/array.c; relacy sees the use of what has been freed ---- */

struct fadi_array *fadi_array_create(uint64_t slots)
{
    struct fadi_array *a = new fadi_array;
    a->mask = slots - 1;
    for (uint64_t i = 0; i < slots; i++)
        a->slot[i].store(NULL, rl::mo_relaxed, $);
    return a;
}

void fadi_array_free(struct fadi_array *a)
{
    delete a;
}

/* ---- sched/wait.c: a futex, which compares with the last value and returns for nothing but a wake-up ---- */

void fadi_wait(FAD_ATOMIC(uint32_t) * word, uint32_t value)
{
    if (word->fetch_add(0, rl::mo_relaxed, $) == value)
        word->wait(rl::ctx(), false, false, $);
}

void fadi_wake(FAD_ATOMIC(uint32_t) * word, bool all)
{
    rl::ctx().sched();
    word->wake(rl::ctx(), all ? 1000 : 1, $);
}

void fadi_back_off(unsigned, bool)
{
    rl::yield(1, $);
}

/* ---- sched/thread.c and pool.c ---- */

bool fadi_stack_left(void)
{
    return true;
}

uint64_t fadi_generation(void)
{
    return 0;
}

#include "sched/deque.c"
#include "sched/fail.c"
#include "sched/guest.c"
#include "sched/idle.c"
#include "sched/park.c"
#include "sched/worker.c"

/* ---- for harness.h ---- */
#define MODEL_VAR(type) rl::var<type>
#define VAR_GET(v) ((int)(v)($))
#define VAR_SET(v, x) ((v)($) = (x))
#define MODEL_ASSERT(condition) RL_ASSERT(condition)
#define MODEL_YIELD() rl::yield(1, $)
/* With the fence after the announcement's first step the look itself needs no order. */
#define MODEL_LOOK (model_way == MODEL_AFTER ? rl::mo_relaxed : rl::mo_seq_cst)

#include "stress/model/harness.h"

#endif
