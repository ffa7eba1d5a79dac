/** @file reduce_leaf.c  The elements of a leaf. Built-in parts that read x itself do so where it lies; all else goes over one
 * tape a leaf: inputs of all elements, the terms, and the general parts' combines, in order. */
#include <string.h>

#include "ad/reduce.h"

/* What a worker uses for a leaf. */
struct work {
    struct fadi_reduce *c;
    struct fadi_tape *t;
    size_t begin, end;
    bool active;            /* this pass records */
    size_t inputs;          /* of all elements */
    size_t widest;          /* most numbers of its own that an element has */
    const fad_real *shared;
    /* in the tape's scratch */
    fad_real *own, *gathered, *value, *state, *next;
    double *plain, *back, *room; /* a leaf's values, their adjoints, and a double an element */
};

static size_t elements(const struct work *w)
{
    return w->end - w->begin;
}

static bool has_inputs(const struct work *w, size_t k)
{
    const struct fad_sum *s = w->c->call.s;
    return w->active && w->c->call.wants_x && (w->c->call.x_given || !s->x_blocks || s->x_blocks[k].gradient);
}

/* ---- Built-in parts ---- */

static void leaf_states(const struct fadi_reduce *c, const struct fadi_run *v, double *state)
{
    for (size_t i = 0; i < c->r->part_count; i++) {
        const struct fad_part *p = c->r->parts + i;
        if (p->kind != FAD_PART_GENERAL)
            fadi_part_leaf(p, v, state);
        state += fadi_part_width(p);
    }
}

static void leaf_adjoints(const struct fadi_reduce *c, const struct fadi_run *v, size_t leaf, double *to, double *room)
{
    const double *state = c->state.leaf + leaf * c->width, *adjoint = c->adjoint.leaf + leaf * c->width;
    for (size_t i = 0; i < c->r->part_count; i++) {
        const struct fad_part *p = c->r->parts + i;
        size_t width = fadi_part_width(p);
        if (p->kind != FAD_PART_GENERAL)
            fadi_part_leaf_back(p, v, state, adjoint, to, room);
        state += width;
        adjoint += width;
    }
}

static struct fadi_run rows_of(const struct fadi_reduce *c, size_t begin, size_t end)
{
    const double *x = c->rows + (begin - c->call.first) * c->stride;
    return (struct fadi_run){x, c->stride, end - begin, begin, c->sum.x_count};
}

/* ---- Room ---- */

/* Inputs and the widest element. An element that cannot be located fails here, before anything of the leaf runs. */
static int measure(struct work *w, size_t *failed)
{
    w->inputs = w->widest = 0;
    for (size_t k = w->begin; k < w->end; k++) {
        struct fadi_span x;
        int rc = fadi_locate(&w->c->call, k, &x);
        if (!rc && !w->c->r->of.term && x.count < w->c->values)
            rc = FAD_EINVAL;
        if (!rc && has_inputs(w, k) && __builtin_add_overflow(w->inputs, x.count, &w->inputs))
            rc = FAD_EOVERFLOW;
        if (rc) {
            w->end = k; /* those before it come first */
            *failed = k;
            return rc;
        }
        w->widest = x.count > w->widest ? x.count : w->widest;
    }
    return FAD_OK;
}

static int make_room(struct work *w)
{
    const struct fadi_reduce *c = w->c;
    size_t n = elements(w), all, reals, touched = c->sum.touch_count;
    int rc;
    if (__builtin_mul_overflow(n, c->values, &all) || all > SIZE_MAX / 8 - n || w->widest > SIZE_MAX / 8 - all ||
        touched > SIZE_MAX / 8)
        return FAD_EOVERFLOW;
    reals = w->widest + touched + all + 2 * c->width;
    rc = fadi_tape_reserve_scratch(w->t, reals + (2 * all + n + 1) / 2);
    if (!rc && w->inputs > w->t->capacity - w->t->base)
        rc = w->inputs > FADI_ID_END ? FAD_EOVERFLOW : fadi_tape_reserve(w->t, w->t->base + w->inputs);
    if (rc)
        return rc;
    w->own = w->t->scratch;
    w->gathered = w->own + w->widest;
    w->value = w->gathered + touched;
    w->state = w->value + all;
    w->next = w->state + c->width;
    w->plain = (double *)(w->t->scratch + reals);
    w->back = w->plain + all;
    w->room = w->back + all;
    return FAD_OK;
}

/* A tape that is laid out for the call, in w->t, or NULL there. */
static int open_work(struct work *w, struct fadi_reduce *c, size_t begin, size_t end)
{
    *w = (struct work){.c = c, .t = fadi_keep_tape(), .begin = begin, .end = end};
    int rc = w->t ? fadi_tape_bind(w->t, c->call.base, 1, c->call.stamp) : FAD_ENOMEM;
    if (rc && w->t) {
        fadi_keep_tape_back(w->t);
        w->t = NULL;
    }
    return rc;
}

/* ---- Evaluating and recording ---- */

/* After a callback: its code, or what is wrong with the tape or with one of its results. */
static int judge(const struct work *w, size_t k, int rc, const fad_real *results, size_t count)
{
    struct fadi_call *call = &w->c->call;
    if (w->t->error)
        return w->t->error < 0 ? fadi_call_own(call, k, w->t->error) : w->t->error;
    for (size_t j = 0; j < count && !rc; j++)
        if (!fadi_known(w->t, results[j]))
            rc = fadi_call_own(call, k, FAD_EHANDLE);
    return rc;
}

/* id: that of its first input; moves on. */
static int run_term(const struct work *w, size_t k, uint64_t *id)
{
    const struct fadi_reduce *c = w->c;
    const struct fad_sum *s = &c->sum;
    fad_real *value = w->value + (k - w->begin) * c->values;
    struct fadi_span x;
    fadi_locate(&c->call, k, &x);
    fadi_load_x(&c->call, &x, has_inputs(w, k) ? *id : 0, w->t->head.stamp, w->own);
    if (has_inputs(w, k))
        *id += x.count;
    if (!c->r->of.term) {
        memcpy(value, w->own, c->values * sizeof *value);
        return FAD_OK;
    }
    if (s->touch && fadi_gather(&c->call, k, w->shared, w->gathered))
        return fadi_call_own(&w->c->call, k, FAD_EINVAL);
    for (size_t j = 0; j < c->values; j++)
        value[j] = fadi_nan();
    w->t->element_count = x.count;
    int rc = s->term(&w->t->head, k, s->touch ? w->gathered : w->shared, w->own, value, s->user);
    w->t->element_count = 0;
    return judge(w, k, rc, value, c->values);
}

/* The general parts take the element's values in. */
static int run_combines(const struct work *w, size_t k)
{
    const struct fadi_reduce *c = w->c;
    const fad_real *value = w->value + (k - w->begin) * c->values;
    size_t at = 0;
    for (size_t i = 0; i < c->r->part_count; at += fadi_part_width(c->r->parts + i), i++) {
        const struct fad_part *p = c->r->parts + i;
        fad_real *state = w->state + at, *out = w->next + at;
        if (p->kind != FAD_PART_GENERAL)
            continue;
        if (k == w->begin) {
            memcpy(state, value + p->column, p->width * sizeof *state);
            continue;
        }
        for (size_t j = 0; j < p->width; j++)
            out[j] = fadi_nan();
        int rc = judge(w, k, p->combine(&w->t->head, state, value + p->column, out, p->user), out, p->width);
        if (rc)
            return rc;
        memcpy(state, out, p->width * sizeof *state);
    }
    return FAD_OK;
}

/* The whole leaf, onto the tape if the pass is active. */
static int run_elements(struct work *w, size_t *failed)
{
    const struct fadi_reduce *c = w->c;
    size_t unlocated = w->begin;
    w->shared = w->active || !c->plain ? c->call.shared : c->plain;
    int rc = measure(w, &unlocated);
    fadi_call_own(&w->c->call, unlocated, rc);
    int room = make_room(w);
    if (room)
        return fadi_call_own(&w->c->call, w->begin, room);
    fadi_tape_restart(w->t, w->inputs);
    uint64_t id = w->t->base;
    for (size_t k = w->begin; k < w->end; k++) {
        int code = run_term(w, k, &id);
        code = code ? code : run_combines(w, k);
        if (code) {
            *failed = k;
            return code;
        }
    }
    if (rc)
        *failed = unlocated;
    for (size_t i = 0; c->built_in && i < elements(w) * c->values; i++)
        w->plain[i] = w->value[i].value;
    return rc;
}

static struct fadi_run values_of(const struct work *w, const double *values)
{
    return (struct fadi_run){values, w->c->values, elements(w), w->begin, w->c->values};
}

/* ---- Up ---- */

/* Keeps the recording: ids of the states, then, if built-in parts need them, those of the values, and these. */
static int store_leaf(const struct work *w, size_t leaf)
{
    const struct fadi_reduce *c = w->c;
    size_t count = c->built_in ? elements(w) * c->values : 0;
    struct fadi_segment *s = fadi_segment_of(w->t, w->inputs, count, c->width + count);
    if (!s)
        return FAD_ENOMEM;
    for (size_t j = 0; j < c->width; j++)
        s->ids[j] = w->state[j].id;
    for (size_t i = 0; i < count; i++) {
        s->ids[c->width + i] = w->value[i].id;
        s->values[i] = w->plain[i];
    }
    c->leaf_kept[leaf] = s;
    return FAD_OK;
}

static int taped_up(struct fadi_reduce *c, size_t leaf, size_t begin, size_t end, size_t *failed)
{
    struct work w;
    double *state = c->state.leaf + leaf * c->width;
    int rc = fadi_call_own(&c->call, begin, open_work(&w, c, begin, end));
    if (rc)
        return rc;
    w.active = c->leaf_kept != NULL;
    rc = run_elements(&w, failed);
    if (!rc) {
        struct fadi_run v = values_of(&w, w.plain);
        size_t at = 0;
        leaf_states(c, &v, state);
        for (size_t i = 0; i < c->r->part_count; at += fadi_part_width(c->r->parts + i), i++)
            for (size_t j = 0; j < fadi_part_width(c->r->parts + i); j++)
                if (c->r->parts[i].kind == FAD_PART_GENERAL)
                    state[at + j] = w.state[at + j].value;
                else
                    w.state[at + j] = fad_const(0.0);
        if (w.active)
            rc = fadi_call_own(&c->call, begin, store_leaf(&w, leaf));
    }
    fadi_keep_tape_back(w.t);
    return rc;
}

int fadi_reduce_leaf_up(size_t begin, size_t end, void *node, void *call, size_t *failed)
{
    struct fadi_reduce *c = call;
    size_t leaf = (begin - c->call.first) / c->call.leaf;
    *(struct fadi_node *)node = (struct fadi_node){leaf, leaf + 1};
    if (!c->direct)
        return taped_up(c, leaf, begin, end, failed);
    struct fadi_run v = rows_of(c, begin, end);
    leaf_states(c, &v, c->state.leaf + leaf * c->width);
    return FAD_OK;
}

/* ---- Down ---- */

/* Built-in parts' gradient of x, of one leaf. */
static void x_gradient(const struct fadi_reduce *c, size_t begin, size_t end, double *to, double *room)
{
    struct fadi_run v = rows_of(c, begin, end);
    size_t width = c->sum.x_count, n = end - begin;
    memset(to, 0, n * width * sizeof *to);
    leaf_adjoints(c, &v, (begin - c->call.first) / c->call.leaf, to, room);
    for (size_t j = 0; c->sum.x_fixed && j < width; j++)
        for (size_t i = 0; c->sum.x_fixed[j] && i < n; i++)
            to[i * width + j] = 0.0;
    for (size_t i = 0; i < n * width; i++)
        to[i] = fadi_canonical(to[i]);
}

static int direct_down(struct fadi_reduce *c, size_t begin, size_t end)
{
    struct work w;
    int rc = open_work(&w, c, begin, end);
    rc = rc ? rc : fadi_tape_reserve_scratch(w.t, (end - begin) / 2 + 1);
    if (!rc)
        x_gradient(c, begin, end, c->call.x_built + (begin - c->call.first) * c->sum.x_count, (double *)w.t->scratch);
    if (w.t)
        fadi_keep_tape_back(w.t);
    return fadi_call_own(&c->call, begin, rc);
}

static int straight(size_t begin, size_t end, void *call, size_t *failed)
{
    const struct fadi_reduce *c = call;
    double room[FADI_STRAIGHT_LEAF];
    (void)failed;
    x_gradient(c, begin, end, c->straight + begin * c->sum.x_count, room);
    return FAD_OK;
}

void fadi_reduce_straight(fad_pool *pool, const struct fadi_reduce *c)
{
    struct fad_fold_options options = {.leaf = c->call.leaf, .grain = c->sum.grain, .first = c->call.first};
    size_t end = c->call.first + c->call.n, failed;
    /* Nothing may fail any more: what the workers cannot do is done here. */
    if (fad_for(pool, c->call.n, straight, (void *)c, &options))
        for (size_t k = c->call.first; k < end; k += c->call.leaf)
            straight(k, end - k > c->call.leaf ? k + c->call.leaf : end, (void *)c, &failed);
}

struct sweep {
    struct fadi_tape *t; /* with the leaf's recording */
    uint64_t next;
    double *adjoints;
    unsigned char *marks;
};

static void seed(const struct sweep *s, uint32_t id, double adjoint)
{
    if (id == 0 || adjoint == 0.0)
        return;
    s->adjoints[id] += adjoint;
    if (s->marks)
        s->marks[id / FADI_LINE] = 1;
}

/* From the adjoints of the leaf's state to those of what its elements made of their inputs. */
static void seed_leaf(const struct work *w, const struct sweep *s, size_t leaf, const struct fadi_segment *kept)
{
    const struct fadi_reduce *c = w->c;
    struct fadi_run v = values_of(w, kept ? kept->values : w->plain);
    size_t count = c->built_in ? elements(w) * c->values : 0, at = 0;
    for (size_t i = 0; i < c->r->part_count; at += fadi_part_width(c->r->parts + i), i++)
        for (size_t j = at; c->r->parts[i].kind == FAD_PART_GENERAL && j < at + c->r->parts[i].width; j++)
            seed(s, kept ? kept->ids[j] : w->state[j].id, c->adjoint.leaf[leaf * c->width + j]);
    if (!count)
        return;
    memset(w->back, 0, count * sizeof *w->back);
    leaf_adjoints(c, &v, leaf, w->back, w->room);
    for (size_t i = 0; i < count; i++)
        seed(s, kept ? kept->ids[c->width + i] : w->value[i].id, w->back[i]);
}

/* Moves the inputs' adjoints to where the gradient of x is built. */
static void take_x(const struct work *w)
{
    const struct fadi_call *call = &w->c->call;
    double *adjoints = w->t->adjoints + w->t->base;
    for (size_t k = w->begin; k < w->end; k++) {
        struct fadi_span x;
        if (!has_inputs(w, k) || fadi_locate(call, k, &x))
            continue;
        for (size_t j = 0; j < x.count; j++) {
            if (!call->x_overlaps)
                call->x_built[x.start + j] = fadi_canonical(adjoints[j]);
            adjoints[j] = 0.0;
        }
        adjoints += x.count;
    }
}

static bool all_zero(const double *v, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (v[i] != 0.0)
            return false;
    return true;
}

/* The leaf's recording, as it was kept or made again. A kept one may have calls, whose functions must find the tape busy. */
static int record_leaf(struct work *w, struct sweep *s, const struct fadi_segment *kept, struct fadi_tape *view, size_t *failed)
{
    int rc;
    if (kept) {
        rc = measure(w, failed);
        rc = rc ? rc : make_room(w);
        rc = rc ? rc : fadi_segment_on(w->t, kept, w->inputs, view);
        s->t = view;
        s->next = kept->next;
    } else {
        rc = run_elements(w, failed);
        s->t = w->t;
        s->next = w->t->head.next;
    }
    s->adjoints = w->t->adjoints;
    s->marks = w->c->call.marks ? w->t->touched : NULL;
    return rc;
}

static int taped_down(struct fadi_reduce *c, size_t leaf, size_t begin, size_t end, struct fadi_total *total, size_t *failed)
{
    const struct fadi_segment *kept = c->leaf_kept ? c->leaf_kept[leaf] : NULL;
    struct work w;
    struct sweep s;
    struct fadi_tape view;
    int rc = open_work(&w, c, begin, end);
    if (rc)
        return fadi_call_own(&c->call, begin, rc);
    w.active = true;
    if (all_zero(c->adjoint.leaf + leaf * c->width, c->width)) {
        rc = measure(&w, failed);
        rc = rc ? rc : make_room(&w);
        if (!rc)
            take_x(&w);
    } else {
        rc = record_leaf(&w, &s, kept, &view, failed);
        if (!rc) {
            seed_leaf(&w, &s, leaf, kept);
            rc = fadi_segment_sweep(w.t, s.t, w.t->base + w.inputs, s.next - 1, s.adjoints, s.marks);
            take_x(&w);
            if (c->call.wants_shared) {
                int moved = fadi_call_own(&c->call, begin, fadi_move_shared(&c->call, w.t, total));
                rc = rc ? rc : moved;
            }
        }
    }
    fadi_keep_tape_back(w.t);
    return rc;
}

int fadi_reduce_leaf_down(size_t begin, size_t end, void *total, void *call, size_t *failed)
{
    struct fadi_reduce *c = call;
    size_t leaf = (begin - c->call.first) / c->call.leaf;
    if (c->direct)
        return direct_down(c, begin, end);
    return taped_down(c, leaf, begin, end, total, failed);
}
