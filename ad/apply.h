/** @file apply.h  Results of a call as operations on an outer tape: what sums (apply.c) and folds (reduce_apply.c) share. */
#ifndef FADI_APPLY_H
#define FADI_APPLY_H

#include "ad/call.h"

struct fadi_outer {
    struct fadi_tape *tape;
    fad_real *y;
    bool wants_shared, wants_x; /* some of them are no constants */
    size_t bad;                 /* the lowest element with a foreign handle; SIZE_MAX: none */
    size_t longest;             /* entries of x, of the longest element */
    size_t directions;          /* in which the tape records second derivatives; 0: it does not */
    /* of the result in work */
    size_t count;
    fad_real *operands;
    double *partials, *slopes;  /* the latter [count][directions] */
};

/** What can be said before anything runs: whether tape and handles are good, and what is wanted. seconds: the call can do with a
 * tape that records second derivatives. */
int fadi_outer_admit(struct fadi_call *c, struct fadi_outer *j, bool seconds);
/** The description's failure, when fadi_outer_admit or what came before it has refused; returns rc. */
int fadi_outer_refuse(const struct fadi_call *c, const struct fadi_outer *j, int rc);

/** Operands of the result in work: those of shared and of element k's x that are no constants and have a gradient, or tangents
 * of it, that are not 0. The tangents in direction d lie (1 + d) * apart behind gradient. gradient NULL: nobody has. */
void fadi_outer_add_shared(struct fadi_outer *j, const struct fadi_call *c, const double *gradient, size_t apart);
void fadi_outer_add_x(struct fadi_outer *j, const struct fadi_call *c, size_t k, const double *gradient, size_t apart);

/** Puts result r into work; returns its value. Called twice for each result. */
typedef double fadi_collect(struct fadi_outer *j, const struct fadi_call *c, const void *from, size_t r);
/** After fadi_tape_hold: gives the tape back and makes y[results] operations on it, each of at most `entries` operands.
 * FAD_OK, or y and the tape are untouched. */
int fadi_outer_push(struct fadi_outer *j, struct fadi_call *c, size_t results, size_t entries, fadi_collect *collect,
                    const void *from);

#endif
