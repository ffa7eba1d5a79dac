/** @file reduce.c  Folds with derivatives: the description, finish, and the public calls: up the tree, finish, down again. */
#include <string.h>

#include "ad/reduce.h"

static int refuse(struct fadi_reduce *c, const char *reason)
{
    c->call.reason = reason;
    return FAD_EINVAL;
}

/* ---- The description ---- */

static int check_part(struct fadi_reduce *c, const struct fad_part *p)
{
    if ((unsigned)p->kind > FAD_PART_MEAN_VARIANCE)
        return refuse(c, "a part's kind is unknown");
    for (size_t i = 0; i < sizeof p->reserved / sizeof p->reserved[0]; i++)
        if (p->reserved[i])
            return refuse(c, "reserved words of a part are not zero");
    if (p->kind == FAD_PART_GENERAL && (!p->combine || !p->width))
        return refuse(c, "a general part has no combine or no width");
    return FAD_OK;
}

/* Parts, and what of them together: width, results and columns. */
static int check_parts(struct fadi_reduce *c, size_t *columns)
{
    const struct fad_reduce *r = c->r;
    *columns = 0;
    if (!r->part_count || !r->parts)
        return refuse(c, "there are no parts");
    for (size_t i = 0; i < r->part_count; i++) {
        const struct fad_part *p = r->parts + i;
        int rc = check_part(c, p);
        if (rc)
            return rc;
        size_t end = fadi_part_columns(p);
        *columns = end > *columns ? end : *columns;
        if (__builtin_add_overflow(c->width, fadi_part_width(p), &c->width) || c->width > FADI_ID_END / 4)
            return FAD_EOVERFLOW;
        c->results += fadi_part_results(p);
        c->general |= p->kind == FAD_PART_GENERAL;
        c->built_in |= p->kind != FAD_PART_GENERAL;
    }
    for (size_t i = 0; i < sizeof r->reserved / sizeof r->reserved[0]; i++)
        if (r->reserved[i])
            return refuse(c, "reserved words are not zero");
    return FAD_OK;
}

/* The formula in reduce.h. */
static size_t default_leaf(const struct fadi_reduce *c)
{
    bool tapes = c->r->of.term || c->general;
    size_t w = c->sum.term_operations ? c->sum.term_operations : tapes ? 64 : 8;
    size_t n = c->call.n, bound = 8192 / w ? 8192 / w : 1, most = n / 64, least = tapes ? 1 : 64, leaf = 1;
    most = most > least ? most : least;
    bound = bound < most ? bound : most;
    while (leaf <= bound / 2)
        leaf *= 2;
    return leaf;
}

/* Never called: what stands in a sum without a term. */
static int no_term(fad_tape *t, size_t k, const fad_real *shared, const fad_real *x, fad_real *y, void *user)
{
    (void)t;
    (void)k;
    (void)shared;
    (void)x;
    (void)y;
    (void)user;
    return FAD_EINVAL;
}

static int describe(struct fadi_reduce *c, const struct fad_reduce *r)
{
    size_t columns, leaf, bytes;
    *c = (struct fadi_reduce){.r = r};
    if (!r)
        return refuse(c, "the description is NULL");
    c->sum = r->of;
    c->sum.uniform = false; /* a promise that makes programs of sums */
    c->sum.y_count = 1;
    c->sum.term = r->of.term ? r->of.term : no_term;
    int rc = fadi_describe(&c->call, &c->sum);
    if (r->of.program)
        return refuse(c, "a fold has no program");
    rc = rc ? rc : check_parts(c, &columns);
    if (rc)
        return rc;
    c->values = r->of.term ? (r->of.y_count ? r->of.y_count : 1) : columns;
    bool rows = !r->of.x_offsets && !r->of.x_blocks;
    if (columns > c->values || (!r->of.term && rows && columns > r->of.x_count))
        return refuse(c, "a part reads beyond the values of an element");
    c->direct = !r->of.term && rows && !c->general;
    leaf = r->of.leaf ? r->of.leaf : default_leaf(c);
    c->sum.leaf = c->call.leaf = leaf;
    c->leaves = c->call.n / leaf + (c->call.n % leaf != 0);
    if (__builtin_mul_overflow(c->leaves, c->width, &bytes) || bytes > SIZE_MAX / 32)
        return FAD_EOVERFLOW;
    return FAD_OK;
}

static size_t results_of(const struct fadi_reduce *c)
{
    return !c->r->finish ? c->results : c->r->y_count ? c->r->y_count : 1;
}

size_t fad_reduce_results(const struct fad_reduce *r)
{
    struct fadi_reduce c;
    return describe(&c, r) ? 0 : results_of(&c);
}

size_t fad_reduce_leaf(const struct fad_reduce *r)
{
    struct fadi_reduce c;
    return describe(&c, r) ? 0 : c.call.leaf;
}

/* ---- Before and after ---- */

static int fail(const struct fadi_reduce *c, int status)
{
    return fadi_call_fail(&c->call, status);
}

static int make_states(struct fadi_reduce *c)
{
    size_t all = c->leaves * c->width + c->width;
    double *v = malloc((c->records ? 4 : 2) * all * sizeof *v);
    if (!v)
        return FAD_ENOMEM;
    c->state = (struct fadi_states){v, v + all};
    if (c->records)
        c->adjoint = (struct fadi_states){v + 2 * all, v + 3 * all};
    return FAD_OK;
}

static int make_plain(struct fadi_reduce *c)
{
    size_t count = c->sum.shared_count;
    c->plain = malloc((count + 1) * sizeof *c->plain);
    for (size_t j = 0; c->plain && j < count; j++)
        c->plain[j] = fad_const(c->sum.shared[j]);
    return c->plain ? FAD_OK : FAD_ENOMEM;
}

/* Whether x's gradient can be built in place: it lies packed and not over x, and the way there cannot fail. */
static bool goes_straight(const struct fadi_reduce *c, const double *x_gradient)
{
    size_t width = c->sum.x_count, from = c->call.first * width, count = c->call.n * width;
    uintptr_t x = (uintptr_t)(c->sum.x + from), g = (uintptr_t)(x_gradient + from), bytes = count * sizeof(double);
    return c->direct && x_gradient && count && (!c->sum.x_stride || c->sum.x_stride == width) &&
           c->call.leaf <= FADI_STRAIGHT_LEAF && (x + bytes <= g || g + bytes <= x);
}

static int prepare(struct fadi_reduce *c, bool wants_shared, bool wants_x)
{
    bool tapes = !c->direct, store;
    c->records = (wants_shared && c->sum.shared_count && (c->r->of.term || c->r->finish)) || wants_x;
    store = c->records && !c->r->recompute;
    int rc = fadi_call_prepare(&c->call, wants_shared && c->records, wants_x && !c->straight);
    rc = rc ? rc : make_states(c);
    if (rc)
        return rc;
    c->node_family = fadi_family();
    if (c->general && !(c->node_rc = calloc(c->leaves + 1, sizeof *c->node_rc)))
        return FAD_ENOMEM;
    if (tapes && store && !(c->leaf_kept = calloc(c->leaves + 1, sizeof *c->leaf_kept)))
        return FAD_ENOMEM;
    if (c->general && store && !(c->node_kept = calloc(c->leaves + 1, sizeof *c->node_kept)))
        return FAD_ENOMEM;
    return tapes && c->records && !store ? make_plain(c) : FAD_OK;
}

static void clean_up(struct fadi_reduce *c)
{
    for (size_t i = 0; c->leaf_kept && i < c->leaves; i++)
        fadi_segment_free(c->leaf_kept[i]);
    for (size_t i = 0; c->node_kept && i < c->leaves; i++)
        fadi_segment_free(c->node_kept[i]);
    free(c->leaf_kept);
    free(c->node_kept);
    free(c->node_rc);
    free(c->plain);
    free(c->state.leaf);
    fadi_call_finish(&c->call, true);
}

/* ---- Up and down ---- */

/* A node's combine failed, or nothing. */
static int node_failure(const struct fadi_reduce *c)
{
    size_t mid = 0;
    int rc = fadi_node_failure(c, &mid);
    if (rc && c->sum.failure)
        *c->sum.failure = (struct fad_failure){rc, c->call.first + mid * c->call.leaf, rc > 0 ? rc : 0,
                                               "the combine of the node whose right half begins with this element"};
    return rc;
}

static int up(fad_pool *pool, struct fadi_reduce *c)
{
    struct fad_failure why;
    struct fad_fold_options options = fadi_call_options(&c->call, &why);
    struct fad_monoid monoid = {sizeof(struct fadi_node), alignof(struct fadi_node), fadi_node_identity, fadi_node_combine};
    struct fadi_node root;
    int rc = fad_fold(pool, c->call.n, &monoid, fadi_reduce_leaf_up, c, &options, &root);
    return rc ? fadi_call_fail_at(&c->call, rc, &why) : node_failure(c);
}

static int down(fad_pool *pool, struct fadi_reduce *c, struct fadi_total *total)
{
    struct fad_failure why;
    struct fad_fold_options options = fadi_call_options(&c->call, &why);
    struct fad_monoid monoid = {sizeof *total + sizeof(double), alignof(struct fadi_total), fadi_total_identity,
                                fadi_total_combine};
    int rc = fail(c, fadi_nodes_down(pool, c));
    rc = rc ? rc : node_failure(c);
    if (rc)
        return rc;
    rc = fad_fold(pool, c->call.n, &monoid, fadi_reduce_leaf_down, c, &options, total);
    return fadi_call_fail_at(&c->call, rc, &why);
}

/* ---- From states to results ---- */

/* The results of the parts, their adjoints, y; and the tape of finish, which holds what is due to the shared parameters. */
struct ending {
    double *z, *z_adjoint, *y;
    struct fadi_tape *t;
};

/* Of the state of all elements. */
static void finish_parts(const struct fadi_reduce *c, const double *state, double *z)
{
    for (size_t i = 0; i < c->r->part_count; i++) {
        fadi_part_finish(c->r->parts + i, state, z);
        state += fadi_part_width(c->r->parts + i);
        z += fadi_part_results(c->r->parts + i);
    }
}

static void finish_parts_back(const struct fadi_reduce *c, const double *state, const double *seed, double *adjoint)
{
    for (size_t i = 0; i < c->r->part_count; i++) {
        size_t width = fadi_part_width(c->r->parts + i);
        fadi_part_finish_back(c->r->parts + i, state, seed, adjoint);
        state += width;
        adjoint += width;
        seed += fadi_part_results(c->r->parts + i);
    }
}

static int finish_failed(const struct fadi_reduce *c, int rc, bool own)
{
    if (c->sum.failure)
        *c->sum.failure = (struct fad_failure){rc, SIZE_MAX, own ? 0 : rc, own ? fad_strerror(rc) : "finish failed"};
    return rc;
}

/* Runs finish on e->t. */
static int run_finish(const struct fadi_reduce *c, struct ending *e, fad_real **y)
{
    size_t results = results_of(c);
    struct fadi_tape *t = e->t = fadi_keep_tape();
    int rc = t ? fadi_tape_bind(t, c->call.base, 1, c->call.stamp) : FAD_ENOMEM;
    if (rc && t) {
        fadi_keep_tape_back(t);
        e->t = NULL;
    }
    rc = rc ? rc : fadi_tape_reserve_scratch(t, c->results + results);
    rc = rc ? rc : fadi_tape_reserve(t, t->base + c->results);
    if (rc)
        return finish_failed(c, rc, true);
    fadi_tape_restart(t, c->records ? c->results : 0);
    t->element_count = 0;
    *y = t->scratch + c->results;
    for (size_t i = 0; i < c->results; i++)
        t->scratch[i] = c->records ? (fad_real){e->z[i], (uint32_t)(t->base + i), t->head.stamp} : fad_const(e->z[i]);
    for (size_t i = 0; i < results; i++)
        (*y)[i] = fadi_nan();
    rc = c->r->finish(&t->head, c->call.shared, t->scratch, *y, c->r->user);
    if (t->error)
        return finish_failed(c, t->error, t->error < 0);
    for (size_t i = 0; i < results && !rc; i++)
        if (!fadi_known(t, (*y)[i]))
            return finish_failed(c, FAD_EHANDLE, true);
    return rc ? finish_failed(c, rc, false) : FAD_OK;
}

/* y, and from the seed the adjoints of z. */
static int end(const struct fadi_reduce *c, struct ending *e, const double *seed)
{
    size_t results = results_of(c);
    fad_real *y = NULL;
    if (!c->r->finish) {
        for (size_t i = 0; i < results; i++) {
            e->y[i] = e->z[i];
            e->z_adjoint[i] = seed ? seed[i] : 1.0;
        }
        return FAD_OK;
    }
    int rc = run_finish(c, e, &y);
    if (rc)
        return rc;
    for (size_t i = 0; i < results; i++)
        e->y[i] = y[i].value;
    if (!c->records)
        return FAD_OK;
    unsigned char *marks = c->call.marks ? e->t->touched : NULL;
    double *row = e->t->adjoints, *in = row + e->t->base;
    for (size_t i = 0; i < results; i++) {
        if (!y[i].stamp || (seed && seed[i] == 0.0))
            continue;
        row[y[i].id] += seed ? seed[i] : 1.0;
        if (marks)
            marks[y[i].id / FADI_LINE] = 1;
    }
    rc = fadi_sweep(e->t, e->t->base + c->results, e->t->head.next - 1, row, marks);
    memcpy(e->z_adjoint, in, c->results * sizeof *in);
    memset(in, 0, c->results * sizeof *in);
    return rc ? finish_failed(c, rc, rc < 0) : FAD_OK;
}

/* ---- The calls ---- */

struct outputs {
    double *value, *shared, *x;
};

static void deliver(fad_pool *pool, const struct fadi_reduce *c, const struct ending *e, const struct fadi_total *total,
                    const struct outputs *out)
{
    size_t results = results_of(c);
    for (size_t i = 0; out->value && i < results; i++)
        out->value[i] = fadi_canonical(e->y[i]);
    if (out->shared)
        fadi_deliver_shared(&c->call, total, out->shared);
    if (c->straight)
        fadi_reduce_straight(pool, c);
    else if (c->call.wants_x)
        fadi_deliver_x(pool, &c->call, out->x);
}

/* From the state of all elements to the end. */
static int conclude(fad_pool *pool, struct fadi_reduce *c, struct ending *e, const double *seed, const struct outputs *out)
{
    union {
        struct fadi_total total;
        double room[1 + sizeof(struct fadi_total) / sizeof(double)];
    } u = {.room = {0}};
    double *root = c->state.inner, *adjoint = c->adjoint.inner; /* no node's right child begins at leaf 0 */
    if (c->leaves) {
        root = fadi_state_at(c, &c->state, 0, c->leaves);
        adjoint = c->records ? fadi_state_at(c, &c->adjoint, 0, c->leaves) : NULL;
    }
    u.total.shared = NULL;
    for (size_t i = 0, at = 0; !c->leaves && i < c->r->part_count; at += fadi_part_width(c->r->parts + i), i++)
        fadi_part_identity(c->r->parts + i, root + at);
    finish_parts(c, root, e->z);
    int rc = end(c, e, seed);
    if (!rc && c->records) {
        finish_parts_back(c, root, e->z_adjoint, adjoint);
        if (c->straight)
            rc = fail(c, fadi_nodes_down(pool, c));
        else if (c->call.wants_x || !c->direct)
            rc = down(pool, c, &u.total);
    }
    if (e->t && c->call.wants_shared) {
        int moved = fadi_move_shared(&c->call, e->t, &u.total); /* after a failure too: the tape is left with zeros */
        rc = rc ? rc : fail(c, moved);
    }
    if (!rc)
        deliver(pool, c, e, &u.total, out);
    return rc;
}

static int run(fad_pool *pool, struct fadi_reduce *c, const double *seed, const struct outputs *out, bool wants_x)
{
    struct ending e = {NULL, NULL, NULL, NULL};
    c->straight = goes_straight(c, out->x) ? out->x : NULL;
    int rc = fail(c, prepare(c, out->shared != NULL, wants_x));
    if (!rc) {
        e.z = malloc((2 * c->results + results_of(c)) * sizeof *e.z);
        rc = e.z ? up(pool, c) : fail(c, FAD_ENOMEM);
    }
    if (!rc) {
        e.z_adjoint = e.z + c->results;
        e.y = e.z_adjoint + c->results;
        rc = conclude(pool, c, &e, seed, out);
    }
    if (e.t)
        fadi_keep_tape_back(e.t);
    free(e.z);
    clean_up(c);
    return rc;
}

int fadi_reduce_value(fad_pool *pool, const struct fad_reduce *r, double *value)
{
    struct fadi_reduce c;
    int rc = describe(&c, r);
    if (!rc && !value)
        rc = refuse(&c, "value is NULL");
    return rc ? fail(&c, rc) : run(pool, &c, NULL, &(struct outputs){value, NULL, NULL}, false);
}

int fadi_reduce_gradient(fad_pool *pool, const struct fad_reduce *r, const double *seed, double *value,
                         double *shared_gradient, double *x_gradient)
{
    struct fadi_reduce c;
    int rc = describe(&c, r);
    if (rc)
        return fail(&c, rc);
    return run(pool, &c, seed, &(struct outputs){value, shared_gradient, x_gradient}, r->of.x_blocks || x_gradient);
}
