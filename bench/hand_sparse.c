/* Ten of many parameters by hand. */
#include "hand.h"

#include <string.h>

static double residual(const double *theta, const double *x)
{
    double z = 0;
    for (int j = 0; j < SPARSE_TOUCHED; j++)
        z += x[j] * theta[j];
    return z - x[SPARSE_TOUCHED];
}

int sparse_value(void *problem, unsigned workers, double *out)
{
    const struct sparse_problem *p = problem;
    double sum = 0;
    (void)workers;
    for (size_t k = 0; k < p->n; k++) {
        double r = residual(p->theta + p->touch[k * SPARSE_TOUCHED], p->x + k * (SPARSE_TOUCHED + 1));
        sum += r * r;
    }
    *out = sum;
    return 0;
}

int sparse_gradient(void *problem, unsigned workers, double *out)
{
    const struct sparse_problem *p = problem;
    double sum = 0, *gradient = out + 1;
    (void)workers;
    memset(gradient, 0, p->p * sizeof *gradient);
    for (size_t k = 0; k < p->n; k++) {
        size_t at = p->touch[k * SPARSE_TOUCHED];
        const double *x = p->x + k * (SPARSE_TOUCHED + 1);
        double r = residual(p->theta + at, x);
        sum += r * r;
        for (int j = 0; j < SPARSE_TOUCHED; j++)
            gradient[at + j] += 2 * r * x[j];
    }
    *out = sum;
    return 0;
}
