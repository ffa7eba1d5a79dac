/** @file wait.h  Waiting: for a word to change, asleep, or for a while. */
#ifndef FADI_WAIT_H
#define FADI_WAIT_H

#include <pthread.h>

#include <foldad/base.h>

#include "sched/order.h"

/** Sleeps while *word == value, until woken; may return early. */
void fadi_wait(FAD_ATOMIC(uint32_t) * word, uint32_t value);
/** Wakes one who waits on the word, or all. The word has been changed before. */
void fadi_wake(FAD_ATOMIC(uint32_t) * word, bool all);
/** pthread_join, also where the system refuses to wait. */
void fadi_join_thread(pthread_t thread);
/** In the child of fork(): whoever held the mutex of the portable wait is gone. */
void fadi_wait_forked(void);

/** The round-th wait in a row for something that others are doing: from some cycles to a fifth of a millisecond, because
 * short tasks end soon and long ones must not cost a CPU. crowded: there are more threads than CPUs. */
void fadi_back_off(unsigned round, bool crowded);

#endif
