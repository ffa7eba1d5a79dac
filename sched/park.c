#include "sched/park.h"

#include "common/point.h"
#include "sched/wait.h"

uint32_t fadi_lot_announce(struct fadi_lot *lot)
{
    uint32_t epoch;
    FADI_ADD(&lot->asleep, 1, FADI_ASLEEP_ADD);     /* [P2] */
    epoch = FAD_LOAD(&lot->epoch, FADI_EPOCH_READ); /* [P6] */
    /* [P8] A wake-up meant for somebody who was not asleep any more would stay pending for ever. */
    (void)FADI_EXCHANGE(&lot->pending, 0, FADI_PENDING_CLEAR);
    return epoch;
}

void fadi_lot_wait(struct fadi_lot *lot, uint32_t epoch)
{
    fadi_wait(&lot->epoch, epoch);
}

void fadi_lot_leave(struct fadi_lot *lot)
{
    FADI_ADD(&lot->asleep, (uint32_t)-1, FAD_RELAXED); /* relaxed: seen late it costs a wake-up for nothing */
}

void fadi_lot_search(struct fadi_lot *lot)
{
    FADI_ADD(&lot->searching, 1, FAD_RELAXED); /* relaxed: seen late it costs a wake-up for nothing */
    /* The wake-up has arrived; from here on [P4] holds others back. Relaxed: who still finds it pending has read
     * searching [P4] before [P3] of this search, or of one that overlaps and ends later, and the look that follows sees
     * what he published. */
    FAD_STORE(&lot->pending, 0, FAD_RELAXED);
}

uint32_t fadi_lot_found(struct fadi_lot *lot)
{
    return FADI_ADD(&lot->searching, (uint32_t)-1, FADI_SEARCHING_END); /* [P3] */
}

void fadi_lot_wake(struct fadi_lot *lot)
{
    if (FAD_LOAD(&lot->asleep, FADI_ASLEEP_READ) == 0 ||       /* [P1] */
        FAD_LOAD(&lot->searching, FADI_SEARCHING_READ) != 0 || /* [P4] */
        FADI_EXCHANGE(&lot->pending, 1, FADI_PENDING_SET))     /* [P7] one is in flight */
        return;
    FADI_POINT(wake_decided);
    FADI_ADD(&lot->epoch, 1, FADI_EPOCH_ADD); /* [P5] */
    fadi_wake(&lot->epoch, false);
}

void fadi_lot_wake_all(struct fadi_lot *lot)
{
    FADI_ADD(&lot->epoch, 1, FADI_EPOCH_ADD); /* [P5] */
    fadi_wake(&lot->epoch, true);
}
