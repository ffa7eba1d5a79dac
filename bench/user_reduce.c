/* Products, maxima, softmax, variances and a monoid of one's own. */
#include "user.h"

#include "harness.h"
#include "problems.h"

static int built_in(void *problem, unsigned workers, double *out, const struct fad_part *part, const double *seed)
{
    const struct reduce_problem *p = problem;
    struct fad_reduce r = {.of = {.terms = p->n, .x = p->x, .x_count = 1}, .parts = part, .part_count = 1};
    double y[2];
    int rc = fad_reduce_gradient(bench_pool(workers), &r, seed, y, NULL, out + 1);
    out[0] = seed && seed[0] == 0 ? y[1] : y[0];
    return rc;
}

int user_product(void *problem, unsigned workers, double *out)
{
    return built_in(problem, workers, out, &(struct fad_part){.kind = FAD_PART_PRODUCT}, NULL);
}

int user_max(void *problem, unsigned workers, double *out)
{
    return built_in(problem, workers, out, &(struct fad_part){.kind = FAD_PART_MAX}, NULL);
}

int user_logsumexp(void *problem, unsigned workers, double *out)
{
    return built_in(problem, workers, out, &(struct fad_part){.kind = FAD_PART_LOGSUMEXP}, NULL);
}

int user_variance(void *problem, unsigned workers, double *out)
{
    return built_in(problem, workers, out, &(struct fad_part){.kind = FAD_PART_MEAN_VARIANCE}, (double[]){0, 1});
}

int user_all_folds(void *problem, unsigned workers, double *out)
{
    const struct reduce_problem *p = problem;
    const struct fad_part parts[] = {{.kind = FAD_PART_PRODUCT}, {.kind = FAD_PART_MAX}, {.kind = FAD_PART_LOGSUMEXP},
                                     {.kind = FAD_PART_MEAN_VARIANCE}};
    const double seed[] = {1, 1, 1, 0, 1};
    double y[5];
    struct fad_reduce r = {.of = {.terms = p->n, .x = p->x, .x_count = 1}, .parts = parts, .part_count = 4};
    int rc = fad_reduce_gradient(bench_pool(workers), &r, seed, y, NULL, out + 1);
    out[0] = y[0] + y[1] + y[2] + y[4];
    return rc;
}

/* One after the other: x -> a x + b. */
static int compose(fad_tape *t, const fad_real *l, const fad_real *r, fad_real *out, void *user)
{
    (void)user;
    out[0] = fad_mul(t, l[0], r[0]);
    out[1] = fad_add(t, fad_mul(t, l[0], r[1]), l[1]);
    return 0;
}

static int general(void *problem, unsigned workers, double *out, bool recompute)
{
    const struct reduce_problem *p = problem;
    const struct fad_part part = {.width = 2, .combine = compose};
    const double seed[] = {0, 1};
    double y[2];
    struct fad_reduce r = {.of = {.terms = p->n, .x = p->x, .x_count = 2, .term_operations = 3}, .parts = &part,
                           .part_count = 1, .recompute = recompute};
    int rc = fad_reduce_gradient(bench_pool(workers), &r, seed, y, NULL, out + 1);
    out[0] = y[1];
    return rc;
}

int user_compose(void *problem, unsigned workers, double *out)
{
    return general(problem, workers, out, false);
}

int user_compose_again(void *problem, unsigned workers, double *out)
{
    return general(problem, workers, out, true);
}
