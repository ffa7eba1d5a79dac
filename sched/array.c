#include <stdlib.h>

#include "sched/deque.h"

/* Zeroed: after growth a thief may read a slot that was never copied (and then fail). */
struct fadi_array *fadi_array_create(uint64_t slots)
{
    struct fadi_array *a = calloc(1, sizeof *a + slots * sizeof a->slot[0]);
    if (a)
        a->mask = slots - 1;
    return a;
}

void fadi_array_free(struct fadi_array *a)
{
#ifdef FAD_STRESS_POINTS
    /* a thief that still reads here shall not find a task that looks right */
    for (uint64_t i = 0; a && i <= a->mask; i++)
        a->slot[i] = FADI_ARRAY_POISON;
#endif
    free(a);
}
