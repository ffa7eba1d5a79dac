/** @file piece.h  One worker's part of a fold: a node of the tree, folded leaf by leaf, parts of it offered to others. */
#ifndef FADI_PIECE_H
#define FADI_PIECE_H

#include <foldad/fold.h>

#include "sched/worker.h"

/** A call of fad_fold. Constant while it runs, but for the last group. */
struct fadi_fold {
    const struct fad_monoid *monoid;
    fad_leaf *leaf;
    void *user;
    size_t first, end;        /* elements */
    size_t leaf_size, leaves; /* elements of a leaf; leaves */
    size_t acc_bytes;         /* of an accumulator, rounded up */
    size_t grain;             /* fewest leaves of an offer; 0: by time */
    struct fadi_core *core;   /* NULL: serial */

    FAD_ATOMIC(size_t) failed;    /* the lowest failing element so far; SIZE_MAX: none */
    FAD_ATOMIC(uint32_t) lock;    /* for failed and code */
    int code;                     /* of that element */
    bool from_callback;           /* the code; else it is the library's own */
    FAD_ATOMIC(uint64_t) leaf_ns; /* about how long a leaf takes; 0: not known yet */
};

/** Folds leaves lo .. hi - 1 into *acc (unset before). False: an element at or before this piece failed, *acc is void. */
bool fadi_piece_run(struct fadi_worker *w, struct fadi_fold *f, size_t lo, size_t hi, void *acc);

/** Keeps the failure if no lower one is known. */
void fadi_fold_fail(struct fadi_fold *f, size_t index, int code, bool from_callback);

#endif
