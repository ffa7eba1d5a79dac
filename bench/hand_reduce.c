/* Folds and their gradients by hand, as one writes them: two loops over the data each. */
#include "hand.h"

#include <math.h>
#include <stddef.h>

int product_gradient(void *problem, unsigned workers, double *out)
{
    const struct reduce_problem *p = problem;
    double product = 1;
    (void)workers;
    for (size_t i = 0; i < p->n; i++)
        product *= p->x[i];
    for (size_t i = 0; i < p->n; i++)
        out[1 + i] = product / p->x[i];
    out[0] = product;
    return 0;
}

int max_gradient(void *problem, unsigned workers, double *out)
{
    const struct reduce_problem *p = problem;
    size_t at = 0;
    (void)workers;
    for (size_t i = 1; i < p->n; i++)
        if (p->x[i] > p->x[at])
            at = i;
    for (size_t i = 0; i < p->n; i++)
        out[1 + i] = 0;
    out[1 + at] = 1;
    out[0] = p->x[at];
    return 0;
}

int logsumexp_gradient(void *problem, unsigned workers, double *out)
{
    const struct reduce_problem *p = problem;
    double largest = p->x[0], sum = 0;
    (void)workers;
    for (size_t i = 1; i < p->n; i++)
        largest = p->x[i] > largest ? p->x[i] : largest;
    for (size_t i = 0; i < p->n; i++)
        sum += out[1 + i] = exp(p->x[i] - largest);
    for (size_t i = 0; i < p->n; i++)
        out[1 + i] /= sum;
    out[0] = largest + log(sum);
    return 0;
}

int variance_gradient(void *problem, unsigned workers, double *out)
{
    const struct reduce_problem *p = problem;
    double mean = 0, squares = 0, n = (double)p->n;
    (void)workers;
    for (size_t i = 0; i < p->n; i++)
        mean += p->x[i];
    mean /= n;
    for (size_t i = 0; i < p->n; i++) {
        double d = p->x[i] - mean;
        squares += d * d;
        out[1 + i] = 2 * d / n;
    }
    out[0] = squares / n;
    return 0;
}

/* The four one after the other; the gradient of their sum. */
int all_folds_gradient(void *problem, unsigned workers, double *out)
{
    const struct reduce_problem *p = problem;
    double product = 1, largest = p->x[0], sum = 0, mean = 0, squares = 0, n = (double)p->n;
    size_t at = 0;
    (void)workers;
    for (size_t i = 0; i < p->n; i++) {
        product *= p->x[i];
        mean += p->x[i];
        if (p->x[i] > p->x[at])
            at = i;
    }
    largest = p->x[at];
    mean /= n;
    for (size_t i = 0; i < p->n; i++)
        sum += out[1 + i] = exp(p->x[i] - largest);
    for (size_t i = 0; i < p->n; i++) {
        double d = p->x[i] - mean;
        squares += d * d;
        out[1 + i] = out[1 + i] / sum + 2 * d / n + product / p->x[i];
    }
    out[1 + at] += 1;
    out[0] = product + largest + largest + log(sum) + squares / n;
    return 0;
}

/* y = sum over k of (product of a before k) * b_k; x = (a_0, b_0, a_1, b_1, ...). */
int compose_gradient(void *problem, unsigned workers, double *out)
{
    const struct reduce_problem *p = problem;
    double before = 1, after = 0;
    (void)workers;
    out[0] = 0;
    for (size_t k = 0; k < p->n; k++) {
        out[0] += before * p->x[2 * k + 1];
        out[1 + 2 * k + 1] = before;
        before *= p->x[2 * k];
    }
    for (size_t k = p->n; k-- > 0;) {
        out[1 + 2 * k] = out[1 + 2 * k + 1] * after;
        after = p->x[2 * k + 1] + p->x[2 * k] * after;
    }
    return 0;
}
