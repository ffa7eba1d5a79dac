/** @file park.h  Where workers sleep, and who wakes them.
 *
 * A publisher makes tasks public, which is a full barrier [D1], then reads asleep [P1]; a sleeper adds itself to asleep
 * [P2], then looks at every deque again. So one of the two sees the other. At most one wake-up is in flight (pending), and
 * none is sent while somebody searches [P4]: who has searched looks at every deque again after he stopped [P3], before he
 * sleeps or starts to work, and passes the wake-up on.
 * Who writes: every worker; the words lie on lines of their own. */
#ifndef FADI_PARK_H
#define FADI_PARK_H

#include <foldad/pool.h>

#include "sched/order.h"

struct fadi_lot {
    FAD_ATOMIC(uint32_t) hungry;    /* workers with nothing to do: searching, asleep, or waiting in a join */
    unsigned char pad0[124];
    FAD_ATOMIC(uint32_t) asleep;    /* announced or asleep */
    FAD_ATOMIC(uint32_t) searching; /* awake and looking for work */
    FAD_ATOMIC(uint32_t) pending;   /* 1: a wake-up is under way */
    FAD_ATOMIC(uint32_t) epoch;     /* goes up with every wake-up; what sleepers wait on */
    unsigned char pad1[112];
};

/** Announces a sleeper; what it returns goes to fadi_lot_wait. A look at every deque belongs between the two. */
uint32_t fadi_lot_announce(struct fadi_lot *lot);
/** Sleeps until a wake-up that came after the announcement; may return early. */
void fadi_lot_wait(struct fadi_lot *lot, uint32_t epoch);
/** The sleeper, or who only announced, is back. */
void fadi_lot_leave(struct fadi_lot *lot);

/** Begins and ends searching; end returns how many go on. */
void fadi_lot_search(struct fadi_lot *lot);
uint32_t fadi_lot_found(struct fadi_lot *lot);

/** After publishing: wakes one sleeper if there is one and nobody searches. */
void fadi_lot_wake(struct fadi_lot *lot);
/** Everybody, unconditionally (the pool ends). */
void fadi_lot_wake_all(struct fadi_lot *lot);

#endif
