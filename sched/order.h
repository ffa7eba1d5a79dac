/** @file order.h  The out-of-line atomic accesses and the name of every order that is not relaxed.
 *
 * Each name can be weakened with -D to see that a checker notices. The labels stand again at the accesses. */
#ifndef FADI_ORDER_H
#define FADI_ORDER_H

#include <foldad/order.h>

#ifndef FADI_EXCHANGE
#define FADI_EXCHANGE(p, v, order) __atomic_exchange_n((p), (v), (order))
#define FADI_ADD(p, v, order) __atomic_add_fetch((p), (v), (order))
/* strong; a failed one is a relaxed load, whose value nobody uses */
#define FADI_CAS(p, expected, v, order) \
    __atomic_compare_exchange_n((p), (expected), (v), 0, (order), __ATOMIC_RELAXED)
#define FADI_ACQUIRE __ATOMIC_ACQUIRE
#define FADI_RELEASE __ATOMIC_RELEASE
#define FADI_SEQ_CST __ATOMIC_SEQ_CST
#endif

/* ---- deque ---- */
/* [D1] publish: bottom = tail. Release for the thief's [D6]: slots and tasks are written. seq_cst, and an exchange, for
 * [P1]: nothing after it is read before it is visible. */
#ifndef FADI_PUBLISH_BOTTOM
#define FADI_PUBLISH_BOTTOM FADI_SEQ_CST
#endif
/* [D2] take: bottom = i before top is read [D3]. In one total order with the thief's top [D5] before bottom [D6]:
 * weaker, and both could take the last task. An exchange and not a store: emulators have been seen to turn a seq_cst
 * store and load into an unordered pair. */
#ifndef FADI_TAKE_BOTTOM
#define FADI_TAKE_BOTTOM FADI_SEQ_CST
#endif
/* [D3] take: top after [D2]. */
#ifndef FADI_TAKE_TOP
#define FADI_TAKE_TOP FADI_SEQ_CST
#endif
/* [D4] take: the last task, against the thieves' [D9]. */
#ifndef FADI_TAKE_CAS
#define FADI_TAKE_CAS FADI_SEQ_CST
#endif
/* [D5] steal: top. [D6] steal: bottom, after top. See [D2]; [D6] also acquires [D1]. */
#ifndef FADI_STEAL_TOP
#define FADI_STEAL_TOP FADI_SEQ_CST
#endif
#ifndef FADI_STEAL_BOTTOM
#define FADI_STEAL_BOTTOM FADI_SEQ_CST
#endif
/* [D7] steal: the array. Acquire, pairs with [D10]: the slots copied into it are visible. */
#ifndef FADI_STEAL_ARRAY
#define FADI_STEAL_ARRAY FADI_ACQUIRE
#endif
/* [D9] steal: top + 1. Weaker than seq_cst, and an owner that has read an older top [D3] could take the same task. */
#ifndef FADI_STEAL_CAS
#define FADI_STEAL_CAS FADI_SEQ_CST
#endif
/* [D10] grow: the new array, its slots before it. */
#ifndef FADI_GROW_ARRAY
#define FADI_GROW_ARRAY FADI_RELEASE
#endif
/* [D11] take: bottom goes up again when the deque turns out to be empty. Release: a thief that reads it through [D6]
 * may act on what [D1] published before. */
#ifndef FADI_RESTORE_BOTTOM
#define FADI_RESTORE_BOTTOM FADI_RELEASE
#endif
/* [D12] grow: top. Acquire: the slots that thieves have left behind may be overwritten. */
#ifndef FADI_GROW_TOP
#define FADI_GROW_TOP FADI_ACQUIRE
#endif

/* ---- join ---- */
/* [J1] the thief signs the task. Release, pairs with [J3]: what the owner does with the thief's deque comes after. */
#ifndef FADI_STATE_THIEF
#define FADI_STATE_THIEF FADI_RELEASE
#endif
/* [J2] the thief has finished: results and status are visible to [J3]. The task is not touched after it. */
#ifndef FADI_STATE_DONE
#define FADI_STATE_DONE FADI_RELEASE
#endif
/* [J3] the owner waits for [J2]; in the leapfrog it is read again between the thief's top and the compare and swap:
 * still the same thief after top was read means that the task at top descends from the awaited one. */
#ifndef FADI_STATE_WAIT
#define FADI_STATE_WAIT FADI_ACQUIRE
#endif

/* ---- park ---- */
/* [P1] after [D1]: asleep is read. [P2] going to sleep: asleep + 1, then every deque is looked at again [D6]. All four
 * are seq_cst: of a publisher and a sleeper at the same time at least one sees the other. */
#ifndef FADI_ASLEEP_READ
#define FADI_ASLEEP_READ FADI_SEQ_CST
#endif
#ifndef FADI_ASLEEP_ADD
#define FADI_ASLEEP_ADD FADI_SEQ_CST
#endif
/* [P3] searching - 1, then a look at every deque; [P4] searching is read after [D1]: who is seen searching will look
 * again after he stopped, so the publisher need not wake anybody. */
#ifndef FADI_SEARCHING_ADD
#define FADI_SEARCHING_ADD FADI_SEQ_CST
#endif
#ifndef FADI_SEARCHING_READ
#define FADI_SEARCHING_READ FADI_SEQ_CST
#endif
/* [P5] epoch + 1 by who wakes, [P6] epoch read by the sleeper before his last look. */
#ifndef FADI_EPOCH_ADD
#define FADI_EPOCH_ADD FADI_SEQ_CST
#endif
#ifndef FADI_EPOCH_READ
#define FADI_EPOCH_READ FADI_SEQ_CST
#endif

/* ---- guest slots ---- */
/* [G1] a slot is taken, [G2] given back: the deque, random state and scratch memory go from one thread to the next. */
#ifndef FADI_GUEST_TAKE
#define FADI_GUEST_TAKE FADI_ACQUIRE
#endif
#ifndef FADI_GUEST_GIVE
#define FADI_GUEST_GIVE FADI_RELEASE
#endif

#endif
