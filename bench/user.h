/** @file user.h  What users of foldad would write, compiled as they would compile it: -O2 and no more. The plain fib is
 * here too, so that both have the same flags. */
#ifndef BENCH_USER_H
#define BENCH_USER_H

#include <foldad/foldad.h>

#include "problems.h"

/* user_fib.c */
long fib_plain(long n);        /* gcc inlines some levels of the recursion */
long fib_plain_calls(long n);  /* it may not */
long fib_reclaim(fad_worker *w, long n);
long fib_join(fad_worker *w, long n);

/* user_folds.c: struct fold_problem */
int user_fold(void *problem, unsigned workers, double *out);
int user_fold_squares(void *problem, unsigned workers, double *out);
int user_loop_squares(void *problem, unsigned workers, double *out);
int user_fold_costly(void *problem, unsigned workers, double *out);

/* user_logistic.c */
int user_logistic(void *problem, unsigned workers, double *out);
int user_logistic_dot(void *problem, unsigned workers, double *out);
int user_logistic_value(void *problem, unsigned workers, double *out); /* without derivatives */
int user_logistic_dot_value(void *problem, unsigned workers, double *out);
int user_logistic_plain(void *problem, unsigned workers, double *out); /* the same operations on doubles, without a tape */
int user_logistic_dot_plain(void *problem, unsigned workers, double *out);
struct fad_sum user_logistic_sum(const struct logistic_problem *l); /* with fad_dot */

/* user_fit.c */
struct fad_sum user_line_sum(const struct fit_problem *f);
struct fad_sum user_line_rule_sum(const struct fit_problem *f); /* by a rule */
struct fad_sum user_misra_sum(const struct fit_problem *f);
struct fad_sum user_expcos_sum(const struct fit_problem *f);
struct fad_sum user_rational_sum(const struct fit_problem *f);

/* user_rbf.c */
struct fad_sum user_rbf_sum(const struct rbf_problem *r);

/* user_sparse.c */
int user_sparse(void *problem, unsigned workers, double *out);
int user_sparse_touch(void *problem, unsigned workers, double *out);

/* user_models.c */
int user_models(void *problem, unsigned workers, double *out);
int user_models_blocks(void *problem, unsigned workers, double *out);
struct fad_sum user_models_sum(const struct models_problem *m);
void user_models_forget(void); /* what user_models_blocks keeps between calls */

/* user_reduce.c */
int user_product(void *problem, unsigned workers, double *out);
int user_max(void *problem, unsigned workers, double *out);
int user_logsumexp(void *problem, unsigned workers, double *out);
int user_variance(void *problem, unsigned workers, double *out);
int user_all_folds(void *problem, unsigned workers, double *out);
int user_compose(void *problem, unsigned workers, double *out);
int user_compose_again(void *problem, unsigned workers, double *out); /* recompute */

/* user_gmm.c */
int user_gmm(void *problem, unsigned workers, double *out);
struct fad_sum user_gmm_sum(const struct gmm_problem *g);

#endif
