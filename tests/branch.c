/* Recordings that fork and join: digests and gradients are those of the serial run, errors those of the first branch. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "tests/ad_support.h"

#include <math.h>
#include <string.h>

/* ---- Random trees ---- */

enum { SEEDS = 1000, DEPTH = 10, INPUTS = 4, MOST = 64, CHILDREN = 3, RESULTS = 3 };

struct job {
    uint64_t seed;
    unsigned depth;
    bool stalls;
};

static fad_real pick(struct dice *d, const fad_real *h, size_t n)
{
    return dice_below(d, 8) ? h[dice_below(d, n)] : fad_const(dice_between(d, -1, 1));
}

/* One to three further results, of bounded size. */
static size_t compute(struct dice *d, fad_tape *t, fad_real *h, size_t n)
{
    for (size_t i = 1 + dice_below(d, 3); i > 0 && n < MOST - CHILDREN * RESULTS; i--) {
        fad_real a = pick(d, h, n), b = pick(d, h, n), many[] = {a, b, pick(d, h, n)};
        switch (dice_below(d, 5)) {
        case 0: h[n++] = fad_sin(t, fad_add(t, a, b)); break;
        case 1: h[n++] = fad_mul(t, a, fad_cos(t, b)); break;
        case 2: h[n++] = fad_tanh(t, fad_sum_of(t, 3, many)); break;
        case 3: h[n++] = fad_max(t, a, b); break;
        default: h[n++] = fad_sub(t, fad_atan(t, a), b);
        }
    }
    return n;
}

static int grow(fad_worker *w, fad_tape *t, const fad_real *captured, fad_real *out, void *user)
{
    const struct job *j = user;
    struct dice d = {j->seed};
    struct fad_branch b[CHILDREN];
    struct job job[CHILDREN];
    fad_real h[MOST], take[CHILDREN][INPUTS];
    size_t n = INPUTS, children = j->depth ? j->depth > DEPTH - 3 ? 1 + dice_below(&d, CHILDREN) : dice_below(&d, 3) : 0;
    int rc = 0;
    memcpy(h, captured, INPUTS * sizeof *h);
    n = compute(&d, t, h, n);
    for (size_t i = 0; i < children; i++) {
        for (size_t k = 0; k < INPUTS; k++)
            take[i][k] = pick(&d, h, n);
        job[i] = (struct job){dice_bits(&d), j->depth - 1, j->stalls};
        b[i] = (struct fad_branch){.fn = grow, .user = &job[i], .captured = take[i], .captured_count = INPUTS,
                                   .out = h + MOST - (i + 1) * RESULTS, .out_count = RESULTS};
        fad_tape_fork(w, t, &b[i]);
        n = compute(&d, t, h, n);
    }
    if (j->stalls)
        stall(mix(j->seed, 7));
    bool first_first = dice_below(&d, 4) == 0;
    for (size_t i = 0; i < children; i++) {
        size_t which = first_first ? i : children - 1 - i;
        int joined = fad_tape_join(w, t, &b[which]);
        rc = rc ? rc : joined;
        if (!rc) {
            h[which % n] = fad_add(t, h[which % n], b[which].out[0]);
            h[n - 1] = fad_mul(t, b[which].out[1], fad_cos(t, b[which].out[2]));
        }
    }
    n = compute(&d, t, h, n);
    for (size_t i = 0; i < RESULTS; i++)
        out[i] = i < 2 ? h[n - 1 - i] : pick(&d, h, n);
    return rc;
}

struct outcome {
    uint64_t digest;
    double value, gradient[INPUTS], again[INPUTS], tangents[2], serially[2];
};

struct tree {
    struct job root;
    bool traced;
    struct outcome o;
};

static int record_and_reverse(fad_worker *w, void *arg)
{
    static const double seeds[2 * INPUTS] = {1, 0.5, -2, 0.25, 0, 0, 0, 1};
    struct tree *tree = arg;
    fad_tape *t = fad_tape_create();
    fad_real x[INPUTS], out[RESULTS], y;
    assert_int_equal(fad_tape_trace(t, tree->traced), 0);
    for (size_t i = 0; i < INPUTS; i++)
        x[i] = fad_input(t, 0.3 * (double)i - 0.4);
    int rc = grow(w, t, x, out, &tree->root);
    y = fad_add(t, fad_add(t, out[0], out[1]), fad_mul(t, out[2], x[0]));
    tree->o.value = y.value;
    tree->o.digest = fad_tape_digest(t);
    rc = rc ? rc : fad_tape_reverse_with(w, t, y, 1, INPUTS, x, tree->o.gradient);
    rc = rc ? rc : fad_tape_reverse(t, y, 1, INPUTS, x, tree->o.again);
    rc = rc ? rc : fad_tape_forward_with(w, t, y, 2, INPUTS, x, seeds, tree->o.tangents);
    rc = rc ? rc : fad_tape_forward(t, y, 2, INPUTS, x, seeds, tree->o.serially);
    fad_tape_destroy(t);
    return rc;
}

static void trees_have_the_serial_bits(void **state)
{
    size_t different = 0;
    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct tree serial = {.root = {mix(seed, 1), DEPTH, false}}, other = serial, flat = serial;
        other.root.stalls = seed % 3 == 0;
        flat.traced = true;
        assert_int_equal(fad_pool_run(NULL, record_and_reverse, &serial), 0);
        assert_int_equal(fad_pool_run(pool_with(1 + (unsigned)(seed % 16)), record_and_reverse, &other), 0);
        if (memcmp(&serial.o, &other.o, sizeof serial.o) != 0)
            fail_msg("seed %lu: other bits", (unsigned long)seed);
        assert_memory_equal(serial.o.gradient, serial.o.again, sizeof serial.o.gradient);
        assert_memory_equal(serial.o.tangents, serial.o.serially, sizeof serial.o.tangents);
        /* the same operations on one tape: sums of adjoints in another order, some hundred of them of size at most some
         * hundred */
        assert_int_equal(fad_pool_run(NULL, record_and_reverse, &flat), 0);
        assert_true(is_bits(flat.o.value, serial.o.value));
        assert_memory_equal(flat.o.tangents, serial.o.tangents, sizeof serial.o.tangents); /* each operation's is computed once */
        double scale = 1;
        for (size_t i = 0; i < INPUTS; i++)
            scale = fmax(scale, fabs(flat.o.gradient[i]));
        for (size_t i = 0; i < INPUTS; i++)
            assert_true(fabs(flat.o.gradient[i] - serial.o.gradient[i]) <= 1e-11 * scale);
        different += flat.o.digest != serial.o.digest;
    }
    assert_true(different == SEEDS); /* a rope is another recording than a flat one */
}

/* ---- One branch ---- */

struct code {
    int rc;
    fad_real smuggled, *leak;
};

/* out = x0 * x1, x0 */
static int pair(fad_worker *w, fad_tape *t, const fad_real *captured, fad_real *out, void *user)
{
    const struct code *c = user;
    (void)w;
    out[0] = fad_mul(t, captured[0], captured[1]);
    out[1] = captured[0];
    if (c && c->smuggled.stamp)
        out[1] = fad_add(t, out[1], c->smuggled);
    if (c && c->leak)
        *c->leak = out[0];
    return c ? c->rc : 0;
}

static struct fad_branch pair_of(const fad_real *in, fad_real *out, struct code *c)
{
    return (struct fad_branch){.fn = pair, .user = c, .captured = in, .captured_count = 2, .out = out, .out_count = 2};
}

static int gradients(fad_worker *w, void *arg)
{
    fad_tape *t = fad_tape_create();
    fad_real x[2] = {fad_input(t, 3), fad_input(t, 5)}, out[2], mid, y;
    struct fad_branch b = pair_of(x, out, NULL);
    double g[2], h[1];
    (void)arg;
    fad_tape_fork(w, t, &b);
    mid = fad_square(t, x[0]);
    assert_int_equal(fad_tape_join(w, t, &b), 0);
    assert_true(out[0].value == 15 && out[1].value == 3);
    y = fad_fma(t, out[0], out[1], mid); /* x0^2 x1 + x0^2 */
    assert_int_equal(fad_tape_reverse_with(w, t, y, 2, 2, x, g), 0);
    assert_true(g[0] == 2 * (2 * 3 * 5 + 2 * 3) && g[1] == 2 * 9);
    assert_int_equal(fad_tape_reverse(t, y, 1, 1, &out[0], h), 0);
    assert_true(h[0] == 3);
    assert_int_equal(fad_tape_reverse(t, mid, 1, 2, x, g), 0); /* from between the fork and the join */
    assert_true(g[0] == 6 && g[1] == 0);
    assert_int_equal(fad_tape_reverse(t, out[1], 1, 2, x, g), 0);
    assert_true(g[0] == 1 && g[1] == 0);
    return fad_tape_destroy(t);
}

/* Seeds of inputs, of what is recorded while the branch runs, and of its results; y before, between and behind. */
static int tangents(fad_worker *w, void *arg)
{
    fad_tape *t = fad_tape_create();
    fad_real x[2] = {fad_input(t, 3), fad_input(t, 5)}, out[2], mid, y, last;
    struct fad_branch b = pair_of(x, out, NULL);
    double d[2];
    (void)arg;
    fad_tape_fork(w, t, &b);
    mid = fad_square(t, x[0]);
    assert_int_equal(fad_tape_join(w, t, &b), 0);
    y = fad_fma(t, out[0], out[1], mid); /* x0^2 x1 + x0^2 */
    last = fad_neg(t, y);
    const double seeds[] = {1, 0, 2, 3};
    for (int with = 0; with < 2; with++) {
        pattern_fill(d, sizeof d);
        assert_int_equal(with ? fad_tape_forward_with(w, t, y, 2, 2, x, seeds, d) : fad_tape_forward(t, y, 2, 2, x, seeds, d), 0);
        assert_true(d[0] == 2 * 3 * 5 + 2 * 3 && d[1] == 2 * d[0] + 3 * 9);
        uint64_t tasks = w->tail;
        assert_int_equal(with ? fad_tape_forward_with(w, t, mid, 1, 2, x, seeds, d) : fad_tape_forward(t, mid, 1, 2, x, seeds, d), 0);
        assert_true(d[0] == 6 && w->tail == tasks); /* the join lies behind, so nothing may be left for it */
        const fad_real inside[] = {mid, out[0], last};
        const double of[] = {7, 2, 1};
        assert_int_equal(with ? fad_tape_forward_with(w, t, y, 1, 3, inside, of, d) : fad_tape_forward(t, y, 1, 3, inside, of, d), 0);
        assert_true(d[0] == 7 + 2 * 3);
        assert_int_equal(fad_tape_forward(t, y, 2, 2, x, seeds, d), 0); /* nothing has stayed behind */
        assert_true(d[0] == 36 && d[1] == 99);
    }
    assert_int_equal(fad_tape_forward_with(NULL, t, y, 2, 2, x, seeds, d), FAD_EINVAL);
    assert_int_equal(fad_tape_forward_with(w, NULL, y, 2, 2, x, seeds, d), FAD_EINVAL);
    return fad_tape_destroy(t);
}

/* Rules that fail: inside a branch, and between forks and their joins. */
static int copied(const double *x, double *y, double *saved, void *user)
{
    (void)saved, (void)user;
    y[0] = x[0];
    return 0;
}

static int adjoint_of_copy(const double *x, const double *saved, const double *w, double *g, void *user)
{
    (void)x, (void)saved, (void)user;
    g[0] += w[0];
    return 0;
}

static int failing_tangent(const double *x, const double *saved, const double *dx, double *dy, void *user)
{
    (void)x, (void)saved;
    dy[0] = dx[0];
    return *(const int *)user;
}

static int ruled(fad_worker *w, fad_tape *t, const fad_real *captured, fad_real *out, void *user)
{
    const struct fad_rule *r = user;
    (void)w;
    out[0] = captured[0];
    return r->user ? fad_rule_apply(t, r, captured, out) : 0;
}

static int failing_sweeps(fad_worker *w, void *arg)
{
    enum { RULES = 4 };
    int code[RULES] = {0};
    struct fad_rule rule[RULES];
    fad_tape *t = fad_tape_create();
    fad_real x = fad_input(t, 2), out[3], y;
    struct fad_branch b[3];
    double d[2], seeds[] = {1, 2};
    (void)arg;
    for (size_t i = 0; i < RULES; i++)
        rule[i] = (struct fad_rule){.inputs = 1, .outputs = 1, .value = copied, .pullback = adjoint_of_copy, .tangent = failing_tangent,
                                    .user = &code[i]};
    for (size_t i = 0; i < 3; i++) {
        b[i] = (struct fad_branch){.fn = ruled, .user = &rule[i], .captured = &x, .captured_count = 1, .out = out + i, .out_count = 1};
        fad_tape_fork(w, t, &b[i]);
    }
    assert_int_equal(fad_rule_apply(t, &rule[3], &x, &y), 0);
    for (size_t i = 3; i-- > 0;)
        assert_int_equal(fad_tape_join(w, t, &b[i]), 0);
    fad_real z = fad_sum_of(t, 3, out), all = fad_add(t, z, y);
    for (unsigned failing = 0; failing < 1 << RULES; failing++) {
        int expected = 0; /* in the order of the recording: the rule, and the joins of 2, 1, 0 */
        for (size_t i = 0; i < RULES; i++) {
            code[i] = failing >> i & 1 ? 30 + (int)i : 0;
            expected = code[i] ? code[i] : expected;
        }
        pattern_fill(d, sizeof d);
        assert_int_equal(fad_tape_forward_with(w, t, all, 2, 1, &x, seeds, d), expected);
        if (expected)
            assert_true(pattern_intact(d, sizeof d));
        else
            assert_true(d[0] == 4 && d[1] == 8);
        assert_int_equal(fad_tape_forward(t, all, 1, 1, &x, seeds, d), expected);
    }
    rule[0].tangent = NULL;
    fad_tape_rewind(t, NULL);
    x = fad_input(t, 2);
    fad_tape_fork(w, t, &b[0]);
    assert_int_equal(fad_tape_join(w, t, &b[0]), 0);
    assert_int_equal(fad_tape_forward_with(w, t, out[0], 1, 1, &x, seeds, d), FAD_EUNSUPPORTED);
    return fad_tape_destroy(t);
}

static int constants(fad_worker *w, void *arg)
{
    fad_tape *t = fad_tape_create();
    fad_real in[2] = {fad_const(2), fad_const(4)}, out[2], mixed[2];
    struct fad_branch b = pair_of(in, out, NULL);
    (void)arg;
    fad_tape_fork(w, t, &b);
    assert_int_equal(fad_tape_join(w, t, &b), 0);
    assert_true(out[0].value == 8 && out[0].stamp == 0 && out[1].value == 2 && out[1].stamp == 0);
    mixed[0] = fad_const(2);
    mixed[1] = fad_input(t, 4);
    b = pair_of(mixed, out, NULL);
    fad_tape_fork(w, t, &b);
    assert_int_equal(fad_tape_join(w, t, &b), 0);
    assert_true(out[0].value == 8 && out[0].stamp != 0 && out[1].value == 2 && out[1].stamp == 0);
    return fad_tape_destroy(t);
}

static int failures(fad_worker *w, void *arg)
{
    fad_tape *t = fad_tape_create(), *other = fad_tape_create();
    fad_real x[2] = {fad_input(t, 3), fad_input(t, 5)}, bad[2] = {x[0], fad_input(other, 1)}, out[2], pattern[2], leak;
    struct code c[3] = {{.rc = 0}, {.rc = 21}, {.rc = 22}};
    struct fad_branch b[3];
    (void)arg;
    pattern_fill(out, sizeof out);
    memcpy(pattern, out, sizeof out);
    for (int i = 0; i < 3; i++) {
        b[i] = pair_of(x, out, &c[i]);
        fad_tape_fork(w, t, &b[i]);
    }
    assert_int_equal(fad_tape_join(w, t, &b[2]), 22); /* the first one in the order of joins */
    assert_int_equal(fad_tape_join(w, t, &b[1]), 22);
    assert_int_equal(fad_tape_join(w, t, &b[0]), 22);
    assert_memory_equal(out, pattern, sizeof out);
    assert_int_equal(fad_tape_error(t), 22);

    fad_tape_rewind(t, NULL);
    x[0] = fad_input(t, 3);
    x[1] = fad_input(t, 5);
    b[0] = pair_of(bad, out, NULL);
    fad_tape_fork(w, t, &b[0]);
    assert_int_equal(fad_tape_join(w, t, &b[0]), FAD_EHANDLE);
    assert_memory_equal(out, pattern, sizeof out);

    fad_tape_rewind(t, NULL);
    x[0] = fad_input(t, 3);
    x[1] = fad_input(t, 5);
    c[0].smuggled = x[1];
    b[0] = pair_of(x, out, &c[0]);
    fad_tape_fork(w, t, &b[0]);
    assert_int_equal(fad_tape_join(w, t, &b[0]), FAD_EHANDLE);

    fad_tape_rewind(t, NULL);
    x[0] = fad_input(t, 3);
    x[1] = fad_input(t, 5);
    c[0] = (struct code){.leak = &leak};
    b[0] = pair_of(x, out, &c[0]);
    fad_tape_fork(w, t, &b[0]);
    assert_int_equal(fad_tape_join(w, t, &b[0]), 0);
    fad_add(t, leak, x[0]);
    assert_int_equal(fad_tape_error(t), FAD_EHANDLE);

    fad_tape_rewind(t, NULL);
    x[0] = x[1] = fad_input(t, 3);
    struct fad_mark mark = fad_tape_mark(t);
    b[0] = pair_of(x, out, NULL);
    fad_tape_fork(w, t, &b[0]);
    assert_int_equal(fad_tape_rewind(t, &mark), 0);
    assert_int_equal(fad_tape_join(w, t, &b[0]), FAD_EHANDLE);

    fad_tape_rewind(t, NULL);
    b[0] = (struct fad_branch){.fn = NULL};
    fad_tape_fork(w, t, &b[0]);
    assert_int_equal(fad_tape_join(w, t, &b[0]), FAD_EINVAL);
    fad_tape_rewind(t, NULL);
    b[0] = pair_of(x, out, NULL);
    assert_int_equal(fad_tape_join(w, t, &b[0]), FAD_EINVAL); /* not forked */
    assert_int_equal(fad_tape_join(NULL, t, &b[0]), FAD_EINVAL);
    assert_int_equal(fad_tape_join(w, NULL, &b[0]), FAD_EINVAL);
    assert_int_equal(fad_tape_join(w, t, NULL), FAD_EINVAL);
    assert_int_equal(fad_tape_reverse_with(NULL, t, fad_const(0), 1, 0, NULL, NULL), FAD_EINVAL);
    assert_int_equal(fad_tape_reverse_with(w, NULL, fad_const(0), 1, 0, NULL, NULL), FAD_EINVAL);
    fad_tape_fork(w, t, NULL);
    fad_tape_destroy(other);
    return fad_tape_destroy(t);
}

/* Branches go with what they were joined to. */
static int memory(fad_worker *w, void *arg)
{
    fad_tape *t = fad_tape_create();
    fad_real x[2] = {fad_input(t, 3), fad_input(t, 5)}, out[2];
    struct fad_mark mark = fad_tape_mark(t);
    struct fad_branch b;
    size_t before = 0;
    (void)arg;
    for (int round = 0; round < 50; round++) {
        for (int i = 0; i < 20; i++) {
            b = pair_of(x, out, NULL);
            fad_tape_fork(w, t, &b);
            assert_int_equal(fad_tape_join(w, t, &b), 0);
        }
        assert_int_equal(fad_tape_rewind(t, &mark), 0);
        if (round == 1)
            before = heap_in_use();
    }
    assert_true(heap_in_use() <= before);
    return fad_tape_destroy(t);
}

/* ---- In terms of a sum ---- */

static int both_halves(fad_worker *w, void *arg)
{
    void **with = arg;
    fad_tape *t = with[0];
    const fad_real *s = with[1], *x = with[2];
    fad_real *y = with[3], in[2][2] = {{s[0], x[0]}, {x[1], s[1]}}, out[2][2];
    struct fad_branch a = pair_of(in[0], out[0], NULL), b = pair_of(in[1], out[1], NULL);
    fad_tape_fork(w, t, &a);
    fad_tape_fork(w, t, &b);
    int second = fad_tape_join(w, t, &b), first = fad_tape_join(w, t, &a);
    *y = fad_add(t, out[0][0], fad_mul(t, out[1][0], out[1][1])); /* s0 x0 + x1^2 s1 */
    return first ? first : second;
}

static int forking_term(fad_tape *t, size_t k, const fad_real *s, const fad_real *x, fad_real *y, void *user)
{
    void *with[] = {t, (void *)s, (void *)x, y};
    (void)k;
    return fad_pool_run(user, both_halves, with);
}

static void sums_whose_terms_fork(void **state)
{
    enum { N = 100 };
    double x[2 * N], s[2] = {3, 0.5}, value, shared[2], gx[2 * N], expected[3] = {0, 0, 0};
    (void)state;
    for (size_t k = 0; k < N; k++) {
        x[2 * k] = (double)k;
        x[2 * k + 1] = (double)(k % 5);
        expected[0] += s[0] * x[2 * k] + x[2 * k + 1] * x[2 * k + 1] * s[1];
        expected[1] += x[2 * k];
        expected[2] += x[2 * k + 1] * x[2 * k + 1];
    }
    for (unsigned workers = 1; workers < 5; workers++) {
        struct fad_sum sum = {.terms = N, .shared_count = 2, .shared = s, .x = x, .x_count = 2, .term = forking_term,
                              .user = pool_with(workers), .leaf = 4};
        assert_int_equal(fad_sum_gradient(pool_with(workers), &sum, &value, shared, gx), 0);
        assert_true(value == expected[0] && shared[0] == expected[1] && shared[1] == expected[2]);
        for (size_t k = 0; k < N; k++)
            assert_true(gx[2 * k] == s[0] && gx[2 * k + 1] == 2 * x[2 * k + 1] * s[1]);
        double tangents[2], directions[] = {1, 0, 2, -1};
        assert_int_equal(fad_sum_jvp_many(pool_with(workers), &sum, 2, directions, NULL, &value, tangents), 0);
        assert_true(value == expected[0] && tangents[0] == expected[1] && tangents[1] == 2 * expected[1] - expected[2]);
        struct fad_reduce r = {.of = sum, .parts = &(struct fad_part){.kind = FAD_PART_SUM}, .part_count = 1};
        for (int again = 0; again < 2; again++) {
            r.recompute = again;
            memset(gx, 0, sizeof gx);
            assert_int_equal(fad_reduce_gradient(pool_with(workers), &r, NULL, &value, shared, gx), 0);
            assert_true(value == expected[0] && shared[0] == expected[1] && shared[1] == expected[2]);
            for (size_t k = 0; k < N; k++)
                assert_true(gx[2 * k] == s[0] && gx[2 * k + 1] == 2 * x[2 * k + 1] * s[1]);
        }
    }
}

static void on_a_worker(int (*body)(fad_worker *w, void *arg))
{
    for (unsigned workers = 0; workers < 4; workers++)
        assert_int_equal(fad_pool_run(workers ? pool_with(workers) : NULL, body, NULL), 0);
}

static void gradients_of_one_branch(void **state)
{
    (void)state;
    on_a_worker(gradients);
}

static void tangents_of_one_branch(void **state)
{
    (void)state;
    on_a_worker(tangents);
}

static void forward_sweeps_that_fail(void **state)
{
    (void)state;
    on_a_worker(failing_sweeps);
}

static void constants_stay_constants(void **state)
{
    (void)state;
    on_a_worker(constants);
}

static void branches_that_fail(void **state)
{
    (void)state;
    on_a_worker(failures);
}

static void memory_of_branches(void **state)
{
    (void)state;
    assert_int_equal(fad_pool_run(NULL, memory, NULL), 0);
}

static int done(void **state)
{
    (void)state;
    pools_end();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_of_one_branch), cmocka_unit_test(constants_stay_constants),
        cmocka_unit_test(tangents_of_one_branch),  cmocka_unit_test(forward_sweeps_that_fail),
        cmocka_unit_test(branches_that_fail),      cmocka_unit_test(memory_of_branches),
        cmocka_unit_test(sums_whose_terms_fork),   cmocka_unit_test(trees_have_the_serial_bits),
    };
    return cmocka_run_group_tests(tests, NULL, done);
}
