/* Accumulators of shared gradients: moving, adding and passing on lines and pages, against plain arrays; the stock they are
 * kept in, by several threads. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "ad/accumulate.h"
#include "tests/ad_support.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { PAGES = 3, LENGTH = PAGES * FADI_PAGE, LINES = LENGTH / FADI_LINE };

static struct fadi_accs *set;

static int make(void **state)
{
    (void)state;
    set = aligned_alloc(alignof(struct fadi_accs), sizeof *set);
    memset(set, 0, sizeof *set);
    fadi_accs_start(set, 2 * PAGES);
    return 0;
}

static int end(void **state)
{
    (void)state;
    fadi_accs_end(set);
    free(set);
    return 0;
}

/* A leaf's row: some lines touched, a few with zeros only. */
static void draw(struct dice *d, double *row, unsigned char *touched)
{
    memset(row, 0, LENGTH * sizeof *row);
    memset(touched, 0, LINES);
    for (size_t n = dice_below(d, 20); n; n--) {
        size_t i = dice_below(d, LENGTH);
        row[i] = (double)dice_below(d, 100);
        touched[i / FADI_LINE] = 1;
    }
}

static void expect_empty(const double *row, const unsigned char *touched)
{
    for (size_t i = 0; i < LENGTH; i++)
        assert_true(row[i] == 0);
    for (size_t i = 0; touched && i < LINES; i++)
        assert_true(touched[i] == 0);
}

static void moving_and_adding(void **state)
{
    struct dice d = {8};
    (void)state;
    for (int round = 0; round < 500; round++) {
        double row[LENGTH], sum[2][LENGTH] = {{0}}, out[LENGTH - 1];
        unsigned char touched[LINES];
        struct fadi_acc *a[4];
        for (int i = 0; i < 4; i++) {
            a[i] = fadi_acc_take(set);
            assert_non_null(a[i]);
            for (int n = 0; n < 3; n++) {
                int output = n % 2;
                draw(&d, row, touched);
                for (size_t j = 0; j < LENGTH; j++)
                    sum[output][j] += row[j];
                bool marks = dice_below(&d, 2);
                assert_int_equal(fadi_acc_move(a[i], (size_t)output * PAGES, row, marks ? touched : NULL, LINES), 0);
                expect_empty(row, marks ? touched : NULL);
            }
        }
        fadi_acc_add(a[0], a[1], 2 * PAGES);
        fadi_acc_add(a[2], a[3], 2 * PAGES);
        fadi_acc_add(a[0], a[2], 2 * PAGES);
        for (size_t output = 0; output < 2; output++) {
            fadi_acc_read(a[0], output * PAGES, LENGTH - 1, out);
            for (size_t j = 0; j < LENGTH - 1; j++)
                assert_true(is_bits(out[j], sum[output][j + 1]));
        }
        /* what was added is empty, and can be given back and used at once */
        for (int i = 1; i < 4; i++) {
            fadi_acc_read(a[i], 0, LENGTH - 1, out);
            for (size_t j = 0; j < LENGTH - 1; j++)
                assert_true(is_bits(out[j], 0));
            fadi_acc_give(set, a[i]);
        }
        if (round % 2) {
            fadi_acc_empty(a[0], 2 * PAGES);
            fadi_acc_give(set, a[0]);
        } else {
            fadi_accs_clear(set); /* as after a failure, when nobody knows where it is */
        }
    }
    size_t made = 0;
    for (struct fadi_acc *p = atomic_load(&set->made); p; p = p->made)
        made++;
    assert_int_equal(made, 4);
}

/* Without an accumulator the row is zeroed all the same. */
static void discarding(void **state)
{
    struct dice d = {9};
    double row[LENGTH];
    unsigned char touched[LINES];
    (void)state;
    draw(&d, row, touched);
    row[7] = 3;
    touched[0] = 1;
    assert_int_equal(fadi_acc_move(NULL, 0, row, touched, LINES), FAD_ENOMEM);
    expect_empty(row, touched);
}

/* More than there are places for: the others are spare, and come back as well. */
static void spare_ones(void **state)
{
    enum { MORE = FADI_ACC_PLACES + 30 };
    struct fadi_acc *a[MORE];
    (void)state;
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < MORE; i++)
            a[i] = fadi_acc_take(set);
        for (int i = 0; i < MORE; i++)
            for (int j = 0; j < i; j++)
                assert_ptr_not_equal(a[i], a[j]);
        for (int i = 0; i < MORE; i++)
            fadi_acc_give(set, a[i]);
        fadi_accs_start(set, round + 1); /* another size for the next call */
    }
    size_t made = 0;
    for (struct fadi_acc *p = atomic_load(&set->made); p; p = p->made)
        made++;
    assert_int_equal(made, MORE);
}

/* Threads that take, write and give: no object has two users, none is lost. */
enum { THREADS = 4, PLACES = 2, OBJECTS = 2, TURNS = 500000 }; /* few, so that they meet */
static struct fadi_place place[PLACES];
static struct object {
    long uses, user;
} object[OBJECTS];

static void *user_of_stock(void *number)
{
    for (int i = 0; i < TURNS; i++) {
        struct object *o = fadi_stock_take(place, PLACES, PLACES);
        if (!o)
            continue;
        o->user = (long)(intptr_t)number;
        o->uses++;
        if (o->user != (long)(intptr_t)number)
            return o;
        while (!fadi_stock_give(place, PLACES, PLACES, o)) /* objects that move may hide the empty places */
            ;
    }
    return NULL;
}

static void stock(void **state)
{
    pthread_t thread[THREADS];
    long left = 0;
    (void)state;
    for (int i = 0; i < OBJECTS; i++)
        assert_true(fadi_stock_give(place, PLACES, PLACES, object + i));
    for (intptr_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(thread + i, NULL, user_of_stock, (void *)i), 0);
    for (int i = 0; i < THREADS; i++) {
        void *two_users;
        pthread_join(thread[i], &two_users);
        assert_null(two_users);
    }
    while (fadi_stock_take(place, PLACES, PLACES))
        left++;
    assert_int_equal(left, OBJECTS);
    for (int i = 0; i < PLACES; i++)
        assert_true(fadi_stock_give(place, PLACES, PLACES, object));
    assert_false(fadi_stock_give(place, PLACES, PLACES, object));
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, make, end)
    const struct CMUnitTest tests[] = {
        TEST(moving_and_adding), TEST(discarding), TEST(spare_ones), cmocka_unit_test(stock),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
