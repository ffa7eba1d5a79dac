/** @file hand.h  Values and gradients written by hand: scalar as one writes them, and for this machine's vectors.
 * All are bench_calls; the plain ones give the value alone. */
#ifndef BENCH_HAND_H
#define BENCH_HAND_H

#include "problems.h"

typedef int hand_call(void *problem, unsigned workers, double *out);

/* hand_logistic.c. The simd one reads HAND_SLACK doubles beyond the last row, which must be there and be finite. */
enum { HAND_SLACK = 8 };
hand_call logistic_value, logistic_gradient, logistic_simd_gradient;

/* hand_fit.c: struct fit_problem */
hand_call line_value, line_gradient, line_simd_gradient;
hand_call misra_value, misra_gradient, misra_simd_gradient;
hand_call expcos_value, expcos_gradient, expcos_simd_gradient;
hand_call rational_value, rational_gradient, rational_simd_gradient;

/* hand_rbf.c: struct rbf_problem; the simd one for d = 8 */
hand_call rbf_value, rbf_gradient, rbf_simd_gradient;

/* hand_sparse.c: struct sparse_problem */
hand_call sparse_value, sparse_gradient;

/* hand_models.c: struct models_problem */
hand_call models_value, models_gradient;

/* hand_reduce.c: struct reduce_problem */
hand_call product_gradient, max_gradient, logsumexp_gradient, variance_gradient, all_folds_gradient, compose_gradient;

/* hand_gmm.c: struct gmm_problem */
hand_call gmm_value, gmm_gradient;
/* hand_gmm_simd.c */
hand_call gmm_simd_gradient;

#endif
