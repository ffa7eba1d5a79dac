/** @file apply.c  Sums whose numbers are values of an outer tape: each result becomes one operation there, whose partial
 * derivatives are the gradient, and whose operands are those of shared and x for which it is not 0. */
#include <stdlib.h>

#include "ad/call.h"

struct job {
    struct fadi_tape *outer;
    fad_real *y;
    bool wants_shared, wants_x;
    size_t bad;     /* the lowest element with a foreign handle; SIZE_MAX: none */
    size_t longest; /* entries of x, of the longest element */
    /* in deliver: the operands of one result */
    size_t count;
    fad_real *operands;
    double *partials, *shared;
};

/* ---- What the call is given ---- */

/* Element k's handles; of blocks, those from *next on. A wrong element has none: the fold will report it. */
static size_t handles_of(const struct fadi_call *c, size_t k, size_t *next, const fad_real **given)
{
    struct fadi_span x;
    if (c->s->x_blocks) {
        *given = c->x_given + *next;
        *next += c->s->x_blocks[k].count;
        return c->s->x_blocks[k].count;
    }
    if (fadi_locate(c, k, &x))
        return 0;
    *given = x.given;
    return x.count;
}

static bool scan(const struct fadi_tape *t, size_t n, const fad_real *a, const unsigned char *fixed, bool *active)
{
    for (size_t i = 0; i < n; i++) {
        if (!fadi_known(t, a[i]))
            return false;
        *active |= a[i].stamp && !(fixed && fixed[i]);
    }
    return true;
}

/* Where blocks that lie packed begin, and whether there is room for all of them. */
static int place_blocks(struct fadi_call *c)
{
    size_t total = 0;
    for (size_t k = 0; k < c->first + c->n; k++) {
        if (k == c->first)
            c->x_origin = total;
        if (__builtin_add_overflow(total, c->s->x_blocks[k].count, &total) || total > SIZE_MAX / sizeof(fad_real))
            return FAD_EOVERFLOW;
    }
    return FAD_OK;
}

/* Whether all handles are good, and which ones are no constants. */
static int examine(struct fadi_call *c, struct job *j)
{
    const struct fad_sum *s = c->s;
    if (c->shared_given && !scan(j->outer, s->shared_count, c->shared_given, s->shared_fixed, &j->wants_shared))
        return FAD_EHANDLE;
    if (!c->x_given)
        return FAD_OK;
    int rc = s->x_blocks ? place_blocks(c) : FAD_OK;
    size_t next = c->x_origin;
    for (size_t k = c->first; k < c->first + c->n && !rc; k++) {
        const fad_real *given = NULL;
        size_t count = handles_of(c, k, &next, &given);
        if (count > j->longest)
            j->longest = count;
        if (!scan(j->outer, count, given, s->x_fixed, &j->wants_x)) {
            j->bad = k;
            rc = FAD_EHANDLE;
        }
    }
    return rc;
}

/* ---- The results ---- */

static void add(struct job *j, fad_real operand, double partial)
{
    if (operand.stamp == 0 || partial == 0.0)
        return;
    j->operands[j->count] = operand;
    j->partials[j->count] = partial;
    j->count++;
}

/* A NULL gradient: nobody's. Fixed entries have an exact 0. */
static void add_shared(struct job *j, const struct fadi_call *c, const double *gradient)
{
    for (size_t i = 0; gradient && i < c->s->shared_count; i++)
        add(j, c->shared_given[i], gradient[i]);
}

static void add_x(struct job *j, const struct fadi_call *c, size_t k, size_t o)
{
    struct fadi_span x;
    fadi_locate(c, k, &x);
    const double *gradient = c->x_built + o * c->x_total + x.start;
    for (size_t i = 0; i < x.count; i++)
        add(j, x.given[i], gradient[i]);
}

/* The operands of result r, which is value o of a sum or of element `at`. total NULL: each term has results. */
static double collect(struct job *j, const struct fadi_call *c, const struct fadi_total *total, size_t r)
{
    size_t o = r % c->y_count, at = c->first + r / c->y_count, width = c->s->shared_count;
    j->count = 0;
    if (!total) {
        add_shared(j, c, c->wants_shared ? c->term_gradients + r * width : NULL);
        if (c->wants_x)
            add_x(j, c, at, o);
        return c->term_values[r];
    }
    if (c->wants_shared && total->shared) {
        fadi_acc_read(total->shared, o * (c->base / FADI_PAGE), width, j->shared);
        add_shared(j, c, j->shared);
    }
    for (size_t k = c->first; c->wants_x && k < c->first + c->n; k++)
        add_x(j, c, k, o);
    return fadi_canonical(total->value[o]);
}

/* Room on the outer tape for all results, so that none of them can fail. */
static int reserve(struct job *j, const struct fadi_call *c, const struct fadi_total *total, size_t results)
{
    size_t words = 0;
    for (size_t r = 0; r < results; r++) {
        collect(j, c, total, r);
        if (j->count >= FADI_SEGMENT_MORE)
            return FAD_EOVERFLOW;
        words += 1 + j->count + (j->count + 1) / 2;
        if (words >= UINT32_MAX)
            return FAD_EOVERFLOW;
    }
    if (results >= FADI_ID_END)
        return FAD_EOVERFLOW;
    int rc = fadi_tape_reserve(j->outer, j->outer->head.next + results);
    return rc ? rc : fadi_tape_reserve_words(j->outer, words);
}

static int make_room(struct job *j, const struct fadi_call *c, const struct fadi_total *total)
{
    size_t width = c->s->shared_count, entries = total ? c->x_total : j->longest;
    if (!c->wants_x)
        entries = 0;
    if (__builtin_add_overflow(entries, width, &entries) || entries >= SIZE_MAX / sizeof(fad_real))
        return FAD_EOVERFLOW;
    j->operands = malloc((entries + 1) * sizeof *j->operands);
    j->partials = malloc((entries + 1) * sizeof *j->partials);
    j->shared = malloc((width + 1) * sizeof *j->shared);
    return j->operands && j->partials && j->shared ? FAD_OK : FAD_ENOMEM;
}

static int deliver(fad_pool *pool, struct fadi_call *c, const struct fadi_total *total, void *arg)
{
    struct job *j = arg;
    size_t results = total ? c->y_count : c->n * c->y_count;
    int rc = fadi_tape_release(j->outer);
    (void)pool;
    if (rc) {
        c->reason = "a term has used the outer tape";
        return rc;
    }
    rc = make_room(j, c, total);
    rc = rc ? rc : reserve(j, c, total, results);
    for (size_t r = 0; r < results && !rc; r++) {
        double v = collect(j, c, total, r);
        j->y[r] = fadi_linear(&j->outer->head, FADI_OP_APPLY, v, j->count, j->partials, j->operands);
    }
    free(j->operands);
    free(j->partials);
    free(j->shared);
    return rc;
}

/* ---- The calls ---- */

/* What can be said before anything runs. */
static int admit(struct fadi_call *c, struct job *j, fad_real *y)
{
    if (!j->outer || !y) {
        c->reason = j->outer ? "y is NULL" : "the outer tape is NULL";
        return FAD_EINVAL;
    }
    if (fadi_tape_refuses(j->outer)) {
        c->reason = "the outer tape waits for another call";
        return FAD_EBUSY;
    }
    if (j->outer->error) {
        c->reason = "the outer tape has an error";
        return j->outer->error;
    }
    int rc = examine(c, j);
    if (!rc && (j->wants_shared || j->wants_x) && j->outer->recorder) {
        c->reason = "the outer tape records for a program or for second derivatives, which have no sums inside";
        rc = FAD_EUNSUPPORTED;
        fadi_tape_fail(j->outer, rc);
    }
    return rc;
}

static int apply(fad_pool *pool, fad_tape *outer, const struct fad_sum *s, const fad_real *shared, const fad_real *x,
                 fad_real *y, bool each_term)
{
    struct job j = {.outer = fadi_tape_of(outer), .y = y, .bad = SIZE_MAX};
    struct fadi_call c;
    int rc = fadi_describe_given(&c, s, shared, x);
    rc = rc ? rc : admit(&c, &j, y);
    if (rc) {
        fadi_call_fail(&c, rc);
        if (s && s->failure)
            s->failure->index = j.bad;
        return rc;
    }
    fadi_tape_hold(j.outer);
    if (each_term)
        rc = fadi_call_terms(pool, &c, true, j.wants_shared, j.wants_x, deliver, &j);
    else
        rc = fadi_call_sum(pool, &c, j.wants_shared, j.wants_x, deliver, &j);
    if (j.outer->busy)
        fadi_tape_release(j.outer);
    return rc;
}

int fadi_sum_apply(fad_pool *pool, fad_tape *outer, const struct fad_sum *s, const fad_real *shared, const fad_real *x,
                   fad_real *y)
{
    return apply(pool, outer, s, shared, x, y, false);
}

int fadi_sum_terms_apply(fad_pool *pool, fad_tape *outer, const struct fad_sum *s, const fad_real *shared,
                         const fad_real *x, fad_real *y)
{
    return apply(pool, outer, s, shared, x, y, true);
}
