/** @file nary.c  Operations on arrays.
 *
 * Values are computed in a fixed number of chains, with the same code whether anything is recorded or not. Then the operands
 * are looked at once: all constants need nothing; ids that follow each other, as shared parameters and inputs do, become
 * a segment without a list of ids. */
#include "ad/tape.h"

#include <string.h>

#define CHAINS 4u

/* What the operands of one array are. */
struct operands {
    enum { CONSTANTS, RUN, LISTED, FOREIGN } form;
    uint32_t first, count; /* RUN: where; LISTED: how many are no constants */
};

static uint64_t handle(const fad_real *a)
{
    uint64_t h;
    memcpy(&h, (const char *)a + offsetof(fad_real, id), sizeof h); /* id and stamp at once */
    return h;
}

/* Whether a handle is a constant's: the stamp is 0. */
static bool is_constant(uint64_t h)
{
    return h >> 32 == 0;
}

_Static_assert(offsetof(fad_real, stamp) == offsetof(fad_real, id) + 4 && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "a handle plus i is the i-th id after it, with the same stamp");

static struct operands look(const fad_tape *t, size_t n, const fad_real *a)
{
    struct operands o = {CONSTANTS, 0, 0};
    uint64_t any = 0, differ = 0, h = n ? handle(a) : 0;
    for (size_t i = 0; i < n; i++) {
        any |= handle(a + i);
        differ |= handle(a + i) ^ (h + i);
    }
    if (is_constant(any))
        return o;
    if (!t || ((uint32_t)(any >> 32) & t->foreign)) {
        o.form = FOREIGN;
        return o;
    }
    if (differ == 0 && a[0].id) {
        o.form = RUN;
        o.first = a[0].id;
        o.count = (uint32_t)n;
        return o;
    }
    o.form = LISTED;
    for (size_t i = 0; i < n; i++)
        o.count += a[i].stamp != 0;
    return o;
}

/* Whether none is foreign and at least one is no constant: then a recorder needs to know no more. */
static bool is_for_recorder(const fad_tape *t, size_t n, const fad_real *a)
{
    uint32_t stamps = 0;
    for (size_t i = 0; i < n; i++)
        stamps |= a[i].stamp;
    return stamps && !(stamps & t->foreign);
}

static size_t words_of(struct operands o)
{
    return o.form == RUN ? 1 + (size_t)o.count : o.form == LISTED ? 1 + (size_t)o.count + (o.count + (size_t)1) / 2 : 0;
}

/* Appends the ids of a list behind its partials. */
static union fadi_word *put_ids(union fadi_word *p, size_t n, const fad_real *a)
{
    uint32_t m = 0;
    for (size_t i = 0; i < n; i++)
        if (a[i].stamp) {
            p[m / 2].id[m % 2] = a[i].id;
            m++;
        }
    return p + (m + (size_t)1) / 2;
}

/* Operand i's partial. */
typedef double partial_of(const void *from, size_t i);

/* Appends one segment: the head, the partials of the operands that are no constants, and their ids if need be. Inlined, and
 * the partials with it. */
static inline __attribute__((always_inline)) union fadi_word *put(union fadi_word *p, struct operands o, bool more,
                                                                  size_t n, const fad_real *a, partial_of *partial,
                                                                  const void *from)
{
    p->head.count = o.count | (more ? FADI_SEGMENT_MORE : 0);
    p->head.first = o.form == RUN ? o.first : 0;
    p++;
    if (o.form == RUN) {
        for (size_t i = 0; i < n; i++)
            p[i].partial = partial(from, i);
        return p + n;
    }
    for (size_t i = 0; i < n; i++)
        if (a[i].stamp)
            p++->partial = partial(from, i);
    return put_ids(p, n, a);
}

static inline double value_of(const void *from, size_t i)
{
    return ((const fad_real *)from)[i].value;
}

static inline double number_of(const void *from, size_t i)
{
    return ((const double *)from)[i];
}

static inline double one_of(const void *from, size_t i)
{
    (void)from;
    (void)i;
    return 1.0;
}

/* Room for a node and its words. False: the error is set. */
static bool make_room(struct fadi_tape *t, size_t n, struct operands a, struct operands b)
{
    int rc = FAD_OK;
    if (fadi_tape_refuses(t) || t->error)
        return false;
    if (a.form == FOREIGN || b.form == FOREIGN)
        rc = FAD_EHANDLE;
    else if (n >= FADI_SEGMENT_MORE)
        rc = FAD_EOVERFLOW;
    if (!rc && t->head.next >= t->head.limit)
        rc = fadi_tape_reserve(t, t->head.next + 1);
    if (!rc)
        rc = fadi_tape_reserve_words(t, words_of(a) + words_of(b));
    if (rc)
        fadi_tape_fail(t, rc);
    return rc == FAD_OK;
}

/* The node whose operands have been put into the words up to end. */
static fad_real finish(struct fadi_tape *t, unsigned op, double v, const union fadi_word *end)
{
    struct fad_node *node = t->nodes + (t->head.next - t->base);
    fad_real r = {v, (uint32_t)t->head.next, t->head.stamp};
    if (t->traced) {
        t->trace[t->head.next - t->base].value = v;
        t->trace[t->head.next - t->base].op = op;
    }
    node->p0 = node->p1 = 0.0;
    node->a0 = (uint32_t)t->word_count;
    node->a1 = FADI_NODE_MANY;
    t->word_count = (size_t)(end - t->words);
    t->head.next++;
    return r;
}

/* (0 + 1) + (2 + 3) */
static double join(const double *s)
{
    return (s[0] + s[1]) + (s[2] + s[3]);
}

static double dot_value(size_t n, const fad_real *a, const fad_real *b)
{
    double s[CHAINS] = {0, 0, 0, 0};
    size_t i = 0;
    for (; i + CHAINS <= n; i += CHAINS)
        for (size_t j = 0; j < CHAINS; j++)
            s[j] = fma(a[i + j].value, b[i + j].value, s[j]);
    for (; i < n; i++)
        s[i % CHAINS] = fma(a[i].value, b[i].value, s[i % CHAINS]);
    return join(s);
}

static double dot_d_value(size_t n, const double *a, const fad_real *b)
{
    double s[CHAINS] = {0, 0, 0, 0};
    size_t i = 0;
    for (; i + CHAINS <= n; i += CHAINS)
        for (size_t j = 0; j < CHAINS; j++)
            s[j] = fma(a[i + j], b[i + j].value, s[j]);
    for (; i < n; i++)
        s[i % CHAINS] = fma(a[i], b[i].value, s[i % CHAINS]);
    return join(s);
}

fad_real fad_dot(fad_tape *tape, size_t n, const fad_real *a, const fad_real *b)
{
    struct fadi_tape *t = fadi_tape_of(tape);
    double v = dot_value(n, a, b);
    if (fadi_has_recorder(tape) && n < FADI_SEGMENT_MORE && is_for_recorder(tape, n, a) && is_for_recorder(tape, n, b))
        return t->recorder->many(tape, FADI_OP_DOT, v, n, NULL, a, b);
    struct operands oa = look(tape, n, a), ob = look(tape, n, b);
    if (oa.form == CONSTANTS && ob.form == CONSTANTS)
        return fad_const(v);
    if (!t || !make_room(t, n, oa, ob))
        return fadi_nan();
    if (t->recorder)
        return t->recorder->many(tape, FADI_OP_DOT, v, n, NULL, a, b);
    union fadi_word *p = t->words + t->word_count;
    if (oa.form != CONSTANTS)
        p = put(p, oa, ob.form != CONSTANTS, n, a, value_of, b);
    if (ob.form != CONSTANTS)
        p = put(p, ob, false, n, b, value_of, a);
    return finish(t, FADI_OP_DOT, v, p);
}

/* An operation on one array (and plain numbers), of value v; the caller fills in partials where this gives room. NULL:
 * *result is final. */
static union fadi_word *start(fad_tape *tape, unsigned op, size_t n, const double *plain, const fad_real *a, double v,
                              struct operands *o, fad_real *result)
{
    struct operands none = {CONSTANTS, 0, 0};
    *o = look(tape, n, a);
    *result = fad_const(v);
    if (o->form == CONSTANTS)
        return NULL;
    *result = fadi_nan();
    if (!tape || !make_room(fadi_tape_of(tape), n, *o, none))
        return NULL;
    if (fadi_tape_of(tape)->recorder) {
        *result = fadi_tape_of(tape)->recorder->many(tape, op, v, n, plain, plain ? NULL : a, plain ? a : NULL);
        return NULL;
    }
    return fadi_tape_of(tape)->words + fadi_tape_of(tape)->word_count;
}

fad_real fadi_linear(fad_tape *t, unsigned op, double v, size_t n, const double *partials, const fad_real *a)
{
    struct operands o;
    fad_real r;
    union fadi_word *p = start(t, op, n, partials, a, v, &o, &r);
    if (!p)
        return r;
    p = put(p, o, false, n, a, number_of, partials);
    return finish(fadi_tape_of(t), op, v, p);
}

fad_real fad_dot_d(fad_tape *t, size_t n, const double *a, const fad_real *b)
{
    return fadi_linear(t, FADI_OP_DOT, dot_d_value(n, a, b), n, a, b);
}

fad_real fad_sum_of(fad_tape *t, size_t n, const fad_real *a)
{
    double s[CHAINS] = {0, 0, 0, 0};
    struct operands o;
    fad_real r;
    size_t i = 0;
    for (; i + CHAINS <= n; i += CHAINS)
        for (size_t j = 0; j < CHAINS; j++)
            s[j] += a[i + j].value;
    for (; i < n; i++)
        s[i % CHAINS] += a[i].value;
    union fadi_word *p = start(t, FADI_OP_SUM_OF, n, NULL, a, join(s), &o, &r);
    if (!p)
        return r;
    p = put(p, o, false, n, a, one_of, NULL);
    return finish(fadi_tape_of(t), FADI_OP_SUM_OF, join(s), p);
}

/* ---- Norm ---- */

static double norm_scaled(size_t n, const fad_real *a, double scale)
{
    double s[CHAINS] = {0, 0, 0, 0};
    for (size_t i = 0; i < n; i++) {
        double x = a[i].value * scale;
        s[i % CHAINS] = fma(x, x, s[i % CHAINS]);
    }
    return join(s);
}

static double norm_value(size_t n, const fad_real *a)
{
    double s = norm_scaled(n, a, 1.0), largest = 0.0;
    if ((s > 0x1p-900 && s < 0x1p1000) || s != s)
        return sqrt(s);
    for (size_t i = 0; i < n; i++)
        largest = fabs(a[i].value) > largest ? fabs(a[i].value) : largest;
    if (largest == 0.0 || largest == INFINITY)
        return largest;
    /* powers of two: no rounding */
    double scale = largest > 1.0 ? 0x1p-600 : 0x1p600;
    return sqrt(norm_scaled(n, a, scale)) / scale;
}

struct norm {
    const fad_real *a;
    double v;
};

static inline double norm_partial(const void *from, size_t i)
{
    const struct norm *m = from;
    return m->v == 0.0 ? 0.0 : m->a[i].value / m->v;
}

fad_real fad_norm2(fad_tape *t, size_t n, const fad_real *a)
{
    double v = norm_value(n, a);
    struct operands o;
    fad_real r;
    union fadi_word *p = start(t, FADI_OP_NORM2, n, NULL, a, v, &o, &r);
    if (!p)
        return r;
    p = put(p, o, false, n, a, norm_partial, &(struct norm){a, v});
    return finish(fadi_tape_of(t), FADI_OP_NORM2, v, p);
}

/* ---- log of a sum of exponentials ---- */

/* v = largest + log1p(rest): rest is the sum of e^(a[i] - largest) without one term that is largest. */
struct soft {
    const fad_real *a;
    double largest, rest;
    size_t at; /* where the largest one is */
    bool nan;
};

static struct soft soft_of(size_t n, const fad_real *a)
{
    struct soft m = {a, -INFINITY, 0.0, 0, false};
    for (size_t i = 0; i < n; i++) {
        m.nan |= a[i].value != a[i].value;
        if (a[i].value > m.largest) {
            m.largest = a[i].value;
            m.at = i;
        }
    }
    return m;
}

/* e^(x - largest); among infinite ones 1 for equals */
static inline double soft_term(const struct soft *m, size_t i)
{
    double x = m->a[i].value;
    return x == m->largest ? 1.0 : fadi_exp(x - m->largest);
}

static inline double soft_partial(const void *from, size_t i)
{
    const struct soft *m = from;
    if (m->nan)
        return NAN;
    return m->largest == -INFINITY ? 0.0 : soft_term(m, i) / (1.0 + m->rest);
}

fad_real fad_logsumexp(fad_tape *t, size_t n, const fad_real *a)
{
    double s[CHAINS] = {0, 0, 0, 0}, v;
    struct soft m = soft_of(n, a);
    struct operands o;
    fad_real r;
    if (!m.nan)
        for (size_t i = 0; i < n; i++)
            s[i % CHAINS] += i == m.at ? 0.0 : soft_term(&m, i);
    m.rest = join(s);
    v = m.nan ? (double)NAN : m.largest + fadi_log1p(m.rest);
    union fadi_word *p = start(t, FADI_OP_LOGSUMEXP, n, NULL, a, v, &o, &r);
    if (!p)
        return r;
    p = put(p, o, false, n, a, soft_partial, &m);
    return finish(fadi_tape_of(t), FADI_OP_LOGSUMEXP, v, p);
}

fad_real fadi_record_many(fad_tape *t, unsigned op, size_t n, const double *plain, const fad_real *a, const fad_real *b)
{
    switch (op) {
    case FADI_OP_DOT:
        return plain ? fad_dot_d(t, n, plain, b) : fad_dot(t, n, a, b);
    case FADI_OP_SUM_OF:
        return fad_sum_of(t, n, a);
    case FADI_OP_LOGSUMEXP:
        return fad_logsumexp(t, n, a);
    default:
        return fad_norm2(t, n, a);
    }
}
