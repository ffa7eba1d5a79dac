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
