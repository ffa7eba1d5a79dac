/* Making and ending what a pool consists of. */
#include "sched/worker.h"

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sched/arch.h"
#include "sched/cpus.h"
#include "sched/wait.h"

_Static_assert(sizeof(struct fad_worker) == 256, "the public half of a worker is two pairs of lines");
_Static_assert(sizeof(struct fadi_worker) % 128 == 0, "workers lie on lines of their own");

static bool slots_init(struct fadi_core *core)
{
    for (unsigned i = 0; i < core->slots; i++) {
        struct fadi_worker *w = &core->worker[i];
        w->core = core;
        w->random = 0x9e3779b97f4a7c15u * (i + 1);
        w->deque.pub.hungry = &core->lot.hungry;
        w->deque.retired = &core->retired;
        if (!fadi_deque_init(&w->deque, 0, FADI_DEQUE_FIRST))
            return false;
    }
    return true;
}

static void *aligned_zeroed(size_t size)
{
    void *p;
    size = (size + 127) / 128 * 128;
    p = aligned_alloc(128, size);
    return p ? memset(p, 0, size) : NULL;
}

static void core_free(struct fadi_core *core)
{
    for (unsigned i = 0; core->worker && i < core->slots; i++) {
        fadi_deque_fini(&core->worker[i].deque);
        fadi_scratch_fini(&core->worker[i].scratch);
    }
    while (core->retired) { /* no thread is left */
        struct fadi_array *next = core->retired->next;
        fadi_array_free(core->retired);
        core->retired = next;
    }
    free(core->thread);
    free(core->worker);
    free(core);
}

/* Threads leave all signals to the program's own. As many as can be had. */
static void start_threads(struct fadi_core *core, unsigned threads, size_t stack_bytes)
{
    pthread_attr_t attributes;
    sigset_t all, old;
    if (pthread_attr_init(&attributes))
        return;
    if (stack_bytes && pthread_attr_setstacksize(&attributes, stack_bytes))
        threads = 0; /* with other stacks than were asked for, calls would fail later */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    for (unsigned i = 0; i < threads; i++) {
        if (pthread_create(&core->thread[i], &attributes, fadi_thread_main, &core->worker[i]))
            break;
        FAD_STORE(&core->threads, i + 1, FAD_RELAXED); /* relaxed: a number for rough decisions */
    }
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    pthread_attr_destroy(&attributes);
}

struct fadi_core *fadi_core_create(unsigned threads, uint64_t spin_ns, size_t stack_bytes)
{
    struct fadi_core *core = aligned_zeroed(sizeof *core);
    if (!core)
        return NULL;
    core->slots = threads + FADI_GUESTS;
    core->spin_ns = spin_ns;
    core->cpus = fadi_cpus_allowed();
    core->generation = fadi_generation();
    core->used = threads;
    core->worker = aligned_zeroed(core->slots * sizeof *core->worker);
    core->thread = calloc(threads ? threads : 1, sizeof *core->thread);
    if (!core->worker || !core->thread || !slots_init(core)) {
        core_free(core);
        return NULL;
    }
    start_threads(core, threads, stack_bytes);
    return core;
}

void fadi_core_destroy(struct fadi_core *core)
{
    FAD_STORE(&core->stop, 1, FAD_RELAXED); /* relaxed: [P5] releases it */
    fadi_lot_wake_all(&core->lot);
    for (unsigned i = 0; i < fadi_core_threads(core); i++)
        fadi_join_thread(core->thread[i]);
    core_free(core);
}
