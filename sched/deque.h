/** @file deque.h  A worker's tasks: one array, public for thieves from top to bottom, private from bottom to tail.
 *
 * Algorithm: Chase and Lev, Dynamic Circular Work-Stealing Deque (SPAA 2005), in the C11 form of Le, Pop, Cohen and
 *   Nardelli (PPoPP 2013), with these deviations:
 *   - no fences: take stores bottom with a seq_cst exchange;
 *   - lazy publishing (as in van Dijk and van de Pol's split deque, 2014): bottom lags behind tail, and the owner takes
 *     what lies above bottom without atomics. fad_fork_publish moves bottom;
 *   - tasks live in their owner's frames, the slots hold pointers;
 *   - a full array does not block: the task stays hidden and its join runs it.
 * Indices are 64-bit, wrap around, and are compared by signed difference. top <= bottom <= tail for the owner, except
 *   inside take. top and bottom are never reset, also when a guest slot changes hands.
 * Linearisation: steal at its compare and swap [D9]; take of a task that is not the last public one at the exchange [D2],
 *   of the last one at the compare and swap [D4]; private push and pop are invisible to others.
 * Progress: owner wait-free except for growth (malloc); a thief fails only if another thief or the owner took the task.
 * Who writes: tail, limit, slot, mask: owner. bottom: owner. top: thieves and owner by compare and swap. array: owner.
 * Reclamation: a thief reads array and slot inside an RCU read section; a replaced array goes to the pool's retired list,
 *   and a worker that is about to sleep waits for a grace period and frees it. A slot read from a stale array, or one that
 *   is reused meanwhile, is thrown away because the compare and swap on top fails. */
#ifndef FADI_DEQUE_H
#define FADI_DEQUE_H

#include <foldad/pool.h>

#include "sched/order.h"

/* A checker's atomics need a number. */
#ifndef FADI_SLOT_BOUND
#define FADI_SLOT_BOUND
#endif

struct fadi_array {
    struct fadi_array *next; /* in the retired list */
    uint64_t mask;
    FAD_ATOMIC(fad_task *) slot[FADI_SLOT_BOUND];
};

struct fadi_array *fadi_array_create(uint64_t slots);
void fadi_array_free(struct fadi_array *a);
/** What a stress build leaves in the slots of a freed array. */
#define FADI_ARRAY_POISON ((fad_task *)(uintptr_t)0x5a5a5a5a5a5a5a5au)

/** Slots of a new deque, and the most it grows to. */
#define FADI_DEQUE_FIRST 64
#ifndef FADI_DEQUE_MOST
#define FADI_DEQUE_MOST (UINT64_C(1) << 16)
#endif

struct fadi_deque {
    struct fad_worker pub;                       /* first: what the inline functions see */
    FAD_ATOMIC(struct fadi_array *) array;       /* what pub.slot points into */
    FAD_ATOMIC(struct fadi_array *) * retired;   /* the pool's list of replaced arrays */
};

/** False: no memory. first is the first index (0, but for tests); slots a power of two. */
bool fadi_deque_init(struct fadi_deque *d, uint64_t first, uint64_t slots);
void fadi_deque_fini(struct fadi_deque *d);

/** Owner: makes room for one more task by taking note of what has been stolen, or by growing. False: stays full. */
bool fadi_deque_room(struct fadi_deque *d, uint64_t tail);
/** Owner: everything private becomes public; true if that was anything. Acts as a full barrier then. */
bool fadi_deque_publish(struct fadi_deque *d);
/** Owner: takes the youngest task, public or private; NULL: all are gone. */
fad_task *fadi_deque_take(struct fadi_deque *d);
/** Thief: takes the oldest public task, if awaited is NULL or still being run by that deque's owner.
 * NULL with *lost false: there was none; with *lost true: somebody else was faster, look again. */
fad_task *fadi_deque_steal(struct fadi_deque *victim, fad_task *awaited, bool *lost);
/** Any thread: are there public tasks? */
bool fadi_deque_visible(struct fadi_deque *d);

#endif
