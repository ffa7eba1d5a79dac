/** @file apply.c  Sums whose numbers are values of an outer tape: each result becomes one operation there, whose partial
 * derivatives are the gradient, and whose operands are those of shared and x for which it is not 0. */
#include <stdlib.h>

#include "ad/apply.h"
#include "ad/second.h"

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
static int examine(struct fadi_call *c, struct fadi_outer *j)
{
    const struct fad_sum *s = c->s;
    if (c->shared_given && !scan(j->tape, s->shared_count, c->shared_given, s->shared_fixed, &j->wants_shared))
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
        if (!scan(j->tape, count, given, s->x_fixed, &j->wants_x)) {
            j->bad = k;
            rc = FAD_EHANDLE;
        }
    }
    return rc;
}

/* ---- The results ---- */

static void add(struct fadi_outer *j, fad_real operand, const double *gradient, size_t apart)
{
    double *slopes = j->slopes + j->count * j->directions;
    bool any = gradient[0] != 0.0;
    if (operand.stamp == 0)
        return;
    for (size_t d = 0; d < j->directions; d++) {
        slopes[d] = gradient[(1 + d) * apart];
        any |= slopes[d] != 0.0;
    }
    if (!any)
        return;
    j->operands[j->count] = operand;
    j->partials[j->count] = gradient[0];
    j->count++;
}

/* Fixed entries have an exact 0. */
void fadi_outer_add_shared(struct fadi_outer *j, const struct fadi_call *c, const double *gradient, size_t apart)
{
    for (size_t i = 0; gradient && i < c->s->shared_count; i++)
        add(j, c->shared_given[i], gradient + i, apart);
}

void fadi_outer_add_x(struct fadi_outer *j, const struct fadi_call *c, size_t k, const double *gradient, size_t apart)
{
    struct fadi_span x;
    fadi_locate(c, k, &x);
    for (size_t i = 0; i < x.count; i++)
        add(j, x.given[i], gradient + x.start + i, apart);
}

/* Room on the outer tape for all results, so that none of them can fail. */
static int reserve(struct fadi_outer *j, const struct fadi_call *c, size_t results, fadi_collect *collect, const void *from)
{
    size_t words = 0;
    for (size_t r = 0; r < results; r++) {
        collect(j, c, from, r);
        if (j->count >= FADI_SEGMENT_MORE)
            return FAD_EOVERFLOW;
        words += 1 + j->count + (j->count + 1) / 2;
        if (words >= UINT32_MAX)
            return FAD_EOVERFLOW;
    }
    if (results >= FADI_ID_END)
        return FAD_EOVERFLOW;
    int rc = fadi_tape_reserve(j->tape, j->tape->head.next + results);
    rc = rc ? rc : fadi_tape_reserve_words(j->tape, words);
    return rc || !j->directions ? rc : fadi_second_make_room(j->tape);
}

static fad_real push(const struct fadi_outer *j, double v)
{
    if (j->directions)
        return fadi_second_linear(j->tape, FADI_OP_APPLY, v, j->count, j->partials, j->slopes, j->operands);
    return fadi_linear(&j->tape->head, FADI_OP_APPLY, v, j->count, j->partials, j->operands);
}

int fadi_outer_push(struct fadi_outer *j, struct fadi_call *c, size_t results, size_t entries, fadi_collect *collect,
                    const void *from)
{
    int rc = fadi_tape_release(j->tape);
    if (rc) {
        c->reason = "a callback has used the outer tape";
        return rc;
    }
    if (entries >= SIZE_MAX / (sizeof(fad_real) * FADI_DIRECTIONS))
        return FAD_EOVERFLOW;
    j->operands = malloc((entries + 1) * sizeof *j->operands);
    j->partials = malloc((entries + 1) * sizeof *j->partials);
    j->slopes = malloc((entries + 1) * (j->directions + 1) * sizeof *j->slopes); /* for the one that is looked at, too */
    rc = j->operands && j->partials && j->slopes ? reserve(j, c, results, collect, from) : FAD_ENOMEM;
    for (size_t r = 0; r < results && !rc; r++) {
        double v = collect(j, c, from, r);
        j->y[r] = push(j, v);
    }
    free(j->operands);
    free(j->partials);
    free(j->slopes);
    return rc;
}

/* ---- Before ---- */

int fadi_outer_admit(struct fadi_call *c, struct fadi_outer *j, bool seconds)
{
    if (!j->tape || !j->y) {
        c->reason = j->tape ? "y is NULL" : "the outer tape is NULL";
        return FAD_EINVAL;
    }
    if (fadi_tape_refuses(j->tape)) {
        c->reason = "the outer tape waits for another call";
        return FAD_EBUSY;
    }
    if (j->tape->error) {
        c->reason = "the outer tape has an error";
        return j->tape->error;
    }
    int rc = examine(c, j);
    if (rc || !(j->wants_shared || j->wants_x) || !j->tape->recorder)
        return rc;
    if (seconds && fadi_second_records(j->tape)) {
        j->directions = j->tape->second->count;
        return FAD_OK;
    }
    c->reason = "the outer tape records for a program, or for second derivatives, which a whole term's rule and a fold do not have";
    fadi_tape_fail(j->tape, FAD_EUNSUPPORTED);
    return FAD_EUNSUPPORTED;
}

int fadi_outer_refuse(const struct fadi_call *c, const struct fadi_outer *j, int rc)
{
    fadi_call_fail(c, rc);
    if (c->s && c->s->failure)
        c->s->failure->index = j->bad;
    return rc;
}

/* ---- Sums ---- */

/* Where the results of a sum are: in total and in the call's x_built; of each term: in the call. */
struct results {
    const struct fadi_total *total; /* NULL: each term has results */
    double *shared;                 /* room for one gradient and its tangents */
};

/* Result r is value o of a sum or of element `at`. Rows as in struct fadi_hvp. */
static double collect(struct fadi_outer *j, const struct fadi_call *c, const void *from, size_t r)
{
    const struct results *results = from;
    const struct fadi_total *total = results->total;
    size_t o = r % c->y_count, i = r / c->y_count, width = c->s->shared_count, apart = c->y_count * c->x_total;
    const double *x = c->wants_x ? c->x_built + o * c->x_total : NULL;
    j->count = 0;
    if (!total) {
        if (c->wants_shared)
            fadi_outer_add_shared(j, c, c->term_gradients + (i * c->rows + o) * width, c->y_count * width);
        if (x)
            fadi_outer_add_x(j, c, c->first + i, x, apart);
        return c->term_values[r];
    }
    if (c->wants_shared && (total->shared || c->beside)) {
        for (size_t d = 0; d <= j->directions; d++)
            fadi_read_shared(c, total, d * c->y_count + o, results->shared + d * width);
        fadi_outer_add_shared(j, c, results->shared, width);
    }
    for (size_t k = c->first; x && k < c->first + c->n; k++)
        fadi_outer_add_x(j, c, k, x, apart);
    return fadi_canonical(total->value[o]);
}

static int deliver(fad_pool *pool, struct fadi_call *c, const struct fadi_total *total, void *arg)
{
    struct fadi_outer *j = arg;
    size_t width = c->s->shared_count, entries = !c->wants_x ? 0 : total ? c->x_total : j->longest;
    struct results results = {total, malloc((width * (1 + j->directions) + 1) * sizeof(double))};
    (void)pool;
    int rc = !results.shared ? FAD_ENOMEM : __builtin_add_overflow(entries, width, &entries) ? FAD_EOVERFLOW : FAD_OK;
    if (!rc)
        rc = fadi_outer_push(j, c, total ? c->y_count : c->n * c->y_count, entries, collect, &results);
    free(results.shared);
    return rc;
}

/* Makes the call one for second derivatives. *direction: the given parameters' tangents, which the caller frees. */
static int direct(struct fadi_hvp *h, const struct fadi_outer *j, double **direction)
{
    struct fadi_call *c = &h->c;
    size_t count = c->s->shared_count, bytes = (j->directions * count + 1) * sizeof **direction;
    double *to = *direction = malloc(bytes); /* fits: fadi_describe has looked at much larger ones */
    if (!to)
        return FAD_ENOMEM;
    h->directions = j->directions;
    h->direction = to;
    h->outer = j->tape;
    c->rows = (1 + h->directions) * c->y_count;
    c->sum_leaf = fadi_hvp_leaf;
    c->terms_body = fadi_hvp_terms;
    for (size_t d = 0; d < h->directions; d++)
        for (size_t i = 0; i < count; i++, to++)
            *to = c->shared_given && c->shared_given[i].stamp ? fadi_second_tangent(j->tape, c->shared_given[i].id, d) : 0.0;
    return FAD_OK;
}

static int apply(fad_pool *pool, fad_tape *outer, const struct fad_sum *s, const fad_real *shared, const fad_real *x,
                 fad_real *y, bool each_term)
{
    struct fadi_outer j = {.tape = fadi_tape_of(outer), .y = y, .bad = SIZE_MAX};
    struct fadi_hvp h; /* or no more than a call */
    double *direction = NULL;
    int rc = fadi_describe_given(&h.c, s, shared, x);
    rc = rc ? rc : fadi_outer_admit(&h.c, &j, !s->rule);
    if (!rc && j.directions)
        rc = direct(&h, &j, &direction);
    if (rc)
        return fadi_outer_refuse(&h.c, &j, rc);
    fadi_tape_hold(j.tape);
    if (each_term)
        rc = fadi_call_terms(pool, &h.c, true, j.wants_shared, j.wants_x, deliver, &j);
    else
        rc = fadi_call_sum(pool, &h.c, j.wants_shared, j.wants_x, deliver, &j);
    if (j.tape->busy)
        fadi_tape_release(j.tape);
    free(direction);
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
