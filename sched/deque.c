#include "sched/deque.h"

#include "common/point.h"
#include "sched/arch.h"

bool fadi_deque_init(struct fadi_deque *d, uint64_t first, uint64_t slots)
{
    struct fadi_array *a = fadi_array_create(slots);
    if (!a)
        return false;
    d->pub.tail = first;
    d->pub.limit = first + slots;
    d->pub.slot = a->slot;
    d->pub.mask = a->mask;
    /* relaxed, all three: nobody else knows the deque yet */
    FAD_STORE(&d->pub.bottom, first, FAD_RELAXED);
    FAD_STORE(&d->pub.top, first, FAD_RELAXED);
    FAD_STORE(&d->array, a, FAD_RELAXED);
    return true;
}

void fadi_deque_fini(struct fadi_deque *d)
{
    /* relaxed: the threads that used it have been joined */
    fadi_array_free(FAD_LOAD(&d->array, FAD_RELAXED));
}

/* Treiber push; the list is only ever taken as a whole. */
static void retire(struct fadi_deque *d, struct fadi_array *a)
{
    struct fadi_array *head = FAD_LOAD(d->retired, FAD_RELAXED); /* relaxed: only compared */
    do
        a->next = head;
    while (!FADI_CAS(d->retired, &head, a, FADI_RETIRE_PUSH)); /* [D14] */
}

static bool grow(struct fadi_deque *d, uint64_t top, uint64_t tail)
{
    struct fadi_array *old = FAD_LOAD(&d->array, FAD_RELAXED), *a; /* relaxed: own word */
    uint64_t slots = 2 * (old->mask + 1);
    if (slots > FADI_DEQUE_MOST || !(a = fadi_array_create(slots)))
        return false;
    for (uint64_t i = top; i != tail; i++) {
        /* relaxed, both: own slots; visible to thieves through [D10] */
        fad_task *t = FAD_LOAD(&old->slot[i & old->mask], FAD_RELAXED);
        FAD_STORE(&a->slot[i & a->mask], t, FAD_RELAXED);
    }
    FADI_POINT(grow_copied);
    FAD_STORE(&d->array, a, FADI_GROW_ARRAY); /* [D10] */
    d->pub.slot = a->slot;
    d->pub.mask = a->mask;
    d->pub.limit = top + slots;
    FADI_POINT(grow_published);
    retire(d, old);
    return true;
}

bool fadi_deque_room(struct fadi_deque *d, uint64_t tail)
{
    uint64_t top = FAD_LOAD(&d->pub.top, FADI_GROW_TOP); /* [D12] */
    if (tail - top <= d->pub.mask) {
        d->pub.limit = top + d->pub.mask + 1;
        return true;
    }
    return grow(d, top, tail);
}

bool fadi_deque_publish(struct fadi_deque *d)
{
    if (FAD_LOAD(&d->pub.bottom, FAD_RELAXED) == d->pub.tail) /* relaxed: own word */
        return false;
    (void)FADI_EXCHANGE(&d->pub.bottom, d->pub.tail, FADI_PUBLISH_BOTTOM); /* [D1] */
    return true;
}

fad_task *fadi_deque_take(struct fadi_deque *d)
{
    uint64_t i = d->pub.tail - 1, top;
    /* relaxed: own word */
    if ((int64_t)(i - FAD_LOAD(&d->pub.bottom, FAD_RELAXED)) >= 0) {
        d->pub.tail = i;
        return FAD_LOAD(&d->pub.slot[i & d->pub.mask], FAD_RELAXED); /* relaxed: own slot */
    }
    (void)FADI_EXCHANGE(&d->pub.bottom, i, FADI_TAKE_BOTTOM); /* [D2] */
    FADI_POINT(take_bottom);
    top = FAD_LOAD(&d->pub.top, FADI_TAKE_TOP);               /* [D3] */
    if ((int64_t)(i - top) > 0) {
        d->pub.tail = i;
        return FAD_LOAD(&d->pub.slot[i & d->pub.mask], FAD_RELAXED); /* relaxed: own slot */
    }
    FADI_POINT(take_top);
    /* The last one, or none. Either way top ends up at i + 1: it was no further, because bottom and tail were i + 1. A
     * lower bottom would give the task out twice. */
    bool won = top == i && FADI_CAS(&d->pub.top, &top, i + 1, FADI_TAKE_CAS); /* [D4] */
    d->pub.tail = i + 1;
    FADI_POINT(take_restore);
    /* [D11] relaxed: a thief that reads it finds nothing to take, unless his top is older; then his [D9] fails */
    FAD_STORE(&d->pub.bottom, i + 1, FAD_RELAXED);
    return won ? FAD_LOAD(&d->pub.slot[i & d->pub.mask], FAD_RELAXED) : NULL; /* relaxed: own slot */
}

bool fadi_deque_visible(struct fadi_deque *d)
{
    uint64_t top = FAD_LOAD(&d->pub.top, FAD_RELAXED); /* relaxed: an old one is lower, and costs one more search */
    return (int64_t)(FAD_LOAD(&d->pub.bottom, FADI_LOOK_BOTTOM) - top) > 0; /* [D13] */
}

fad_task *fadi_deque_steal(struct fadi_deque *victim, fad_task *awaited, bool *lost)
{
    struct fadi_array *a;
    fad_task *t;
    uint64_t top = FAD_LOAD(&victim->pub.top, FADI_STEAL_TOP); /* [D5] */
    *lost = false;
    FADI_POINT(steal_top);
    if ((int64_t)(FAD_LOAD(&victim->pub.bottom, FADI_STEAL_BOTTOM) - top) <= 0) /* [D6] */
        return NULL;
    fadi_rcu_lock();
    a = FAD_LOAD(&victim->array, FADI_STEAL_ARRAY); /* [D7] */
    FADI_POINT(steal_array);
    /* [D8] relaxed: written before [D1], which [D6] has acquired; a value that is overwritten meanwhile is dropped below */
    t = FAD_LOAD(&a->slot[top & a->mask], FAD_RELAXED);
    fadi_rcu_unlock(victim->retired);
    FADI_POINT(steal_slot);
    /* [J4] Bottom was read before: if the awaited task is still being run, what lies at top descends from it. Relaxed: had
     * it been finished [J2] before what lies there was published [D1], then [D6] has acquired that. */
    if (awaited && FAD_LOAD(&awaited->state, FAD_RELAXED) != &victim->pub)
        return NULL;
    FADI_POINT(steal_state);
    if (FADI_CAS(&victim->pub.top, &top, top + 1, FADI_STEAL_CAS)) { /* [D9] */
        FADI_POINT(steal_won);
        return t;
    }
    *lost = true;
    return NULL;
}
