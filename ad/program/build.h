/** @file build.h  From a recording to the graph of a term, and from that to the graphs of its derivatives. */
#ifndef FADI_PROGRAM_BUILD_H
#define FADI_PROGRAM_BUILD_H

#include "ad/program/capture.h"
#include "ad/program/graph.h"

/** Numbers of nodes of one kind of result; FADI_NO_NODE where the derivative is 0. */
struct fadi_outputs {
    uint32_t *y;      /* y_count, of level element at most */
    uint32_t *sum;    /* y_count: their sums */
    uint32_t *shared; /* y_count * shared: of level after at most; with touch: of level element at most */
    uint32_t *own;    /* y_count * own: of level element at most */
};

/** What a term and its derivatives are. */
struct fadi_build {
    struct fadi_graph graph;
    size_t y_count;
    uint32_t shared, own;
    bool touch;       /* the shared parameters are picked for each element */
    uint32_t columns; /* of fad_data */
    size_t *column_stride;
    struct fadi_outputs out;  /* value and gradient */
    uint32_t *value_tangent;  /* y_count: sums; in the direction of all tangent inputs */
    uint32_t *hessian_vector; /* y_count * shared; in the direction of the shared parameters' tangents */
};

/** The primal: operations on arrays are written out, sums of products fused. y is set. FAD_ENOMEM, FAD_EOVERFLOW. */
int fadi_build_primal(struct fadi_build *b, const struct fadi_capture *p, size_t y_count, bool touch);
/** Adds the gradient. */
int fadi_build_gradient(struct fadi_build *b);
/** Adds the tangent of the values. */
int fadi_build_tangent(struct fadi_build *b);
/** Adds the tangent of the gradient. */
int fadi_build_second(struct fadi_build *b);
/** The sum over the elements of each of count nodes, without taking them apart. */
void fadi_build_sums(struct fadi_build *b, const uint32_t *nodes, uint32_t *sums);
void fadi_build_fini(struct fadi_build *b);

/** The partial derivative of node n to its operand i, FADI_NO_NODE for 0, and whether a zero adjoint must stop there.
 * Additions and products are not asked for here. */
uint32_t fadi_partial(struct fadi_graph *g, uint32_t n, unsigned i, bool *stops);

#endif
