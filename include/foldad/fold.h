/** @file fold.h  Deterministic folds: the tree of combinations is a function of (n, leaf) alone. */
#ifndef FOLDAD_FOLD_H
#define FOLDAD_FOLD_H

#include <foldad/pool.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The largest leaf and grain, in elements. */
#define FAD_LEAF_MAX ((size_t)1 << 40)

/** Folds elements begin .. end - 1 in order into *acc, which holds the identity or what the caller put there.
 * Returns 0, or a code with *failed set to the element it stopped at (preset to begin). Positive codes are the
 * user's; a negative one (a fad_status of a nested call) is passed on as it is. */
typedef int fad_leaf(size_t begin, size_t end, void *acc, void *user, size_t *failed);

/** Does elements begin .. end - 1; codes as in fad_leaf. */
typedef int fad_body(size_t begin, size_t end, void *user, size_t *failed);

/** A set of values with an associative operation and its identity.
 * Accumulators are moved with memcpy. Each one that identity has made is afterwards the right operand of combine at
 * most once, and is not used again after that; when the fold fails, some are just dropped.
 * size 0: there are no accumulators and both functions may be NULL. */
struct fad_monoid {
    size_t size;  /**< bytes of one accumulator */
    size_t align; /**< a power of two up to 128; 0: any */
    void (*identity)(void *acc, void *user);
    void (*combine)(void *left, const void *right, void *user); /**< left = left + right */
};

/** All zero: the defaults. */
struct fad_fold_options {
    size_t leaf;  /**< elements folded in order by one call: part of the definition; 0: about the square root
                       of 8 n, at most n / 8 and 4096 (large enough for cheap elements: costly ones may want 1) */
    size_t grain; /**< tuning, changes no bit: the fewest elements that are offered to another worker; 0: by measured time */
    size_t first; /**< indices are first .. first + n - 1; the tree starts at first */
    struct fad_failure *failure; /**< filled when the call fails; may be NULL */
    uint64_t reserved[4];        /**< zero */
};

/** Folds n elements: leaves are [first + i * leaf, first + (i + 1) * leaf), and a node over m > 1 leaves has as its left
 * child the largest power of two of leaves that is smaller than m.
 * Shapes:    n == 0 gives the identity
 * Units:     leaf and grain in elements
 * Numerics:  bits depend on (n, leaf, first, the callbacks) alone; rounding to nearest, subnormals on, in all callbacks
 * Ownership: copies nothing; result has monoid->size bytes and receives the total by memcpy
 * Threads:   any number of calls at once, and from inside callbacks; pool NULL: serial, same bits
 * Cost:      work O(n), span O(leaf + log n); at most 2 (log2(n / leaf) + 1) accumulators a worker; no allocation on a
 *            pool after its first calls unless accumulators grow; wakes nobody during its first 10 us (unless grain is set)
 * Errors:    the code of the lowest failing element, always the same one: a failure cancels only what comes after it;
 *            FAD_EINVAL (NULL where a pointer is needed, leaf or grain above FAD_LEAF_MAX, align not a power of two),
 *            FAD_EOVERFLOW (first + n, or the accumulators' size), FAD_ENOMEM, FAD_ESTACK, FAD_EFORKED; *result untouched
 * Source:    the binary-counter form of pairwise summation (Higham, Accuracy and Stability, 4.1) on a fixed tree */
FAD_API int fad_fold(fad_pool *pool, size_t n, const struct fad_monoid *monoid, fad_leaf *leaf, void *user,
                     const struct fad_fold_options *options, void *result);

/** fad_fold without a result. */
FAD_API int fad_for(fad_pool *pool, size_t n, fad_body *body, void *user, const struct fad_fold_options *options);

/** *sum = x[0] + ... + x[n - 1].
 * Numerics:  leaves of FAD_SUM_LEAF elements, in each of which element i goes to lane i mod 16, then one fixed tree of the
 *            lanes, then the tree of fad_fold; error at most about (FAD_SUM_LEAF / 16 + log2(n)) * 2^-53 * sum |x|
 * Shapes:    n == 0 gives 0
 * Cost:      the speed of memory from some 10^5 elements on
 * Errors:    as fad_fold */
FAD_API int fad_sum_array(fad_pool *pool, const double *x, size_t n, double *sum);

/** *sum = x[0] + ... + x[n - 1], compensated: as if summed in about twice the precision and rounded once.
 * Numerics:  the same lanes and tree on pairs (s, c), s the plain sum and c what rounding lost (Neumaier); the pairs are
 *            kept to the end. inf and NaN come out as a plain sum would give them
 * Errors:    as fad_fold
 * Source:    Neumaier, ZAMM 54 (1974), 39-51 */
FAD_API int fad_sum_array_kbn(fad_pool *pool, const double *x, size_t n, double *sum);

/** Elements in one leaf of fad_sum_array and fad_sum_array_kbn. */
#define FAD_SUM_LEAF 4096

#ifdef __cplusplus
}
#endif
#endif
