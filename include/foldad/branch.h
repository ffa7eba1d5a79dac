/** @file branch.h  Fork and join of recordings: tasks of an irregular computation that record on tapes of their own.
 *
 *     static int half(fad_worker *w, fad_tape *t, const fad_real *captured, fad_real *out, void *user);
 *     ...
 *     struct fad_branch b = {.fn = half, .captured = &x, .captured_count = 1, .out = &y, .out_count = 1};
 *     fad_tape_fork(w, t, &b);                 // may run elsewhere from here on
 *     z = other_half(w, t, x);
 *     rc = fad_tape_join(w, t, &b);            // y is a result on t now
 *
 * What a branch needs of the parent's tape is named, and so is what it gives back. The join puts the branch's recording into
 * the parent's, as one operation with out_count results; the order of the joins in the parent's program is the order of
 * the recording. So digests and gradients are functions of the program alone: the same bits for any number of
 * workers, and serially (fad_pool_run with pool NULL).
 *
 * Forward: a sweep begins with a branch where it was forked and needs its outcome where it was joined.
 * Reverse: a sweep begins with a branch where it was joined and needs its outcome where it was forked, and between the two
 * goes on with the parent's operations: the same tree of forks backwards. Adjoints of a branch are its own; those
 * of what it captured are added to the parent's at the place of the fork, in the order of captured. */
#ifndef FOLDAD_BRANCH_H
#define FOLDAD_BRANCH_H

#include <foldad/pool.h>
#include <foldad/real.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The body of a branch: out[out_count] from captured[captured_count], which are handles of t. It may fork from w and t
 * itself. Returns 0 or the user's (positive) code.
 * Threads:   t is the branch's own, until it returns; handles of the parent's tape are FAD_EHANDLE on it */
typedef int fad_branch_fn(fad_worker *w, fad_tape *t, const fad_real *captured, fad_real *out, void *user);

/** One branch: caller's storage, filled with zeros apart from what is needed; like a fad_task joined by who forked it, in the
 * function that forked it. It, captured and out must live until then. */
struct fad_branch {
    fad_branch_fn *fn;
    void *user;
    const fad_real *captured; /**< handles of the parent's tape, or constants */
    size_t captured_count;
    fad_real *out;            /**< written by a join that succeeds */
    size_t out_count;
    uint64_t reserved[2];     /**< zero */
    fad_task task;            /* the rest is not for use by programs */
    void *inside;
};

/** Lets other workers run the branch until it is joined. w: the calling thread's worker, t: the parent's tape.
 * Cost:      about a microsecond with its join
 * Errors:    none here: the join tells */
FAD_API void fad_tape_fork(fad_worker *w, fad_tape *t, struct fad_branch *b);

/** Makes sure that the branch has run, here or elsewhere, and puts its recording where t is now. On a tape that is traced the
 * branch runs here, on t itself. Without active captured values the results are constants.
 * Memory:    the branch's recording, until t is rewound to before the join: 24 bytes an operation, and about 200
 * Errors:    the first error of t: of a branch that failed that of the first one in the order of joins; FAD_EHANDLE
 *            (captured values of another tape, a result that is not the branch's, t rewound behind the fork), FAD_EINVAL
 *            (NULL, not forked), FAD_ENOMEM, FAD_EOVERFLOW, FAD_EFORKED; out untouched. Also after an error of t each
 *            branch that was forked must be joined */
FAD_API int fad_tape_join(fad_worker *w, fad_tape *t, struct fad_branch *b);

/** fad_tape_reverse that lets other workers sweep branches; the same bits.
 * Errors:    as fad_tape_reverse, FAD_EFORKED */
FAD_API int fad_tape_reverse_with(fad_worker *w, fad_tape *t, fad_real y, double seed, size_t n, const fad_real *inputs,
                                  double *gradient);

/** fad_tape_forward that lets other workers sweep branches; the same bits.
 * Errors:    as fad_tape_forward, FAD_EFORKED */
FAD_API int fad_tape_forward_with(fad_worker *w, fad_tape *t, fad_real y, size_t directions, size_t n, const fad_real *inputs,
                                  const double *seeds, double *tangent);

#ifdef __cplusplus
}
#endif
#endif
