/* See shape.h. */
#include "tests/shape.h"

#include <string.h>

static size_t seen_by(const struct fad_sum *s)
{
    return s->touch ? s->touch_count : s->shared_count;
}

static int term(fad_tape *t, size_t k, const fad_real *s, const fad_real *x, fad_real *y, void *user)
{
    struct shape *c = user;
    size_t seen = seen_by(&c->s);
    fad_real lin = fad_const(0);
    atomic_fetch_add(&c->runs, 1);
    for (size_t j = 0; j < fad_element_count(t); j++)
        lin = fad_add(t, lin, fad_mul(t, x[j], s[(j + k) % seen]));
    for (size_t o = 0; o < c->y_count; o++)
        y[o] = fad_add(t, fad_mul(t, (double)(o + 1), fad_square(t, lin)), fad_mul(t, (double)(k % 3), s[o % seen]));
    return 0;
}

static double linear(const struct fad_element *e)
{
    size_t seen = seen_by(&((const struct shape *)e->user)->s);
    double lin = 0;
    for (size_t j = 0; j < e->x_count; j++)
        lin += e->x[j] * e->shared[(j + e->k) % seen];
    return lin;
}

static int value(const struct fad_element *e, double *y)
{
    struct shape *c = e->user;
    double lin = linear(e);
    atomic_fetch_add(&c->runs, 1);
    for (size_t o = 0; o < c->y_count; o++)
        y[o] = (double)(o + 1) * lin * lin + (double)(e->k % 3) * e->shared[o % seen_by(&c->s)];
    return 0;
}

static int value_saved(const struct fad_element *e, double *y)
{
    e->saved[0] = e->saved[1] = linear(e);
    return value(e, y);
}

static void pull(const struct fad_element *e, double lin, const double *w, double *shared, double *x)
{
    struct shape *c = e->user;
    size_t seen = seen_by(&c->s);
    double d = 0;
    atomic_fetch_add(&c->pullbacks, 1);
    for (size_t o = 0; o < c->y_count; o++)
        d += w[o] * 2 * (double)(o + 1) * lin;
    for (size_t j = 0; j < e->x_count; j++) {
        if (shared)
            shared[(j + e->k) % seen] += d * e->x[j];
        if (x)
            x[j] += d * e->shared[(j + e->k) % seen];
    }
    for (size_t o = 0; shared && o < c->y_count; o++)
        shared[o % seen] += w[o] * (double)(e->k % 3);
}

static int pullback(const struct fad_element *e, const double *w, double *shared, double *x)
{
    pull(e, linear(e), w, shared, x);
    return 0;
}

static int pullback_saved(const struct fad_element *e, const double *w, double *shared, double *x)
{
    pull(e, e->saved[1], w, shared, x);
    return 0;
}

/* Not wanted is zero. */
static void push(const struct fad_element *e, double lin, const double *shared, const double *x, double *y)
{
    struct shape *c = e->user;
    size_t seen = seen_by(&c->s);
    double d = 0;
    atomic_fetch_add(&c->tangents, 1);
    for (size_t j = 0; j < e->x_count; j++) {
        d += shared ? e->x[j] * shared[(j + e->k) % seen] : 0;
        d += x ? x[j] * e->shared[(j + e->k) % seen] : 0;
    }
    for (size_t o = 0; o < c->y_count; o++)
        y[o] = 2 * (double)(o + 1) * lin * d + (shared ? (double)(e->k % 3) * shared[o % seen] : 0);
}

static int tangent(const struct fad_element *e, const double *shared, const double *x, double *y)
{
    push(e, linear(e), shared, x, y);
    return 0;
}

static int tangent_saved(const struct fad_element *e, const double *shared, const double *x, double *y)
{
    push(e, e->saved[1], shared, x, y);
    return 0;
}

static int second(const struct fad_element *e, const double *tangent, const double *w, double *shared)
{
    const struct shape *c = e->user;
    size_t seen = seen_by(&c->s);
    double d = 0, lin = 0;
    for (size_t j = 0; j < e->x_count; j++)
        lin += e->x[j] * tangent[(j + e->k) % seen];
    for (size_t o = 0; o < c->y_count; o++)
        d += w[o] * 2 * (double)(o + 1) * lin;
    for (size_t j = 0; j < e->x_count; j++)
        shared[(j + e->k) % seen] += d * e->x[j];
    return 0;
}

struct fad_sum shape_ruled(const struct shape *c, bool saves)
{
    static const struct fad_term_rule plain = {.value = value, .pullback = pullback, .tangent = tangent, .second = second};
    static const struct fad_term_rule saving = {
        .saved = 2, .value = value_saved, .pullback = pullback_saved, .tangent = tangent_saved, .second = second};
    struct fad_sum s = c->s;
    s.term = NULL;
    s.rule = saves ? &saving : &plain;
    return s;
}

/* rows, rows apart, rows that overlap, ragged, blocks */
static void lay_out(struct shape *c, unsigned form, struct dice *d)
{
    size_t total = 0;
    c->s.x = c->x;
    c->s.x_count = 1 + dice_below(d, SHAPE_X);
    if (form == 1)
        c->s.x_stride = c->s.x_count + 1;
    if (form == 2)
        c->s.x_stride = c->s.x_count > 1 ? c->s.x_count - 1 : 1;
    c->x_size = SHAPE_N * (c->s.x_stride ? c->s.x_stride : c->s.x_count) + SHAPE_X;
    if (form < 3)
        return;
    for (size_t k = 0; k < SHAPE_N; k++) {
        size_t count = dice_below(d, SHAPE_X + 1);
        c->offsets[k] = total;
        c->blocks[k].data = c->x + total;
        c->blocks[k].count = count;
        c->blocks[k].gradient = dice_below(d, 4) ? c->block_gradient + total * c->y_count : NULL;
        total += count;
    }
    c->offsets[SHAPE_N] = c->x_size = total;
    if (form == 3) {
        c->s.x_offsets = c->offsets;
    } else {
        c->s.x_blocks = c->blocks;
        c->s.x = NULL;
    }
}

void shape_make(struct shape *c, uint64_t seed, bool overlaps)
{
    struct dice d = {seed};
    memset(c, 0, sizeof *c);
    c->s.terms = SHAPE_N;
    c->s.shared = c->shared;
    c->s.shared_count = dice_below(&d, 6) ? 1 + dice_below(&d, 9) : SHAPE_P;
    c->s.y_count = dice_below(&d, SHAPE_Y + 1);
    c->y_count = c->s.y_count ? c->s.y_count : 1;
    unsigned form = (unsigned)dice_below(&d, 5);
    lay_out(c, form == 2 && !overlaps ? 0 : form, &d);
    for (size_t j = 0; j < SHAPE_P; j++) {
        c->shared[j] = (double)dice_below(&d, 7) - 3;
        c->shared_fixed[j] = dice_below(&d, 4) == 0;
    }
    for (size_t i = 0; i < sizeof c->x / sizeof *c->x; i++)
        c->x[i] = (double)dice_below(&d, 7) - 3;
    for (size_t j = 0; j < SHAPE_X; j++)
        c->x_fixed[j] = dice_below(&d, 4) == 0;
    for (size_t i = 0; i < SHAPE_N * 3; i++)
        c->touch[i] = (uint32_t)dice_below(&d, c->s.shared_count);
    if (dice_below(&d, 3) == 0) {
        c->s.touch = c->touch;
        c->s.touch_count = 3;
    }
    if (dice_below(&d, 2))
        c->s.shared_fixed = c->shared_fixed;
    if (dice_below(&d, 2))
        c->s.x_fixed = c->x_fixed;
    if (dice_below(&d, 3) == 0) {
        c->s.first = dice_below(&d, SHAPE_N / 2);
        c->s.count = 1 + dice_below(&d, SHAPE_N / 2);
    }
    c->n = c->s.count ? c->s.count : SHAPE_N;
    c->s.leaf = dice_below(&d, 9);
    c->s.grain = 1;
    c->s.term = term;
    c->s.user = c;
}

size_t shape_place(const struct shape *c, size_t k, size_t *count)
{
    bool ragged = c->s.x_offsets || c->s.x_blocks;
    *count = ragged ? c->offsets[k + 1] - c->offsets[k] : c->s.x_count;
    return ragged ? c->offsets[k] : k * (c->s.x_stride ? c->s.x_stride : c->s.x_count);
}

/* The term again, since fad_element_count is 0 here. */
static void record_term(const struct shape *c, fad_tape *t, size_t k, const fad_real *shared, const fad_real *x, fad_real *y)
{
    fad_real s[3], own[SHAPE_X], lin = fad_const(0);
    size_t count, at = shape_place(c, k, &count), seen = seen_by(&c->s);
    for (size_t j = 0; c->s.touch && j < 3; j++)
        s[j] = shared[c->s.touch[3 * k + j]];
    for (size_t j = 0; j < count; j++)
        own[j] = c->s.x_fixed && c->x_fixed[j] ? fad_const(x[at + j].value) : x[at + j];
    const fad_real *see = c->s.touch ? s : shared;
    for (size_t j = 0; j < count; j++)
        lin = fad_add(t, lin, fad_mul(t, own[j], see[(j + k) % seen]));
    for (size_t o = 0; o < c->y_count; o++)
        y[o] = fad_add(t, fad_mul(t, (double)(o + 1), fad_square(t, lin)), fad_mul(t, (double)(k % 3), see[o % seen]));
}

void shape_record(const struct shape *c, fad_tape *t, const fad_real *shared, const fad_real *x, fad_real *y, bool each)
{
    fad_real variable[SHAPE_P], one[SHAPE_Y];
    for (size_t j = 0; j < c->s.shared_count; j++)
        variable[j] = c->s.shared_fixed && c->shared_fixed[j] ? fad_const(shared[j].value) : shared[j];
    for (size_t o = 0; o < c->y_count && !each; o++)
        y[o] = fad_const(0);
    for (size_t i = 0; i < c->n; i++) {
        record_term(c, t, c->s.first + i, variable, x, one);
        for (size_t o = 0; o < c->y_count; o++)
            if (each)
                y[i * c->y_count + o] = one[o];
            else
                y[o] = fad_add(t, y[o], one[o]);
    }
}
