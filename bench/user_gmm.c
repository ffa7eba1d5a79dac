/* One point of a Gaussian mixture as a term. */
#include "user.h"

#include "harness.h"
#include "problems.h"

static int point(fad_tape *t, size_t k, const fad_real *theta, const fad_real *x, fad_real *y, void *user)
{
    const struct gmm_problem *g = user;
    size_t d = g->d, K = g->k, nl = d * (d - 1) / 2;
    const fad_real *alpha = theta, *mu = alpha + K, *q = mu + K * d, *l = q + K * d;
    fad_real *s = fad_alloc(t, K + d), *c = s + K;
    (void)k;
    if (!s)
        return 1;
    for (size_t j = 0; j < K; j++, mu += d, q += d, l += nl) {
        const fad_real *row = l;
        fad_real quad = fad_const(0);
        for (size_t i = 0; i < d; i++)
            c[i] = fad_sub(t, x[i], mu[i]);
        for (size_t i = 0; i < d; row += i, i++) {
            fad_real v = fad_add(t, fad_mul(t, fad_exp(t, q[i]), c[i]), fad_dot(t, i, row, c));
            quad = fad_add(t, quad, fad_square(t, v));
        }
        s[j] = fad_sub(t, fad_add(t, alpha[j], fad_sum_of(t, d, q)), fad_mul(t, 0.5, quad));
    }
    *y = fad_logsumexp(t, K, s);
    return 0;
}

struct fad_sum user_gmm_sum(const struct gmm_problem *g)
{
    return (struct fad_sum){.terms = g->n, .shared_count = g->p, .shared = g->theta, .x = g->points, .x_count = g->d,
                            .term = point, .user = (void *)g, .term_operations = g->k * (6 * g->d + 4)};
}

int user_gmm(void *problem, unsigned workers, double *out)
{
    struct fad_sum s = user_gmm_sum(problem);
    return fad_sum_gradient(bench_pool(workers), &s, out, out + 1, NULL);
}
