#include "sched/park.h"

#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#if defined(__linux__) && !defined(FADI_NO_FUTEX)
#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Every error (EAGAIN: the word has changed; EINTR; a filter's EPERM or ENOSYS) is an early return. */
static long futex(FAD_ATOMIC(uint32_t) * word, int op, uint32_t value)
{
    return syscall(SYS_futex, (void *)word, op, value, NULL, NULL, 0);
}
#else
#define FADI_WAIT_CONDITION 1
#endif

#include <errno.h>
#include <pthread.h>
#include <time.h>

/* The portable wait: one mutex and condition for the process. The word is changed before fadi_wake takes the mutex, so a
 * waiter either sees the new value or is inside pthread_cond_wait. Also where the futex call is forbidden. */
static pthread_mutex_t wait_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t wait_condition = PTHREAD_COND_INITIALIZER;

static void condition_wait(FAD_ATOMIC(uint32_t) * word, uint32_t value)
{
    pthread_mutex_lock(&wait_mutex);
    if (FAD_LOAD(word, FADI_EPOCH_READ) == value)
        pthread_cond_wait(&wait_condition, &wait_mutex);
    pthread_mutex_unlock(&wait_mutex);
}

static void condition_wake(void)
{
    pthread_mutex_lock(&wait_mutex);
    pthread_cond_broadcast(&wait_condition);
    pthread_mutex_unlock(&wait_mutex);
}

void fadi_wait_forked(void)
{
    wait_mutex = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    wait_condition = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
}

void fadi_wait(FAD_ATOMIC(uint32_t) * word, uint32_t value)
{
#ifndef FADI_WAIT_CONDITION
    if (futex(word, FUTEX_WAIT_PRIVATE, value) == 0 || (errno != ENOSYS && errno != EPERM))
        return;
#endif
    condition_wait(word, value);
}

void fadi_wake(FAD_ATOMIC(uint32_t) * word, bool all)
{
#ifndef FADI_WAIT_CONDITION
    if (futex(word, FUTEX_WAKE_PRIVATE, all ? INT_MAX : 1) >= 0)
        return;
#endif
    (void)word;
    (void)all;
    condition_wake();
}

uint32_t fadi_lot_announce(struct fadi_lot *lot)
{
    uint32_t epoch;
    FADI_ADD(&lot->asleep, 1, FADI_ASLEEP_ADD);   /* [P2] */
    epoch = FAD_LOAD(&lot->epoch, FADI_EPOCH_READ); /* [P6] */
    /* A wake-up meant for somebody who was not asleep any more would stay pending for ever. Who set it before this adds
     * to epoch after it, so either [P6] has seen that, and what he published is seen by the look that follows, or the
     * wait returns at once. seq_cst: in one order with the compare and swap in fadi_lot_wake. */
    FAD_STORE(&lot->pending, 0, FADI_SEQ_CST);
    return epoch;
}

void fadi_lot_wait(struct fadi_lot *lot, uint32_t epoch)
{
    fadi_wait(&lot->epoch, epoch);
}

void fadi_lot_leave(struct fadi_lot *lot)
{
    FADI_ADD(&lot->asleep, (uint32_t)-1, FADI_ASLEEP_ADD);
}

void fadi_lot_search(struct fadi_lot *lot)
{
    FADI_ADD(&lot->searching, 1, FADI_SEARCHING_ADD);
    /* The wake-up has arrived; from here on [P4] holds others back. seq_cst: after the line above for every publisher. */
    FAD_STORE(&lot->pending, 0, FADI_SEQ_CST);
}

uint32_t fadi_lot_found(struct fadi_lot *lot)
{
    return FADI_ADD(&lot->searching, (uint32_t)-1, FADI_SEARCHING_ADD); /* [P3] */
}

void fadi_lot_wake(struct fadi_lot *lot)
{
    uint32_t none = 0;
    if (FAD_LOAD(&lot->asleep, FADI_ASLEEP_READ) == 0 ||          /* [P1] */
        FAD_LOAD(&lot->searching, FADI_SEARCHING_READ) != 0 ||    /* [P4] */
        !FADI_CAS(&lot->pending, &none, 1, FADI_SEQ_CST))         /* one in flight */
        return;
    FADI_ADD(&lot->epoch, 1, FADI_EPOCH_ADD); /* [P5] */
    fadi_wake(&lot->epoch, false);
}

void fadi_lot_wake_all(struct fadi_lot *lot)
{
    FADI_ADD(&lot->epoch, 1, FADI_EPOCH_ADD);
    fadi_wake(&lot->epoch, true);
}
