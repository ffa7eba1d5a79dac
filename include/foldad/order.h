/** @file order.h  Atomic accesses of the inline fast paths.
 *
 * Every access to a word that two threads share goes through these macros, so that a checker can put its own types
 * in their place. The orders that are not relaxed have names, in sched/order.h, so that a checker can weaken each with
 * -D. The fields are plain types under the gcc/clang builtins because C++ has to read the same structures. */
#ifndef FOLDAD_ORDER_H
#define FOLDAD_ORDER_H

#ifndef FAD_ATOMIC
#define FAD_ATOMIC(type) type
#define FAD_LOAD(p, order) __atomic_load_n((p), (order))
#define FAD_STORE(p, v, order) __atomic_store_n((p), (v), (order))
#define FAD_RELAXED __ATOMIC_RELAXED
#endif

#endif
