/** @file cpu.c  The entries that ask which processor this is: compiled for any, unlike the rest of this directory. */
#include <foldad/program.h>

#include <foldad/check.h>
#include <foldad/dual.h>

#include "ad/call.h"
#include "ad/reduce.h"

bool fadi_cpu_supported(void)
{
#if defined(__x86_64__)
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#else
    return true;
#endif
}

fad_tape *fad_tape_create(void)
{
    return fadi_cpu_supported() ? (fad_tape *)fadi_tape_new() : NULL;
}

static int unsupported(const struct fad_sum *s)
{
    if (s && s->failure)
        *s->failure = (struct fad_failure){FAD_EUNSUPPORTED, SIZE_MAX, 0, "this processor has no AVX2 and FMA"};
    return FAD_EUNSUPPORTED;
}

int fad_sum_value(fad_pool *pool, const struct fad_sum *s, double *value)
{
    return fadi_cpu_supported() ? fadi_sum_value(pool, s, value) : unsupported(s);
}

int fad_sum_gradient(fad_pool *pool, const struct fad_sum *s, double *value, double *shared_gradient,
                     double *x_gradient)
{
    return fadi_cpu_supported() ? fadi_sum_gradient(pool, s, value, shared_gradient, x_gradient) : unsupported(s);
}

int fad_sum_terms(fad_pool *pool, const struct fad_sum *s, double *values, double *gradients)
{
    return fadi_cpu_supported() ? fadi_sum_terms(pool, s, values, gradients) : unsupported(s);
}

int fad_sum_jvp(fad_pool *pool, const struct fad_sum *s, const double *shared_tangent, const double *x_tangent,
                double *value, double *tangent)
{
    return fad_sum_jvp_many(pool, s, 1, shared_tangent, x_tangent, value, tangent);
}

int fad_sum_jvp_many(fad_pool *pool, const struct fad_sum *s, size_t directions, const double *shared_tangents,
                     const double *x_tangents, double *value, double *tangents)
{
    return fadi_cpu_supported() ? fadi_sum_jvp(pool, s, directions, shared_tangents, x_tangents, value, tangents)
                                : unsupported(s);
}

int fad_reduce_value(fad_pool *pool, const struct fad_reduce *r, double *value)
{
    return fadi_cpu_supported() ? fadi_reduce_value(pool, r, value) : unsupported(r ? &r->of : NULL);
}

int fad_reduce_gradient(fad_pool *pool, const struct fad_reduce *r, const double *seed, double *value,
                        double *shared_gradient, double *x_gradient)
{
    if (!fadi_cpu_supported())
        return unsupported(r ? &r->of : NULL);
    return fadi_reduce_gradient(pool, r, seed, value, shared_gradient, x_gradient);
}

int fad_reduce_apply(fad_pool *pool, fad_tape *outer, const struct fad_reduce *r, const fad_real *shared, const fad_real *x,
                     fad_real *y)
{
    return fadi_cpu_supported() ? fadi_reduce_apply(pool, outer, r, shared, x, y) : unsupported(r ? &r->of : NULL);
}

int fad_sum_hvp(fad_pool *pool, const struct fad_sum *s, const double *direction, double *value, double *shared_gradient,
                double *hessian_vector)
{
    return fad_sum_hvp_many(pool, s, 1, direction, value, shared_gradient, hessian_vector);
}

int fad_sum_hvp_many(fad_pool *pool, const struct fad_sum *s, size_t directions, const double *direction, double *value,
                     double *shared_gradient, double *hessian_vectors)
{
    return fadi_cpu_supported() ? fadi_sum_hvp(pool, s, directions, direction, value, shared_gradient, hessian_vectors)
                                : unsupported(s);
}

int fad_sum_hessian(fad_pool *pool, const struct fad_sum *s, double *value, double *shared_gradient, double *hessian)
{
    return fadi_cpu_supported() ? fadi_sum_hessian(pool, s, value, shared_gradient, hessian) : unsupported(s);
}

int fad_program_create(fad_program **p, const struct fad_sum *s)
{
    return fadi_cpu_supported() ? fadi_program_create(p, s) : unsupported(s);
}

int fad_dual_term(fad_term *term, size_t k, size_t shared_count, const struct fad_dual *shared, size_t x_count,
                  const struct fad_dual *x, size_t y_count, struct fad_dual *y, size_t directions, void *user)
{
    return fadi_cpu_supported() ? fadi_dual_term(term, k, shared_count, shared, x_count, x, y_count, y, directions, user)
                                : FAD_EUNSUPPORTED;
}

int fad_sum_check(fad_pool *pool, const struct fad_sum *s, struct fad_check *worst)
{
    return fadi_cpu_supported() ? fadi_sum_check(pool, s, worst) : unsupported(s);
}

int fad_sum_find_nan(fad_pool *pool, const struct fad_sum *s, struct fad_nan *first)
{
    return fadi_cpu_supported() ? fadi_sum_find_nan(pool, s, first) : unsupported(s);
}

int fad_sum_apply(fad_pool *pool, fad_tape *outer, const struct fad_sum *s, const fad_real *shared, const fad_real *x,
                  fad_real *y)
{
    return fadi_cpu_supported() ? fadi_sum_apply(pool, outer, s, shared, x, y) : unsupported(s);
}

int fad_sum_terms_apply(fad_pool *pool, fad_tape *outer, const struct fad_sum *s, const fad_real *shared,
                        const fad_real *x, fad_real *y)
{
    return fadi_cpu_supported() ? fadi_sum_terms_apply(pool, outer, s, shared, x, y) : unsupported(s);
}
