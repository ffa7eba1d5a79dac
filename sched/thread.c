/* The threads of a pool, and what belongs to a thread: its workers and its stack. */
#include "sched/worker.h"

#include "common/fpenv.h"

static __thread struct fadi_frame *frames;

void fadi_frame_push(struct fadi_frame *f, struct fadi_worker *w)
{
    *f = (struct fadi_frame){w, frames};
    frames = f;
}

void fadi_frame_pop(struct fadi_frame *f)
{
    frames = f->below;
}

struct fadi_worker *fadi_worker_here(const struct fadi_core *core)
{
    for (struct fadi_frame *f = frames; f; f = f->below)
        if (f->worker->core == core)
            return f->worker;
    return NULL;
}

/* ---- stack ---- */

static __thread uintptr_t stack_low, stack_high;

/* Once a thread; the main thread's costs a look into /proc. Unknown bounds are 1, 1: never refused. */
static void stack_bounds(void)
{
    stack_low = stack_high = 1;
#ifdef __linux__
    pthread_attr_t attributes;
    void *low;
    size_t size;
    if (pthread_getattr_np(pthread_self(), &attributes))
        return;
    if (!pthread_attr_getstack(&attributes, &low, &size)) {
        stack_low = (uintptr_t)low;
        stack_high = (uintptr_t)low + size;
    }
    pthread_attr_destroy(&attributes);
#elif defined(__APPLE__)
    stack_high = (uintptr_t)pthread_get_stackaddr_np(pthread_self());
    stack_low = stack_high - pthread_get_stacksize_np(pthread_self());
#endif
}

bool fadi_stack_left(void)
{
    uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    if (!stack_high)
        stack_bounds();
    /* outside: a stack of the program's own making, of which nothing is known */
    return here < stack_low || here >= stack_high || here - stack_low >= FADI_STACK_RESERVE;
}

void *fadi_thread_main(void *arg)
{
    struct fadi_worker *w = arg;
    struct fadi_frame frame;
    fad_task *t;
    bool lost;
    (void)fadi_fp_enter();
    fadi_frame_push(&frame, w);
    while ((t = fadi_find_work(w)))
        do
            fadi_execute(w, t);
        while ((t = fadi_steal_any(w, &lost)));
    fadi_free_retired(w->core);
    return NULL;
}
