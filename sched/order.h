/** @file order.h  The out-of-line atomic accesses and the name of every order that is not relaxed.
 *
 * Each name can be weakened with -D to see that a checker notices; stress/model/mutations has a line for each. The labels
 * stand again at the accesses. */
#ifndef FADI_ORDER_H
#define FADI_ORDER_H

#include <foldad/order.h>

#ifndef FADI_EXCHANGE
#define FADI_EXCHANGE(p, v, order) __atomic_exchange_n((p), (v), (order))
#define FADI_ADD(p, v, order) __atomic_add_fetch((p), (v), (order))
/* strong; a failed one is a relaxed load: nothing may be concluded from it about other words */
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
/* [D4] take: the last task, against the thieves' [D9]. Release, pairs with [D5]: a thief that reads the higher top reads
 * bottom [D6] as [D2] has left it, or later, never the higher one from before. It needs no place in the total order: any
 * two compare and swaps on top are in order anyway. */
#ifndef FADI_TAKE_CAS
#define FADI_TAKE_CAS FADI_RELEASE
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
/* [D12] grow: top. Acquire: the slots that thieves have left behind may be overwritten. (Weaker, it would take a
 * processor that stores before it has done an earlier load.) */
#ifndef FADI_GROW_TOP
#define FADI_GROW_TOP FADI_ACQUIRE
#endif
/* [D13] before sleeping: bottom, after [P2] or [P3]; see [P1]. */
#ifndef FADI_LOOK_BOTTOM
#define FADI_LOOK_BOTTOM FADI_SEQ_CST
#endif
/* [D14] grow: the replaced array goes to the list. [D15] the list is taken. Release and acquire: the array's link, and the
 * store [D10] that replaced it, come before the grace period, so that whoever reads after its beginning finds the new
 * one. */
#ifndef FADI_RETIRE_PUSH
#define FADI_RETIRE_PUSH FADI_RELEASE
#endif
#ifndef FADI_RETIRE_TAKE
#define FADI_RETIRE_TAKE FADI_ACQUIRE
#endif

/* ---- join ---- */
/* [J1] the thief signs the task. Release, pairs with [J3]: the thief's deque was empty before. Weaker, the owner could take
 * from there what lay there earlier, if a processor made this store visible before earlier loads are done. */
#ifndef FADI_STATE_THIEF
#define FADI_STATE_THIEF FADI_RELEASE
#endif
/* [J2] the thief has finished: results and status are visible to [J3]. The task is not touched after it. */
#ifndef FADI_STATE_DONE
#define FADI_STATE_DONE FADI_RELEASE
#endif
/* [J3] the owner waits for [J2]. */
#ifndef FADI_STATE_WAIT
#define FADI_STATE_WAIT FADI_ACQUIRE
#endif

/* ---- park ---- */
/* [P1] after [D1]: asleep is read. [P2] going to sleep: asleep + 1, then every deque is looked at again [D13]. All four
 * are seq_cst: of a publisher and a sleeper at the same time at least one sees the other. */
#ifndef FADI_ASLEEP_READ
#define FADI_ASLEEP_READ FADI_SEQ_CST
#endif
#ifndef FADI_ASLEEP_ADD
#define FADI_ASLEEP_ADD FADI_SEQ_CST
#endif
/* [P3] searching - 1, then a look at every deque [D13]; [P4] searching is read after [D1]: who is seen searching will look
 * again after he stopped, so the publisher need not wake anybody. */
#ifndef FADI_SEARCHING_END
#define FADI_SEARCHING_END FADI_SEQ_CST
#endif
#ifndef FADI_SEARCHING_READ
#define FADI_SEARCHING_READ FADI_SEQ_CST
#endif
/* [P5] epoch + 1 by who wakes, [P6] epoch read by the sleeper before his last look. Release and acquire: a sleeper that will
 * not notice the wake-up, because he has read the epoch after it, sees in his look what it was sent for. */
#ifndef FADI_EPOCH_ADD
#define FADI_EPOCH_ADD FADI_RELEASE
#endif
#ifndef FADI_EPOCH_READ
#define FADI_EPOCH_READ FADI_ACQUIRE
#endif
/* [P7] pending = 1 by who wakes, [P8] pending = 0 by who goes to sleep. Exchanges, so that one comes before the other: either
 * [P8] does, and the waker finds 0 and wakes; or [P7] does. Then release and acquire let the look after [P8] see what was
 * published. Not a compare and swap: a failed one would be a mere load. */
#ifndef FADI_PENDING_SET
#define FADI_PENDING_SET FADI_RELEASE
#endif
#ifndef FADI_PENDING_CLEAR
#define FADI_PENDING_CLEAR FADI_ACQUIRE
#endif

/* ---- slots ---- */
/* [S1] a slot is counted before anything is published in it [D1]; [S2] the number of slots is read by who looks at all of
 * them before sleeping; [S3] a publisher finds his slot counted already. seq_cst as [D1] and [P2]: [S2] is later than
 * [S1], whoever did that, if the publisher has not seen the sleeper. */
#ifndef FADI_USED_ADD
#define FADI_USED_ADD FADI_SEQ_CST
#endif
#ifndef FADI_USED_READ
#define FADI_USED_READ FADI_SEQ_CST
#endif
#ifndef FADI_USED_SEEN
#define FADI_USED_SEEN FADI_SEQ_CST
#endif
/* [G1] a guest slot is taken, [G2] given back: the deque, random state and scratch memory go from one thread to the
 * next. [G3] before a pool is freed: all are given back, and nobody touches it any more. */
#ifndef FADI_GUEST_TAKE
#define FADI_GUEST_TAKE FADI_ACQUIRE
#endif
#ifndef FADI_GUEST_GIVE
#define FADI_GUEST_GIVE FADI_RELEASE
#endif
#ifndef FADI_GUEST_READ
#define FADI_GUEST_READ FADI_ACQUIRE
#endif

/* ---- others ---- */
/* [C1] the core that the child of a fork makes, [C2] published to its other threads: the core's fields. */
#ifndef FADI_CORE_READ
#define FADI_CORE_READ FADI_ACQUIRE
#endif
#ifndef FADI_CORE_STORE
#define FADI_CORE_STORE FADI_RELEASE
#endif
/* [F1] the lock of a fold's record of failures, [F2] its end: the record. */
#ifndef FADI_FAIL_LOCK
#define FADI_FAIL_LOCK FADI_ACQUIRE
#endif
#ifndef FADI_FAIL_UNLOCK
#define FADI_FAIL_UNLOCK FADI_RELEASE
#endif

#endif
