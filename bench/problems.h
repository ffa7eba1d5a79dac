/** @file problems.h  The problems, in plain types: C++ contenders read them too. */
#ifndef BENCH_PROBLEMS_H
#define BENCH_PROBLEMS_H

#include <stddef.h>
#include <stdint.h>

struct fib_problem {
    long n;
};

/* out[0]: the sum of kernel over x[n]. */
struct fold_problem {
    const double *x;
    size_t n;
    double (*kernel)(const double *x, size_t n); /* over a range, at once */
    double (*costly)(double x);                  /* or one by one */
};

/* out[0]: sum of log(1 + exp(z)) - label z, z = features . theta; out[1..]: its gradient in theta[p]. Rows are the
 * features, then the label. */
struct logistic_problem {
    size_t n, p;
    const double *rows, *theta;
};

/* out[0]: sum over k of (w[k mod 10 ..] . theta[at_k .. at_k + 9] - target_k)^2, at_k a hash of k; then its gradient in
 * theta[p]. */
enum { SPARSE_TOUCHED = 10 };
struct sparse_problem {
    size_t n, p;
    const double *theta;
    const double *x;       /* n rows of SPARSE_TOUCHED weights and a target */
    const uint32_t *touch; /* n rows of SPARSE_TOUCHED neighbours */
};

/* Peaks of three kinds, k mod 3: Gauss (height, centre, width), Lorentz (the same), pseudo-Voigt (and a mixture).
 * out[0]: their sum at one place; then its derivative in the place and in all parameters. */
struct models_problem {
    size_t n;
    double place;
    const size_t *offset; /* n + 1 */
    const double *x;
};

/* out[0]: sum of (f(x, theta) - y)^2 over rows (x, y), then its gradient in theta. f:
 *   line      b1 x
 *   misra     b1 (1 - e^(-b2 x))
 *   expcos    b1 e^(-b2 x) cos(b3 x)
 *   rational  (b1 + b2 x + b3 x^2 + b4 x^3) / (1 + b5 x + b6 x^2 + b7 x^3) */
struct fit_problem {
    size_t n, p;
    const double *data, *theta;
};

/* n models, each the sum over its centres of weight e^(-|at - centre|^2); x are all models' (centre[d], weight).
 * out[0]: their sum; then its gradient in at[d] and in x. */
struct rbf_problem {
    size_t n, d, centres;
    const double *at, *x;
};

/* out[0]: a fold of x[n] (compose: x[2 n]); then its gradient in x. */
struct reduce_problem {
    size_t n;
    const double *x;
};

/* out[0]: sum over points of logsumexp_j(alpha_j + sum q_j - |L_j (x - mu_j)|^2 / 2), L_j lower triangular with the
 * diagonal exp(q_j); then its gradient in (alpha[K], mu[K][d], q[K][d], l[K][d (d - 1) / 2]). */
struct gmm_problem {
    size_t n, d, k, p;
    const double *points, *theta;
};

#endif
