/** @file pool.h  A pool of workers, and fork / reclaim / join on it.
 *
 *     static int left(fad_worker *w, void *arg);
 *     ...
 *     fad_task t;
 *     fad_fork(w, &t, left, &a);                      // may be stolen by another worker from here on
 *     right_half(w, &b);
 *     if (fad_reclaim(w, &t)) left_half(w, &a);       // nobody took it: a direct, typed, inlinable call
 *
 * Threads: a task is joined by the worker that forked it, inside the function that forked it. */
#ifndef FOLDAD_POOL_H
#define FOLDAD_POOL_H

#include <foldad/base.h>
#include <foldad/order.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct fad_pool fad_pool;     /**< opaque */
typedef struct fad_worker fad_worker; /**< one thread's place in a pool, for the length of a call */
typedef struct fad_task fad_task;     /**< caller's storage, usually on the stack */

/** The most workers that a pool can have. */
#define FAD_WORKERS_MAX 1024u
/** For fad_pool_options.spin_us: go to sleep at once. */
#define FAD_SPIN_NONE 0xffffffffu

/** All zero: the defaults. */
struct fad_pool_options {
    unsigned workers;     /**< threads that compute, the calling one included; 0: FAD_WORKERS from the environment, or
                               what the affinity mask and the cgroup's CPU quota allow */
    unsigned spin_us;     /**< how long an idle worker looks for work before it sleeps, in microseconds; 0: 50 */
    size_t stack_bytes;   /**< stack of each thread; 0: the system's default */
    uint64_t reserved[4]; /**< zero */
};

/** Makes a pool of workers - 1 sleeping threads; the caller of each fold is the remaining worker.
 * Ownership: the caller destroys it; options may be NULL
 * Threads:   any
 * Errors:    FAD_EINVAL (workers above FAD_WORKERS_MAX, FAD_WORKERS not a number from 1 to that, a stack smaller than
 *            the system allows, reserved not zero),
 *            FAD_ENOMEM. When threads cannot be started it goes on with those it has got: see fad_pool_workers */
FAD_API int fad_pool_create(fad_pool **pool, const struct fad_pool_options *options);

/** Ends the threads and frees the pool; NULL does nothing.
 * Errors:    FAD_EBUSY: a call on the pool has not returned yet, or this is called from inside one */
FAD_API int fad_pool_destroy(fad_pool *pool);

/** Workers the pool has got, the calling thread included; 1 for NULL. */
FAD_API unsigned fad_pool_workers(const fad_pool *pool);

/** Runs body(w, arg) on the calling thread with a worker to fork from; returns what body returns.
 * pool NULL: the same, and nothing that body forks is ever stolen.
 * Threads:   any number at once, and from inside callbacks of any pool; the caller works, it is never parked while it
 *            has tasks of its own
 * Numerics:  body and all tasks run with rounding to nearest and with subnormals
 * Cost:      about 50 ns
 * Errors:    body's code; FAD_EINVAL (NULL body), FAD_ESTACK, FAD_ENOMEM, FAD_EFORKED (the process forked inside: this is the child) */
FAD_API int fad_pool_run(fad_pool *pool, int (*body)(fad_worker *w, void *arg), void *arg);

/* ---- The rest of this header is the fast path. The fields are not for use by programs. ----
 *
 * A worker's tasks lie in one array. Places top .. bottom - 1 are public: thieves take from top. Places bottom .. tail - 1
 * are private: the owner puts them there and takes them back without any atomic operation, and makes them all public
 * when fewer public tasks are left than there are hungry workers, or none at all. */

/** index is the task's place in the deque, or that place + FAD_HIDDEN if it is not (or no longer) in it. */
struct fad_task {
    int (*fn)(fad_worker *w, void *arg);
    void *arg;
    uint64_t index;                 /* owner only */
    FAD_ATOMIC(fad_worker *) state; /* NULL, then the thief, then FAD_TASK_DONE */
    int status;                     /* fn's code, written before state becomes FAD_TASK_DONE */
};

/** What state becomes when somebody else has run the task. */
#define FAD_TASK_DONE ((fad_worker *)(uintptr_t)1)
/** Further ahead of tail than a deque will ever move. */
#define FAD_HIDDEN (UINT64_C(1) << 62)

/** The owner's words and the thieves' word lie 128 bytes apart (two lines: the prefetcher fetches pairs). */
struct fad_worker {
    uint64_t tail;                       /* owner only */
    uint64_t limit;                      /* owner only: at this index a fork has to ask for room */
    FAD_ATOMIC(fad_task *) * slot;       /* owner only: the slots of the current array */
    uint64_t mask;                       /* owner only: their number - 1 */
    const FAD_ATOMIC(uint32_t) * hungry; /* how many workers of the pool have nothing to do */
    FAD_ATOMIC(uint64_t) bottom;         /* owner writes, thieves read */
    unsigned char pad_owner[128 - 6 * 8];
    FAD_ATOMIC(uint64_t) top;            /* thieves and owner, by compare and swap */
    unsigned char pad_thieves[128 - 8];
};

/** Out-of-line halves of the inline functions below; not for use by programs. */
FAD_API bool fad_fork_room(fad_worker *w, uint64_t tail);
FAD_API void fad_fork_publish(fad_worker *w);
FAD_API bool fad_reclaim_slow(fad_worker *w, fad_task *t);

/** Lets other workers run fn(their w, arg) until it is reclaimed or joined.
 * Ownership: t and what arg points to must live until then
 * Threads:   w is the calling thread's worker. Of the tasks forked while everybody is busy only some can be seen by a
 *            worker that becomes idle; the others can from the next fork or reclaim on
 * Cost:      1 to 2 ns together with its reclaim; when it has to wake a worker some us, one wake-up at a time */
FAD_API inline void fad_fork(fad_worker *w, fad_task *t, int (*fn)(fad_worker *w, void *arg), void *arg)
{
    uint64_t i = w->tail;
    t->fn = fn;
    t->arg = arg;
    t->index = i;
    /* relaxed: no thief knows t before it is published */
    FAD_STORE(&t->state, (fad_worker *)0, FAD_RELAXED);
    if (__builtin_expect((int64_t)(i - w->limit) >= 0, 0) && !fad_fork_room(w, i)) {
        t->index = i + FAD_HIDDEN;
        return;
    }
    /* relaxed: published by fad_fork_publish */
    FAD_STORE(&w->slot[i & w->mask], t, FAD_RELAXED);
    w->tail = i + 1;
    /* relaxed, all three: bottom is this thread's own word, top and hungry only decide when to publish. An old value
     * delays that to the next fork; a worker that goes to sleep is woken by the publishing itself [P1]. */
    if (__builtin_expect((int64_t)(FAD_LOAD(&w->bottom, FAD_RELAXED) - FAD_LOAD(&w->top, FAD_RELAXED)) <=
                             (int64_t)FAD_LOAD(w->hungry, FAD_RELAXED), 0))
        fad_fork_publish(w);
}

/** True: nobody has run t and nobody will, so the caller does, directly. False: it has been run, t->status has fn's code.
 * While a thief runs it, the caller works on tasks that descend from t, and on no others.
 * Tasks may be joined in any order; last in, first out is the fast one. */
FAD_API inline bool fad_reclaim(fad_worker *w, fad_task *t)
{
    uint64_t i = t->index;
    /* relaxed: bottom is this thread's own word; at or above it no thief looks */
    if (__builtin_expect(w->tail != i + 1 || (int64_t)(i - FAD_LOAD(&w->bottom, FAD_RELAXED)) < 0, 0))
        return fad_reclaim_slow(w, t);
    w->tail = i;
    /* relaxed: as in fad_fork; what t's function will take long, others can begin with the rest meanwhile */
    if (__builtin_expect(FAD_LOAD(w->hungry, FAD_RELAXED) != 0, 0))
        fad_fork_publish(w);
    return true;
}

/** Makes sure that t has run, here or elsewhere; returns fn's code, or FAD_EFORKED (see fad_pool_run). */
FAD_API inline int fad_join(fad_worker *w, fad_task *t)
{
    return fad_reclaim(w, t) ? t->fn(w, t->arg) : t->status;
}

#ifdef __cplusplus
}
#endif
#endif
