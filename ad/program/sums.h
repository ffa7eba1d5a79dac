/** @file sums.h  Sums over the elements, as nodes. */
#ifndef FADI_PROGRAM_SUMS_H
#define FADI_PROGRAM_SUMS_H

#include "ad/program/graph.h"

/** What has been summed already: by_node[n] is the sum of n, or FADI_NO_NODE. */
struct fadi_sums {
    struct fadi_graph *g;
    uint32_t *by_node;
    uint32_t room;
};

/** The sum over all elements of a, or of a * b (b may be FADI_NO_NODE); of level after, shared or constant. */
uint32_t fadi_sum_node(struct fadi_sums *s, uint32_t a, uint32_t b);
void fadi_sums_fini(struct fadi_sums *s);

#endif
