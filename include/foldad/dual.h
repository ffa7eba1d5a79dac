/** @file dual.h  A term evaluated on dual numbers: values with partial derivatives in as many directions as wanted.
 *
 *     double dx[] = {1, 0}, dy[] = {0, 1}, df[2];
 *     struct fad_dual theta[] = {{2, dx}, {3, dy}}, f = {0, df};
 *     int rc = fad_dual_term(term, 0, 2, theta, 0, NULL, 1, &f, 2, user);    // f.value, and df[i] = df/d theta[i]
 *
 * It is the same term as in a sum, written once: it runs on a tape, and its recording is swept forward once for each
 * direction. So there is no second set of operations that could differ from the first one. */
#ifndef FOLDAD_DUAL_H
#define FOLDAD_DUAL_H

#include <foldad/sum.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A value and its partial derivatives, in the caller's storage; their number is the call's. */
struct fad_dual {
    double value;
    double *partials; /**< NULL: all 0; of a result: not wanted */
};

/** y[y_count] = the term k at shared[shared_count] and x[x_count], with partials[directions] of each.
 * Numerics:  values have the bits of the sum over that element alone; partials those of fad_sum_jvp
 * Threads:   any
 * Cost:      a recording, and a sweep for each direction
 * Errors:    FAD_EINVAL (term, or an array that is needed, is NULL), FAD_EUNSUPPORTED (processor; an operation without a
 *            tangent), the term's code or tape error, FAD_EHANDLE, FAD_ENOMEM, FAD_EOVERFLOW; y untouched */
FAD_API int fad_dual_term(fad_term *term, size_t k, size_t shared_count, const struct fad_dual *shared, size_t x_count,
                          const struct fad_dual *x, size_t y_count, struct fad_dual *y, size_t directions, void *user);

#ifdef __cplusplus
}
#endif
#endif
