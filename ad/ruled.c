/** @file ruled.c  Elements one after the other by the user's rule: values and derivatives without a recording. Only where
 * there is much, a tape is used all the same: for its adjoints of the shared parameters and its scratch memory. */
#include <string.h>

#include "ad/call.h"

/* Doubles of an element's scratch that need no tape. */
#define ROOM 64u

/* What a worker uses for the elements of one leaf. */
struct work {
    struct fadi_call *c;
    const struct fad_term_rule *rule;
    struct fadi_tape *t; /* or NULL */
    struct fadi_span x;
    struct fad_element e;
    bool wants_x; /* of this element */
    double *y, *y_adjoint, *gathered, *gathered_adjoint, *gathered_tangent; /* in the scratch, as e.saved and given numbers */
    double *copy;  /* the same: of values of an outer tape, or of tangents of an element with fixed components */
    size_t copied; /* numbers that it has room for */
    double room[ROOM];
};

static bool wants_x(const struct fadi_call *c, size_t k)
{
    /* where elements share entries nothing is stored: the call is bound to fail */
    return c->wants_x && !c->x_overlaps && (c->x_given || !c->s->x_blocks || c->s->x_blocks[k].gradient);
}

/* For count doubles. Two fit into a handle, which is what a tape counts its scratch in. */
static int find_scratch(struct work *w, size_t k, size_t count, double **scratch)
{
    *scratch = w->room;
    if (count <= ROOM)
        return FAD_OK;
    int rc = w->t ? FAD_OK : fadi_open_tape(w->c, k, &w->t);
    rc = rc ? rc : fadi_tape_reserve_scratch(w->t, count / 2 + 1);
    if (!rc)
        *scratch = (double *)(void *)w->t->scratch;
    return rc;
}

/* Parts of the scratch memory, whose contents do not outlive the element. copied: room for so many of its own numbers. */
static int lay_out(struct work *w, size_t k, size_t copied)
{
    const struct fadi_call *c = w->c;
    size_t touched = c->s->touch_count, count;
    if (__builtin_mul_overflow(c->y_count + touched, 3, &count) ||
        __builtin_add_overflow(count, w->rule->saved, &count) || __builtin_add_overflow(count, copied, &count))
        return FAD_EOVERFLOW;
    int rc = find_scratch(w, k, count, &w->e.saved);
    if (rc)
        return rc;
    w->y = w->e.saved + w->rule->saved;
    w->y_adjoint = w->y + c->y_count;
    w->gathered = w->y_adjoint + c->y_count;
    w->gathered_adjoint = w->gathered + touched;
    w->gathered_tangent = w->gathered_adjoint + touched;
    w->copy = w->gathered_tangent + touched;
    w->copied = copied;
    for (size_t o = 0; o < c->y_count; o++)
        w->y_adjoint[o] = 0.0;
    return FAD_OK;
}

/* Where e.x is, which for values of an outer tape is a copy. */
static int find_x(struct work *w, size_t k)
{
    const struct fadi_call *c = w->c;
    int rc = fadi_locate(c, k, &w->x);
    size_t copied = w->x.given || (c->x_seeded && c->s->x_fixed) ? w->x.count : 0;
    if (!rc && (!w->y || copied > w->copied))
        rc = lay_out(w, k, copied);
    if (rc)
        return rc;
    w->e.x = w->x.data;
    w->e.x_count = w->x.count;
    if (!w->x.given)
        return FAD_OK;
    w->e.x = w->copy;
    for (size_t j = 0; j < w->x.count; j++)
        w->copy[j] = w->x.given[j].value;
    return FAD_OK;
}

static int gather(const struct work *w, size_t k)
{
    const struct fad_sum *s = w->c->s;
    const uint32_t *at = s->touch + k * s->touch_count;
    for (size_t j = 0; j < s->touch_count; j++) {
        if (at[j] >= s->shared_count)
            return FAD_EINVAL;
        w->gathered[j] = w->c->shared[at[j]].value;
    }
    return FAD_OK;
}

/* Everything that the rule reads. */
static int prepare(struct work *w, size_t k)
{
    const struct fadi_call *c = w->c;
    int rc = find_x(w, k);
    rc = rc || !c->s->touch_count ? rc : gather(w, k);
    w->wants_x = wants_x(c, k);
    w->e.k = k;
    w->e.shared = c->s->touch_count ? w->gathered : c->plain_shared;
    for (size_t o = 0; o < c->y_count && !rc; o++)
        w->y[o] = (double)NAN; /* not 0: a rule that forgets one must not go unnoticed */
    return rc;
}

static int evaluate(struct work *w, size_t k)
{
    int rc = prepare(w, k);
    return rc ? fadi_call_own(w->c, k, rc) : w->rule->value(&w->e, w->y);
}

/* to[touch[..]] += what the rule has added for the parameters that element k touches. */
static void scatter(const struct work *w, size_t k, double *to, unsigned char *marks)
{
    const struct fad_sum *s = w->c->s;
    const uint32_t *at = s->touch + k * s->touch_count;
    for (size_t j = 0; j < s->touch_count; j++) {
        to[at[j]] += w->gathered_adjoint[j];
        if (marks)
            marks[(at[j] + 1) / FADI_LINE] = 1;
    }
}

/* What is built for x is made canonical, and 0 for what is no variable. */
static void finish_x(const struct work *w, double *x)
{
    const unsigned char *fixed = w->c->s->x_fixed;
    for (size_t j = 0; j < w->x.count; j++) {
        bool active = !(fixed && fixed[j]) && !(w->x.given && w->x.given[j].stamp == 0);
        x[j] = active ? fadi_canonical(x[j]) : 0.0;
    }
}

/* The gradient of output o, added to shared (a gradient with all P entries), and stored for x; or its derivative in the direction
 * tangent. */
static int differentiate(struct work *w, size_t k, size_t o, const double *tangent, double *shared, unsigned char *marks)
{
    const struct fadi_call *c = w->c;
    size_t touched = c->s->touch_count;
    double *x = w->wants_x && !tangent ? c->x_built + o * c->x_total + w->x.start : NULL;
    if (x && w->x.count)
        memset(x, 0, w->x.count * sizeof *x);
    if (shared && touched)
        memset(w->gathered_adjoint, 0, touched * sizeof *w->gathered_adjoint);
    w->y_adjoint[o] = 1.0;
    double *to = shared && touched ? w->gathered_adjoint : shared;
    int rc = tangent ? w->rule->second(&w->e, tangent, w->y_adjoint, to) : w->rule->pullback(&w->e, w->y_adjoint, to, x);
    w->y_adjoint[o] = 0.0;
    if (shared && touched)
        scatter(w, k, shared, marks);
    if (x)
        finish_x(w, x);
    return rc;
}

/* A gradient has exact zeros for the parameters that are no variables. */
static void clear_fixed(const struct fadi_call *c, double *shared)
{
    if (c->s->shared_fixed || c->shared_given)
        for (size_t j = 0; j < c->s->shared_count; j++)
            if (c->shared[j].stamp == 0)
                shared[j] = 0.0;
}

/* rows: a tape for adjoints or tangents of the shared parameters. Without FAD_OK nothing is to be closed. */
static int open_work(struct work *w, struct fadi_call *c, size_t begin, bool rows)
{
    w->c = c;
    w->rule = c->s->rule;
    w->t = NULL;
    w->y = NULL; /* nothing is laid out */
    w->e.user = c->s->user;
    return rows ? fadi_open_tape(c, begin, &w->t) : FAD_OK;
}

static void close_work(struct work *w)
{
    if (w->t)
        fadi_keep_tape_back(w->t);
}

/* ---- Sums ---- */

static double *row_of(const struct work *w, size_t o)
{
    return fadi_row_of(w->t, o) + 1; /* after the id that is nobody's */
}

static int sum_element(struct work *w, size_t k, struct fadi_total *a)
{
    const struct fadi_call *c = w->c;
    int rc = FAD_OK;
    for (size_t o = 0; o < c->y_count && !rc; o++) {
        a->value[o] += w->y[o];
        if (c->records)
            rc = differentiate(w, k, o, NULL, !c->wants_shared ? NULL : c->beside ? fadi_beside(c, a, o) : row_of(w, o),
                               w->t ? fadi_marks_of(c, w->t, o) : NULL);
    }
    return rc;
}

/* A rule that is not told what an element touches may have added anywhere. */
static int move_shared(const struct work *w, struct fadi_total *a)
{
    const struct fadi_call *c = w->c;
    for (size_t row = 0; row < c->rows; row++) {
        clear_fixed(c, c->beside ? fadi_beside(c, a, row) : row_of(w, row));
        if (c->marks && !c->s->touch_count)
            memset(fadi_marks_of(c, w->t, row), 1, c->lines);
    }
    return c->beside ? FAD_OK : fadi_move_shared(c, w->t, a);
}

int fadi_ruled_leaf(size_t begin, size_t end, void *total, void *call, size_t *failed)
{
    struct work w;
    struct fadi_call *c = call;
    int rc = open_work(&w, c, begin, c->wants_shared && !c->beside), moved = FAD_OK;
    for (size_t k = begin; k < end && !rc; k++) {
        rc = evaluate(&w, k);
        if (!rc)
            rc = sum_element(&w, k, total);
        if (rc)
            *failed = k;
    }
    if (c->wants_shared && (w.t || c->beside))
        moved = move_shared(&w, total);
    close_work(&w);
    return rc ? rc : fadi_call_own(w.c, begin, moved);
}

/* ---- Each term by itself ---- */

static int keep_term(struct work *w, size_t k)
{
    const struct fadi_call *c = w->c;
    size_t row = (k - c->first) * c->y_count, width = c->s->shared_count;
    int rc = FAD_OK;
    for (size_t o = 0; o < c->y_count && !rc; o++) {
        double *gradient = c->wants_shared ? c->term_gradients + (row + o) * width : NULL;
        if (c->term_values)
            c->term_values[row + o] = fadi_canonical(w->y[o]);
        if (!c->records)
            continue;
        rc = differentiate(w, k, o, NULL, gradient, NULL);
        if (!gradient)
            continue;
        clear_fixed(c, gradient);
        for (size_t j = 0; j < width; j++)
            gradient[j] = fadi_canonical(gradient[j]);
    }
    return rc;
}

int fadi_ruled_terms(size_t begin, size_t end, void *call, size_t *failed)
{
    struct work w;
    int rc = open_work(&w, call, begin, false);
    for (size_t k = begin; k < end && !rc; k++) {
        rc = evaluate(&w, k);
        if (!rc)
            rc = keep_term(&w, k);
        if (rc)
            *failed = k;
    }
    close_work(&w);
    return rc;
}

/* ---- Tangents ---- */

/* The element's own ones in direction d. */
static const double *tangent_of_x(const struct work *w, const struct fadi_jvp *j, size_t d)
{
    const unsigned char *fixed = w->c->s->x_fixed;
    if (!j->x_tangents)
        return NULL;
    const double *given = j->x_tangents + d * j->x_apart + fadi_place_of(w->c, w->e.k);
    for (size_t i = 0; fixed && i < w->x.count; i++)
        w->copy[i] = fixed[i] ? 0.0 : given[i];
    return fixed ? w->copy : given;
}

/* What the element sees of a direction with all P entries. */
static const double *gather_tangent(const struct work *w, const double *all)
{
    const struct fad_sum *s = w->c->s;
    const uint32_t *at = s->touch + w->e.k * s->touch_count;
    for (size_t i = 0; i < s->touch_count; i++)
        w->gathered_tangent[i] = all[at[i]];
    return s->touch_count ? w->gathered_tangent : all;
}

/* Adds an element's values and tangents to the total. */
static int push_element(const struct work *w, const struct fadi_jvp *j, double *total)
{
    const struct fadi_call *c = w->c;
    double *tangent = w->y_adjoint; /* as long, and used by pullbacks only */
    int rc = FAD_OK;
    for (size_t o = 0; o < c->y_count; o++)
        total[o] += w->y[o];
    for (size_t d = 0; c->records && d < c->rows && !rc; d++) {
        total += c->y_count;
        for (size_t o = 0; o < c->y_count; o++)
            tangent[o] = (double)NAN;
        const double *shared = c->wants_shared ? gather_tangent(w, row_of(w, d)) : NULL;
        rc = w->rule->tangent(&w->e, shared, tangent_of_x(w, j, d), tangent);
        for (size_t o = 0; o < c->y_count; o++)
            total[o] += tangent[o];
    }
    return rc;
}

/* In the tape's rows, for the length of a leaf. */
static void seed_shared(const struct work *w, const struct fadi_jvp *j)
{
    fadi_jvp_seed(j, w->t);
    for (size_t d = 0; w->c->wants_shared && d < w->c->rows; d++)
        clear_fixed(w->c, row_of(w, d));
}

int fadi_ruled_jvp(size_t begin, size_t end, void *total, void *call, size_t *failed)
{
    struct fadi_jvp *j = call;
    struct fadi_total *sum = total;
    struct work w;
    int rc = open_work(&w, &j->c, begin, true);
    if (!rc)
        seed_shared(&w, j);
    for (size_t k = begin; k < end && !rc; k++) {
        rc = evaluate(&w, k);
        if (!rc)
            rc = push_element(&w, j, sum->value);
        if (rc)
            *failed = k;
    }
    if (w.t)
        fadi_jvp_clear(j, w.t, j->c.base);
    close_work(&w);
    return rc;
}

/* ---- Products with the Hessian ---- */

/* Adds an element's values, gradients and the products with all directions. */
static int add_second(struct work *w, const struct fadi_hvp *h, size_t k, struct fadi_total *a)
{
    const struct fadi_call *c = w->c;
    int rc = FAD_OK;
    for (size_t o = 0; o < c->y_count && !rc; o++) {
        a->value[o] += w->y[o];
        if (c->wants_shared)
            rc = differentiate(w, k, o, NULL, row_of(w, o), fadi_marks_of(c, w->t, o));
        for (size_t d = 0; d < h->directions && c->wants_shared && !rc; d++) {
            const double *tangent = gather_tangent(w, h->direction + d * c->s->shared_count);
            size_t row = (1 + d) * c->y_count + o;
            rc = differentiate(w, k, o, tangent, row_of(w, row), fadi_marks_of(c, w->t, row));
        }
    }
    return rc;
}

int fadi_ruled_hvp(size_t begin, size_t end, void *total, void *call, size_t *failed)
{
    struct fadi_hvp *h = call;
    struct work w;
    int rc = open_work(&w, &h->c, begin, true), moved = FAD_OK;
    for (size_t k = begin; k < end && !rc; k++) {
        rc = evaluate(&w, k);
        if (!rc)
            rc = add_second(&w, h, k, total);
        if (rc)
            *failed = k;
    }
    if (w.t && h->c.wants_shared)
        moved = move_shared(&w, total);
    close_work(&w);
    return rc ? rc : fadi_call_own(&h->c, begin, moved);
}
