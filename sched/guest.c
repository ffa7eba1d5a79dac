/* Guest slots: the places of threads from outside, each taken for the length of a call. */
#include "sched/worker.h"

#include "common/point.h"

static __thread unsigned last_guest;

/* Counts the slot among those that thieves look at, before anything is published in it. */
static void note_used(struct fadi_core *core, uint32_t slots)
{
    uint32_t used = FAD_LOAD(&core->used, FADI_USED_SEEN); /* [S3] */
    while (used < slots && !FADI_CAS(&core->used, &used, slots, FADI_USED_ADD)) /* [S1] */
        ;
}

struct fadi_worker *fadi_guest_take(struct fadi_core *core)
{
    for (unsigned i = 0; i < FADI_GUESTS; i++) {
        unsigned at = core->slots - FADI_GUESTS + (last_guest + i) % FADI_GUESTS;
        struct fadi_worker *w = &core->worker[at];
        uint32_t free_slot = 0;
        /* relaxed: only whether to try */
        if (FAD_LOAD(&w->busy, FAD_RELAXED))
            continue;
        FADI_POINT(guest_seen);
        if (FADI_CAS(&w->busy, &free_slot, 1, FADI_GUEST_TAKE)) { /* [G1] */
            last_guest = (last_guest + i) % FADI_GUESTS;
            FADI_POINT(guest_taken);
            note_used(core, at + 1);
            return w;
        }
    }
    return NULL;
}

void fadi_guest_give(struct fadi_worker *w)
{
    FADI_POINT(guest_returning);
    FAD_STORE(&w->busy, 0, FADI_GUEST_GIVE); /* [G2] */
}

bool fadi_core_busy(struct fadi_core *core)
{
    for (unsigned i = 0; i < core->slots; i++)
        if (FAD_LOAD(&core->worker[i].busy, FADI_GUEST_READ)) /* [G3] */
            return true;
    return FAD_LOAD(&core->slotless, FADI_GUEST_READ) != 0; /* [G3] */
}
