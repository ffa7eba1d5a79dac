/** @file gmm_file.h  Reads Gaussian mixture problems in the format of the ADBench benchmark.
 *
 * Line 1 "D K N"; K lines of one alpha; K lines of D means; K lines of an inverse covariance factor, D(D+1)/2 numbers:
 * the logarithms of the diagonal, then what is below it by columns; N lines of D coordinates; a last line "gamma m". */
#ifndef EXAMPLES_GMM_FILE_H
#define EXAMPLES_GMM_FILE_H

#include "text.h"

struct gmm_problem {
    size_t dimension, components, points; /**< D, K, N: at least 1 each */
    size_t factor;                        /**< D(D+1)/2 */
    size_t parameters;                    /**< K (1 + D + factor) */
    double *parameter;                    /**< alpha[K], means[K][D], factors[K][factor] */
    double *point;                        /**< point[N][D] */
    double gamma;                         /**< of the Wishart prior, > 0 */
    size_t m;
};

/** Reads a problem from memory; every line has to have the numbers that line 1 promises.
 * Ownership: *problem is released by gmm_release; name is only used for complaints
 * Errors:    false with the complaint; *problem untouched. Allocates at most a few times size */
bool gmm_parse(const char *data, size_t size, const char *name, struct gmm_problem *problem,
               struct complaint *complaint);

/** Reads a reference: a value and then count - 1 gradient components, one a line.
 * Errors:    false with the complaint */
bool gmm_parse_reference(const char *data, size_t size, const char *name, size_t count, double *reference,
                         struct complaint *complaint);

/** gmm_parse of the file at path. */
bool gmm_load(const char *path, struct gmm_problem *problem, struct complaint *complaint);

void gmm_release(struct gmm_problem *problem);

#endif
