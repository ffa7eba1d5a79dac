#include "sched/park.h"

#include "common/point.h"
#include "sched/wait.h"

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
    FADI_POINT(wake_decided);
    FADI_ADD(&lot->epoch, 1, FADI_EPOCH_ADD); /* [P5] */
    fadi_wake(&lot->epoch, false);
}

void fadi_lot_wake_all(struct fadi_lot *lot)
{
    FADI_ADD(&lot->epoch, 1, FADI_EPOCH_ADD);
    fadi_wake(&lot->epoch, true);
}
