/* See random_sum.h: the terms and the calls. */
#include "tests/random_sum.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SINGLE 0.75 /* the factor of choice.single */
#define WRONG_COUNT 99999 /* a code that no test expects */

/* How a term chooses its operands: by its index alone. shared and own: how many there are. */
struct choice {
    unsigned expression[3];
    bool own[EXPRESSION_INPUTS];
    size_t at[EXPRESSION_INPUTS]; /* SIZE_MAX: a constant, or a column: */
    size_t column[EXPRESSION_INPUTS]; /* SIZE_MAX: none */
    size_t run_start, run_count;  /* shared parameters times weights, added to the first value */
    size_t single;                /* a shared parameter that is a right operand, added to the first value */
    size_t dot_count;             /* own numbers times shared parameters, added to the last value */
};

static struct choice choose(const struct random_sum *r, size_t k, size_t shared, size_t own)
{
    struct choice c;
    struct dice d = {mix(r->seed, !r->uniform ? k : r->s.kind ? r->s.kind[k] : 0)};
    memset(&c, 0, sizeof c);
    for (unsigned o = 0; o < 3; o++)
        c.expression[o] = (unsigned)dice_below(&d, RANDOM_EXPRESSIONS);
    for (unsigned j = 0; j < EXPRESSION_INPUTS; j++) {
        uint64_t which = dice_bits(&d);
        c.own[j] = own && (which & 1 || !shared);
        c.at[j] = c.own[j] ? (which >> 8) % own : shared ? (which >> 8) % shared : SIZE_MAX;
        c.column[j] = SIZE_MAX;
        if (r->uniform && (which >> 1) % 4 == 0) {
            c.at[j] = SIZE_MAX;
            c.column[j] = (which >> 3) % RANDOM_COLUMNS;
        }
    }
    c.run_count = dice_below(&d, RANDOM_WEIGHTS);
    c.run_count = c.run_count < shared ? c.run_count : shared;
    c.run_start = dice_below(&d, shared - c.run_count + 1);
    c.single = shared ? dice_below(&d, shared) : 0;
    c.dot_count = own < shared ? own : shared;
    return c;
}

static double constant_input(unsigned j)
{
    return 0.125 * (double)j;
}

/* Input j where it is neither shared nor the element's own. */
static fad_real plain_input(fad_tape *t, const struct random_sum *r, const struct choice *c, size_t k, unsigned j)
{
    return c->column[j] == SIZE_MAX ? fad_const(constant_input(j)) : fad_data(t, r->columns + c->column[j], r->column_stride, k);
}

static int inner_term(fad_tape *t, size_t k, const fad_real *a, const fad_real *x, fad_real *y, void *user)
{
    (void)x;
    stall(*(const uint64_t *)user ? mix(*(const uint64_t *)user, k) : 1);
    *y = fad_sin(t, fad_mul(t, a[0], (double)(k + 1)));
    return 0;
}

/* The slope of an inner sum, as a plain factor. */
static int nest(const struct random_sum *r, size_t k, double *factor)
{
    double at = 0.01 * (double)(k % 10), value;
    uint64_t stalls = r->stalls ? k + 1 : 0;
    struct fad_sum inner;
    memset(&inner, 0, sizeof inner);
    inner.terms = 10 + k % 30;
    inner.leaf = 1 + k % 3;
    inner.grain = 1;
    inner.shared = &at;
    inner.shared_count = 1;
    inner.term = inner_term;
    inner.user = &stalls;
    return fad_sum_gradient(r->pool, &inner, &value, factor, NULL);
}

static bool nested_at(const struct random_sum *r, size_t k)
{
    return r->nests && mix(k, r->seed) % 4 == 0;
}

int random_sum_code(const struct random_sum *r, size_t k)
{
    uint64_t h = mix(r->failing_seed, k);
    return r->failing && h % r->failing == 0 ? 1 + (int)((h >> 33) % RANDOM_CODES) : 0;
}

static int term(fad_tape *t, size_t k, const fad_real *shared, const fad_real *x, fad_real *y, void *user)
{
    const struct random_sum *r = user;
    size_t parameters = r->s.touch ? r->s.touch_count : r->s.shared_count, own = fad_element_count(t);
    fad_real a[EXPRESSION_INPUTS];
    double factor = 1;
    k += r->k_offset;
    if (own != random_sum_count(r, k - r->k_offset))
        return WRONG_COUNT;
    struct choice c = choose(r, k, parameters, own);
    if (r->stalls)
        stall(mix(k, (uint64_t)(uintptr_t)&c));
    for (unsigned j = 0; j < EXPRESSION_INPUTS; j++)
        a[j] = c.at[j] == SIZE_MAX ? plain_input(t, r, &c, k, j) : c.own[j] ? x[c.at[j]] : shared[c.at[j]];
    for (size_t o = 0; o < r->y_count; o++)
        y[o] = expression_run(t, r->expression + c.expression[o], a, NULL);
    int rc = nested_at(r, k) ? nest(r, k, &factor) : 0;
    if (rc)
        return rc;
    y[0] = fad_add(t, fad_mul(t, y[0], factor), fad_dot_d(t, c.run_count, r->weights, shared + c.run_start));
    if (parameters)
        y[0] = fad_sub(t, y[0], fad_mul(t, SINGLE, shared[c.single]));
    y[r->y_count - 1] = fad_add(t, y[r->y_count - 1], fad_dot(t, c.dot_count, x, shared));
    return random_sum_code(r, k);
}

size_t random_sum_count(const struct random_sum *r, size_t k)
{
    const struct fad_sum *s = &r->s;
    return s->x_blocks ? s->x_blocks[k].count : s->x_offsets ? s->x_offsets[k + 1] - s->x_offsets[k] : s->x_count;
}

/* ---- Calls ---- */

void random_sum_describe(const struct random_sum *r, fad_pool *pool, struct fad_failure *why, struct random_sum *own)
{
    *own = *r;
    own->pool = pool;
    own->s.term = term;
    own->s.user = own;
    own->s.failure = why;
}

int random_sum_value(const struct random_sum *r, fad_pool *pool, double *value, struct fad_failure *why)
{
    struct random_sum own;
    random_sum_describe(r, pool, why, &own);
    return fad_sum_value(pool, &own.s, value);
}

int random_sum_gradient(const struct random_sum *r, fad_pool *pool, double *value, double *shared, double *x,
                        struct fad_failure *why)
{
    struct random_sum own;
    struct fad_block *blocks = NULL;
    random_sum_describe(r, pool, why, &own);
    if (r->s.x_blocks) {
        blocks = malloc((r->s.terms + 1) * sizeof *blocks);
        for (size_t k = 0; blocks && k < r->s.terms; k++) {
            blocks[k] = r->s.x_blocks[k];
            blocks[k].gradient = x && r->block_start[k] != SIZE_MAX ? x + r->block_start[k] : NULL;
        }
        own.s.x_blocks = blocks;
    }
    int rc = r->s.x_blocks && !blocks ? FAD_ENOMEM : fad_sum_gradient(pool, &own.s, value, shared, x);
    free(blocks);
    return rc;
}

int random_sum_terms(const struct random_sum *r, fad_pool *pool, double *values, double *gradients,
                     struct fad_failure *why)
{
    struct random_sum own;
    random_sum_describe(r, pool, why, &own);
    return fad_sum_terms(pool, &own.s, values, gradients);
}

struct outputs outputs_for(const struct random_sum *r)
{
    size_t values = r->y_count, shared = r->y_count * r->s.shared_count;
    struct outputs o = {NULL, NULL, NULL, (values + shared + r->x_size) * sizeof(double)};
    o.value = malloc(o.bytes);
    o.shared = o.value + values;
    o.x = o.shared + shared;
    pattern_fill(o.value, o.bytes);
    return o;
}

/* ---- The plain evaluation ---- */

static const double *own_numbers(const struct random_sum *r, size_t k)
{
    const struct fad_sum *s = &r->s;
    return s->x_blocks ? s->x_blocks[k].data
                       : s->x_offsets ? s->x + s->x_offsets[k] : s->x + k * (s->x_stride ? s->x_stride : s->x_count);
}

/* Where value o of element k has its x gradient, or SIZE_MAX. */
static size_t x_place(const struct random_sum *r, size_t k, size_t o)
{
    const struct fad_sum *s = &r->s;
    size_t stride = s->x_stride ? s->x_stride : s->x_count;
    if (s->x_blocks)
        return r->block_start[k] == SIZE_MAX ? SIZE_MAX : r->block_start[k] + o * s->x_blocks[k].count;
    return s->x_offsets ? o * s->x_offsets[s->terms] + s->x_offsets[k] : o * s->terms * stride + k * stride;
}

static void put(struct exact *e, long double number, long double size, long double loss)
{
    e->number += number;
    e->size += size;
    e->loss += loss;
}

struct element {
    const struct random_sum *r;
    size_t k, o, own;
    const double *x;
    struct exact *shared, *gx;
};

static size_t parameter(const struct element *e, size_t j)
{
    return e->r->s.touch ? e->r->s.touch[e->k * e->r->s.touch_count + j] : j;
}

static void to_shared(const struct element *e, size_t j, long double number, long double size, long double loss)
{
    const struct fad_sum *s = &e->r->s;
    size_t p = parameter(e, j);
    if (!s->shared_fixed || !s->shared_fixed[p])
        put(e->shared + e->o * s->shared_count + p, number, size, loss);
}

static void to_own(const struct element *e, size_t j, long double number, long double size, long double loss)
{
    size_t place = x_place(e->r, e->k, e->o);
    if (place != SIZE_MAX && (!e->r->s.x_fixed || !e->r->s.x_fixed[j]))
        put(e->gx + place + j, number, size, loss);
}

/* The expression's inputs. */
static void take_inputs(const struct element *e, const struct choice *c, double *in)
{
    for (unsigned j = 0; j < EXPRESSION_INPUTS; j++)
        in[j] = c->at[j] == SIZE_MAX ? plain_input(NULL, e->r, c, e->k, j).value
                                     : c->own[j] ? e->x[c->at[j]] : e->r->s.shared[parameter(e, c->at[j])];
}

/* Value o of one element. Returns its operands. */
static unsigned one_value(const struct element *e, const struct choice *c, struct exact *value)
{
    const struct random_sum *r = e->r;
    const double *shared = r->s.shared;
    double in[EXPRESSION_INPUTS];
    struct reference ref;
    take_inputs(e, c, in);
    (r->uniform ? expression_reference_any : expression_reference)(r->expression + c->expression[e->o], in, &ref);
    double factor = 1;
    if (e->o == 0 && nested_at(r, e->k + r->k_offset))
        nest(r, e->k + r->k_offset, &factor);
    long double y = factor * ref.value, size = fabsl(y), f = factor;
    for (unsigned j = 0; j < EXPRESSION_INPUTS; j++)
        if (c->at[j] != SIZE_MAX)
            (c->own[j] ? to_own : to_shared)(e, c->at[j], f * ref.gradient[j], fabsl(f) * ref.paths[j],
                                             fabsl(f) * ref.error[j]);
    for (size_t i = 0; e->o == 0 && i < c->run_count; i++) {
        long double w = r->weights[i], p = shared[parameter(e, c->run_start + i)];
        y += w * p;
        size += fabsl(w * p);
        to_shared(e, c->run_start + i, w, fabsl(w), 0);
    }
    if (e->o == 0 && (r->s.touch || r->s.shared_count)) {
        y -= SINGLE * (long double)shared[parameter(e, c->single)];
        size += SINGLE * fabsl(shared[parameter(e, c->single)]);
        to_shared(e, c->single, -SINGLE, SINGLE, 0);
    }
    for (size_t i = 0; e->o + 1 == r->y_count && i < c->dot_count; i++) {
        long double own = e->x[i], p = shared[parameter(e, i)];
        y += own * p;
        size += fabsl(own * p);
        to_own(e, i, p, fabsl(p), 0);
        to_shared(e, i, own, fabsl(own), 0);
    }
    unsigned more = (unsigned)(c->run_count + 2 * c->dot_count + 12);
    /* the term's last products and sums; ref.value is exact only for uniform sums, else what the operations gave */
    put(value + e->o, y, size, more * UNIT * size + (r->uniform ? ref.value_error : 0));
    return ref.edges + more;
}

unsigned random_sum_exact(const struct random_sum *r, struct exact *value, struct exact *shared, struct exact *x)
{
    const struct fad_sum *s = &r->s;
    unsigned edges = 0;
    for (size_t k = s->first; k < s->first + r->n; k++) {
        struct element e = {r, k, 0, random_sum_count(r, k), own_numbers(r, k), shared, x};
        struct choice c = choose(r, k + r->k_offset, s->touch ? s->touch_count : s->shared_count, e.own);
        for (; e.o < r->y_count; e.o++) {
            unsigned m = one_value(&e, &c, value);
            edges = m > edges ? m : edges;
        }
    }
    return edges;
}

/* Only expressions are not linear in what is shared. */
static bool second_of(const struct element *e, const struct choice *c, const double *direction)
{
    const struct fad_sum *s = &e->r->s;
    double in[EXPRESSION_INPUTS], along[EXPRESSION_INPUTS] = {0};
    struct second second;
    take_inputs(e, c, in);
    for (unsigned j = 0; j < EXPRESSION_INPUTS; j++) {
        size_t p = c->at[j] == SIZE_MAX || c->own[j] ? SIZE_MAX : parameter(e, c->at[j]);
        if (p != SIZE_MAX && !(s->shared_fixed && s->shared_fixed[p]))
            along[j] = direction[p];
    }
    expression_second(e->r->expression + c->expression[e->o], in, along, &second);
    for (unsigned j = 0; j < EXPRESSION_INPUTS; j++)
        if (c->at[j] != SIZE_MAX && !c->own[j])
            to_shared(e, c->at[j], second.product[j], second.size[j], second.loss[j]);
    return second.clear;
}

bool random_sum_exact_second(const struct random_sum *r, const double *direction, struct exact *product)
{
    const struct fad_sum *s = &r->s;
    bool clear = true;
    for (size_t k = s->first; k < s->first + r->n; k++) {
        struct element e = {r, k, 0, random_sum_count(r, k), own_numbers(r, k), product, NULL};
        struct choice c = choose(r, k + r->k_offset, s->touch ? s->touch_count : s->shared_count, e.own);
        for (; e.o < r->y_count; e.o++)
            clear &= second_of(&e, &c, direction);
    }
    return clear;
}
