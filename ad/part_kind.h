/** @file part_kind.h  What a built-in part of a fold is, and what the files that define some have in common. Loops over lanes are
 * written so that compilers make vectors of them; the number of lanes is part of the definition (reduce.h) and not the
 * machine's. */
#ifndef FADI_PART_KIND_H
#define FADI_PART_KIND_H

#include "ad/part.h"

#define LANES 8u
#define ALWAYS static inline __attribute__((always_inline))

struct fadi_part_kind {
    size_t width, results;
    void (*identity)(double *s);
    void (*leaf)(const struct fad_part *p, const struct fadi_run *v, double *s);
    void (*join)(const double *l, const double *r, double *s);
    void (*finish)(const struct fad_part *p, const double *s, double *z);
    void (*finish_back)(const struct fad_part *p, const double *s, const double *seed, double *a);
    void (*join_back)(const double *l, const double *r, const double *a, double *la, double *ra);
    void (*leaf_back)(const struct fad_part *p, const struct fadi_run *v, const double *s, const double *a, double *to,
                      double *work);
};

/* part_sums.c */
extern const struct fadi_part_kind fadi_part_sum, fadi_part_weighted_sum, fadi_part_product, fadi_part_mean_variance;
/* part_extremes.c */
extern const struct fadi_part_kind fadi_part_max, fadi_part_min, fadi_part_argmax, fadi_part_argmin, fadi_part_logsumexp;

/** The first value of a state is the result, and has its adjoint. */
void fadi_one_result(const struct fad_part *p, const double *s, double *z);
void fadi_one_adjoint(const struct fad_part *p, const double *s, const double *seed, double *a);

/** A product with an adjoint: 0 stops. */
static inline double stop(double w, double p)
{
    return w == 0.0 ? 0.0 : w * p;
}

/** The sum of the lanes. */
static inline double fadi_add_lanes(const double *s)
{
    return ((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + (s[6] + s[7]));
}

#endif
