/** @file sum.h  Differentiable sums: F(shared, x) = sum over k of term(k, shared, x_k). */
#ifndef FOLDAD_SUM_H
#define FOLDAD_SUM_H

#include <foldad/fold.h>
#include <foldad/real.h>
#include <foldad/rule.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct fad_program fad_program; /**< opaque */

/** One element of the sum, written once: *y (or y[0 .. y_count - 1]) from the shared parameters and the element's own x.
 * On passes that need no derivatives the operations record nothing. Returns 0 or the user's (positive) code.
 * Threads:   called for different k at the same time; t belongs to the call, and fad_reals must not outlive it */
typedef int fad_term(fad_tape *t, size_t k, const fad_real *shared, const fad_real *x, fad_real *y, void *user);

/** One element's own numbers, where they live in the user's structures. */
struct fad_block {
    const double *data; /**< count values */
    size_t count;
    double *gradient;   /**< count values (y_count rows of them); may be NULL */
};

/** The description of a sum. Zeros are the defaults; it is read only, and may be used by several threads at once
 * (failure, if set, by one). */
struct fad_sum {
    size_t terms;                 /**< elements that x, x_offsets, x_blocks, kind and touch describe */

    size_t shared_count;          /**< P */
    const double *shared;         /**< shared[P] */
    const unsigned char *shared_fixed; /**< NULL, or P bytes: not 0 = a constant, its gradient is exactly 0 */

    const double *x;              /**< rows: x[k * x_stride + j], or ragged: x[x_offsets[k] + j] */
    size_t x_count;               /**< values of each row */
    size_t x_stride;              /**< 0: x_count */
    const size_t *x_offsets;      /**< NULL, or terms + 1 entries: instead of x_count */
    const struct fad_block *x_blocks; /**< NULL, or one block an element: instead of x */
    const unsigned char *x_fixed; /**< NULL, or a byte per component of a block (of the longest one): not 0 = constant */

    size_t y_count;               /**< values of each term, summed one by one; 0: 1 */
    fad_term *term;
    const struct fad_term_rule *rule; /**< instead of term: values and derivatives without recording; see rule.h */
    void *user;

    bool uniform;                 /**< promise: every element does the same operations, data come only from x and fad_data */
    const fad_program *program;   /**< NULL */
    const uint32_t *kind;         /**< NULL, or one an element: which kind of term it is (a hint for programs) */

    const uint32_t *touch;        /**< NULL, or touch[k * touch_count + j]: the term sees shared[touch[..]] as its shared[j] */
    size_t touch_count;

    size_t leaf;                  /**< elements summed in order: part of the definition; 0: see fad_sum_leaf */
    size_t grain;                 /**< tuning, changes no bit: fewest elements offered to another worker; 0: by measured time */
    size_t first, count;          /**< sum the elements first .. first + count - 1, as a sum of its own; count 0: to the end */
    size_t term_operations;       /**< about how many operations a term has; 0: 64. Enters the default leaf, so the bits */

    struct fad_failure *failure;  /**< filled when a call fails; may be NULL */
    uint64_t reserved[7];         /**< zero */
};

/** The leaf that the sum is computed with: s->leaf, or with w = term_operations (64) and n elements: a = uniform ? 512 :
 * max(1, 4096 / w), m = ceil(2 P / w), cap = max(1, uniform ? max(64, n / 64) : n / 64), and the largest power of two
 * not above min(max(a, m), cap).
 * Errors:    0 for NULL or a description that the other calls would refuse */
FAD_API size_t fad_sum_leaf(const struct fad_sum *s);

/** value[y_count] = the sum, without derivatives; the same bits as from fad_sum_gradient.
 * Cost:      the term on plain numbers: nothing is recorded, though every operation looks whether its operands are constants
 * Errors:    FAD_EINVAL and FAD_EOVERFLOW (description), the code of the lowest failing term, FAD_EHANDLE, FAD_ENOMEM,
 *            FAD_ESTACK, FAD_EFORKED, FAD_EUNSUPPORTED (processor without FMA); value untouched */
FAD_API int fad_sum_value(fad_pool *pool, const struct fad_sum *s, double *value);

/** The sum and its gradient in one pass. Each output may be NULL, and asking for fewer changes no bit of the others.
 * Shapes:    value[y_count], shared_gradient[y_count][P]; x_gradient laid out as x, y_count times over; with x_blocks
 *            x_gradient is ignored and each block's gradient field is filled where it is not NULL; entries between
 *            rows and of elements outside first/count are left as they are
 * Numerics:  bits are a function of the description alone; never -0, and one NaN
 * Memory:    one element's recording a worker and at most 2 (log2(n / leaf) + 1) + 1 gradients of the shared parameters a
 *            worker; x gradients are built aside, so that an error leaves them untouched
 * Errors:    as fad_sum_value; FAD_EINVAL for x_gradient where elements overlap (x_stride < x_count) */
FAD_API int fad_sum_gradient(fad_pool *pool, const struct fad_sum *s, double *value, double *shared_gradient,
                             double *x_gradient);

/** Every term's value and gradient: the residuals of a fit and their Jacobian; with gradients NULL a map.
 * Shapes:    values[n][y_count], gradients[n][y_count][P], row-major, for the n elements of first/count; each may be NULL.
 *            The part of the Jacobian that belongs to x is the x_gradient of fad_sum_gradient: each term has its own x
 * Cost:      memory: a second copy of the outputs while it runs
 * Errors:    as fad_sum_gradient */
FAD_API int fad_sum_terms(fad_pool *pool, const struct fad_sum *s, double *values, double *gradients);

/** The sum and its derivative in one direction: forward mode.
 * Shapes:    value[y_count], tangent[y_count], each may be NULL; shared_tangent[P]; x_tangent laid out as x, or with x_blocks
 *            one block of the description after the other; NULL: zeros. Those of fixed entries count as 0
 * Numerics:  value has the bits of fad_sum_value; a product of which one factor is 0 is 0, as where an adjoint of 0 stops;
 *            what a rule multiplies is its own affair
 * Cost:      the recording of a gradient and a forward sweep, or the rule's value and tangent; elements may overlap
 * Errors:    as fad_sum_value; FAD_EINVAL only for the description; FAD_EUNSUPPORTED (a rule without tangent, as a term or as
 *            an operation of one); value and tangent untouched */
FAD_API int fad_sum_jvp(fad_pool *pool, const struct fad_sum *s, const double *shared_tangent, const double *x_tangent,
                        double *value, double *tangent);

/** fad_sum_jvp in several directions at once: up to 16 share a recording.
 * Shapes:    shared_tangents[directions][P]; x_tangents: directions times what fad_sum_jvp takes, one after the other
 *            (terms * x_stride, x_offsets[terms] or the sum of all blocks' counts apart); tangents[directions][y_count]
 * Numerics:  each direction has the bits that it has alone */
FAD_API int fad_sum_jvp_many(fad_pool *pool, const struct fad_sum *s, size_t directions, const double *shared_tangents,
                             const double *x_tangents, double *value, double *tangents);

/** The sum, its gradient, and its Hessian in the shared parameters times a direction. x counts as constant.
 * Shapes:    direction[P]; value[y_count], shared_gradient[y_count][P], hessian_vector[y_count][P], each may be NULL; fixed
 *            entries: 0, and those of direction do not count
 * Numerics:  value and shared_gradient have the bits of fad_sum_gradient; forward over reverse, so that derivatives survive
 *            where an adjoint is 0; a product of which one factor is 0 is 0. At kinks the derivatives of real.h, closed under
 *            repetition: 2 for pow(x, 2) at 0, 0 for abs, max and min, for hypot, norm2 and atan2 at the origin
 * Cost:      several gradients (by a program 0.8 to 2.4 were measured); memory twice that of a gradient
 * Errors:    as fad_sum_gradient; FAD_EINVAL (no direction), FAD_EUNSUPPORTED (a rule without second, as a term; as
 *            an operation one that lacks tangent or second) */
FAD_API int fad_sum_hvp(fad_pool *pool, const struct fad_sum *s, const double *direction, double *value,
                        double *shared_gradient, double *hessian_vector);

/** fad_sum_hvp in several directions at once: up to 8 share a recording.
 * Shapes:    directions > 0; direction[directions][P], hessian_vectors[directions][y_count][P]
 * Numerics:  each product has the bits that it has alone */
FAD_API int fad_sum_hvp_many(fad_pool *pool, const struct fad_sum *s, size_t directions, const double *direction,
                             double *value, double *shared_gradient, double *hessian_vectors);

/** The sum, its gradient and its Hessian in the shared parameters, for few of them.
 * Shapes:    hessian[y_count][P][P]; each output may be NULL
 * Numerics:  as fad_sum_hvp; entries (i, j) and (j, i) are the mean of what the two directions give, and have the same bits
 * Cost:      P / 8 times fad_sum_hvp_many of 8; memory: twice the hessian, while it runs */
FAD_API int fad_sum_hessian(fad_pool *pool, const struct fad_sum *s, double *value, double *shared_gradient,
                            double *hessian);

/** The sum as one operation on an outer tape: y[0 .. y_count - 1] from the values shared and x of that tape, each with its
 * derivatives, which are computed here and now: no sweep runs the term again. The tape may be a term's: sums inside the
 * terms of sums, to any depth.
 * Shapes:    shared[P], instead of s->shared; x laid out as s->x, instead of it; with x_blocks, of which only the counts are
 *            read, the blocks' numbers one after the other from block 0 on. NULL: the plain numbers of the description.
 *            Constants and fixed entries get no derivatives; where there is nothing else, y are constants
 * Numerics:  value and derivatives have the bits of fad_sum_gradient of a term that is not uniform; entries of which the
 *            derivative is 0 take no part
 *            Where the outer tape records second derivatives (terms under fad_sum_hvp), the terms are recorded with theirs
 * Ownership: copies what it needs
 * Threads:   while it runs nobody may record on the outer tape, the terms neither: what they need of it is shared and x
 * Memory:    on the tape up to 12 bytes for each entry that is no constant, for each of the y_count values
 * Errors:    as fad_sum_gradient; FAD_EINVAL (outer or y NULL), FAD_EHANDLE (shared, x or y of a term are not of their
 *            recording, or a term has used the outer tape), the tape's error, FAD_EBUSY (called by a term or rule that the
 *            tape waits for), FAD_EUNSUPPORTED (the tape records for programs, or for second derivatives, which the sum's
 *            rule does not have; it fails then as a whole). y is untouched, and, apart from the last one, the tape can be used as before */
FAD_API int fad_sum_apply(fad_pool *pool, fad_tape *outer, const struct fad_sum *s, const fad_real *shared,
                          const fad_real *x, fad_real *y);

/** Every term's value as an operation of its own on an outer tape, for what shall be done with them other than to add them.
 * Shapes:    y[n][y_count], row-major, for the n elements of first/count; else as fad_sum_apply
 * Cost:      as fad_sum_terms with gradients; on the tape up to 12 bytes for each derivative that is not 0
 * Errors:    as fad_sum_apply */
FAD_API int fad_sum_terms_apply(fad_pool *pool, fad_tape *outer, const struct fad_sum *s, const fad_real *shared,
                                const fad_real *x, fad_real *y);

#ifdef __cplusplus
}
#endif
#endif
