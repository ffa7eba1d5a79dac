/* Tapes: growth, rewinding, marks, handles of other recordings, errors, tracing, digests, memory of fad_alloc. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "ad/tape.h"
#include "tests/ad_support.h"

#include <math.h>
#include <string.h>

static fad_tape *t;

static int make(void **state)
{
    (void)state;
    t = fad_tape_create();
    return t == NULL;
}

static int end(void **state)
{
    (void)state;
    return fad_tape_destroy(t);
}

static void layout(void **state)
{
    (void)state;
    assert_int_equal(sizeof(fad_real), 16);
    assert_int_equal(offsetof(fad_real, id), 8);
    assert_int_equal(offsetof(fad_real, stamp), 12);
    assert_int_equal(sizeof(struct fad_node), 24);
    assert_int_equal(offsetof(struct fad_node, a0), 16);
    assert_int_equal(offsetof(struct fad_tape, limit), 8);
    assert_int_equal(offsetof(struct fad_tape, nodes), 16);
    assert_int_equal(offsetof(struct fad_tape, stamp), 24);
    assert_int_equal(offsetof(struct fad_tape, foreign), 28);
    assert_int_equal(offsetof(struct fadi_tape, head), 0);
}

/* Many more operations than a new tape has room for; twice, the second time without growth. */
static void growth(void **state)
{
    enum { N = 200000 };
    (void)state;
    for (int round = 0; round < 2; round++) {
        double g;
        fad_real x = fad_input(t, 1), y = x, v[8];
        for (int i = 0; i < N; i++)
            y = fad_add(t, y, x);
        for (int i = 0; i < 8; i++)
            v[i] = i % 3 ? y : fad_const(i);
        for (int i = 0; i < N / 8; i++)
            v[i % 8] = fad_sum_of(t, 8, (fad_real[]){v[0], x, x, x, x, x, x, x});
        assert_true(y.value == N + 1);
        assert_int_equal(fad_tape_reverse(t, y, 1, 1, &x, &g), 0);
        assert_true(g == N + 1);
        assert_int_equal(fad_tape_rewind(t, NULL), 0);
    }
}

/* The gradient of intermediate results too; sweeps leave nothing behind; the recording can go on. */
static void reverse(void **state)
{
    (void)state;
    fad_real x = fad_input(t, 3), y = fad_square(t, x), z = fad_mul(t, y, x), in[4] = {x, y, z, fad_const(7)};
    double g[4], again[4];
    assert_int_equal(fad_tape_reverse(t, z, 2, 4, in, g), 0);
    assert_true(g[0] == 54 && g[1] == 6 && g[2] == 2 && g[3] == 0);
    assert_int_equal(fad_tape_reverse(t, z, 2, 4, in, again), 0);
    assert_true(same_bits(g, again, sizeof g));
    fad_real w = fad_add(t, z, y);
    assert_int_equal(fad_tape_reverse(t, w, 1, 1, in, g), 0);
    assert_true(g[0] == 33);
    assert_int_equal(fad_tape_reverse(t, x, 5, 2, in, g), 0); /* an input by itself */
    assert_true(g[0] == 5 && g[1] == 0);
    assert_int_equal(fad_tape_reverse(t, fad_const(1), 5, 2, in, g), 0);
    assert_true(g[0] == 0 && g[1] == 0);
    assert_int_equal(fad_tape_reverse(t, z, -0.0, 1, in, g), 0);
    assert_true(is_bits(g[0], 0));
    assert_int_equal(fad_tape_reverse(t, z, NAN, 1, in, g), 0);
    uint64_t nan = UINT64_C(0x7ff8000000000000);
    assert_true(same_bits(g, &nan, sizeof nan));
    assert_int_equal(fad_tape_reverse(t, z, 1, 0, NULL, NULL), 0);
}

static void marks(void **state)
{
    double g[2];
    (void)state;
    fad_real x = fad_input(t, 2), y = fad_square(t, x);
    struct fad_mark m = fad_tape_mark(t);
    for (int round = 0; round < 3; round++) {
        fad_real v[3] = {x, y, x}, z = fad_add(t, fad_dot(t, 3, v, v), fad_exp(t, y));
        assert_int_equal(fad_tape_reverse(t, z, 1, 1, &x, g), 0);
        assert_true(fabs(g[0] - (8 + 32 + 4 * exp(4.0))) < 1e-12);
        assert_int_equal(fad_tape_rewind(t, &m), 0);
        assert_int_equal(fad_tape_reverse(t, z, 1, 1, &x, g), FAD_EHANDLE); /* nothing has taken its place yet */
        assert_int_equal(fad_tape_reverse(t, y, 1, 1, &x, g), 0);
        assert_true(g[0] == 4);
    }
    /* a dead handle, used all the same: a wrong result for this operation, but the tape stays sound */
    fad_real dead = fad_exp(t, fad_exp(t, y));
    assert_int_equal(fad_tape_rewind(t, &m), 0);
    fad_real bad = fad_mul(t, dead, x);
    assert_int_equal(fad_tape_reverse(t, bad, 1, 1, &x, g), 0);
    fad_real a = fad_sin(t, x), b = fad_add(t, a, x);
    assert_int_equal(fad_tape_reverse(t, b, 1, 1, &x, g), 0);
    assert_true(fabs(g[0] - (cos(2.0) + 1)) < 1e-15);
    struct fad_mark later = fad_tape_mark(t), other = m;
    assert_int_equal(fad_tape_rewind(t, &m), 0);
    assert_int_equal(fad_tape_rewind(t, &later), FAD_EHANDLE);
    other.stamp++;
    assert_int_equal(fad_tape_rewind(t, &other), FAD_EHANDLE);
    assert_int_equal(fad_tape_rewind(t, NULL), 0);
    assert_int_equal(fad_tape_rewind(t, &m), FAD_EHANDLE);
}

/* ---- handles ---- */

/* No two stamps of recordings lie inside each other, nor do those of sums; parts do not touch. */
static void codewords(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 1u << FADI_FAMILY_BITS; i++)
        for (uint32_t j = 0; j < 1u << FADI_FAMILY_BITS; j++) {
            uint32_t a = fadi_codeword(i, FADI_FAMILY_BITS), b = fadi_codeword(j, FADI_FAMILY_BITS);
            assert_true((a & ~b) != 0 || i == j);
            assert_true(a != 0 && a >> (32 - FADI_FAMILY_SHIFT) == 0);
        }
    struct dice d = {3};
    for (int n = 0; n < 1000000; n++) {
        uint32_t i = (uint32_t)dice_below(&d, 1u << FADI_STAMP_BITS), j = i ^ 1u << dice_below(&d, FADI_STAMP_BITS);
        if (n % 2)
            j = (uint32_t)dice_below(&d, 1u << FADI_STAMP_BITS);
        assert_true((fadi_stamp(i) & ~fadi_stamp(j)) != 0 || i == j);
        assert_true(fadi_stamp(i) != 0 && fadi_stamp(i) >> FADI_FAMILY_SHIFT == 0);
    }
}

/* Each kind of operation with an operand that is not of this recording: NaN, and the error at the next call. */
static void expect_foreign(fad_real theirs)
{
    for (int op = 0; op < 12; op++) {
        double g = 17;
        assert_int_equal(fad_tape_rewind(t, NULL), 0);
        fad_real x = fad_input(t, 2), y = x, v[3] = {x, theirs, x};
        switch (op) {
        case 0: y = fad_add(t, x, theirs); break;
        case 1: y = fad_mul(t, theirs, 2); break;
        case 2: y = fad_exp(t, theirs); break;
        case 3: y = fad_max(t, x, theirs); break;
        case 4: y = fad_dot(t, 3, v, v); break;
        case 5: y = fad_sum_of(t, 1, &theirs); break;
        case 6: y = fad_logsumexp(t, 3, v); break;
        case 7: y = fad_fma(t, x, 1, theirs); break;
        case 8: y = fad_pow(t, theirs, x); break;
        case 9: y = fad_dot_d(t, 1, (double[]){1}, &theirs); break;
        case 10: y = fad_neg(t, theirs); break;
        case 11:
            assert_int_equal(fad_tape_reverse(t, x, 1, 1, &theirs, &g), FAD_EHANDLE);
            assert_int_equal(fad_tape_reverse(t, theirs, 1, 1, &x, &g), FAD_EHANDLE);
            assert_true(g == 17);
            continue;
        }
        assert_true(isnan(y.value) && y.stamp == 0);
        assert_int_equal(fad_tape_error(t), FAD_EHANDLE);
        assert_true(isnan(fad_add(t, x, x).value) && isnan(fad_input(t, 1).value));
        assert_int_equal(fad_tape_reverse(t, x, 1, 1, &x, &g), FAD_EHANDLE);
        assert_true(g == 17);
        assert_true(fad_add(t, 1, 2).value == 3); /* what records nothing goes on */
    }
}

static void foreign_handles(void **state)
{
    fad_tape *other = fad_tape_create();
    (void)state;
    fad_real theirs = fad_input(other, 3);
    expect_foreign(theirs);
    assert_int_equal(fad_tape_rewind(t, NULL), 0);
    fad_real old = fad_input(t, 3);
    expect_foreign(old);
    assert_int_equal(fad_tape_rewind(other, NULL), 0);
    expect_foreign(theirs);
    fad_tape_destroy(other);
}

static void no_tape(void **state)
{
    double g = 17;
    (void)state;
    fad_real x = fad_input(t, 2), none = fad_const(1);
    assert_true(isnan(fad_input(NULL, 1).value) && fad_input(NULL, 1).stamp == 0);
    assert_true(fad_mul(NULL, 2, 3).value == 6 && fad_exp(NULL, 0).value == 1 && fad_norm2(NULL, 1, &none).value == 1);
    assert_true(isnan(fad_mul(NULL, x, 3).value) && isnan(fad_exp(NULL, x).value) && isnan(fad_max(NULL, x, 1).value));
    assert_true(isnan(fad_dot(NULL, 1, &x, &none).value) && isnan(fad_logsumexp(NULL, 1, &x).value));
    assert_int_equal(fad_tape_reverse(NULL, x, 1, 1, &x, &g), FAD_EINVAL);
    assert_int_equal(fad_tape_reverse(t, x, 1, 1, NULL, &g), FAD_EINVAL);
    assert_int_equal(fad_tape_reverse(t, x, 1, 1, &x, NULL), FAD_EINVAL);
    assert_int_equal(fad_tape_rewind(NULL, NULL), FAD_EINVAL);
    assert_int_equal(fad_tape_trace(NULL, true), FAD_EINVAL);
    assert_int_equal(fad_tape_error(NULL), FAD_EINVAL);
    assert_int_equal(fad_tape_destroy(NULL), 0);
    assert_true(fad_tape_digest(NULL) == 0 && fad_element_count(NULL) == 0 && fad_alloc(NULL, 1) == NULL);
    fad_fail(NULL, 3);
    assert_true(g == 17);
}

static void failing(void **state)
{
    double g;
    (void)state;
    fad_real x = fad_input(t, 2);
    fad_fail(t, 5);
    fad_fail(t, 6);
    assert_int_equal(fad_tape_error(t), 5);
    assert_true(isnan(fad_square(t, x).value) && isnan(fad_sum_of(t, 1, &x).value));
    assert_int_equal(fad_tape_reverse(t, x, 1, 1, &x, &g), 5);
    struct fad_mark m = fad_tape_mark(t);
    assert_int_equal(fad_tape_rewind(t, &m), 5);
    assert_int_equal(fad_tape_rewind(t, NULL), 0);
    x = fad_input(t, 2);
    assert_int_equal(fad_tape_reverse(t, fad_square(t, x), 1, 1, &x, &g), 0);
    assert_true(g == 4);
    fad_fail(t, -3);
    assert_int_equal(fad_tape_error(t), FAD_EINVAL);
}

/* ---- tracing and digests ---- */

static fad_real some(double at, bool swap, fad_real *x)
{
    *x = fad_input(t, at);
    fad_real v[5] = {*x, fad_const(2), *x, swap ? fad_const(3) : *x, *x};
    fad_real a = fad_exp(t, *x), b = swap ? fad_mul(t, *x, a) : fad_mul(t, a, *x);
    return fad_max(t, fad_dot(t, 5, v, v), fad_fma(t, a, b, *x));
}

static uint64_t digest_of(double at, bool swap, bool trace)
{
    fad_real x;
    assert_int_equal(fad_tape_rewind(t, NULL), 0);
    assert_int_equal(fad_tape_trace(t, trace), 0);
    some(at, swap, &x);
    return fad_tape_digest(t);
}

static void digests(void **state)
{
    (void)state;
    for (int trace = 0; trace < 2; trace++) {
        uint64_t d = digest_of(0.5, false, trace);
        assert_true(d != 0 && d == digest_of(0.5, false, trace));
        assert_true(d != digest_of(0.5, true, trace) && d != digest_of(nextafter(0.5, 1), false, trace));
        assert_true(d != digest_of(0.5, false, !trace));
        assert_true(digest_of(NAN, false, trace) == digest_of(-NAN, false, trace));
    }
    /* the same partials from another operation: told apart by the trace only */
    uint64_t kind[2][2];
    for (int trace = 0; trace < 2; trace++)
        for (int op = 0; op < 2; op++) {
            assert_int_equal(fad_tape_rewind(t, NULL), 0);
            assert_int_equal(fad_tape_trace(t, trace), 0);
            fad_real x = fad_input(t, 1);
            if (op)
                fad_sinh(t, fad_sub(t, x, 1));
            else
                fad_sin(t, fad_sub(t, x, 1));
            kind[trace][op] = fad_tape_digest(t);
        }
    assert_true(kind[0][0] == kind[0][1] && kind[1][0] != kind[1][1]);
}

static void tracing(void **state)
{
    enum { N = 5000 };
    double g[2];
    (void)state;
    for (int trace = 0; trace < 2; trace++) {
        fad_real x;
        assert_int_equal(fad_tape_rewind(t, NULL), 0);
        assert_int_equal(fad_tape_trace(t, trace), 0);
        fad_real y = some(0.5, false, &x);
        for (int i = 0; i < N; i++)
            y = fad_sub(t, fad_div(t, y, 1.0001), fad_square(t, fad_neg(t, fad_mul(t, 1e-3, x))));
        assert_int_equal(fad_tape_reverse(t, y, 1, 1, &x, g + trace), 0);
        assert_int_equal(fad_tape_trace(t, false), FAD_EBUSY);
    }
    assert_true(is_bits(g[0], g[1]));
}

/* ---- memory ---- */

static void allocation(void **state)
{
    fad_real *p[40];
    size_t n[40];
    (void)state;
    assert_non_null(fad_alloc(t, 0));
    for (int round = 0; round < 3; round++) {
        for (size_t i = 0; i < 40; i++) {
            n[i] = i * i * i + 1;
            p[i] = fad_alloc(t, n[i]);
            assert_true((uintptr_t)p[i] % _Alignof(fad_real) == 0);
            for (size_t j = 0; j < n[i]; j++)
                p[i][j] = fad_const((double)(i + j));
        }
        for (size_t i = 0; i < 40; i++)
            for (size_t j = 0; j < n[i]; j++)
                assert_true(p[i][j].value == (double)(i + j));
        assert_int_equal(fad_tape_rewind(t, NULL), 0);
    }
    assert_null(fad_alloc(t, SIZE_MAX / 8));
    assert_int_equal(fad_tape_error(t), FAD_EOVERFLOW);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, make, end)
    const struct CMUnitTest tests[] = {
        TEST(layout),          TEST(growth),  TEST(reverse), TEST(marks),   TEST(codewords), TEST(foreign_handles),
        TEST(no_tape),         TEST(failing), TEST(digests), TEST(tracing), TEST(allocation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
