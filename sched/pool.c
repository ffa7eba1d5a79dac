/* The public calls on pools, entering a pool from a thread, and fork(). */
#include "sched/worker.h"

#include <stdlib.h>

#include "common/fpenv.h"
#include "sched/arch.h"
#include "sched/cpus.h"
#include "sched/wait.h"

struct fad_pool {
    FAD_ATOMIC(struct fadi_core *) core; /* replaced in the child of a fork */
    unsigned workers;                    /* what was asked for */
    uint64_t spin_ns;
    size_t stack_bytes;
};

#define SPIN_DEFAULT_US 50u

/* ---- fork() ---- */

static FAD_ATOMIC(uint64_t) generation;
/* Held while a core is made and across fork(), so that the child never sees one half made. */
static pthread_mutex_t making = PTHREAD_MUTEX_INITIALIZER;

uint64_t fadi_generation(void)
{
    return FAD_LOAD(&generation, FAD_RELAXED); /* relaxed: changes only while the process has one thread */
}

static void before_fork(void)
{
    pthread_mutex_lock(&making);
    urcu_bp_before_fork();
}

static void after_fork_parent(void)
{
    urcu_bp_after_fork_parent();
    pthread_mutex_unlock(&making);
}

static void after_fork_child(void)
{
    FAD_STORE(&generation, fadi_generation() + 1, FAD_RELAXED); /* relaxed: the only thread */
    urcu_bp_after_fork_child();
    fadi_wait_forked();
    pthread_mutex_unlock(&making);
}

/* Under the mutex, and not by pthread_once: glibc's makes a futex call, and aborts where that is refused. */
static bool install_handlers(void)
{
    static bool installed;
    if (!installed)
        installed = pthread_atfork(before_fork, after_fork_parent, after_fork_child) == 0;
    return installed;
}

/* The pool's core; in a child made afresh, where the old one stays unused: threads of the parent left it in any state.
 * NULL: no memory, the call runs serially. */
static struct fadi_core *current_core(fad_pool *pool)
{
    struct fadi_core *core = FAD_LOAD(&pool->core, FADI_CORE_READ); /* [C1] */
    if (core->generation == fadi_generation())
        return core;
    pthread_mutex_lock(&making);
    core = FAD_LOAD(&pool->core, FAD_RELAXED); /* relaxed: under the mutex */
    if (core->generation != fadi_generation()) {
        core = fadi_core_create(pool->workers - 1, pool->spin_ns, pool->stack_bytes);
        if (core)
            FAD_STORE(&pool->core, core, FADI_CORE_STORE); /* [C2] */
    }
    pthread_mutex_unlock(&making);
    return core;
}

/* ---- entering ---- */

static int run_serial(int (*fn)(struct fadi_worker *w, void *arg), void *arg)
{
    static const FAD_ATOMIC(uint32_t) nobody = 0;
    struct fadi_worker w = {.deque = {.pub = {.hungry = &nobody}}};
    int rc = fn(&w, arg);
    fadi_scratch_fini(&w.scratch);
    return rc;
}

/* All slots are taken. The call is counted all the same, so that the pool is not destroyed under it. */
static int run_slotless(struct fadi_core *core, int (*fn)(struct fadi_worker *w, void *arg), void *arg)
{
    int rc;
    FADI_ADD(&core->slotless, 1, FAD_RELAXED); /* relaxed: a call that races with destroy is the caller's error */
    rc = run_serial(fn, arg);
    FADI_ADD(&core->slotless, (uint32_t)-1, FADI_GUEST_GIVE); /* [G2] */
    return rc;
}

static int run_guest(struct fadi_worker *w, int (*fn)(struct fadi_worker *w, void *arg), void *arg)
{
    struct fadi_frame frame;
    int rc;
    fadi_frame_push(&frame, w);
    rc = fn(w, arg);
    fadi_frame_pop(&frame);
    fadi_guest_give(w);
    return rc;
}

int fadi_with_worker(fad_pool *pool, int (*fn)(struct fadi_worker *w, void *arg), void *arg)
{
    struct fadi_core *core = pool ? current_core(pool) : NULL;
    struct fadi_worker *w = core ? fadi_worker_here(core) : NULL;
    uint64_t before = fadi_generation();
    struct fadi_fp fp;
    int rc;
    if (!fadi_stack_left())
        return FAD_ESTACK;
    fp = fadi_fp_enter();
    if (w)
        rc = fn(w, arg);
    else if (core && (w = fadi_guest_take(core)))
        rc = run_guest(w, fn, arg);
    else
        rc = core ? run_slotless(core, fn, arg) : run_serial(fn, arg);
    fadi_fp_leave(fp);
    return pool && before != fadi_generation() ? FAD_EFORKED : rc;
}

/* ---- the public calls ---- */

static bool options_valid(const struct fad_pool_options *o)
{
    for (size_t i = 0; i < sizeof o->reserved / sizeof o->reserved[0]; i++)
        if (o->reserved[i])
            return false;
    return o->workers <= FAD_WORKERS_MAX && (o->stack_bytes == 0 || fadi_stack_size_valid(o->stack_bytes));
}

int fad_pool_create(fad_pool **pool, const struct fad_pool_options *options)
{
    static const struct fad_pool_options defaults;
    const struct fad_pool_options *o = options ? options : &defaults;
    unsigned spin = o->spin_us == FAD_SPIN_NONE ? 0 : o->spin_us ? o->spin_us : SPIN_DEFAULT_US;
    unsigned workers;
    fad_pool *p;
    if (!pool || !options_valid(o) || !(workers = o->workers ? o->workers : fadi_default_workers()))
        return FAD_EINVAL;
    if (!(p = malloc(sizeof *p)))
        return FAD_ENOMEM;
    *p = (fad_pool){NULL, workers, spin * UINT64_C(1000), o->stack_bytes};
    pthread_mutex_lock(&making);
    if (install_handlers())
        p->core = fadi_core_create(workers - 1, p->spin_ns, p->stack_bytes);
    pthread_mutex_unlock(&making);
    if (!p->core) {
        free(p);
        return FAD_ENOMEM;
    }
    *pool = p;
    return FAD_OK;
}

int fad_pool_destroy(fad_pool *pool)
{
    struct fadi_core *core;
    if (!pool)
        return FAD_OK;
    core = FAD_LOAD(&pool->core, FADI_CORE_READ); /* [C1] */
    if (core->generation == fadi_generation()) {
        if (fadi_core_busy(core))
            return FAD_EBUSY;
        fadi_core_destroy(core);
    }
    free(pool);
    return FAD_OK;
}

unsigned fad_pool_workers(const fad_pool *pool)
{
    struct fadi_core *core = pool ? current_core((fad_pool *)pool) : NULL;
    return core ? fadi_core_threads(core) + 1 : 1;
}

struct body {
    int (*fn)(fad_worker *w, void *arg);
    void *arg;
};

static int run_body(struct fadi_worker *w, void *arg)
{
    const struct body *b = arg;
    return b->fn(&w->deque.pub, b->arg);
}

int fad_pool_run(fad_pool *pool, int (*body)(fad_worker *w, void *arg), void *arg)
{
    struct body b = {body, arg};
    return body ? fadi_with_worker(pool, run_body, &b) : FAD_EINVAL;
}
