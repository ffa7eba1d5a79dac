/* The owner's side: the out-of-line halves of fork and reclaim, and waiting in a join. */
#include "sched/worker.h"

#include "common/point.h"
#include "sched/wait.h"

extern inline void fad_fork(fad_worker *w, fad_task *t, int (*fn)(fad_worker *w, void *arg), void *arg);
extern inline bool fad_reclaim(fad_worker *w, fad_task *t);
extern inline int fad_join(fad_worker *w, fad_task *t);

static struct fadi_worker *worker_of(fad_worker *pub)
{
    return (struct fadi_worker *)pub;
}

bool fad_fork_room(fad_worker *pub, uint64_t tail)
{
    struct fadi_worker *w = worker_of(pub);
    return w->core && fadi_deque_room(&w->deque, tail);
}

void fadi_publish(struct fadi_worker *w)
{
    if (w->core && fadi_deque_publish(&w->deque)) {
        FADI_POINT(publish_bottom);
        fadi_lot_wake(&w->core->lot);
    }
}

void fad_fork_publish(fad_worker *pub)
{
    fadi_publish(worker_of(pub));
}

bool fadi_hungry(const struct fadi_worker *w)
{
    return FAD_LOAD(w->deque.pub.hungry, FAD_RELAXED) != 0; /* relaxed: a hint */
}

bool fadi_anyone_awake(const struct fadi_worker *w)
{
    /* relaxed, both: a hint */
    return w->core && FAD_LOAD(&w->core->lot.hungry, FAD_RELAXED) > FAD_LOAD(&w->core->lot.asleep, FAD_RELAXED);
}

void fadi_execute(struct fadi_worker *w, fad_task *t)
{
    FAD_STORE(&t->state, &w->deque.pub, FADI_STATE_THIEF); /* [J1] */
    t->status = t->fn(&w->deque.pub, t->arg);
    FADI_POINT(task_done);
    FAD_STORE(&t->state, FAD_TASK_DONE, FADI_STATE_DONE); /* [J2] */
}

/* Waits until a thief has finished t, and meanwhile works for him: leapfrogging (Wagner and Calder, PPoPP 1993). What lies
 * in his deque while he runs t descends from t, because his deque was empty when he took it: a worker steals only then. */
static void help(struct fadi_worker *w, fad_task *t)
{
    unsigned round = 0;
    bool hungry = false, lost;
    FAD_ATOMIC(uint32_t) *count = &w->core->lot.hungry;
    for (;;) {
        fad_worker *thief = FAD_LOAD(&t->state, FADI_STATE_WAIT); /* [J3] */
        fad_task *x = NULL;
        if (thief == FAD_TASK_DONE)
            break;
        if (w->core->generation != fadi_generation()) { /* the thief stayed in the parent process */
            t->status = FAD_EFORKED;
            break;
        }
        FADI_POINT(join_state);
        if (thief && fadi_stack_left())
            x = fadi_deque_steal(&worker_of(thief)->deque, t, &lost);
        if (hungry == (x != NULL)) {
            FADI_ADD(count, x ? (uint32_t)-1 : 1u, FAD_RELAXED); /* relaxed: a hint for those who may publish */
            hungry = !x;
        }
        if (x) {
            fadi_execute(w, x);
            round = 0;
        } else {
            fadi_back_off(round++, fadi_core_threads(w->core) + 1 > w->core->cpus);
        }
    }
    if (hungry)
        FADI_ADD(count, (uint32_t)-1, FAD_RELAXED); /* relaxed: as above */
}

bool fad_reclaim_slow(fad_worker *pub, fad_task *t)
{
    struct fadi_worker *w = worker_of(pub);
    fad_task *y;
    /* relaxed: if it was hidden at the fork nobody else has seen it, and if it was run below it was by this thread */
    if (t->index - pub->tail > FAD_HIDDEN / 2 && (int64_t)(t->index - pub->tail) > 0)
        return FAD_LOAD(&t->state, FAD_RELAXED) != FAD_TASK_DONE;
    /* Younger tasks are in the way: they are run first. Afterwards the deque is empty, whoever took t, so that what this
     * worker steals while it waits is alone in there. */
    while ((y = fadi_deque_take(&w->deque)) && y != t) {
        y->index += FAD_HIDDEN;
        y->status = y->fn(pub, y->arg);
        FAD_STORE(&y->state, FAD_TASK_DONE, FAD_RELAXED); /* relaxed: read by this thread only */
    }
    if (y == t)
        return true;
    help(w, t);
    return false;
}
