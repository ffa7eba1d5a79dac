/** @file kernels.h  Sums of n doubles: the plain loop, and the loop written for this machine's vectors. */
#ifndef BENCH_KERNELS_H
#define BENCH_KERNELS_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

double kernel_sum_scalar(const double *x, size_t n);
double kernel_sum_simd(const double *x, size_t n);
double kernel_squares_scalar(const double *x, size_t n);
double kernel_squares_simd(const double *x, size_t n);
double kernel_exp_scalar(const double *x, size_t n); /* libm */
double kernel_exp_simd(const double *x, size_t n);   /* SLEEF */
double kernel_costly(double x);                      /* some 20 us in registers */

#ifdef __cplusplus
}
#endif
#endif
