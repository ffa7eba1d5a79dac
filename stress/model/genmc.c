/* One harness as plain C11, for GenMC: -DHARNESS=K, the K-th line of harness.h's list. The orders can be weakened with -D,
 * FADI_TAKE_TOP=memory_order_acquire.
 * With -DMODEL_NATIVE it is an ordinary program that runs each harness fifty times, for a look with a sanitizer. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

/* ---- include/foldad/order.h ---- */
#define FAD_ATOMIC(type) _Atomic(type)
#define FAD_LOAD(p, order) atomic_load_explicit((p), (order))
#define FAD_STORE(p, v, order) atomic_store_explicit((p), (v), (order))
#define FAD_RELAXED memory_order_relaxed
/* ---- sched/order.h ---- */
#define FADI_EXCHANGE(p, v, order) atomic_exchange_explicit((p), (v), (order))
#define FADI_ADD(p, v, order) (atomic_fetch_add_explicit((p), (v), (order)) + (v))
#define FADI_CAS(p, expected, v, order) \
    atomic_compare_exchange_strong_explicit((p), (expected), (v), (order), memory_order_relaxed)
#define FADI_ACQUIRE memory_order_acquire
#define FADI_RELEASE memory_order_release
#define FADI_SEQ_CST memory_order_seq_cst
/* ---- sched/deque.h, worker.h ---- */
#define FADI_DEQUE_MOST 8
#define FADI_GUESTS 2u

#include "sched/piece.h"
#include "sched/worker.h"

/* ---- sched/arch.h ---- */
#define FADI_ARCH_H
#ifdef MODEL_NATIVE
#include <sched.h>
#define MODEL_YIELD() sched_yield()
#else
#define MODEL_YIELD() ((void)0)
#define sched_yield() 0
#endif

static inline void fadi_pause(void)
{
    MODEL_YIELD();
}

static inline uint64_t fadi_now_ns(void)
{
    return 0;
}

/* A grace period waits until nobody reads. It orders one reader after another, which RCU does not. */
static atomic_int model_readers;

static inline void fadi_rcu_lock(void)
{
    atomic_fetch_add_explicit(&model_readers, 1, memory_order_acquire);
}
static inline void fadi_rcu_unlock(void *tag)
{
    (void)tag;
    atomic_fetch_add_explicit(&model_readers, -1, memory_order_release);
}
static inline void fadi_rcu_synchronize(void *tag)
{
    (void)tag;
    while (atomic_fetch_add_explicit(&model_readers, 0, memory_order_acq_rel))
        MODEL_YIELD();
}

/* ---- sched/array.c: GenMC knows no calloc ---- */

struct fadi_array *fadi_array_create(uint64_t slots)
{
    struct fadi_array *a = malloc(sizeof *a + slots * sizeof a->slot[0]);
    assert(a);
    a->mask = slots - 1;
    for (uint64_t i = 0; i < slots; i++)
        FAD_STORE(&a->slot[i], NULL, FAD_RELAXED);
    return a;
}

void fadi_array_free(struct fadi_array *a)
{
    free(a);
}

/* ---- sched/wait.c: asleep is a loop that does nothing, which GenMC takes for waiting ---- */

void fadi_wait(FAD_ATOMIC(uint32_t) * word, uint32_t value)
{
    while (FAD_LOAD(word, FAD_RELAXED) == value)
        MODEL_YIELD();
}

void fadi_wake(FAD_ATOMIC(uint32_t) * word, bool all)
{
    (void)word;
    (void)all;
}

void fadi_back_off(unsigned round, bool crowded)
{
    (void)round;
    (void)crowded;
    MODEL_YIELD();
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

#define MODEL_VAR(type) type
#define VAR_GET(v) (v)
#define VAR_SET(v, x) ((v) = (x))
#define MODEL_ASSERT(condition) assert(condition)
#define MODEL_LOOK memory_order_seq_cst
#include "stress/model/harness.h"

static struct model state;

static void *run(void *arg)
{
    harness->thread((unsigned)(uintptr_t)arg);
    return NULL;
}

static void check(const struct harness *h)
{
    pthread_t thread[MODEL_THREADS];
    m = &state;
    harness = h;
    h->before();
    for (unsigned i = 1; i < h->threads; i++)
        if (pthread_create(&thread[i], NULL, run, (void *)(uintptr_t)i))
            abort();
    run((void *)0);
    for (unsigned i = 1; i < h->threads; i++)
        pthread_join(thread[i], NULL);
    model_fini();
}

int main(void)
{
#ifdef MODEL_NATIVE
    for (unsigned k = 0; k < HARNESSES; k++)
        for (unsigned round = 0; round < 50; round++)
            check(&harnesses[k]);
#else
    check(&harnesses[HARNESS]);
#endif
    return 0;
}
