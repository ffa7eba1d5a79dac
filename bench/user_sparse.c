/* Terms that each read ten of many parameters. */
#include "user.h"

#include "harness.h"
#include "problems.h"

static fad_real residual(fad_tape *t, const fad_real *theta, const fad_real *x)
{
    fad_real z = fad_mul(t, x[0], theta[0]);
    for (size_t j = 1; j < SPARSE_TOUCHED; j++)
        z = fad_add(t, z, fad_mul(t, x[j], theta[j]));
    return fad_sub(t, z, x[SPARSE_TOUCHED]);
}

static int indexed(fad_tape *t, size_t k, const fad_real *theta, const fad_real *x, fad_real *y, void *user)
{
    const struct sparse_problem *p = user;
    *y = fad_square(t, residual(t, theta + p->touch[k * SPARSE_TOUCHED], x));
    return 0;
}

static int touched(fad_tape *t, size_t k, const fad_real *theta, const fad_real *x, fad_real *y, void *user)
{
    (void)k;
    (void)user;
    *y = fad_square(t, residual(t, theta, x));
    return 0;
}

static struct fad_sum description(const struct sparse_problem *p)
{
    return (struct fad_sum){.terms = p->n, .shared_count = p->p, .shared = p->theta, .x = p->x, .x_count = SPARSE_TOUCHED + 1,
                            .term_operations = 2 * SPARSE_TOUCHED + 1};
}

int user_sparse(void *problem, unsigned workers, double *out)
{
    struct fad_sum s = description(problem);
    s.term = indexed;
    s.user = problem;
    return fad_sum_gradient(bench_pool(workers), &s, out, out + 1, NULL);
}

int user_sparse_touch(void *problem, unsigned workers, double *out)
{
    const struct sparse_problem *p = problem;
    struct fad_sum s = description(p);
    s.term = touched;
    s.touch = p->touch;
    s.touch_count = SPARSE_TOUCHED;
    return fad_sum_gradient(bench_pool(workers), &s, out, out + 1, NULL);
}
