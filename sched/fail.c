/* The record of the lowest failing element of a fold. */
#include "sched/arch.h"
#include "sched/piece.h"

void fadi_fold_fail(struct fadi_fold *f, size_t index, int code, bool from_callback)
{
    while (FADI_EXCHANGE(&f->lock, 1, FADI_FAIL_LOCK)) { /* [F1] */
        if (f->core && f->core->generation != fadi_generation())
            return; /* who holds it stayed in the parent process; the call returns FAD_EFORKED whatever failed */
        fadi_pause();
    }
    if (index < FAD_LOAD(&f->failed, FAD_RELAXED)) { /* relaxed: under the lock */
        FAD_STORE(&f->failed, index, FAD_RELAXED);    /* relaxed: others only stop earlier by it */
        f->code = code;
        f->from_callback = from_callback;
    }
    FAD_STORE(&f->lock, 0, FADI_FAIL_UNLOCK); /* [F2] */
}
