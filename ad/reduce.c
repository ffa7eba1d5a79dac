/** @file reduce.c  Folds with derivatives: the description, the steps of a call, and the public calls: up the tree, finish, down
 * again. */
#include <string.h>

#include "ad/reduce.h"
#include "common/fpenv.h"

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

int fadi_reduce_describe(struct fadi_reduce *c, const struct fad_reduce *r, const fad_real *shared, const fad_real *x)
{
    size_t columns, leaf, bytes;
    *c = (struct fadi_reduce){.r = r};
    if (!r)
        return refuse(c, "the description is NULL");
    c->sum = r->of;
    c->sum.uniform = false; /* a promise that makes programs of sums */
    c->sum.y_count = 1;
    c->sum.term = r->of.term ? r->of.term : no_term;
    int rc = fadi_describe_given(&c->call, &c->sum, shared, x);
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
    c->stride = r->of.x_stride ? r->of.x_stride : r->of.x_count;
    c->rows = c->direct && !x && r->of.x ? r->of.x + c->call.first * c->stride : NULL;
    c->leaves = c->call.n / leaf + (c->call.n % leaf != 0);
    if (__builtin_mul_overflow(c->leaves, c->width, &bytes) || bytes > SIZE_MAX / 32)
        return FAD_EOVERFLOW;
    return FAD_OK;
}

size_t fadi_reduce_count(const struct fadi_reduce *c)
{
    return !c->r->finish ? c->results : c->r->y_count ? c->r->y_count : 1;
}

size_t fad_reduce_results(const struct fad_reduce *r)
{
    struct fadi_reduce c;
    return fadi_reduce_describe(&c, r, NULL, NULL) ? 0 : fadi_reduce_count(&c);
}

size_t fad_reduce_leaf(const struct fad_reduce *r)
{
    struct fadi_reduce c;
    return fadi_reduce_describe(&c, r, NULL, NULL) ? 0 : c.call.leaf;
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
        c->plain[j] = fad_const(c->call.shared[j].value);
    return c->plain ? FAD_OK : FAD_ENOMEM;
}

/* Numbers of an outer tape, for parts that read rows of plain ones. */
static int make_rows(struct fadi_reduce *c)
{
    size_t width = c->sum.x_count, bytes;
    if (__builtin_mul_overflow(c->call.n, width, &bytes) || __builtin_mul_overflow(bytes, sizeof(double), &bytes))
        return FAD_EOVERFLOW;
    c->copy = malloc(bytes + !bytes);
    if (!c->copy)
        return FAD_ENOMEM;
    for (size_t i = 0; i < c->call.n; i++)
        for (size_t j = 0; j < width; j++)
            c->copy[i * width + j] = c->call.x_given[(c->call.first + i) * c->stride + j].value;
    c->rows = c->copy;
    c->stride = width;
    return FAD_OK;
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
    if (!rc && c->direct && c->call.x_given)
        rc = make_rows(c);
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
    free(c->copy);
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

/* ---- Steps of a call ---- */

static double *root_of(const struct fadi_reduce *c, const struct fadi_states *s)
{
    return c->leaves ? fadi_state_at(c, s, 0, c->leaves) : s->inner; /* no node's right child begins at leaf 0 */
}

int fadi_reduce_open(fad_pool *pool, struct fadi_reduce *c, struct fadi_ending *e, bool wants_shared, bool wants_x)
{
    *e = (struct fadi_ending){.t = NULL};
    int rc = fail(c, prepare(c, wants_shared, wants_x));
    if (rc)
        return rc;
    e->z = malloc((2 * c->results + fadi_reduce_count(c)) * sizeof *e->z);
    rc = e->z ? up(pool, c) : fail(c, FAD_ENOMEM);
    if (rc)
        return rc;
    e->z_adjoint = e->z + c->results;
    e->y = e->z_adjoint + c->results;
    double *root = root_of(c, &c->state);
    for (size_t i = 0, at = 0; !c->leaves && i < c->r->part_count; at += fadi_part_width(c->r->parts + i), i++)
        fadi_part_identity(c->r->parts + i, root + at);
    return fadi_reduce_finish(c, e, root);
}

int fadi_reduce_back(fad_pool *pool, struct fadi_reduce *c, struct fadi_ending *e, const double *seed, struct fadi_total *total)
{
    int rc = fadi_reduce_finish_back(c, e, seed, root_of(c, &c->state), root_of(c, &c->adjoint));
    if (!rc && c->straight)
        rc = fail(c, fadi_nodes_down(pool, c));
    else if (!rc && (c->call.wants_x || !c->direct))
        rc = down(pool, c, total);
    if (e->t && c->call.wants_shared) {
        int moved = fadi_move_shared(&c->call, e->t, total); /* after a failure too: the tape is left with zeros */
        rc = rc ? rc : fail(c, moved);
    }
    return rc;
}

void fadi_reduce_close(struct fadi_reduce *c, const struct fadi_ending *e)
{
    if (e->t)
        fadi_keep_tape_back(e->t);
    free(e->z);
    clean_up(c);
}

/* ---- The calls ---- */

struct outputs {
    double *value, *shared, *x;
};

static void deliver(fad_pool *pool, const struct fadi_reduce *c, const struct fadi_ending *e, const struct fadi_total *total,
                    const struct outputs *out)
{
    size_t results = fadi_reduce_count(c);
    for (size_t i = 0; out->value && i < results; i++)
        out->value[i] = fadi_canonical(e->y[i]);
    if (out->shared)
        fadi_deliver_shared(&c->call, total, out->shared);
    if (c->straight)
        fadi_reduce_straight(pool, c);
    else if (c->call.wants_x)
        fadi_deliver_x(pool, &c->call, out->x);
}

static int run(fad_pool *pool, struct fadi_reduce *c, const double *seed, const struct outputs *out, bool wants_x)
{
    union fadi_reduce_total u = {.room = {0}};
    struct fadi_ending e;
    struct fadi_fp fp = fadi_fp_enter(); /* folds see to it themselves, what is between them does not */
    u.total.shared = NULL;
    c->straight = goes_straight(c, out->x) ? out->x : NULL;
    int rc = fadi_reduce_open(pool, c, &e, out->shared != NULL, wants_x);
    if (!rc && c->records)
        rc = fadi_reduce_back(pool, c, &e, seed, &u.total);
    if (!rc)
        deliver(pool, c, &e, &u.total, out);
    fadi_reduce_close(c, &e);
    fadi_fp_leave(fp);
    return rc;
}

int fadi_reduce_value(fad_pool *pool, const struct fad_reduce *r, double *value)
{
    struct fadi_reduce c;
    int rc = fadi_reduce_describe(&c, r, NULL, NULL);
    if (!rc && !value)
        rc = refuse(&c, "value is NULL");
    return rc ? fail(&c, rc) : run(pool, &c, NULL, &(struct outputs){value, NULL, NULL}, false);
}

int fadi_reduce_gradient(fad_pool *pool, const struct fad_reduce *r, const double *seed, double *value,
                         double *shared_gradient, double *x_gradient)
{
    struct fadi_reduce c;
    int rc = fadi_reduce_describe(&c, r, NULL, NULL);
    if (rc)
        return fail(&c, rc);
    return run(pool, &c, seed, &(struct outputs){value, shared_gradient, x_gradient}, r->of.x_blocks || x_gradient);
}
