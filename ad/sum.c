/** @file sum.c  The public calls: prepare, fold, deliver, clean up. */
#include <stdlib.h>
#include <string.h>

#include "ad/call.h"
#include "ad/program/run.h"

/* With at most so many shared parameters all lines count as touched: noting them would cost more than moving them. */
#define MARKS_FROM 1024u
/* Totals up to this size are on the stack; shared gradients that fit into one as well are summed up in it. */
#define SMALL_VALUES 64u

static const char *reason_of(int status)
{
    switch (status) {
    case FAD_EHANDLE:
        return "an operand or result comes from another tape or from an earlier element";
    case FAD_EINVAL:
        return "this element's x_offsets, block or touch is invalid, or a callback got FAD_EINVAL";
    case FAD_ENOMEM:
        return "no memory";
    case FAD_EUNSUPPORTED:
        return "this element uses a rule without tangent (for second derivatives: without tangent or second), or what has no "
               "such derivatives";
    case FAD_EOVERFLOW:
        return "a size does not fit, or a term has about 2^32 operations";
    default:
        return NULL;
    }
}

int fadi_call_fail(const struct fadi_call *c, int status)
{
    const char *reason = c->reason ? c->reason : reason_of(status);
    if (status && c->s && c->s->failure)
        *c->s->failure = (struct fad_failure){status, SIZE_MAX, 0, reason ? reason : fad_strerror(status)};
    return status;
}

int fadi_call_fail_at(const struct fadi_call *c, int status, const struct fad_failure *why)
{
    if (status && c->s->failure) {
        const char *reason = reason_of(status);
        *c->s->failure = *why;
        if (reason && why->index != SIZE_MAX)
            c->s->failure->reason = reason;
        if (why->index == c->own_failure)
            c->s->failure->code = 0;
    }
    return status;
}

/* What a rule reads. */
static int make_plain(struct fadi_call *c)
{
    size_t count = c->s->shared_count;
    c->plain_shared = c->s->shared;
    if (!c->shared_given)
        return FAD_OK;
    double *values = fadi_room_for(&c->store->plain_shared, count * sizeof *values);
    for (size_t j = 0; values && j < count; j++)
        values[j] = c->shared[j].value;
    c->plain_shared = values;
    return values ? FAD_OK : FAD_ENOMEM;
}

/* P handles: constants where no gradient is wanted. */
static int make_shared(struct fadi_call *c)
{
    const struct fad_sum *s = c->s;
    size_t count = s->shared_count;
    c->shared = fadi_room_for(&c->store->shared, (count + 1) * sizeof *c->shared);
    if (!c->shared)
        return FAD_ENOMEM;
    c->stamp = c->wants_shared ? fadi_family() : 0;
    const fad_real *given = c->shared_given;
    for (size_t j = 0; j < count; j++) {
        bool active = c->wants_shared && !(s->shared_fixed && s->shared_fixed[j]) && !(given && given[j].stamp == 0);
        double v = given ? given[j].value : s->shared[j];
        c->shared[j] = active ? (fad_real){v, (uint32_t)(j + 1), c->stamp} : fad_const(v);
    }
    return s->rule ? make_plain(c) : FAD_OK;
}

int fadi_call_prepare(struct fadi_call *c, bool wants_shared, bool wants_x)
{
    size_t active = wants_shared ? c->s->shared_count : 0;
    c->wants_shared = wants_shared && active;
    c->wants_x = wants_x;
    c->records = c->wants_shared || wants_x;
    c->base = ((active + FADI_FIRST_ID) / FADI_PAGE + 1) * FADI_PAGE;
    c->lines = active / FADI_LINE + 1;
    c->marks = active >= MARKS_FROM;
    c->store = fadi_keep_store();
    if (!c->store)
        return FAD_ENOMEM;
    fadi_accs_start(&c->store->accs, c->wants_shared && !c->beside ? c->rows * (c->base / FADI_PAGE) : 0);
    int rc = make_shared(c);
    return rc || !(wants_x || (c->x_given && c->s->x_blocks)) ? rc : fadi_prepare_x(c);
}

void fadi_call_finish(struct fadi_call *c, bool clear)
{
    if (!c->store)
        return;
    if (clear)
        fadi_accs_clear(&c->store->accs);
    fadi_keep_store_back(c->store);
}

struct fad_fold_options fadi_call_options(const struct fadi_call *c, struct fad_failure *why)
{
    *why = (struct fad_failure){FAD_OK, SIZE_MAX, 0, NULL};
    return (struct fad_fold_options){.leaf = c->leaf, .grain = c->s->grain, .first = c->first, .failure = why};
}

int fadi_call_fold(fad_pool *pool, struct fadi_call *c, fad_leaf *leaf, struct fadi_total *total)
{
    struct fad_failure why;
    struct fad_fold_options options = fadi_call_options(c, &why);
    struct fad_monoid monoid = {sizeof *total + c->values * sizeof(double), alignof(struct fadi_total),
                                fadi_total_identity, fadi_total_combine};
    return fadi_call_fail_at(c, fad_fold(pool, c->n, &monoid, leaf, c, &options, total), &why);
}

void fadi_call_release(struct fadi_call *c, const struct fadi_total *total)
{
    if (total->shared) {
        fadi_acc_empty(total->shared, c->store->accs.pages);
        fadi_acc_give(&c->store->accs, total->shared);
    }
}

void fadi_read_shared(const struct fadi_call *c, const struct fadi_total *total, size_t o, double *gradient)
{
    size_t count = c->s->shared_count;
    if (total->shared)
        fadi_acc_read(total->shared, o * (c->base / FADI_PAGE), count, gradient);
    else
        for (size_t j = 0; j < count; j++)
            gradient[j] = c->beside ? fadi_canonical(total->value[c->y_count + o * count + j]) : 0.0;
}

void fadi_deliver_shared(const struct fadi_call *c, const struct fadi_total *total, double *gradient)
{
    for (size_t o = 0; o < c->rows; o++)
        fadi_read_shared(c, total, o, gradient + o * c->s->shared_count);
}

int fadi_call_sum(fad_pool *pool, struct fadi_call *c, bool wants_shared, bool wants_x, fadi_use *use, void *arg)
{
    union {
        struct fadi_total total;
        double room[SMALL_VALUES + sizeof(struct fadi_total) / sizeof(double)];
    } small;
    struct fadi_total *total = &small.total, *large = NULL;
    size_t all = c->y_count + (wants_shared ? c->rows * c->s->shared_count : 0);
    c->beside = wants_shared && all <= SMALL_VALUES;
    c->values = c->beside ? all : c->y_count;
    if (c->values > SMALL_VALUES) {
        total = large = malloc(sizeof *large + c->values * sizeof(double));
        if (!large)
            return fadi_call_fail(c, FAD_ENOMEM);
    }
    int rc = fadi_call_fail(c, fadi_call_prepare(c, wants_shared, wants_x));
    rc = rc ? rc : fadi_call_fold(pool, c, c->sum_leaf ? c->sum_leaf : c->s->rule ? fadi_ruled_leaf : fadi_taped_leaf, total);
    if (!rc)
        rc = fadi_call_fail(c, use(pool, c, total, arg));
    if (!rc)
        fadi_call_release(c, total);
    fadi_call_finish(c, rc != FAD_OK);
    free(large);
    return rc;
}

struct outputs {
    double *value, *shared_gradient, *x_gradient;
};

/* Once the fold has succeeded nothing fails. */
static int deliver(fad_pool *pool, struct fadi_call *c, const struct fadi_total *total, void *arg)
{
    const struct outputs *to = arg;
    for (size_t o = 0; to->value && o < c->y_count; o++)
        to->value[o] = fadi_canonical(total->value[o]);
    if (to->shared_gradient)
        fadi_deliver_shared(c, total, to->shared_gradient);
    if (c->wants_x)
        fadi_deliver_x(pool, c, to->x_gradient);
    return FAD_OK;
}

int fadi_sum_value(fad_pool *pool, const struct fad_sum *s, double *value)
{
    struct outputs to = {value, NULL, NULL};
    struct fadi_call c;
    int rc = fadi_describe(&c, s);
    if (!rc && !value) {
        c.reason = "value is NULL";
        rc = FAD_EINVAL;
    }
    if (rc)
        return fadi_call_fail(&c, rc);
    struct fadi_request r = {.value = value};
    bool done;
    rc = fadi_program_try(pool, &c, &r, &done);
    return done ? rc : fadi_call_sum(pool, &c, false, false, deliver, &to);
}

int fadi_sum_gradient(fad_pool *pool, const struct fad_sum *s, double *value, double *shared_gradient,
                      double *x_gradient)
{
    struct outputs to = {value, shared_gradient, x_gradient};
    struct fadi_call c;
    int rc = fadi_describe(&c, s);
    if (rc)
        return fadi_call_fail(&c, rc);
    struct fadi_request r = {
        .value = value, .shared = shared_gradient, .x = x_gradient, .wants_x = s->x_blocks || x_gradient};
    bool done;
    rc = fadi_program_try(pool, &c, &r, &done);
    return done ? rc : fadi_call_sum(pool, &c, shared_gradient != NULL, r.wants_x, deliver, &to);
}

/* ---- Each term by itself ---- */

/* Room for the outputs, built aside: an error must leave the user's untouched. */
static int prepare_terms(struct fadi_call *c, bool values, bool gradients, bool wants_x)
{
    size_t rows, all, entries;
    if (__builtin_mul_overflow(c->n, c->y_count, &rows) || rows > SIZE_MAX / sizeof(double) ||
        __builtin_mul_overflow(c->n, c->rows, &all) || __builtin_mul_overflow(all, c->s->shared_count, &entries) || entries > SIZE_MAX / sizeof(double))
        return FAD_EOVERFLOW;
    if (values) {
        c->term_values = malloc(rows ? rows * sizeof(double) : 1);
        if (!c->term_values)
            return FAD_ENOMEM;
    }
    if (gradients) {
        c->term_gradients = calloc(entries ? entries : 1, sizeof(double));
        if (!c->term_gradients)
            return FAD_ENOMEM;
    }
    return fadi_call_prepare(c, gradients, wants_x);
}

int fadi_call_terms(fad_pool *pool, struct fadi_call *c, bool values, bool gradients, bool wants_x, fadi_use *use,
                    void *arg)
{
    struct fad_failure why;
    struct fad_fold_options options = fadi_call_options(c, &why);
    fad_body *body = c->terms_body ? c->terms_body : c->s->rule ? fadi_ruled_terms : fadi_taped_terms;
    int rc = fadi_call_fail(c, prepare_terms(c, values, gradients, wants_x));
    if (!rc)
        rc = fadi_call_fail_at(c, fad_for(pool, c->n, body, c, &options), &why);
    if (!rc)
        rc = fadi_call_fail(c, use(pool, c, NULL, arg));
    free(c->term_values);
    free(c->term_gradients);
    fadi_call_finish(c, false);
    return rc;
}

struct copy {
    const struct fadi_call *c;
    double *values, *gradients;
};

static int copy_terms(size_t begin, size_t end, void *user, size_t *failed)
{
    const struct copy *to = user;
    const struct fadi_call *c = to->c;
    size_t from = begin * c->y_count, count = (end - begin) * c->y_count, width = c->s->shared_count;
    (void)failed;
    if (to->values)
        memcpy(to->values + from, c->term_values + from, count * sizeof *to->values);
    if (to->gradients && width)
        memcpy(to->gradients + from * width, c->term_gradients + from * width, count * width * sizeof *to->gradients);
    return FAD_OK;
}

static int deliver_terms(fad_pool *pool, struct fadi_call *c, const struct fadi_total *total, void *arg)
{
    struct fad_fold_options options = {.leaf = c->leaf};
    size_t failed;
    (void)total;
    if (fad_for(pool, c->n, copy_terms, arg, &options)) /* nothing may fail any more */
        copy_terms(0, c->n, arg, &failed);
    return FAD_OK;
}

int fadi_sum_terms(fad_pool *pool, const struct fad_sum *s, double *values, double *gradients)
{
    struct fadi_call c;
    struct copy to = {&c, values, gradients};
    int rc = fadi_describe(&c, s);
    return rc ? fadi_call_fail(&c, rc) : fadi_call_terms(pool, &c, values, gradients, false, deliver_terms, &to);
}
