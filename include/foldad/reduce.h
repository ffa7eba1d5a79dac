/** @file reduce.h  Differentiable folds with other monoids than +: products, maxima, softmax, variances, or one of your own.
 *
 *     struct fad_part parts[] = {{.kind = FAD_PART_LOGSUMEXP}, {.kind = FAD_PART_MEAN_VARIANCE}};    // one pass for both
 *     struct fad_reduce r = {.of = {.terms = n, .x = x, .x_count = 1}, .parts = parts, .part_count = 2};
 *     double y[3], seed[3] = {1, 0, 0};
 *     fad_reduce_gradient(pool, &r, seed, y, NULL, dx);                        // dx = the derivatives of y[0]
 *
 * Every element has values v: what its term makes of the shared parameters and its x, or, without a term, its x. A part
 * folds one or some of these values; a fold may have several parts, and of each kind as many as it likes. Their results
 * follow each other in z, and y is z or what finish makes of it.
 *
 * Numerics (all calls): the tree is that of fad_fold for (n, leaf), for values and derivatives alike. The first element of
 *   a leaf is the leaf's state to begin with: identities only matter where there are no elements. */
#ifndef FOLDAD_REDUCE_H
#define FOLDAD_REDUCE_H

#include <foldad/sum.h>

#ifdef __cplusplus
extern "C" {
#endif

/** out[width] = the state of what left[width] and right[width] are the states of: associative, recorded on t. Parameters
 * come in as part of the elements' states. Returns 0 or the user's (positive) code.
 * Threads:   called at the same time for different nodes; runs once for each, with recompute twice */
typedef int fad_combine(fad_tape *t, const fad_real *left, const fad_real *right, fad_real *out, void *user);

/** y[y_count] from the results z of all parts and the shared parameters; as a term otherwise. */
typedef int fad_finish(fad_tape *t, const fad_real *shared, const fad_real *z, fad_real *y, void *user);

/** What a part computes. In the built-in ones value i of a leaf goes to lane i mod 8 where that is said; each lane is
 * reduced in order, then ((0 1) (2 3)) ((4 5) (6 7)). The numbers never change. */
enum fad_part_kind {
    FAD_PART_GENERAL = 0,      /**< `width` values are the element's state, combined by `combine`; result: the state */
    FAD_PART_SUM = 1,          /**< sum of v, in lanes */
    FAD_PART_WEIGHTED_SUM = 2, /**< sum of v[weight] * v, in lanes of fma; derivatives go to both */
    FAD_PART_PRODUCT = 3,      /**< product, in lanes; derivatives are products of the others, so zeros need no division */
    FAD_PART_MAX = 4,          /**< as a chain of fad_max in each leaf and in the tree: a tie of the two operands of a node
                                    gives one half to each side, so of three equal elements of one leaf the last one gets
                                    1/2 and the others 1/4. NaN: NaN, derivative to the first NaN */
    FAD_PART_MIN = 5,          /**< likewise */
    FAD_PART_ARGMAX = 6,       /**< the number of the first of the largest elements (or of the first NaN), as a double;
                                    passive. No elements: -1 */
    FAD_PART_ARGMIN = 7,
    FAD_PART_LOGSUMEXP = 8,    /**< streaming: states are the largest value and the sum of e^(v - largest) over the others, in
                                    lanes. Infinities as in fad_logsumexp. No elements: -inf */
    FAD_PART_MEAN_VARIANCE = 9 /**< two results: mean, and sum of squares about it over (n - dof). In a leaf in two passes,
                                    in lanes; across leaves Chan's formula. No elements: NaN */
};

/** One fold. Fields that its kind does not use are zero. */
struct fad_part {
    enum fad_part_kind kind;
    size_t column;          /**< the value that it reads, the first one for FAD_PART_GENERAL */
    size_t weight;          /**< FAD_PART_WEIGHTED_SUM: the value that is the weight */
    size_t dof;             /**< FAD_PART_MEAN_VARIANCE: 0 divides by n, 1 by n - 1 */
    size_t width;           /**< FAD_PART_GENERAL: values of a state */
    fad_combine *combine;   /**< FAD_PART_GENERAL */
    const double *identity; /**< FAD_PART_GENERAL: width values, the result of no elements; NULL: zeros */
    void *user;             /**< for combine */
    uint64_t reserved[4];   /**< zero */
};

/** The description of a fold. Zeros are the defaults; it is read only, and may be used by several threads at once
 * (of.failure, if set, by one). */
struct fad_reduce {
    struct fad_sum of;            /**< the elements, as in a sum: y_count values each. term NULL: the values are x, as many as
                                       the parts read, and y_count and user are not used. leaf 0: see fad_reduce_leaf.
                                       program must be NULL */
    const struct fad_part *parts;
    size_t part_count;
    fad_finish *finish;           /**< NULL: y is z */
    size_t y_count;               /**< results of finish; 0: 1 */
    void *user;                   /**< for finish */
    bool recompute;               /**< keep no recordings for the reverse pass: terms and combines run twice */
    uint64_t reserved[8];         /**< zero */
};

/** Number of results y; 0 for NULL or a description that the other calls would refuse. */
FAD_API size_t fad_reduce_results(const struct fad_reduce *r);

/** The leaf that r is computed with: r->of.leaf, or with w = of.term_operations (64 with a term or a general part, else 8)
 * the largest power of two not above min(max(1, 8192 / w), max(c, n / 64)), c being 64 where nothing is recorded, else 1.
 * Errors:    0 for NULL or a description that the other calls would refuse */
FAD_API size_t fad_reduce_leaf(const struct fad_reduce *r);

/** value[fad_reduce_results(r)] = y, without derivatives; the same bits as from fad_reduce_gradient.
 * Cost:      memory: 16 n / leaf bytes for each value of a state (see fad_reduce_gradient)
 * Errors:    FAD_EINVAL and FAD_EOVERFLOW (description), FAD_EUNSUPPORTED, FAD_ENOMEM, FAD_ESTACK, FAD_EFORKED,
 *            FAD_EHANDLE; the code of the lowest failing element, in its term or in a combine of its leaf; if none fails that
 *            of the lowest failing node, whose index is the first element of its right half; if none fails that of finish,
 *            without an index; value untouched */
FAD_API int fad_reduce_value(fad_pool *pool, const struct fad_reduce *r, double *value);

/** y, and the gradient of seed . y, by a sweep down the same tree. Each output may be NULL, and asking for fewer changes no
 * bit of the others.
 * Shapes:    seed[results], NULL: all 1; value[results]; shared_gradient[of.shared_count]; x_gradient laid out as of.x, with
 *            of.x_blocks into their gradient fields as in fad_sum_gradient
 * Numerics:  bits are a function of the description and the seed alone, recompute excluded; never -0, and one NaN
 * Memory:    with m = ceil(n / leaf) leaves, W values in a state (1 for each built-in part, 2 for FAD_PART_LOGSUMEXP,
 *            FAD_PART_ARGMAX and FAD_PART_ARGMIN, 3 for FAD_PART_MEAN_VARIANCE, width for a general one):
 *              always       32 m W (states and their adjoints at leaves and nodes) + the x gradient, built aside, both in bytes;
 *                           4 m with a general part; recompute: 16 a shared parameter
 *              store        + for each element 24 a recorded operation (operations on arrays: + 8 an operand, + 4 more if
 *                           their ids do not follow each other) and, where there is a built-in part, 12 a value;
 *                           + for each of the m leaves, and of the m - 1 nodes with a general part, 56 + 4 W;
 *                           + for each such node 24 a recorded operation of the combines
 *              each worker  one leaf's recording: 33 bytes a recorded operation or input, 32 a value and 8 an element, up
 *                           to three times that while it grows; gradients of the shared parameters as in fad_sum_gradient
 *            Nothing is stored where nothing is recorded: built-in parts without a term need the first line alone, and not
 *            the x gradient where that lies packed and leaves have at most 2048 elements.
 * Cost:      store: one recording and one sweep; recompute: plain evaluation, then recording and sweep
 * Errors:    as fad_reduce_value, and as fad_sum_gradient for x; outputs untouched */
FAD_API int fad_reduce_gradient(fad_pool *pool, const struct fad_reduce *r, const double *seed, double *value,
                                double *shared_gradient, double *x_gradient);

/** The fold as operations on an outer tape: y[results], each one operation with its derivatives, which are computed here and
 * now: no sweep runs anything again. The tape may be a term's, a combine's or a finish's: folds inside of folds and sums, to any
 * depth.
 * Shapes:    shared[of.shared_count], instead of of.shared; x laid out as of.x, instead of it; with of.x_blocks, of which only
 *            the counts are read, the blocks' numbers one after the other from block 0 on. NULL: the plain numbers of the
 *            description. Constants and fixed entries get no derivatives; where there is nothing else, y are constants
 * Numerics:  values and derivatives of result i have the bits of fad_reduce_gradient with a seed that is 1 at i and 0 elsewhere;
 *            entries of which the derivative is 0 take no part
 * Ownership: copies what it needs
 * Threads:   while it runs nobody may record on the outer tape, the callbacks neither: what they need of it is shared and x
 * Memory:    that of fad_reduce_gradient, and 8 bytes an entry of shared and x for each result, while it runs; with built-in
 *            parts alone also a copy of x; on the tape up to 12 bytes for each derivative that is not 0
 * Cost:      one way up the tree, and one down for each result; with recompute terms and combines run once more for each
 * Errors:    as fad_reduce_gradient; FAD_EINVAL (outer or y NULL), FAD_EHANDLE (shared, x or a callback's results are not of
 *            their recording, or a callback has used the outer tape), the tape's error, FAD_EBUSY (called by a callback that the
 *            tape waits for), FAD_EUNSUPPORTED (the tape records for programs or second derivatives; it fails then as a
 *            whole). y is untouched, and, apart from the last one, the tape can be used as before */
FAD_API int fad_reduce_apply(fad_pool *pool, fad_tape *outer, const struct fad_reduce *r, const fad_real *shared,
                             const fad_real *x, fad_real *y);

#ifdef __cplusplus
}
#endif
#endif
