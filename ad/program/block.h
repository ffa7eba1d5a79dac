/** @file block.h  One block of elements on its way through the body: what it reads, what it leaves. */
#ifndef FADI_PROGRAM_BLOCK_H
#define FADI_PROGRAM_BLOCK_H

#include "ad/program/run.h"

struct fadi_block {
    const struct fadi_plan *plan;
    const struct fadi_plan_form *f;
    struct fadi_memory *m;
    double *sums; /* of all forms */
    struct fadi_frame frame;
    size_t count, lanes; /* elements, and what they are rounded up to */
    size_t k[FADI_BLOCK_MAX];
    const double *row[FADI_BLOCK_MAX]; /* an element's own values; the last one's again in lanes that do not count */
    const double *tangent[FADI_BLOCK_MAX]; /* of its own values, if there is one */
    size_t start[FADI_BLOCK_MAX];          /* of its own gradient in x_built */
};

/** Brings what the body reads into its slots. */
void fadi_block_load(const struct fadi_block *b);
/** Stores what it has computed for each element. */
void fadi_block_store(const struct fadi_block *b);

#endif
