/** @file part.h  The built-in parts of a fold: plain numbers and closed forms, nothing is recorded.
 *
 * A state is one to three doubles (see the kinds in part_*.c). Adjoints have the same number of places, but what stands in
 * them is the kind's own affair: whatever finish_back or join_back puts there, join_back and leaf_back understand.
 * An adjoint of 0 stops. */
#ifndef FADI_PART_H
#define FADI_PART_H

#include <foldad/reduce.h>

/** The values of a run of elements: element i's at values[i * stride + column], its number is first + i. Their adjoints are
 * at to[i * to_stride + column]. */
struct fadi_run {
    const double *values;
    size_t stride, count, first, to_stride;
};

/** Values of a state, and results. */
size_t fadi_part_width(const struct fad_part *p);
size_t fadi_part_results(const struct fad_part *p);
/** One more than the last column that it reads. */
size_t fadi_part_columns(const struct fad_part *p);

void fadi_part_identity(const struct fad_part *p, double *state);
/** count > 0 */
void fadi_part_leaf(const struct fad_part *p, const struct fadi_run *v, double *state);
void fadi_part_join(const struct fad_part *p, const double *left, const double *right, double *state);
void fadi_part_finish(const struct fad_part *p, const double *state, double *z);

/** adjoint from the results' adjoints. */
void fadi_part_finish_back(const struct fad_part *p, const double *state, const double *seed, double *adjoint);
/** Those of the children from that of the node. */
void fadi_part_join_back(const struct fad_part *p, const double *left, const double *right, const double *adjoint,
                         double *left_adjoint, double *right_adjoint);
/** Adds to the adjoints of the values. work: v->count doubles. */
void fadi_part_leaf_back(const struct fad_part *p, const struct fadi_run *v, const double *state, const double *adjoint,
                         double *to, double *work);

#endif
