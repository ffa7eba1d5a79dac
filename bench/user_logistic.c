/* Logistic regression as a term. */
#include "user.h"

#include "harness.h"
#include "problems.h"

static void finish(fad_tape *t, fad_real z, fad_real label, fad_real *y)
{
    *y = fad_sub(t, fad_log(t, fad_add(t, 1.0, fad_exp(t, z))), fad_mul(t, label, z));
}

/* 2 p + 5 operations, one by one. */
static int row(fad_tape *t, size_t k, const fad_real *theta, const fad_real *x, fad_real *y, void *user)
{
    const struct logistic_problem *l = user;
    fad_real z = fad_const(0);
    (void)k;
    for (size_t j = 0; j < l->p; j++)
        z = fad_add(t, z, fad_mul(t, x[j], theta[j]));
    finish(t, z, x[l->p], y);
    return 0;
}

static int row_dot(fad_tape *t, size_t k, const fad_real *theta, const fad_real *x, fad_real *y, void *user)
{
    const struct logistic_problem *l = user;
    (void)k;
    finish(t, fad_dot(t, l->p, x, theta), x[l->p], y);
    return 0;
}

struct fad_sum user_logistic_sum(const struct logistic_problem *l)
{
    return (struct fad_sum){.terms = l->n, .shared_count = l->p, .shared = l->theta, .x = l->rows, .x_count = l->p + 1,
                            .term = row_dot, .user = (void *)l, .term_operations = 2 * l->p + 5};
}

int user_logistic(void *problem, unsigned workers, double *out)
{
    struct fad_sum s = user_logistic_sum(problem);
    s.term = row;
    return fad_sum_gradient(bench_pool(workers), &s, out, out + 1, NULL);
}

int user_logistic_dot(void *problem, unsigned workers, double *out)
{
    struct fad_sum s = user_logistic_sum(problem);
    return fad_sum_gradient(bench_pool(workers), &s, out, out + 1, NULL);
}

/* ---- Values alone, and what they cost without a tape ---- */

int user_logistic_value(void *problem, unsigned workers, double *out)
{
    struct fad_sum s = user_logistic_sum(problem);
    (void)workers;
    s.term = row;
    return fad_sum_value(NULL, &s, out);
}

int user_logistic_dot_value(void *problem, unsigned workers, double *out)
{
    struct fad_sum s = user_logistic_sum(problem);
    (void)workers;
    return fad_sum_value(NULL, &s, out);
}

/* The library's elementary functions: their speed is not what is compared. */
static double plain_finish(double z, double label)
{
    double e = fad_exp(NULL, fad_const(z)).value;
    return fad_log(NULL, fad_const(1.0 + e)).value - label * z;
}

int user_logistic_plain(void *problem, unsigned workers, double *out)
{
    const struct logistic_problem *l = problem;
    double sum = 0;
    (void)workers;
    for (size_t k = 0; k < l->n; k++) {
        const double *x = l->rows + k * (l->p + 1);
        double z = 0;
        for (size_t j = 0; j < l->p; j++)
            z += x[j] * l->theta[j];
        sum += plain_finish(z, x[l->p]);
    }
    out[0] = sum;
    return 0;
}

/* Four chains, as fad_dot has. */
static double plain_dot(size_t n, const double *a, const double *b)
{
    double s[4] = {0};
    size_t i = 0;
    for (; i + 4 <= n; i += 4)
        for (size_t j = 0; j < 4; j++)
            s[j] += a[i + j] * b[i + j];
    for (; i < n; i++)
        s[i % 4] += a[i] * b[i];
    return (s[0] + s[1]) + (s[2] + s[3]);
}

int user_logistic_dot_plain(void *problem, unsigned workers, double *out)
{
    const struct logistic_problem *l = problem;
    double sum = 0;
    (void)workers;
    for (size_t k = 0; k < l->n; k++) {
        const double *x = l->rows + k * (l->p + 1);
        sum += plain_finish(plain_dot(l->p, x, l->theta), x[l->p]);
    }
    out[0] = sum;
    return 0;
}
