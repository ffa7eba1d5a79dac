/** @file nist_file.h  Reads NIST StRD nonlinear regression files in the layout that NIST publishes. */
#ifndef EXAMPLES_NIST_FILE_H
#define EXAMPLES_NIST_FILE_H

#include "text.h"

enum { NIST_NAME_MAX = 31, NIST_PARAMETERS_MAX = 64, NIST_PREDICTORS_MAX = 64 };

/** One data set. The figures of a parameter have the same index in start[0], start[1], certified and deviation. */
struct nist_set {
    char name[NIST_NAME_MAX + 1];
    size_t name_line; /**< for complaints of the program about the name */
    size_t parameters, predictors, observations;
    double *start[2], *certified, *deviation; /**< parameters values each */
    double rss;                               /**< certified residual sum of squares */
    double rsd;                               /**< certified residual standard deviation */
    double *rows;                             /**< observations rows of 1 + predictors values: y, x1, x2, ... */
    size_t data_line;                         /**< the line of row 0 */
};

/** Reads a set from memory.
 * The header says on which lines the values stand; every line of the file has to be where that puts it, and every count
 * that is given twice has to agree, so that a file with a line missing or one too many is refused.
 * Ownership: *set is released by nist_release; name is only used for complaints
 * Errors:    false with the complaint; *set untouched. Allocates at most a few times size */
bool nist_parse(const char *data, size_t size, const char *name, struct nist_set *set, struct complaint *complaint);

/** nist_parse of the file at path. */
bool nist_load(const char *path, struct nist_set *set, struct complaint *complaint);

void nist_release(struct nist_set *set);

#endif
