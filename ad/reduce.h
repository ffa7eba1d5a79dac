/** @file reduce.h  One call of a fold with derivatives.
 *
 *   part.[ch]        built-in parts on plain numbers
 *   segment.[ch]     recordings that are kept
 *   reduce_leaf.c    the elements of a leaf: values, recording, reverse
 *   reduce_node.c    states of nodes: combining, the way back down the tree
 *   reduce_end.c     from the state of all elements to the results, and back
 *   reduce.c         description, steps of a call, the public calls
 *   reduce_apply.c   a fold whose numbers are values of an outer tape
 *
 * A node over leaves [lo, hi) has its state at leaf[lo] if it is one leaf, else at inner[mid], mid the leaf at which its
 * right child begins: each inner node has its own. Adjoints are laid out in the same way.
 *
 * Threads: written before a fold starts and read only while it runs, except what belongs to one leaf or node. */
#ifndef FADI_REDUCE_H
#define FADI_REDUCE_H

#include <foldad/reduce.h>

#include "ad/call.h"
#include "ad/part.h"
#include "ad/segment.h"

/** Values of a state or an adjoint for every node; see above. */
struct fadi_states {
    double *leaf, *inner;
};

struct fadi_reduce {
    struct fadi_call call; /* first: callbacks of a fold get a pointer to both */
    const struct fad_reduce *r;
    struct fad_sum sum; /* the elements, as the sum that steps of a call work on: one value, a term, a leaf */
    size_t values;          /* of an element */
    size_t width, results;  /* of all parts together */
    size_t leaves;
    bool built_in, general; /* there are parts of this kind */
    bool direct;            /* nothing is recorded: built-in parts read x */
    const double *rows;     /* direct: x from the first element on, `stride` from one element to the next */
    size_t stride;
    double *copy;           /* of given numbers, if rows are that; else NULL */
    bool records;           /* gradients are asked for */
    double *straight;       /* direct: x's gradient, if it can be built where the user wants it; else NULL */
    uint32_t node_family;   /* stamps of recordings of nodes */
    fad_real *plain;        /* the shared parameters as constants: for passes that only evaluate */

    struct fadi_states state, adjoint;
    int *node_rc;                        /* of each inner node: its combine's code, or FADI_NODE_SKIPPED */
    struct fadi_segment **leaf_kept, **node_kept; /* stored recordings */
};

/** The children of the node failed. */
#define FADI_NODE_SKIPPED (-1000)

/** The accumulator of the fold that goes up: which node it is. hi 0: none. */
struct fadi_node {
    size_t lo, hi;
};

/** Where the right child of a node over more than one leaf begins. */
static inline size_t fadi_node_middle(size_t lo, size_t hi)
{
    return lo + ((size_t)1 << (63 - __builtin_clzll((unsigned long long)(hi - lo - 1))));
}

static inline double *fadi_state_at(const struct fadi_reduce *c, const struct fadi_states *s, size_t lo, size_t hi)
{
    return hi - lo == 1 ? s->leaf + lo * c->width : s->inner + fadi_node_middle(lo, hi) * c->width;
}

/** fad_leaf: states of leaves; with store also their recordings. total is a struct fadi_node. */
int fadi_reduce_leaf_up(size_t begin, size_t end, void *node, void *call, size_t *failed);
/** fad_leaf: from the leaf's adjoint to the gradients; total is a struct fadi_total. */
int fadi_reduce_leaf_down(size_t begin, size_t end, void *total, void *call, size_t *failed);

/** Leaves up to this size may go straight. */
#define FADI_STRAIGHT_LEAF 2048u
/** From the adjoints of all leaves to c->straight; cannot fail. */
void fadi_reduce_straight(fad_pool *pool, const struct fadi_reduce *c);

/** The fold's other callbacks going up. */
void fadi_node_identity(void *node, void *call);
void fadi_node_combine(void *left, const void *right, void *call);
/** From the root's adjoint to those of all leaves. FAD_OK, FAD_ENOMEM, FAD_ESTACK, FAD_EFORKED; codes of nodes are in node_rc. */
int fadi_nodes_down(fad_pool *pool, struct fadi_reduce *c);
/** The lowest failing node's code, with *mid where its right half begins; FAD_OK. */
int fadi_node_failure(const struct fadi_reduce *c, size_t *mid);

/** The results of the parts, their adjoints, y; and the tape of finish, which holds what is due to the shared parameters. */
struct fadi_ending {
    double *z, *z_adjoint, *y;
    struct fadi_tape *t; /* NULL: there is no finish */
    fad_real *out;       /* in its scratch: y */
};

/** From the root's state to y; from the results' adjoints (NULL: all 1) to the root's. FAD_OK or the call's failure. */
int fadi_reduce_finish(const struct fadi_reduce *c, struct fadi_ending *e, const double *root);
int fadi_reduce_finish_back(const struct fadi_reduce *c, const struct fadi_ending *e, const double *seed, const double *root,
                            double *adjoint);

/** Room for the total of a fold. */
union fadi_reduce_total {
    struct fadi_total total;
    double room[1 + sizeof(struct fadi_total) / sizeof(double)];
};

/** The description, with handles instead of its numbers where they are not NULL. FAD_OK or what fadi_describe returns. */
int fadi_reduce_describe(struct fadi_reduce *c, const struct fad_reduce *r, const fad_real *shared, const fad_real *x);
/** How many results y has. */
size_t fadi_reduce_count(const struct fadi_reduce *c);
/** Of a described fold: up to y; then, if c->records, any number of times down from a seed (NULL: all 1) to the gradients of
 * shared in total (whose accumulator is NULL before) and of x in the call's x_built; the end, whatever has failed.
 * FAD_OK or the call's failure. */
int fadi_reduce_open(fad_pool *pool, struct fadi_reduce *c, struct fadi_ending *e, bool wants_shared, bool wants_x);
int fadi_reduce_back(fad_pool *pool, struct fadi_reduce *c, struct fadi_ending *e, const double *seed,
                     struct fadi_total *total);
void fadi_reduce_close(struct fadi_reduce *c, const struct fadi_ending *e);

/** The public calls, once it is known that the processor can do it. */
int fadi_reduce_apply(fad_pool *pool, fad_tape *outer, const struct fad_reduce *r, const fad_real *shared, const fad_real *x,
                      fad_real *y);
int fadi_reduce_value(fad_pool *pool, const struct fad_reduce *r, double *value);
int fadi_reduce_gradient(fad_pool *pool, const struct fad_reduce *r, const double *seed, double *value,
                         double *shared_gradient, double *x_gradient);

#endif
