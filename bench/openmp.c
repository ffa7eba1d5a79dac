/* OpenMP. */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#include "others.h"

static long fib(long n)
{
    long left, right;
    if (n < 2)
        return n;
#pragma omp task shared(left) firstprivate(n)
    left = fib(n - 1);
    right = fib(n - 2);
#pragma omp taskwait
    return left + right;
}

int openmp_fib(void *problem, unsigned workers, double *out)
{
    const struct fib_problem *p = problem;
    long result = 0;
#pragma omp parallel num_threads(workers)
#pragma omp single
    result = fib(p->n);
    *out = (double)result;
    return 0;
}

int openmp_sum(void *problem, unsigned workers, double *out)
{
    const struct fold_problem *p = problem;
    const double *x = p->x;
    double sum = 0;
#pragma omp parallel for simd schedule(static) reduction(+ : sum) num_threads(workers)
    for (size_t i = 0; i < p->n; i++)
        sum += x[i];
    *out = sum;
    return 0;
}

/* The kernel over one range a thread. */
int openmp_fold(void *problem, unsigned workers, double *out)
{
    const struct fold_problem *p = problem;
    double sum = 0;
#pragma omp parallel for schedule(static) reduction(+ : sum) num_threads(workers)
    for (unsigned i = 0; i < workers; i++) {
        size_t begin = p->n / 8 * i / workers * 8, end = i + 1 < workers ? p->n / 8 * (i + 1) / workers * 8 : p->n;
        sum += p->kernel(p->x + begin, end - begin);
    }
    *out = sum;
    return 0;
}

int openmp_costly(void *problem, unsigned workers, double *out)
{
    const struct fold_problem *p = problem;
    double sum = 0;
#pragma omp parallel for schedule(dynamic) reduction(+ : sum) num_threads(workers)
    for (size_t i = 0; i < p->n; i++)
        sum += p->costly(p->x[i]);
    *out = sum;
    return 0;
}
