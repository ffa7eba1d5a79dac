/** @file taped.c  Elements one after the other on a tape: each is recorded, swept at once and forgotten. */
#include <stdlib.h>
#include <string.h>

#include "ad/call.h"

/* A constant is its value and 64 zero bits, which are a double of value 0. Written as pairs of doubles, elements that a
 * pass without derivatives does little else with are loaded by vector instructions. */
typedef double word __attribute__((may_alias));
_Static_assert(sizeof(fad_real) == 2 * sizeof(word) && offsetof(fad_real, value) == 0, "a pair of words");

static void load_constants(fad_real *restrict to, const double *restrict from, size_t count)
{
    word *restrict words = (word *)to;
    for (size_t j = 0; j < count; j++) {
        words[2 * j] = from[j];
        words[2 * j + 1] = 0.0;
    }
}

/* Numbers of an outer tape: inputs where they are no constants there. */
static void load_given(const struct fadi_span *x, const unsigned char *fixed, uint64_t id, uint32_t stamp, fad_real *to)
{
    for (size_t j = 0; j < x->count; j++) {
        bool active = id && x->given[j].stamp && !(fixed && fixed[j]);
        to[j] = active ? (fad_real){x->given[j].value, (uint32_t)(id + j), stamp} : fad_const(x->given[j].value);
    }
}

void fadi_load_x(const struct fadi_call *c, const struct fadi_span *x, uint64_t id, uint32_t stamp, fad_real *to)
{
    const unsigned char *fixed = c->s->x_fixed;
    if (x->given) {
        load_given(x, fixed, id, stamp, to);
        return;
    }
    if (id == 0) {
        load_constants(to, x->data, x->count);
        return;
    }
    for (size_t j = 0; j < x->count; j++)
        to[j] = (fad_real){x->data[j], (uint32_t)id + (uint32_t)j, stamp};
    for (size_t j = 0; fixed && j < x->count; j++)
        if (fixed[j])
            to[j] = fad_const(x->data[j]);
}

int fadi_gather(const struct fadi_call *c, size_t k, const fad_real *shared, fad_real *to)
{
    const struct fad_sum *s = c->s;
    const uint32_t *at = s->touch + k * s->touch_count;
    for (size_t j = 0; j < s->touch_count; j++) {
        if (at[j] >= s->shared_count)
            return FAD_EINVAL;
        to[j] = shared[at[j]];
    }
    return FAD_OK;
}

/* Everything that the term reads. */
static int prepare(struct fadi_work *w, size_t k)
{
    const struct fadi_call *c = w->c;
    size_t arrays, touched = c->s->touch_count;
    int rc = fadi_locate(c, k, &w->x);
    if (rc)
        return rc;
    w->inputs = c->wants_x && (c->x_given || c->x_seeded || !c->s->x_blocks || c->s->x_blocks[k].gradient) ? w->x.count : 0;
    if (__builtin_add_overflow(w->x.count, touched, &arrays) || __builtin_add_overflow(arrays, c->y_count, &arrays))
        return FAD_EOVERFLOW;
    rc = fadi_tape_reserve_scratch(w->t, arrays);
    if (!rc && w->inputs > w->t->capacity - w->t->base)
        rc = w->inputs > FADI_ID_END ? FAD_EOVERFLOW : fadi_tape_reserve(w->t, w->t->base + w->inputs);
    if (rc)
        return rc;
    fadi_tape_restart(w->t, w->inputs);
    w->t->element_count = w->x.count;
    w->own = w->t->scratch;
    w->gathered = w->own + w->x.count;
    w->y = w->gathered + touched;
    fadi_load_x(c, &w->x, w->inputs ? w->t->base : 0, w->t->head.stamp, w->own);
    for (size_t o = 0; o < c->y_count; o++)
        w->y[o] = fadi_nan(); /* not 0: a term that forgets one must not go unnoticed */
    return touched ? fadi_gather(c, k, c->shared, w->gathered) : FAD_OK;
}

int fadi_call_own(struct fadi_call *c, size_t k, int rc)
{
    _Atomic size_t *lowest = &c->own_failure;
    size_t seen = atomic_load_explicit(lowest, memory_order_relaxed);
    /* relaxed: read after the fold */
    while (rc && k < seen &&
           !atomic_compare_exchange_weak_explicit(lowest, &seen, k, memory_order_relaxed, memory_order_relaxed))
        ;
    return rc;
}

int fadi_work_evaluate(struct fadi_work *w, size_t k)
{
    const struct fad_sum *s = w->c->s;
    int rc = prepare(w, k);
    if (rc)
        return fadi_call_own(w->c, k, rc);
    rc = s->term(&w->t->head, k, s->touch ? w->gathered : w->c->shared, w->own, w->y, s->user);
    if (w->t->error)
        return w->t->error < 0 ? fadi_call_own(w->c, k, w->t->error) : w->t->error;
    for (size_t o = 0; o < w->c->y_count && !rc; o++)
        if (!fadi_known(w->t, w->y[o]))
            rc = fadi_call_own(w->c, k, FAD_EHANDLE);
    return rc;
}

double *fadi_row_of(const struct fadi_tape *t, size_t o)
{
    return t->adjoints + o * t->row;
}

unsigned char *fadi_marks_of(const struct fadi_call *c, const struct fadi_tape *t, size_t o)
{
    return c->marks ? t->touched + o * t->row / FADI_LINE : NULL;
}

/* The gradient of output o, from its handle to the shared parameters and the element's inputs. Whatever it returns, these and
 * only these have adjoints afterwards. */
static int differentiate(const struct fadi_work *w, size_t k, size_t o)
{
    struct fadi_tape *t = w->t;
    double *adjoints = fadi_row_of(t, o);
    unsigned char *marks = fadi_marks_of(w->c, w->t, o);
    uint32_t y = w->y[o].id;
    if (w->y[o].stamp == 0)
        return FAD_OK;
    adjoints[y] += 1.0;
    if (marks)
        marks[y / FADI_LINE] = 1;
    int rc = fadi_sweep(t, t->base + w->inputs, y, adjoints, marks);
    return rc < 0 ? fadi_call_own(w->c, k, rc) : rc;
}

void fadi_take_x(const struct fadi_work *w, size_t o)
{
    double *adjoints = fadi_row_of(w->t, o) + w->t->base, *to = w->c->x_built + o * w->c->x_total + w->x.start;
    for (size_t j = 0; j < w->inputs; j++) {
        if (!w->c->x_overlaps)
            to[j] = fadi_canonical(adjoints[j]);
        adjoints[j] = 0.0;
    }
}

int fadi_open_tape(struct fadi_call *c, size_t begin, struct fadi_tape **tape)
{
    struct fadi_tape *t = fadi_keep_tape();
    int rc = t ? fadi_tape_bind(t, c->base, c->records ? c->rows : 1, c->stamp) : FAD_ENOMEM;
    if (rc && t) {
        fadi_keep_tape_back(t);
        t = NULL;
    }
    *tape = t;
    return fadi_call_own(c, begin, rc);
}

int fadi_work_open(struct fadi_work *w, struct fadi_call *c, size_t begin)
{
    *w = (struct fadi_work){.c = c};
    return fadi_open_tape(c, begin, &w->t);
}

void fadi_work_close(const struct fadi_work *w)
{
    if (w->t)
        fadi_keep_tape_back(w->t);
}

/* ---- Sums ---- */

void fadi_total_identity(void *total, void *call)
{
    struct fadi_total *a = total;
    const struct fadi_call *c = call;
    a->shared = NULL;
    for (size_t o = 0; o < c->values; o++)
        a->value[o] = 0.0;
}

void fadi_total_combine(void *left, const void *right, void *call)
{
    struct fadi_total *a = left;
    const struct fadi_total *b = right;
    const struct fadi_call *c = call;
    for (size_t o = 0; o < c->values; o++)
        a->value[o] += b->value[o];
    if (!a->shared) {
        a->shared = b->shared;
    } else if (b->shared) {
        fadi_acc_add(a->shared, b->shared, c->store->accs.pages);
        fadi_acc_give(&c->store->accs, b->shared);
    }
}

static int sum_element(const struct fadi_work *w, size_t k, struct fadi_total *a)
{
    const struct fadi_call *c = w->c;
    int rc = FAD_OK;
    for (size_t o = 0; o < c->y_count && !rc; o++) {
        a->value[o] += w->y[o].value;
        if (c->records)
            rc = differentiate(w, k, o);
        if (w->inputs)
            fadi_take_x(w, o);
    }
    return rc;
}

static void move_beside(const struct fadi_call *c, double *restrict row, double *restrict to)
{
    row++; /* the id that is nobody's */
    for (size_t j = 0; j < c->s->shared_count; j++) {
        to[j] += row[j];
        row[j] = 0.0;
    }
}

int fadi_move_shared(const struct fadi_call *c, const struct fadi_tape *t, struct fadi_total *a)
{
    int rc = FAD_OK;
    if (c->beside) {
        for (size_t o = 0; o < c->rows; o++)
            move_beside(c, fadi_row_of(t, o), fadi_beside(c, a, o));
        return FAD_OK;
    }
    if (!a->shared)
        a->shared = fadi_acc_take(&c->store->accs);
    for (size_t o = 0; o < c->rows; o++) {
        int moved = fadi_acc_move(a->shared, o * (c->base / FADI_PAGE), fadi_row_of(t, o), fadi_marks_of(c, t, o), c->lines);
        rc = rc ? rc : moved;
    }
    return rc;
}

int fadi_taped_leaf(size_t begin, size_t end, void *total, void *call, size_t *failed)
{
    struct fadi_work w;
    int rc = fadi_work_open(&w, call, begin), moved = FAD_OK;
    for (size_t k = begin; k < end && !rc; k++) {
        rc = fadi_work_evaluate(&w, k);
        if (!rc)
            rc = sum_element(&w, k, total);
        if (rc)
            *failed = k;
    }
    if (w.t && w.c->wants_shared)
        moved = fadi_move_shared(w.c, w.t, total);
    fadi_work_close(&w);
    return rc ? rc : fadi_call_own(w.c, begin, moved);
}

/* ---- Each term by itself ---- */

void fadi_take_shared(const struct fadi_work *w, size_t o, double *to)
{
    double *adjoints = fadi_row_of(w->t, o);
    unsigned char *marks = fadi_marks_of(w->c, w->t, o);
    size_t end = w->c->s->shared_count + 1;
    for (size_t line = 0; line < w->c->lines; line++) {
        if (marks && !marks[line])
            continue;
        for (size_t id = line * FADI_LINE; id < (line + 1) * FADI_LINE && id < end; id++) {
            if (id)
                to[id - 1] = fadi_canonical(adjoints[id]);
            adjoints[id] = 0.0;
        }
        if (marks)
            marks[line] = 0;
    }
}

static int keep_term(const struct fadi_work *w, size_t k)
{
    const struct fadi_call *c = w->c;
    size_t row = (k - c->first) * c->y_count;
    int rc = FAD_OK;
    for (size_t o = 0; o < c->y_count && !rc; o++) {
        if (c->term_values)
            c->term_values[row + o] = fadi_canonical(w->y[o].value);
        if (c->records)
            rc = differentiate(w, k, o);
        if (c->wants_shared)
            fadi_take_shared(w, o, c->term_gradients + (row + o) * c->s->shared_count);
        if (w->inputs)
            fadi_take_x(w, o);
    }
    return rc;
}

int fadi_taped_terms(size_t begin, size_t end, void *call, size_t *failed)
{
    struct fadi_work w;
    int rc = fadi_work_open(&w, call, begin);
    for (size_t k = begin; k < end && !rc; k++) {
        rc = fadi_work_evaluate(&w, k);
        if (!rc)
            rc = keep_term(&w, k);
        if (rc)
            *failed = k;
    }
    fadi_work_close(&w);
    return rc;
}
