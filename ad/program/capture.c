/** @file capture.c  Records a term with every operation and operand. */
#include "ad/program/capture.h"

#include "ad/program/graph.h"

#include <stdlib.h>
#include <string.h>

static struct fadi_capture *capture_of(fad_tape *t)
{
    return fadi_tape_of(t)->recording;
}

static fad_real refuse(fad_tape *t, int error, const char *reason)
{
    struct fadi_capture *p = capture_of(t);
    if (!p->error) {
        p->error = error;
        p->reason = reason;
    }
    fadi_tape_fail(fadi_tape_of(t), error);
    return fadi_nan();
}

/* Room for `more` entries. False: the tape has the error. */
static bool room_for(fad_tape *t, size_t more)
{
    struct fadi_capture *p = capture_of(t);
    size_t room = p->room ? p->room : 256;
    if (more <= p->room - p->count)
        return true;
    while (room - p->count < more)
        if (__builtin_mul_overflow(room, 2, &room) || room > SIZE_MAX / sizeof *p->entries)
            return refuse(t, FAD_EOVERFLOW, "the recording is too long"), false;
    struct fadi_entry *entries = realloc(p->entries, room * sizeof *entries);
    if (!entries)
        return refuse(t, FAD_ENOMEM, "no memory"), false;
    p->entries = entries;
    p->room = room;
    return true;
}

static bool room_for_base(fad_tape *t)
{
    struct fadi_capture *p = capture_of(t);
    if (p->base_count < p->base_room)
        return true;
    size_t room = p->base_room ? 2 * p->base_room : 16;
    const double **bases = realloc(p->bases, room * sizeof *bases);
    if (!bases)
        return refuse(t, FAD_ENOMEM, "no memory"), false;
    p->bases = bases;
    p->base_room = room;
    return true;
}

static void put_head(struct fadi_capture *p, unsigned op, size_t size)
{
    struct fadi_entry *e = p->entries + p->count++;
    e->value = 0.0;
    e->id = op;
    e->size = (uint32_t)size;
}

static void put_handle(struct fadi_capture *p, double value, uint32_t id, uint32_t stamp)
{
    struct fadi_entry *e = p->entries + p->count++;
    e->value = stamp ? 0.0 : value;
    e->id = stamp ? id : FADI_NO_NODE;
    e->size = 0;
}

static void put(struct fadi_capture *p, fad_real a)
{
    put_handle(p, a.value, a.id, a.stamp);
}

/* The handle of the operation that was put last. */
static fad_real result(fad_tape *t, double v)
{
    struct fadi_capture *p = capture_of(t);
    if (p->next >= FADI_NO_NODE - 1)
        return refuse(t, FAD_EOVERFLOW, "the recording is too long");
    return (fad_real){p->poisoned ? (double)NAN : v, p->next++, t->stamp};
}

static fad_real put_op(fad_tape *t, unsigned op, double v, const fad_real *operands)
{
    struct fadi_capture *p = capture_of(t);
    unsigned count = fadi_graph_arity(op);
    if (count == 0) /* fad_input: nothing is ever asked about it */
        return fad_const(v);
    if (!room_for(t, 1 + count))
        return fadi_nan();
    put_head(p, op, count);
    for (unsigned i = 0; i < count; i++)
        put(p, operands[i]);
    return result(t, v);
}

static fad_real put_many(fad_tape *t, unsigned op, double v, size_t n, const double *plain, const fad_real *a,
                         const fad_real *b)
{
    struct fadi_capture *p = capture_of(t);
    size_t size = b ? 2 * n : n;
    if (!room_for(t, 1 + size))
        return fadi_nan();
    put_head(p, op, size);
    for (size_t i = 0; i < n; i++) {
        put(p, plain ? fad_const(plain[i]) : a[i]);
        if (b)
            put(p, b[i]);
    }
    return result(t, v);
}

static fad_mask mask_result(fad_tape *t, bool holds)
{
    fad_real r = result(t, 0.0);
    return (fad_mask){holds, 0, r.id, r.stamp};
}

static fad_mask put_compare(fad_tape *t, enum fad_mask_op op, fad_real a, fad_real b)
{
    struct fadi_capture *p = capture_of(t);
    if (!room_for(t, 3))
        return fad_mask_of(false);
    put_head(p, FADI_OP_LT + (unsigned)op, 2);
    put(p, a);
    put(p, b);
    return mask_result(t, op == FAD_OP_LT   ? a.value < b.value
                          : op == FAD_OP_LE ? a.value <= b.value
                                            : a.value == b.value);
}

_Static_assert((int)FADI_OP_LE - (int)FADI_OP_LT == (int)FAD_OP_LE &&
                   (int)FADI_OP_EQ - (int)FADI_OP_LT == (int)FAD_OP_EQ &&
                   (int)FADI_OP_AND - (int)FADI_OP_LT == (int)FAD_OP_AND &&
                   (int)FADI_OP_OR - (int)FADI_OP_LT == (int)FAD_OP_OR &&
                   (int)FADI_OP_NOT - (int)FADI_OP_LT == (int)FAD_OP_NOT,
               "the kinds of real.h follow each other in the table");

/* A mask that is constant is the number 0 or all bits. */
static void put_mask(struct fadi_capture *p, fad_mask m)
{
    put_handle(p, fadi_graph_value(FADI_OP_EQ, m.holds, 1.0, 0.0), m.id, m.stamp);
}

static fad_mask put_combine(fad_tape *t, enum fad_mask_op op, fad_mask a, fad_mask b)
{
    struct fadi_capture *p = capture_of(t);
    if (!room_for(t, 3))
        return fad_mask_of(false);
    put_head(p, FADI_OP_LT + (unsigned)op, op == FAD_OP_NOT ? 1 : 2);
    put_mask(p, a);
    if (op != FAD_OP_NOT)
        put_mask(p, b);
    return mask_result(t, op == FAD_OP_AND ? a.holds && b.holds : op == FAD_OP_OR ? a.holds || b.holds : !a.holds);
}

static fad_real put_select(fad_tape *t, fad_mask m, fad_real a, fad_real b)
{
    struct fadi_capture *p = capture_of(t);
    if (!room_for(t, 4))
        return fadi_nan();
    put_head(p, FADI_OP_SELECT, 3);
    put_mask(p, m);
    put(p, a);
    put(p, b);
    return result(t, m.holds ? a.value : b.value);
}

static fad_real put_data(fad_tape *t, const double *base, size_t stride, size_t k)
{
    struct fadi_capture *p = capture_of(t);
    if (k != p->k)
        return refuse(t, FAD_EDATADEPENDENT, "fad_data was asked for another element");
    if (!room_for(t, 2) || !room_for_base(t))
        return fadi_nan();
    p->bases[p->base_count++] = base;
    put_head(p, FADI_G_DATA, 1);
    put_handle(p, 0.0, 0, 0); /* no operand: the stride */
    memcpy(&p->entries[p->count - 1].value, &stride, sizeof stride);
    return result(t, base[k * stride]);
}

_Static_assert(sizeof(size_t) == sizeof(double), "a stride lies in an entry");

static double put_value(fad_tape *t, fad_real a)
{
    refuse(t, FAD_EDATADEPENDENT, "fad_value: what the term does may depend on a number");
    return a.value;
}

static const struct fadi_recorder recorder = {
    .op = put_op,
    .many = put_many,
    .compare = put_compare,
    .combine = put_combine,
    .select = put_select,
    .data = put_data,
    .value = put_value,
};

/* The inputs: picked or shared parameters, then the element's own numbers. */
static int load(const struct fadi_call *c, size_t k, const struct fadi_span *x, struct fadi_capture *p,
                struct fadi_tape *t, fad_real *inputs)
{
    const struct fad_sum *s = c->s;
    const uint32_t *touch = s->touch ? s->touch + k * s->touch_count : NULL;
    for (uint32_t j = 0; j < p->shared; j++) {
        if (touch && touch[j] >= s->shared_count)
            return FAD_EINVAL;
        inputs[j] = (fad_real){s->shared[touch ? touch[j] : j], j, t->head.stamp};
    }
    for (uint32_t j = 0; j < p->own; j++)
        inputs[p->shared + j] = (fad_real){x->data[j], p->shared + j, t->head.stamp};
    for (uint32_t j = 0; p->poisoned && j < p->shared + p->own; j++)
        inputs[j].value = (double)NAN;
    return FAD_OK;
}

static int run_term(const struct fadi_call *c, size_t k, struct fadi_capture *p, struct fadi_tape *t,
                    const fad_real *inputs, fad_real *y)
{
    for (size_t o = 0; o < c->y_count; o++)
        y[o] = fadi_nan();
    int rc = c->s->term(&t->head, k, inputs, inputs + p->shared, y, c->s->user);
    if (t->error)
        return t->error;
    for (size_t o = 0; o < c->y_count && !rc; o++)
        if (y[o].stamp && ((y[o].stamp & t->head.foreign) || y[o].id >= p->next))
            rc = FAD_EHANDLE;
    if (rc || !room_for(&t->head, c->y_count))
        return rc ? rc : FAD_ENOMEM;
    p->y = p->count;
    for (size_t o = 0; o < c->y_count; o++)
        put(p, y[o]);
    return FAD_OK;
}

static int record(const struct fadi_call *c, size_t k, const struct fadi_span *x, struct fadi_capture *p,
                  struct fadi_tape *t)
{
    size_t inputs = (size_t)p->shared + p->own;
    int rc = fadi_tape_bind(t, FADI_FIRST_ID, 1, fadi_family());
    if (!rc)
        rc = fadi_tape_reserve_scratch(t, inputs + c->y_count);
    if (rc)
        return rc;
    fadi_tape_set_recorder(t, &recorder, p);
    fadi_tape_restart(t, 0);
    t->element_count = x->count;
    rc = load(c, k, x, p, t, t->scratch);
    if (!rc)
        rc = run_term(c, k, p, t, t->scratch, t->scratch + inputs);
    fadi_tape_set_recorder(t, NULL, NULL);
    fadi_tape_restart(t, 0);
    return rc;
}

int fadi_capture(const struct fadi_call *c, size_t k, const struct fadi_span *x, bool poisoned, struct fadi_capture *p)
{
    size_t shared = c->s->touch ? c->s->touch_count : c->s->shared_count;
    p->count = p->base_count = 0;
    p->error = FAD_OK;
    p->reason = NULL;
    p->k = k;
    p->poisoned = poisoned;
    if (shared > FADI_ID_END / 4 || x->count > FADI_ID_END / 4)
        return p->error = FAD_EOVERFLOW;
    p->shared = (uint32_t)shared;
    p->own = (uint32_t)x->count;
    p->next = p->shared + p->own;
    struct fadi_tape *t = fadi_keep_tape();
    if (!t)
        return p->error = FAD_ENOMEM;
    int rc = record(c, k, x, p, t);
    fadi_keep_tape_back(t);
    if (!p->error)
        p->error = rc;
    return p->error;
}

void fadi_capture_fini(struct fadi_capture *p)
{
    free(p->entries);
    free(p->bases);
}

bool fadi_capture_same_bases(const struct fadi_capture *a, const struct fadi_capture *b)
{
    return a->base_count == b->base_count &&
           (a->base_count == 0 || memcmp(a->bases, b->bases, a->base_count * sizeof *a->bases) == 0);
}

uint32_t fadi_capture_differ(const struct fadi_capture *a, const struct fadi_capture *b, unsigned *op)
{
    size_t count = a->count < b->count ? a->count : b->count;
    uint32_t number = 0;
    if (a->count == b->count && memcmp(a->entries, b->entries, count * sizeof *a->entries) == 0)
        return FADI_NO_NODE;
    for (size_t i = 0; i < count && i < a->y && i < b->y; number++) {
        size_t end = i + 1 + a->entries[i].size;
        *op = a->entries[i].id;
        if (a->entries[i].size != b->entries[i].size ||
            memcmp(a->entries + i, b->entries + i, (end - i) * sizeof *a->entries))
            return number;
        i = end;
    }
    *op = FADI_OP_NONE; /* one stops earlier, or the outputs differ */
    return number;
}
