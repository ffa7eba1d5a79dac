/** @file call.h  One call of a sum: what the description was checked and worked out to, and what the call needs meanwhile.
 *
 *   describe.c   the checks, the default leaf, where the elements' own numbers are
 *   taped.c      elements, one after the other, on a tape
 *   ruled.c      elements by the user's rule
 *   apply.c      sums whose numbers are values of an outer tape
 *   keep.c       tapes and stores that are kept between calls
 *   sum.c        the public calls: values, gradients
 *   jvp.c        tangents
 *   hvp.c        second derivatives
 *   check.c, nan.c  whether a gradient is right; where a NaN comes from
 *
 * Threads: a call is written before the fold starts and read only while it runs, except own_failure, what stock.h and
 * accumulate.h describe, and the rows of outputs, which belong to one element each. */
#ifndef FADI_CALL_H
#define FADI_CALL_H

#include <foldad/sum.h>

#include "ad/accumulate.h"
#include "ad/tape.h"

/** Memory whose contents do not matter from one call to the next. */
struct fadi_room {
    void *memory;
    size_t bytes;
};

/** What a call would otherwise allocate each time, and have the system clear each time; one call uses it at a time. */
struct fadi_store {
    struct fadi_accs accs;
    struct fadi_room shared, plain_shared, x_starts, x_built;
};

struct fadi_call {
    const struct fad_sum *s;
    size_t n, first, leaf;
    size_t y_count;
    size_t values; /* doubles in the fold's total: y_count, and what else is summed up with the values */
    size_t rows;   /* rows of adjoints on a tape: y_count, and one for each output and direction in second order */
    fad_leaf *sum_leaf;   /* of a call that is no plain sum or map: instead of the term's or the rule's; else NULL */
    fad_body *terms_body;
    const char *reason; /* static; why the description was refused */

    const fad_real *shared_given, *x_given; /* on an outer tape: instead of the description's numbers; or NULL */

    bool wants_shared, wants_x; /* gradients that are asked for */
    bool records;               /* at least one of them */
    uint32_t stamp;             /* of the shared parameters' handles */
    fad_real *shared;           /* P handles */
    const double *plain_shared; /* a rule's: P values */
    size_t base;                /* first local id; pages of one output are base / FADI_PAGE */
    size_t lines;               /* that hold shared parameters, in a row */
    bool marks;                 /* sweeps note the lines that they touch */
    bool beside;                /* the shared gradient is short: it is summed up beside the values, not in accumulators */
    struct fadi_store *store;

    size_t x_total;   /* entries of one output's x gradient, as it is built aside */
    size_t *x_starts; /* in the store; x_blocks: where each element's entries begin; n + 1 of them */
    size_t x_origin;  /* given blocks: handles before those of the first element */
    double *x_built;  /* in the store; rows * x_total */
    bool x_seeded;    /* x has tangents, no gradient: all elements' numbers are inputs */
    bool x_overlaps;  /* elements may share entries of x_built, so nothing is stored: the call is bound to fail */

    double *term_values;    /* fad_sum_terms: n * y_count */
    double *term_gradients; /* n * rows * P */

    _Atomic size_t own_failure; /* the lowest element whose failure is not a callback's; SIZE_MAX: none */
};

/** An element's own numbers. */
struct fadi_span {
    const double *data;
    size_t count;
    size_t start; /* of its gradient in one output's part of x_built */
    const fad_real *given; /* instead of data, where x_given is */
};

/** Checks s, all its sizes too; fills n, first, leaf, y_count. FAD_OK, FAD_EINVAL, FAD_EOVERFLOW, FAD_EUNSUPPORTED. */
int fadi_describe(struct fadi_call *c, const struct fad_sum *s);
/** With handles instead of s->shared and s->x, as far as they are not NULL. Handles of blocks lie packed, from block 0 on. */
int fadi_describe_given(struct fadi_call *c, const struct fad_sum *s, const fad_real *shared, const fad_real *x);
/** Where element k's numbers are. FAD_OK or FAD_EINVAL. */
int fadi_locate(const struct fadi_call *c, size_t k, struct fadi_span *x);
/** x_starts, if elements cannot be located without, and if x is wanted x_total and x_built. FAD_OK, FAD_EINVAL, FAD_EOVERFLOW, FAD_ENOMEM. */
int fadi_prepare_x(struct fadi_call *c);
/** Copies x_built to where the user wants it. */
void fadi_deliver_x(fad_pool *pool, const struct fadi_call *c, double *x_gradient);

/** Where element k's numbers begin in an array that is laid out as x; k = terms: where the array ends. Blocks: where they
 * would be one behind the other, once fadi_seed_x has been called. */
size_t fadi_place_of(const struct fadi_call *c, size_t k);
/** Prepares for tangents of x. FAD_OK, FAD_EOVERFLOW, FAD_ENOMEM. */
int fadi_seed_x(struct fadi_call *c);

/** The accumulator of the fold. */
struct fadi_total {
    struct fadi_acc *shared; /* NULL: nothing yet */
    double value[];          /* values */
};
void fadi_total_identity(void *total, void *call);
void fadi_total_combine(void *left, const void *right, void *call);
/** fad_leaf and fad_body; user is the call. */
int fadi_taped_leaf(size_t begin, size_t end, void *total, void *call, size_t *failed);
int fadi_taped_terms(size_t begin, size_t end, void *call, size_t *failed);
int fadi_ruled_leaf(size_t begin, size_t end, void *total, void *call, size_t *failed);
int fadi_ruled_terms(size_t begin, size_t end, void *call, size_t *failed);

/** What a worker uses for the elements of one leaf. */
struct fadi_work {
    struct fadi_call *c;
    struct fadi_tape *t;
    struct fadi_span x;
    size_t inputs; /* x.count, or 0 where no derivative to x is wanted */
    fad_real *own, *gathered, *y; /* in the tape's scratch */
};

/** A call for tangents, and what its directions are. */
struct fadi_jvp {
    struct fadi_call c; /* first: the fold knows the call only. rows: directions */
    const double *shared_tangents, *x_tangents; /* NULL: zeros */
    size_t x_apart; /* from one direction's tangents of x to the next one's */
    bool sizes;     /* sums of absolute values instead of tangents */
    _Atomic uint64_t *edges; /* NULL, or raised to the most operands that an element's operations have together */
};
/** Direction d's row of the tape gets its tangents of the shared parameters; and zeros again, as far as `used`. */
void fadi_jvp_seed(const struct fadi_jvp *j, const struct fadi_tape *t);
void fadi_jvp_clear(const struct fadi_jvp *j, const struct fadi_tape *t, uint64_t used);
/** fad_leaf of a rule's tangents; user is the fadi_jvp. */
int fadi_ruled_jvp(size_t begin, size_t end, void *total, void *call, size_t *failed);

/** A call for second derivatives. Rows of a tape, of accumulators and of x_built: y_count gradients, then for each direction
 * y_count products. */
struct fadi_hvp {
    struct fadi_call c; /* first: the fold knows the call only */
    size_t directions;
    const double *direction;       /* [directions][P] */
    const struct fadi_tape *outer; /* where x_given has its tangents; else NULL */
};
int fadi_ruled_hvp(size_t begin, size_t end, void *total, void *call, size_t *failed); /* direction: 0 where fixed */
int fadi_hvp_leaf(size_t begin, size_t end, void *total, void *call, size_t *failed);
int fadi_hvp_terms(size_t begin, size_t end, void *call, size_t *failed);

/** Moves the adjoints of the element's inputs in a row of the tape to that row of x_built. */
void fadi_take_x(const struct fadi_work *w, size_t row);
/** Moves the touched lines of the shared parameters' adjoints to an output's gradient, which is zero so far. */
void fadi_take_shared(const struct fadi_work *w, size_t row, double *to);

/** A tape that is laid out for the call, in w->t, or NULL there; the leaf begins with element `begin`. */
int fadi_work_open(struct fadi_work *w, struct fadi_call *c, size_t begin);
void fadi_work_close(const struct fadi_work *w);
/** Runs the term of element k. The tape's error comes before the term's code: it happened first, and may be why. */
int fadi_work_evaluate(struct fadi_work *w, size_t k);
/** Output o's row of adjoints, and the marks of its lines or NULL. */
double *fadi_row_of(const struct fadi_tape *t, size_t o);
unsigned char *fadi_marks_of(const struct fadi_call *c, const struct fadi_tape *t, size_t o);

/* ---- Steps that calls of several kinds consist of ---- */

/** Store and handles of the shared parameters, and for a gradient of x what fadi_prepare_x does; fadi_call_finish undoes it,
 * whatever this returned. clear: accumulators may still hold something. */
int fadi_call_prepare(struct fadi_call *c, bool wants_shared, bool wants_x);
void fadi_call_finish(struct fadi_call *c, bool clear);
/** What comes of the results of a call; total is NULL for those of each term. Returns FAD_OK or the call's failure. */
typedef int fadi_use(fad_pool *pool, struct fadi_call *c, const struct fadi_total *total, void *arg);
/** All steps of a described call: a sum; values and gradients of each term. */
int fadi_call_sum(fad_pool *pool, struct fadi_call *c, bool wants_shared, bool wants_x, fadi_use *use, void *arg);
int fadi_call_terms(fad_pool *pool, struct fadi_call *c, bool values, bool gradients, bool wants_x, fadi_use *use,
                    void *arg);
/** Fills the description's failure; returns status. Before or after a fold, or of a fold, which knows the element. */
int fadi_call_fail(const struct fadi_call *c, int status);
int fadi_call_fail_at(const struct fadi_call *c, int status, const struct fad_failure *why);
struct fad_fold_options fadi_call_options(const struct fadi_call *c, struct fad_failure *why);
/** rc is not what a callback returned or gave to fad_fail: if element k turns out to be the lowest failing one, the failure
 * has no code. Returns rc; does nothing when that is 0. */
int fadi_call_own(struct fadi_call *c, size_t k, int rc);
/** An element's own numbers: inputs from id on, or constants if id is 0. A fixed component is a constant and leaves its id
 * unused. */
void fadi_load_x(const struct fadi_call *c, const struct fadi_span *x, uint64_t id, uint32_t stamp, fad_real *to);
/** The parameters that element k touches. FAD_OK or FAD_EINVAL. */
int fadi_gather(const struct fadi_call *c, size_t k, const fad_real *shared, fad_real *to);
/** A tape that is laid out for the call, or NULL; fadi_keep_tape_back when the leaf ends. begin: the leaf's first element. */
int fadi_open_tape(struct fadi_call *c, size_t begin, struct fadi_tape **tape);
/** What a leaf's sweeps have left with the shared parameters goes to the total, after a failure too: the next user of the
 * tape needs zeros. */
int fadi_move_shared(const struct fadi_call *c, const struct fadi_tape *t, struct fadi_total *total);
/** The fold of a call of that kind; the total has c->values values. */
int fadi_call_fold(fad_pool *pool, struct fadi_call *c, fad_leaf *leaf, struct fadi_total *total);
/** Empties the total's accumulator and gives it back. */
void fadi_call_release(struct fadi_call *c, const struct fadi_total *total);
/** Where a short shared gradient of output o is in the total; c->beside. */
static inline double *fadi_beside(const struct fadi_call *c, struct fadi_total *total, size_t o)
{
    return total->value + c->y_count + o * c->s->shared_count;
}
/** Row o of the shared gradient, canonical. */
void fadi_read_shared(const struct fadi_call *c, const struct fadi_total *total, size_t o, double *gradient);
/** All rows of it. */
void fadi_deliver_shared(const struct fadi_call *c, const struct fadi_total *total, double *gradient);

/** Tapes and stores: kept from call to call. NULL without memory. */
struct fadi_tape *fadi_keep_tape(void);
void fadi_keep_tape_back(struct fadi_tape *t);
struct fadi_store *fadi_keep_store(void);
void fadi_keep_store_back(struct fadi_store *store);
/** At least so many bytes, or NULL. */
void *fadi_room_for(struct fadi_room *room, size_t bytes);

/** Whether this processor can run the rest of the library. */
bool fadi_cpu_supported(void);
/** The public calls, once that is known. */
int fadi_sum_value(fad_pool *pool, const struct fad_sum *s, double *value);
int fadi_sum_gradient(fad_pool *pool, const struct fad_sum *s, double *value, double *shared_gradient,
                      double *x_gradient);
int fadi_sum_terms(fad_pool *pool, const struct fad_sum *s, double *values, double *gradients);
int fadi_sum_jvp(fad_pool *pool, const struct fad_sum *s, size_t directions, const double *shared_tangents,
                 const double *x_tangents, double *value, double *tangents);
int fadi_sum_hvp(fad_pool *pool, const struct fad_sum *s, size_t directions, const double *direction, double *value,
                 double *shared_gradient, double *products);
/** As fadi_sum_jvp by the tape, on absolute values: sizes[directions][y_count]; edges: the most operands of a term. */
int fadi_sum_sizes(fad_pool *pool, const struct fad_sum *s, size_t directions, const double *shared_tangents, double *sizes,
                   uint64_t *edges);
int fadi_sum_hessian(fad_pool *pool, const struct fad_sum *s, double *value, double *shared_gradient, double *hessian);
int fadi_program_create(fad_program **p, const struct fad_sum *s);
int fadi_sum_apply(fad_pool *pool, fad_tape *outer, const struct fad_sum *s, const fad_real *shared, const fad_real *x,
                   fad_real *y);
int fadi_sum_terms_apply(fad_pool *pool, fad_tape *outer, const struct fad_sum *s, const fad_real *shared,
                         const fad_real *x, fad_real *y);

struct fad_dual;
struct fad_check;
struct fad_nan;
int fadi_dual_term(fad_term *term, size_t k, size_t shared_count, const struct fad_dual *shared, size_t x_count,
                   const struct fad_dual *x, size_t y_count, struct fad_dual *y, size_t directions, void *user);
int fadi_sum_check(fad_pool *pool, const struct fad_sum *s, struct fad_check *worst);
int fadi_sum_find_nan(fad_pool *pool, const struct fad_sum *s, struct fad_nan *first);

#endif
