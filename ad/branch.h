/** @file branch.h  Recordings of branches, which belong to the tape, or to the kept recording, that they were joined to: a rope.
 *
 * A fork and its join are calls (tape.h) with the same context, a pointer to the branch. The fork has no results; a sweep that
 * does something at the join puts 1 into the fork's adjoint, so that it comes to the fork as well. A forward sweep begins
 * with a branch at the fork, if it has a worker and goes as far as the join, and needs its outcome at the join.
 *
 *   fields of                  | written by                            | read by
 *   older, join, ids, active   | the parent's thread, at fork and join | whoever sweeps the parent
 *   recording, rc              | who runs the branch                   | the same, after the join
 *   adjoints, task, forked     | who sweeps the parent; who sweeps the branch fills one half of adjoints | the former */
#ifndef FADI_BRANCH_H
#define FADI_BRANCH_H

#include <foldad/branch.h>

#include "ad/segment.h"

struct fadi_branch {
    struct fadi_branch *older;     /* the one joined before to the same recording */
    struct fad_branch *of;         /* while it runs */
    struct fadi_segment *recording;
    uint64_t fork, join;           /* ids of the calls */
    size_t captured, results;
    int rc;                        /* of a sweep that was not forked */
    bool forked;                   /* the sweep was, and has not been joined */
    bool active;                   /* there is a join: something depends on what was captured */
    fad_task task;                 /* the sweep */
    double *adjoints;              /* or tangents: of results, then of captured values */
    uint32_t *ids;                 /* the captured values' on the parent's tape; 0: constants */
};

/** A tape from the stock as branches use it; its ids do not depend on the parent's. */
int fadi_branch_tape(struct fadi_tape **t, uint32_t family);
/** The calls that a fork and a join are. */
extern const struct fadi_kind fadi_fork_kind, fadi_join_kind;

#endif
