/** @file check.h  Whether a gradient can be trusted, and where a NaN comes from. For tests and for the search of errors: these
 * calls are many times slower than what they look at. */
#ifndef FOLDAD_CHECK_H
#define FOLDAD_CHECK_H

#include <foldad/sum.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The component of a gradient that is worst off. */
struct fad_check {
    size_t value, parameter; /**< which: shared_gradient[value][parameter]; SIZE_MAX: there was nothing to compare */
    const char *against;     /**< "forward mode" or "finite differences" */
    double gradient, other;  /**< the two numbers */
    double bound;            /**< by how much they may differ */
    double excess;           /**< |gradient - other| / bound: the gradient is fine if this is at most 1 */
    bool forward;            /**< forward mode took part: not where an operation has no tangent, nor with fad_sum.rule */
    uint64_t reserved[4];
};

/** Compares the gradient in the shared parameters with forward mode and with finite differences, and tells about the worst
 * component. Fixed parameters are left out; both numbers NaN, or the same infinity, count as equal.
 * Numerics:  forward mode: 32 roundings for each partial derivative on a path, times the sum over all paths of the products of
 *            absolute values. Differences: central ones of fourth order at three step widths, of which the one
 *            with the smallest bound counts: 4 times the difference between second order at one and at two steps, and 2^-49 times
 *            the sum of all |terms| for each step width. Where no difference is finite, none is compared; a kink or a jump
 *            within the steps gives a large bound or, if it lies on one of them, an excess
 * Cost:      12 values and a sixteenth of three recordings for each parameter; memory: as fad_sum_terms without gradients
 * Errors:    as fad_sum_gradient; *worst untouched. A gradient that is wrong is no error */
FAD_API int fad_sum_check(fad_pool *pool, const struct fad_sum *s, struct fad_check *worst);

/** Where a NaN came up first. */
struct fad_nan {
    size_t index;            /**< the lowest element that has a NaN in a value or a derivative; SIZE_MAX: there is none */
    size_t position;         /**< which operation of the element's recording: 0 the first, in the order of execution */
    const char *operation;   /**< its name, as "log"; "result": a value of the term is a NaN that no operation returned */
    bool derivative;         /**< all values are fine, and the reverse sweep made the NaN at this operation */
    size_t operand_count;    /**< 1 to 3; 0: an operation on arrays, or none */
    double operands[3];      /**< their values: a NaN among them came from outside, as a parameter, own number or constant */
    double value;            /**< the operation's */
    uint64_t reserved[4];
};

/** Finds the first operation that made a NaN: in the lowest element that has one, the first of its operations in a value, else,
 * coming from the result, the first in a derivative with respect to what is shared or the element's own.
 * Operations on constants alone are not seen; a NaN of theirs is found as an operand.
 * Cost:      some gradients
 * Errors:    as fad_sum_gradient, FAD_EUNSUPPORTED (terms with a rule or a fold of their own on the tape); *first untouched */
FAD_API int fad_sum_find_nan(fad_pool *pool, const struct fad_sum *s, struct fad_nan *first);

#ifdef __cplusplus
}
#endif
#endif
