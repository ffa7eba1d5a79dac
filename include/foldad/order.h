/** @file order.h  Atomic accesses of the inline fast paths, and the name of each one's order.
 *
 * Every access to a word that two threads share goes through these macros, so that a checker can put its own types
 * in their place, and every order has a name, so that a checker can weaken it with -D. The out-of-line half of the
 * names is in sched/order.h. The fields are plain types under the gcc/clang builtins because C++ has to read the
 * same structures. */
#ifndef FOLDAD_ORDER_H
#define FOLDAD_ORDER_H

#ifndef FAD_ATOMIC
#define FAD_ATOMIC(type) type
#define FAD_LOAD(p, order) __atomic_load_n((p), (order))
#define FAD_STORE(p, v, order) __atomic_store_n((p), (v), (order))
#define FAD_EXCHANGE(p, v, order) __atomic_exchange_n((p), (v), (order))
/** Keeps the compiler from moving accesses across; emits nothing. */
#define FAD_COMPILER_FENCE() __atomic_signal_fence(__ATOMIC_SEQ_CST)
#endif

#define FAD_RELAXED __ATOMIC_RELAXED
#define FAD_ACQUIRE __ATOMIC_ACQUIRE
#define FAD_RELEASE __ATOMIC_RELEASE
#define FAD_SEQ_CST __ATOMIC_SEQ_CST

/* [D1] fork publishes bottom: release, pairs with the thief's load of bottom [D5]; weaker, and a thief could read a
 * slot, or a task, that is not written yet. */
#ifndef FAD_FORK_PUBLISH
#define FAD_FORK_PUBLISH FAD_RELEASE
#endif
/* [D2] reclaim takes bottom back: seq_cst exchange, in one total order with [D3] and the thief's [D4] [D5] [D6].
 * Weaker, and owner and thief could both take the last task. An exchange and not a store, because emulators have
 * been seen to turn a seq_cst store and load into an unordered pair. */
#ifndef FAD_RECLAIM_TAKE
#define FAD_RECLAIM_TAKE FAD_SEQ_CST
#endif
/* [D3] reclaim reads top after [D2]: seq_cst, see there. */
#ifndef FAD_RECLAIM_TOP
#define FAD_RECLAIM_TOP FAD_SEQ_CST
#endif

#endif
