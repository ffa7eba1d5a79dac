/* Folds with leaves of the user's. */
#include "user.h"

#include "harness.h"
#include "problems.h"

static void zero(void *acc, void *user)
{
    (void)user;
    *(double *)acc = 0;
}

static void add(void *left, const void *right, void *user)
{
    (void)user;
    *(double *)left += *(const double *)right;
}

static const struct fad_monoid sum = {sizeof(double), 0, zero, add};

static int kernel_leaf(size_t begin, size_t end, void *acc, void *user, size_t *failed)
{
    const struct fold_problem *p = user;
    (void)failed;
    *(double *)acc += p->kernel(p->x + begin, end - begin);
    return 0;
}

int user_fold(void *problem, unsigned workers, double *out)
{
    const struct fold_problem *p = problem;
    return fad_fold(bench_pool(workers), p->n, &sum, kernel_leaf, problem, NULL, out);
}

static double squares(const double *x, size_t begin, size_t end, double total)
{
    for (size_t i = begin; i < end; i++)
        total += x[i] * x[i];
    return total;
}

static int squares_leaf(size_t begin, size_t end, void *acc, void *user, size_t *failed)
{
    const struct fold_problem *p = user;
    (void)failed;
    *(double *)acc = squares(p->x, begin, end, *(double *)acc);
    return 0;
}

int user_fold_squares(void *problem, unsigned workers, double *out)
{
    const struct fold_problem *p = problem;
    return fad_fold(bench_pool(workers), p->n, &sum, squares_leaf, problem, NULL, out);
}

/* The loop of squares_leaf without a fold. */
int user_loop_squares(void *problem, unsigned workers, double *out)
{
    const struct fold_problem *p = problem;
    (void)workers;
    *out = squares(p->x, 0, p->n, 0);
    return 0;
}

static int costly_leaf(size_t begin, size_t end, void *acc, void *user, size_t *failed)
{
    const struct fold_problem *p = user;
    (void)failed;
    for (size_t i = begin; i < end; i++)
        *(double *)acc += p->costly(p->x[i]);
    return 0;
}

int user_fold_costly(void *problem, unsigned workers, double *out)
{
    const struct fold_problem *p = problem;
    return fad_fold(bench_pool(workers), p->n, &sum, costly_leaf, problem, NULL, out);
}
