/** @file others.h  What other libraries do with the same problems; NULL where they were not found. */
#ifndef BENCH_OTHERS_H
#define BENCH_OTHERS_H

#include "problems.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef int other_call(void *problem, unsigned workers, double *out); /* as bench_call */

/* openmp.c and tbb.cc: struct fib_problem */
other_call openmp_fib, tbb_fib, tbb_fib_invoke;
/* struct fold_problem */
other_call openmp_sum, openmp_fold, tbb_fold, openmp_costly, tbb_costly;
/* adolc.cc and sacado.cc */
other_call adolc_logistic, adolc_logistic_whole, sacado_logistic, sacado_logistic_whole;
other_call adolc_gmm, sacado_gmm;
other_call adolc_misra, adolc_expcos, adolc_rational, adolc_rbf;
other_call sacado_misra, sacado_expcos, sacado_rational, sacado_rbf;

#ifdef __cplusplus
}
#else
#ifndef HAVE_OPENMP
#define openmp_fib NULL
#define openmp_sum NULL
#define openmp_fold NULL
#define openmp_costly NULL
#endif
#ifndef HAVE_TBB
#define tbb_fib NULL
#define tbb_fib_invoke NULL
#define tbb_fold NULL
#define tbb_costly NULL
#endif
#ifndef HAVE_ADOLC
#define adolc_logistic NULL
#define adolc_logistic_whole NULL
#define adolc_gmm NULL
#define adolc_misra NULL
#define adolc_expcos NULL
#define adolc_rational NULL
#define adolc_rbf NULL
#endif
#ifndef HAVE_SACADO
#define sacado_logistic NULL
#define sacado_logistic_whole NULL
#define sacado_gmm NULL
#define sacado_misra NULL
#define sacado_expcos NULL
#define sacado_rational NULL
#define sacado_rbf NULL
#endif
#endif
#endif
