/** @file worker.h  Workers, the part of a pool that they share, and how a thread comes to have one. */
#ifndef FADI_WORKER_H
#define FADI_WORKER_H

#include <pthread.h>

#include "sched/deque.h"
#include "sched/park.h"
#include "sched/scratch.h"

struct fadi_core;

/** One deque and what goes with it. A thread of the pool keeps its own; a thread from outside takes a guest slot for the
 * length of its call. The memory stays what it is for as long as the pool lives, so that thieves may look at any time. */
struct fadi_worker {
    struct fadi_deque deque;   /* first: its pub is the fad_worker */
    struct fadi_core *core;    /* NULL: serial, no thieves */
    struct fadi_scratch scratch;
    uint64_t random;           /* owner: where to look for a victim first */
    FAD_ATOMIC(uint32_t) busy; /* guest slots: 1 while taken */
    unsigned char pad[128 - 16 - 3 * 8 - 8];
};

/** What a pool consists of; made afresh in the child of a fork. */
struct fadi_core {
    struct fadi_lot lot;
    struct fadi_worker *worker;                /* slots: the threads' first, then the guests' */
    FAD_ATOMIC(uint32_t) threads;              /* that have been started; read it by fadi_core_threads */
    unsigned slots, cpus;
    uint64_t spin_ns;
    uint64_t generation;                       /* of the process, see fadi_generation */
    pthread_t *thread;
    FAD_ATOMIC(uint32_t) stop;                 /* 1: the threads end */
    FAD_ATOMIC(uint32_t) slotless;             /* calls that found no guest slot and run serially */
    FAD_ATOMIC(uint32_t) used;                 /* slots that have ever been taken; thieves look no further */
    FAD_ATOMIC(struct fadi_array *) retired;   /* replaced arrays of all deques */
};

/** Guest slots of a pool; a call that finds none free runs serially. */
#ifndef FADI_GUESTS
#define FADI_GUESTS 64u
#endif
/** Stack that must be left to go one level deeper. */
#define FADI_STACK_RESERVE 32768u

/** How often this process has come out of fork() as the child. */
uint64_t fadi_generation(void);

/** A core with at most that many threads (fewer if they cannot be started), or NULL: no memory. */
struct fadi_core *fadi_core_create(unsigned threads, uint64_t spin_ns, size_t stack_bytes);
/** Ends the threads. Not in the child of a fork: there they do not exist, and the memory stays. */
void fadi_core_destroy(struct fadi_core *core);
/** Threads of the pool. */
static inline unsigned fadi_core_threads(const struct fadi_core *core)
{
    return FAD_LOAD(&core->threads, FAD_RELAXED); /* relaxed: changes only while the first threads look for work */
}

/** A guest slot for the calling thread, NULL: all are taken. */
struct fadi_worker *fadi_guest_take(struct fadi_core *core);
/** The slot's deque is empty by now. */
void fadi_guest_give(struct fadi_worker *w);
/** Is any call inside, with a guest slot or without? */
bool fadi_core_busy(struct fadi_core *core);

/** Runs fn with a worker of the pool: the thread's own if it has one, else a guest slot, else (no slot, or NULL) serially.
 * Sets the floating-point mode. Returns fn's code, FAD_ESTACK or FAD_EFORKED. */
int fadi_with_worker(fad_pool *pool, int (*fn)(struct fadi_worker *w, void *arg), void *arg);

/** Publishes all private tasks and wakes a sleeper. */
void fadi_publish(struct fadi_worker *w);
/** Does the pool have workers with nothing to do? (a hint) */
bool fadi_hungry(const struct fadi_worker *w);
/** Is any of them awake? (a hint) */
bool fadi_anyone_awake(const struct fadi_worker *w);

/* The rest is between worker.c, idle.c, thread.c, guest.c and pool.c. */

/** Runs a stolen task. */
void fadi_execute(struct fadi_worker *w, fad_task *t);
/** True if the thread's stack has FADI_STACK_RESERVE left. */
bool fadi_stack_left(void);
/** Tasks visible in any deque? */
bool fadi_core_visible(struct fadi_core *core);
/** Takes a task from somebody; *lost as in fadi_deque_steal. */
fad_task *fadi_steal_any(struct fadi_worker *w, bool *lost);
/** Searches and sleeps until there is something to do; NULL: the pool ends. */
fad_task *fadi_find_work(struct fadi_worker *w);
/** Frees replaced arrays, after a grace period. */
void fadi_free_retired(struct fadi_core *core);
/** Main function of a thread of the pool; arg is its struct fadi_worker. */
void *fadi_thread_main(void *arg);
/** The current thread's worker for this core, or NULL. */
struct fadi_worker *fadi_worker_here(const struct fadi_core *core);

/** A thread's workers, innermost call first. */
struct fadi_frame {
    struct fadi_worker *worker;
    struct fadi_frame *below;
};
void fadi_frame_push(struct fadi_frame *f, struct fadi_worker *w);
void fadi_frame_pop(struct fadi_frame *f);

#endif
