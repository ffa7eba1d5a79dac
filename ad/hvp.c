/** @file hvp.c  Second derivatives of sums: the leaf of a gradient, with rows for the tangents of adjoints. */
#include <stdlib.h>
#include <string.h>

#include "ad/call.h"
#include "ad/program/run.h"
#include "ad/second.h"
#include "common/fpenv.h"

/* Output o's gradient and products, from its handle to the shared parameters and the element's inputs. Whatever it returns,
 * these and only these have adjoints afterwards. */
static int differentiate(const struct fadi_hvp *h, const struct fadi_work *w, size_t k, size_t o)
{
    const struct fadi_call *c = &h->c;
    double *dot[FADI_DIRECTIONS], *row = fadi_row_of(w->t, o);
    unsigned char *marks[1 + FADI_DIRECTIONS];
    if (w->y[o].stamp == 0)
        return FAD_OK;
    marks[0] = fadi_marks_of(c, w->t, o);
    for (size_t d = 0; d < h->directions; d++) {
        dot[d] = fadi_row_of(w->t, (1 + d) * c->y_count + o);
        marks[1 + d] = fadi_marks_of(c, w->t, (1 + d) * c->y_count + o);
    }
    row[w->y[o].id] += 1.0;
    if (marks[0])
        marks[0][w->y[o].id / FADI_LINE] = 1;
    int rc = fadi_second_sweep(w->t, w->t->base + w->inputs, w->y[o].id, &(struct fadi_second_rows){row, dot, marks});
    return rc < 0 ? fadi_call_own(w->c, k, rc) : rc;
}

/* A tape that records second derivatives. */
static int open_work(struct fadi_work *w, struct fadi_hvp *h, size_t begin)
{
    int rc = fadi_work_open(w, &h->c, begin);
    if (!rc && h->c.records)
        rc = fadi_call_own(&h->c, begin, fadi_second_start(w->t, h->directions, h->c.s->shared_count, h->direction));
    return rc;
}

static void close_work(const struct fadi_work *w)
{
    if (w->t)
        fadi_second_stop(w->t);
    fadi_work_close(w);
}

/* Records element k. */
static int evaluate(const struct fadi_hvp *h, struct fadi_work *w, size_t k)
{
    struct fadi_span x;
    if (h->outer && h->c.wants_x && fadi_locate(&h->c, k, &x) == FAD_OK)
        fadi_second_inputs(w->t, h->outer, x.given, x.count);
    return fadi_work_evaluate(w, k);
}

/* Of an element that has been recorded, whatever came of its sweeps. */
static void take_x(const struct fadi_work *w)
{
    for (size_t row = 0; w->inputs && row < w->c->rows; row++)
        fadi_take_x(w, row);
}

int fadi_hvp_leaf(size_t begin, size_t end, void *total, void *call, size_t *failed)
{
    struct fadi_hvp *h = call;
    struct fadi_total *sum = total;
    struct fadi_work w;
    int rc = open_work(&w, h, begin), moved = FAD_OK;
    for (size_t k = begin; k < end && !rc; k++) {
        rc = evaluate(h, &w, k);
        bool recorded = rc == FAD_OK;
        for (size_t o = 0; o < h->c.y_count && !rc; o++) {
            sum->value[o] += w.y[o].value;
            rc = differentiate(h, &w, k, o);
        }
        if (recorded)
            take_x(&w);
        if (rc)
            *failed = k;
    }
    if (w.t && h->c.wants_shared)
        moved = fadi_move_shared(&h->c, w.t, sum);
    close_work(&w);
    return rc ? rc : fadi_call_own(&h->c, begin, moved);
}

int fadi_hvp_terms(size_t begin, size_t end, void *call, size_t *failed)
{
    struct fadi_hvp *h = call;
    struct fadi_call *c = &h->c;
    struct fadi_work w;
    int rc = open_work(&w, h, begin);
    for (size_t k = begin; k < end && !rc; k++) {
        size_t i = k - c->first;
        rc = evaluate(h, &w, k);
        bool recorded = rc == FAD_OK;
        for (size_t o = 0; o < c->y_count && !rc; o++) {
            c->term_values[i * c->y_count + o] = fadi_canonical(w.y[o].value);
            rc = differentiate(h, &w, k, o);
        }
        for (size_t row = 0; recorded && c->wants_shared && row < c->rows; row++)
            fadi_take_shared(&w, row, c->term_gradients + (i * c->rows + row) * c->s->shared_count);
        if (recorded)
            take_x(&w);
        if (rc)
            *failed = k;
    }
    close_work(&w);
    return rc;
}

/* At most FADI_DIRECTIONS of them. out: all rows. */
static int run(fad_pool *pool, struct fadi_hvp *h, double *value, double *out)
{
    struct fadi_call *c = &h->c;
    struct fadi_total *total = malloc(sizeof *total + c->values * sizeof(double));
    int rc = fadi_call_fail(c, total ? fadi_call_prepare(c, true, false) : FAD_ENOMEM);
    if (!rc)
        rc = fadi_call_fold(pool, c, c->s->rule ? fadi_ruled_hvp : fadi_hvp_leaf, total);
    if (!rc) {
        for (size_t o = 0; o < c->y_count; o++)
            value[o] = fadi_canonical(total->value[o]);
        fadi_deliver_shared(c, total, out);
        fadi_call_release(c, total);
    }
    fadi_call_finish(c, rc != FAD_OK);
    free(total);
    return rc;
}

/* Sizes are known to fit. rows: room for (1 + FADI_DIRECTIONS) * y_count gradients. */
static int run_all(fad_pool *pool, const struct fad_sum *s, size_t directions, const double *direction, double *value,
                   double *rows, double *gradient, double *products)
{
    size_t done = 0;
    do {
        struct fadi_hvp h;
        int rc = fadi_describe(&h.c, s);
        if (rc)
            return fadi_call_fail(&h.c, rc);
        size_t entries = h.c.y_count * s->shared_count;
        h.directions = directions - done < FADI_DIRECTIONS ? directions - done : FADI_DIRECTIONS;
        h.direction = direction + done * s->shared_count;
        h.outer = NULL;
        h.c.rows = (1 + h.directions) * h.c.y_count;
        rc = run(pool, &h, value, rows);
        if (rc)
            return rc;
        memcpy(gradient, rows, entries * sizeof *rows);
        memcpy(products + done * entries, rows + entries, h.directions * entries * sizeof *rows);
        done += h.directions;
    } while (done < directions);
    return FAD_OK;
}

/* What a call builds aside, because a later fold may fail: one stretch of memory. */
struct built {
    double *value, *gradient, *products, *rows;
    size_t entries; /* of a gradient, all values together */
};

static int make_built(const struct fadi_call *c, size_t directions, struct built *b)
{
    size_t gradients, total;
    *b = (struct built){.entries = c->y_count * c->s->shared_count};
    if (__builtin_add_overflow(directions, 2 + FADI_DIRECTIONS, &gradients) ||
        __builtin_mul_overflow(gradients, b->entries, &total) || __builtin_add_overflow(total, c->y_count, &total) ||
        total > SIZE_MAX / sizeof(double))
        return FAD_EOVERFLOW;
    b->value = malloc(total * sizeof(double));
    if (!b->value)
        return FAD_ENOMEM;
    b->gradient = b->value + c->y_count;
    b->products = b->gradient + b->entries;
    b->rows = b->products + directions * b->entries;
    return FAD_OK;
}

static void copy(double *to, const double *from, size_t count)
{
    if (to && count)
        memcpy(to, from, count * sizeof *to);
}

/* One run a direction. */
static int by_program(fad_pool *pool, struct fadi_call *c, struct fad_program *p, size_t directions, const double *direction,
                      const struct built *b)
{
    int rc = FAD_OK;
    for (size_t d = 0; d < (directions ? directions : 1) && !rc; d++) {
        struct fadi_request r = {.value = b->value, .shared = b->gradient};
        if (directions) {
            r.second = b->products + d * b->entries;
            r.shared_tangent = direction + d * c->s->shared_count;
        }
        rc = fadi_program_run(pool, c, p, &r);
    }
    return rc;
}

/* By the rule, to which fixed parameters have the tangent 0. */
static int by_rule(fad_pool *pool, const struct fad_sum *s, size_t directions, const double *direction, const struct built *b)
{
    size_t count = directions * s->shared_count;
    double *masked = s->shared_fixed && count ? malloc(count * sizeof *masked) : NULL;
    if (s->shared_fixed && count && !masked) {
        struct fadi_call c;
        int rc = fadi_describe(&c, s);
        return fadi_call_fail(&c, rc ? rc : FAD_ENOMEM);
    }
    for (size_t i = 0; masked && i < count; i++)
        masked[i] = s->shared_fixed[i % s->shared_count] ? 0.0 : direction[i];
    int rc = run_all(pool, s, directions, masked ? masked : direction, b->value, b->rows, b->gradient, b->products);
    free(masked);
    return rc;
}

/* By the program, if the description has or gets one: value and gradient are then those of the program. */
static int run_form(fad_pool *pool, struct fadi_call *c, size_t directions, const double *direction, const struct built *b)
{
    struct fad_program *program;
    bool made;
    int rc = fadi_program_open(c, &program, &made);
    if (!rc && program)
        rc = by_program(pool, c, program, directions, direction, b);
    else if (!rc && c->s->rule)
        rc = by_rule(pool, c->s, directions, direction, b);
    else if (!rc)
        rc = run_all(pool, c->s, directions, direction, b->value, b->rows, b->gradient, b->products);
    fadi_program_close(program, made);
    return rc;
}

/* Everything into b, which the caller frees. */
static int build(fad_pool *pool, const struct fad_sum *s, size_t directions, const double *direction, struct fadi_call *c,
                 struct built *b)
{
    int rc = fadi_describe(c, s);
    *b = (struct built){.value = NULL};
    if (!rc && s->rule && !s->rule->second) {
        c->reason = "the rule's second is NULL";
        rc = FAD_EUNSUPPORTED;
    }
    if (!rc && s->shared_count && (!directions || !direction)) {
        c->reason = "no directions";
        rc = FAD_EINVAL;
    }
    if (!rc)
        rc = make_built(c, directions, b);
    if (rc)
        return fadi_call_fail(c, rc);
    return run_form(pool, c, directions, direction, b);
}

int fadi_sum_hvp(fad_pool *pool, const struct fad_sum *s, size_t directions, const double *direction, double *value,
                 double *shared_gradient, double *products)
{
    struct fadi_call c;
    struct built b;
    int rc = build(pool, s, directions, direction, &c, &b);
    if (!rc) {
        copy(value, b.value, c.y_count);
        copy(shared_gradient, b.gradient, b.entries);
        copy(products, b.products, directions * b.entries);
    }
    free(b.value);
    return rc;
}

/* hessian[o][i][j]: the mean of what directions i and j say, which differ in rounding only. */
static void symmetrise(const struct fadi_call *c, const struct built *b, double *hessian)
{
    size_t count = c->s->shared_count;
    struct fadi_fp fp = fadi_fp_enter();
    for (size_t o = 0; o < c->y_count; o++)
        for (size_t i = 0; i < count; i++)
            for (size_t j = 0; j < count; j++)
                hessian[(o * count + i) * count + j] = fadi_canonical(
                    0.5 * b->products[i * b->entries + o * count + j] + 0.5 * b->products[j * b->entries + o * count + i]);
    fadi_fp_leave(fp);
}

int fadi_sum_hessian(fad_pool *pool, const struct fad_sum *s, double *value, double *shared_gradient, double *hessian)
{
    size_t count = s ? s->shared_count : 0, entries;
    struct fadi_call c;
    struct built b;
    double *unit = __builtin_mul_overflow(count, count, &entries) ? NULL : calloc(entries + !entries, sizeof *unit);
    for (size_t i = 0; unit && i < count; i++)
        unit[i * count + i] = 1.0;
    if (!unit) {
        int rc = fadi_describe(&c, s);
        return fadi_call_fail(&c, rc ? rc : FAD_ENOMEM);
    }
    int rc = build(pool, s, count, unit, &c, &b);
    if (!rc) {
        copy(value, b.value, c.y_count);
        copy(shared_gradient, b.gradient, b.entries);
        if (hessian)
            symmetrise(&c, &b, hessian);
    }
    free(b.value);
    free(unit);
    return rc;
}
