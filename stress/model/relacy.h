/** @file relacy.h  The shipped sources under relacy's random schedules: its atomics in place of ours, and stand-ins for what
 * depends on the system. The sources are compiled as C++, unchanged.
 * Not modelled: processors that let a store pass a store of another address without saying so (relacy knows the C++11
 * orders, which cover that), time, and signals. */
#ifndef FADI_MODEL_RELACY_H
#define FADI_MODEL_RELACY_H

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

#include <relacy/relacy.hpp>

/* ---- include/foldad/order.h ---- */
#define FAD_ATOMIC(type) rl::atomic<type>
#define FAD_LOAD(p, order) (p)->load((order), $)
#define FAD_STORE(p, v, order) (p)->store((v), (order), $)
#define FAD_RELAXED rl::mo_relaxed
/* ---- sched/order.h ---- */
#define FADI_EXCHANGE(p, v, order) (p)->exchange((v), (order), $)
#define FADI_ADD(p, v, order) ((p)->fetch_add((v), (order), $) + (v))
#define FADI_CAS(p, expected, v, order) (p)->compare_exchange_strong(*(expected), (v), (order), $, rl::mo_relaxed, $)
#define FADI_ACQUIRE rl::mo_acquire
#define FADI_RELEASE rl::mo_release
#define FADI_SEQ_CST rl::mo_seq_cst
/* Orders that a run can weaken, to see that it notices: -w NAME in main.h. */
static rl::memory_order model_take_top = rl::mo_seq_cst, model_publish = rl::mo_seq_cst, model_done = rl::mo_release;
#define FADI_TAKE_TOP model_take_top
#define FADI_PUBLISH_BOTTOM model_publish
#define FADI_STATE_DONE model_done
/* ---- sched/deque.h ---- */
#define FADI_SLOT_BOUND 8
#define FADI_DEQUE_MOST 8

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

/* A grace period waits until no reader is inside; what a real one orders beyond that is what the counter orders here. */
static rl::atomic<int> *model_readers;

static inline void fadi_rcu_lock(void)
{
    model_readers->fetch_add(1, rl::mo_seq_cst, $);
}
static inline void fadi_rcu_unlock(void *)
{
    model_readers->fetch_add(-1, rl::mo_seq_cst, $);
}
static inline void fadi_rcu_synchronize(void *)
{
    while (model_readers->load(rl::mo_seq_cst, $))
        rl::yield(1, $);
}

/* ---- sched/array.c; a freed array is remembered, so that a use of it is seen ---- */

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

/* ---- sched/wait.c ---- */

struct model_lot {
    rl::mutex mutex;
    rl::condition_variable_any changed;
};
static struct model_lot *model_lot;

void fadi_wait(FAD_ATOMIC(uint32_t) * word, uint32_t value)
{
    model_lot->mutex.lock($);
    while (word->load(rl::mo_seq_cst, $) == value) /* no early returns: a lost wake-up must show as a deadlock */
        model_lot->changed.wait(model_lot->mutex, $);
    model_lot->mutex.unlock($);
}

void fadi_wake(FAD_ATOMIC(uint32_t) *, bool all)
{
    model_lot->mutex.lock($);
    if (all)
        model_lot->changed.notify_all($);
    else
        model_lot->changed.notify_one($);
    model_lot->mutex.unlock($);
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
#include "sched/idle.c"
#include "sched/park.c"
#include "sched/worker.c"

/* ---- what the harnesses share ---- */

/** A pool of `workers` workers without threads: the harness's threads play them. */
struct model_pool {
    struct fadi_core core;
    struct fadi_worker worker[3];
    rl::atomic<int> readers;
    struct model_lot lot;

    void init(unsigned workers, uint64_t slots, uint64_t first)
    {
        model_readers = &readers;
        model_lot = &lot;
        readers.store(0, rl::mo_relaxed, $);
        core.worker = worker;
        core.slots = core.cpus = workers;
        core.spin_ns = core.generation = 0;
        core.lot.hungry.store(0, rl::mo_relaxed, $);
        core.lot.asleep.store(0, rl::mo_relaxed, $);
        core.lot.searching.store(0, rl::mo_relaxed, $);
        core.lot.pending.store(0, rl::mo_relaxed, $);
        core.lot.epoch.store(0, rl::mo_relaxed, $);
        core.threads.store(workers - 1, rl::mo_relaxed, $);
        core.stop.store(0, rl::mo_relaxed, $);
        core.used.store(workers, rl::mo_relaxed, $);
        core.retired.store(NULL, rl::mo_relaxed, $);
        for (unsigned i = 0; i < workers; i++) {
            worker[i].core = &core;
            worker[i].random = i + 1;
            worker[i].deque.pub.hungry = &core.lot.hungry;
            worker[i].deque.retired = &core.retired;
            fadi_deque_init(&worker[i].deque, first, slots);
        }
    }

    void fini(unsigned workers)
    {
        fadi_free_retired(&core);
        for (unsigned i = 0; i < workers; i++)
            fadi_deque_fini(&worker[i].deque);
    }
};

#endif
