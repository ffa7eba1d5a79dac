/** @file point.h  Places where the schedule can be perturbed. Nothing in the library; in the stress build (stress/points.c)
 * a thread that comes by may yield, stall, or be held until another thread has passed some other point. Each stands
 * between two accesses that another thread must be able to come in between. */
#ifndef FADI_POINT_H
#define FADI_POINT_H

#ifdef FAD_STRESS_POINTS
#define FADI_POINTS(X) \
    X(publish_bottom)  /* after [D1], before asleep is read [P1] */ \
    X(take_bottom)     /* after [D2], before [D3] */ \
    X(take_top)        /* after [D3], before [D4] */ \
    X(take_restore)    /* after [D4], before [D11] */ \
    X(steal_top)       /* after [D5], before [D6] */ \
    X(steal_array)     /* after [D7], before [D8] */ \
    X(steal_slot)      /* after [D8], before [J4] and [D9] */ \
    X(steal_state)     /* after [J4], before [D9] */ \
    X(steal_won)       /* after [D9], before the thief signs [J1] */ \
    X(grow_copied)     /* before [D10] */ \
    X(grow_published)  /* after [D10], before the old array is retired */ \
    X(retired_taken)   /* the list of old arrays is taken, before the grace period */ \
    X(retired_freed)   /* an old array has been freed */ \
    X(task_done)       /* a stolen task has returned, before [J2] */ \
    X(join_state)      /* after [J3], before the leapfrog looks at the thief's deque */ \
    X(sleep_begins)    /* nothing was found, before [P2] */ \
    X(sleep_announced) /* after [P2], before the last look */ \
    X(sleep_decided)   /* after the last look, before the wait */ \
    X(search_ended)    /* after [P3], before the look that follows */ \
    X(wake_decided)    /* pending is set, before [P5] */ \
    X(guest_seen)      /* a slot was seen free, before [G1] */ \
    X(guest_taken)     /* after [G1], before the slot is counted */ \
    X(guest_returning) /* before [G2] */ \
    X(stock_take)      /* an object was seen, before the exchange */ \
    X(stock_give)      /* an empty place was seen, before the compare and swap */

#define FADI_POINT_ENUM(name) FADI_POINT_##name,
enum fadi_point { FADI_POINTS(FADI_POINT_ENUM) FADI_POINT_COUNT };

void fadi_point_pass(enum fadi_point at);
#define FADI_POINT(name) fadi_point_pass(FADI_POINT_##name)
#else
#define FADI_POINT(name) ((void)0)
#endif

#endif
