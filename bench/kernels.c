/* The loops of the folds, as fast as they can be written in C for the processor that compiles them. */
#include "kernels.h"

#include "vector.h"

double kernel_sum_scalar(const double *x, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += x[i];
    return sum;
}

double kernel_squares_scalar(const double *x, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += x[i] * x[i];
    return sum;
}

double kernel_exp_scalar(const double *x, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += exp(x[i]);
    return sum;
}

/* Eight vectors at a time: an addition takes up to 4 cycles and two can start in each. */
#define CHAINS 8

static double total(const vector *acc, double sum)
{
    vector v = ((acc[0] + acc[1]) + (acc[2] + acc[3])) + ((acc[4] + acc[5]) + (acc[6] + acc[7]));
    return v_total(v) + sum;
}

double kernel_sum_simd(const double *x, size_t n)
{
    vector acc[CHAINS] = {{0}};
    double rest = 0;
    size_t i = 0;
    for (; i + CHAINS * LANES <= n; i += CHAINS * LANES)
        for (int c = 0; c < CHAINS; c++)
            acc[c] += v_load(x + i + c * LANES);
    for (; i + LANES <= n; i += LANES)
        acc[0] += v_load(x + i);
    for (; i < n; i++)
        rest += x[i];
    return total(acc, rest);
}

double kernel_squares_simd(const double *x, size_t n)
{
    vector acc[CHAINS] = {{0}};
    double rest = 0;
    size_t i = 0;
    for (; i + CHAINS * LANES <= n; i += CHAINS * LANES)
        for (int c = 0; c < CHAINS; c++)
            acc[c] += v_load(x + i + c * LANES) * v_load(x + i + c * LANES);
    for (; i + LANES <= n; i += LANES)
        acc[0] += v_load(x + i) * v_load(x + i);
    for (; i < n; i++)
        rest += x[i] * x[i];
    return total(acc, rest);
}

double kernel_exp_simd(const double *x, size_t n)
{
    vector acc[2] = {{0}};
    double rest = 0;
    size_t i = 0;
    for (; i + 2 * LANES <= n; i += 2 * LANES) {
        acc[0] += v_exp(v_load(x + i));
        acc[1] += v_exp(v_load(x + i + LANES));
    }
    for (; i < n; i++)
        rest += v_exp(v_set(x[i]))[0];
    return v_total(acc[0] + acc[1]) + rest;
}

double kernel_costly(double x)
{
    /* One division waits for the other, so that no unrolling makes it cheaper. */
    for (int i = 0; i < 4000; i++)
        x = 1 + 1 / (1 + x);
    return x;
}
