/** @file rule.c  The user's rule as one operation on a tape. */
#include <foldad/rule.h>

#include <string.h>

#include "ad/second.h"

/* The context of a call: these words, then x[inputs], saved[], scratch[inputs] for adjoints or tangents of the inputs, and
 * the inputs' ids, two in a word; 0 for a constant. Where there are second derivatives tangents[inputs] follow. */
enum { PULLBACK, TANGENT, SECOND, USER, SIZES, X };

typedef int pullback(const double *x, const double *saved, const double *y_adjoint, double *x_adjoint, void *user);
typedef int tangent(const double *x, const double *saved, const double *x_tangent, double *y_tangent, void *user);
typedef int second(const double *x, const double *saved, const double *x_tangent, const double *y_adjoint, double *x_adjoint,
                   void *user);

struct view {
    size_t inputs, saved_count;
    double *x, *saved, *scratch, *tangents;
    union fadi_word *ids;
    void *user;
};

static struct view look_at(const union fadi_word *context)
{
    union fadi_word *w = (union fadi_word *)(uintptr_t)context; /* constant only where nothing is written */
    struct view v = {.inputs = w[SIZES].call.results, .saved_count = w[SIZES].call.words,
                     .user = (void *)(uintptr_t)w[USER].pointer};
    v.x = &w[X].partial;
    v.saved = v.x + v.inputs;
    v.scratch = v.saved + v.saved_count;
    v.ids = w + X + 2 * v.inputs + v.saved_count;
    v.tangents = &v.ids[(v.inputs + 1) / 2].partial;
    return v;
}

static uint32_t id_of(const struct view *v, size_t i)
{
    return v->ids[i / 2].id[i % 2];
}

/* Into scratch memory first, so that bits do not depend on what else has been added already. */
static int pull_back(struct fadi_tape *t, union fadi_word *context, const double *results, double *adjoints,
                     unsigned char *touched)
{
    struct view v = look_at(context);
    (void)t;
    if (v.inputs)
        memset(v.scratch, 0, v.inputs * sizeof *v.scratch);
    int rc = ((pullback *)context[PULLBACK].function)(v.x, v.saved, results, v.scratch, v.user);
    for (size_t i = 0; i < v.inputs && !rc; i++) {
        uint32_t id = id_of(&v, i);
        if (id == 0)
            continue;
        adjoints[id] += v.scratch[i];
        if (touched)
            touched[id / FADI_LINE] = 1;
    }
    return rc;
}

static int push_forward(struct fadi_tape *t, union fadi_word *context, const double *tangents, double *results)
{
    struct view v = look_at(context);
    (void)t;
    if (!context[TANGENT].function)
        return FAD_EUNSUPPORTED;
    for (size_t i = 0; i < v.inputs; i++) {
        uint32_t id = id_of(&v, i);
        v.scratch[i] = id ? tangents[id] : 0.0;
    }
    return ((tangent *)context[TANGENT].function)(v.x, v.saved, v.scratch, results, v.user);
}

/* ---- Second derivatives ---- */

static void load_tangents(const struct fadi_tape *t, const struct view *v, size_t d)
{
    for (size_t i = 0; i < v->inputs; i++)
        v->tangents[i] = fadi_second_tangent(t, id_of(v, i), d);
}

static bool any(const double *v, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (v[i] != 0.0)
            return true;
    return false;
}

/* The tangent, in direction d, of what pull_back adds: into scratch. */
static int pull_tangent(const struct fadi_tape *t, const union fadi_word *context, const struct view *v, size_t d,
                        const double *w, const double *dot)
{
    size_t results = context[-1].call.results;
    int rc = FAD_OK;
    if (v->inputs)
        memset(v->scratch, 0, v->inputs * sizeof *v->scratch);
    if (any(dot, results))
        rc = ((pullback *)context[PULLBACK].function)(v->x, v->saved, dot, v->scratch, v->user);
    if (rc || !any(w, results))
        return rc;
    load_tangents(t, v, d);
    return ((second *)context[SECOND].function)(v->x, v->saved, v->tangents, w, v->scratch, v->user);
}

static int pull_second(struct fadi_tape *t, union fadi_word *context, uint64_t first_result,
                       const struct fadi_second_rows *rows)
{
    struct view v = look_at(context);
    const double *w = rows->adjoints + first_result;
    size_t directions = t->second->count;
    int rc = any(w, context[-1].call.results) ? pull_back(t, context, w, rows->adjoints, NULL) : FAD_OK;
    for (size_t d = 0; d < directions && !rc; d++) {
        rc = pull_tangent(t, context, &v, d, w, rows->dot[d] + first_result);
        for (size_t i = 0; i < v.inputs && !rc; i++)
            if (id_of(&v, i))
                rows->dot[d][id_of(&v, i)] += v.scratch[i];
    }
    for (size_t i = 0; i < v.inputs; i++)
        if (id_of(&v, i))
            fadi_second_mark(rows, directions, id_of(&v, i));
    return rc;
}

/* The tangents of the results, which are put behind the nodes that the call will have. room: a result each. */
static int put_tangents(struct fadi_tape *t, const union fadi_word *context, size_t results, double *room)
{
    struct view v = look_at(context);
    double *to = fadi_second_tangents(t, t->head.next + 1);
    int rc = FAD_OK;
    for (size_t d = 0; d < t->second->count && !rc; d++) {
        load_tangents(t, &v, d);
        for (size_t o = 0; o < results; o++)
            room[o] = (double)NAN;
        rc = ((tangent *)context[TANGENT].function)(v.x, v.saved, v.tangents, room, v.user);
        for (size_t o = 0; o < results; o++)
            to[o * t->second->count + d] = room[o];
    }
    return rc;
}

/* ---- The operation ---- */

static uint64_t digest(uint64_t h, const struct fadi_tape *t, const union fadi_word *context)
{
    struct view v = look_at(context);
    (void)t;
    h = fadi_digest_mix(fadi_digest_mix(h, v.inputs), v.saved_count);
    for (size_t i = 0; i < v.inputs; i++)
        h = fadi_digest_double(fadi_digest_mix(h, id_of(&v, i)), v.x[i]);
    for (size_t i = 0; i < v.saved_count; i++)
        h = fadi_digest_double(h, v.saved[i]);
    return h;
}

static const struct fadi_kind rule_kind = {
    .pull_back = pull_back, .push_forward = push_forward, .pull_second = pull_second, .digest = digest};

static int check(struct fadi_tape *t, const struct fad_rule *r, const fad_real *x, const fad_real *y)
{
    if (!t || !r || !r->value || !r->pullback || (r->inputs && !x) || (r->outputs && !y))
        return FAD_EINVAL;
    for (size_t i = 0; i < sizeof r->reserved / sizeof r->reserved[0]; i++)
        if (r->reserved[i])
            return FAD_EINVAL;
    if (fadi_tape_refuses(t))
        return FAD_EBUSY;
    if (t->error)
        return t->error;
    for (size_t i = 0; i < r->inputs; i++)
        if (!fadi_known(t, x[i]))
            return FAD_EHANDLE;
    return FAD_OK;
}

/* How many words the context has. False: too many for any tape. */
static bool count_words(const struct fad_rule *r, size_t *words)
{
    size_t limit = UINT32_MAX / 4;
    *words = X + 2 * r->inputs + r->saved + (r->inputs + 1) / 2;
    return r->inputs < limit && r->saved < limit && r->outputs < limit && *words < limit;
}

static void fill(union fadi_word *context, const struct fad_rule *r, const fad_real *x)
{
    context[PULLBACK].function = (void (*)(void))r->pullback;
    context[TANGENT].function = (void (*)(void))r->tangent;
    context[SECOND].function = (void (*)(void))r->second;
    context[USER].pointer = r->user;
    context[SIZES].call.results = (uint32_t)r->inputs;
    context[SIZES].call.words = (uint32_t)r->saved;
    struct view v = look_at(context);
    for (size_t i = 0; i < r->inputs; i++) {
        v.x[i] = x[i].value;
        v.ids[i / 2].id[i % 2] = x[i].stamp ? x[i].id : 0;
    }
    if (r->inputs % 2)
        v.ids[r->inputs / 2].id[1] = 0;
}

/* Runs value, and where there are second derivatives tangent, in the place of the next call. values[outputs] are behind its
 * context. */
static int run(struct fadi_tape *t, const struct fad_rule *r, union fadi_word *context, double *values, bool second_order)
{
    struct view v = look_at(context);
    for (size_t o = 0; o < r->outputs; o++)
        values[o] = (double)NAN; /* a rule that forgets one must not go unnoticed */
    fadi_tape_hold(t);
    int rc = r->value(v.x, values, v.saved, r->user);
    if (!rc && second_order)
        rc = put_tangents(t, context, r->outputs, values + r->outputs);
    int misuse = fadi_tape_release(t);
    return rc ? rc : misuse;
}

int fad_rule_apply(fad_tape *tape, const struct fad_rule *r, const fad_real *x, fad_real *y)
{
    struct fadi_tape *t = fadi_tape_of(tape);
    size_t words;
    int rc = check(t, r, x, y);
    if (rc)
        return rc;
    bool active = false;
    for (size_t i = 0; i < r->inputs; i++)
        active |= x[i].stamp != 0;
    bool second_order = active && fadi_second_records(t);
    if (active && t->recorder && !(second_order && r->tangent && r->second)) {
        fadi_tape_fail(t, FAD_EUNSUPPORTED);
        return FAD_EUNSUPPORTED;
    }
    if (!count_words(r, &words))
        return FAD_EOVERFLOW;
    words += second_order ? r->inputs : 0;
    /* the results are behind the context, where the next recording may be */
    rc = fadi_call_reserve(t, words + (second_order ? 2 : 1) * r->outputs, r->outputs);
    rc = rc || !second_order ? rc : fadi_second_make_room(t);
    if (rc)
        return rc;
    union fadi_word *context = fadi_call_context(t);
    double *values = &context[words].partial;
    fill(context, r, x);
    rc = run(t, r, context, values, second_order);
    if (rc)
        return rc;
    for (size_t o = 0; o < r->outputs; o++)
        y[o] = fad_const(values[o]);
    if (active)
        fadi_call_push(t, FADI_OP_RULE, &rule_kind, words, r->outputs, y);
    return FAD_OK;
}
