/* Folds against an independent, recursive form of the tree: random shapes, monoids that do not commute, floating point,
 * accumulators of all sizes. */
#include "tests/sched_help.h"

#include <stdio.h>

static const unsigned workers[] = {1, 2, 3, 4, 8, 16};
static fad_pool *pools[COUNT(workers) + 1]; /* the last one is NULL: serial */

/* ---- the definition: words for elements, and for each combination a pair of brackets around the two children ---- */

#define TEXT 24000

struct text {
    size_t length;
    char at[TEXT];
};

static void append(struct text *t, const char *s, size_t n)
{
    if (t->length + n > TEXT)
        abort();
    memcpy(t->at + t->length, s, n);
    t->length += n;
}

static void put_element(struct text *t, size_t i)
{
    char word[24];
    append(t, word, (size_t)snprintf(word, sizeof word, "%zx,", i));
}

static void text_identity(void *acc, void *user)
{
    (void)user;
    ((struct text *)acc)->length = 0;
}

static void text_combine(void *left, const void *right, void *user)
{
    struct text *l = left;
    const struct text *r = right;
    (void)user;
    if (l->length + 3 > TEXT)
        abort();
    memmove(l->at + 1, l->at, l->length);
    l->at[0] = '(';
    l->length++;
    append(l, "+", 1);
    append(l, r->at, r->length);
    append(l, ")", 1);
}

static int text_leaf(size_t begin, size_t end, void *acc, void *user, size_t *failed)
{
    (void)user;
    (void)failed;
    append(acc, "[", 1);
    for (size_t i = begin; i < end; i++)
        put_element(acc, i);
    append(acc, "]", 1);
    if (begin % 7 == 0) /* lets other workers come in */
        usleep(20);
    return 0;
}

static void reference(struct text *out, size_t first, size_t end, size_t leaf)
{
    size_t leaves = (end - first - 1) / leaf + 1, left = 1;
    if (leaves == 1) {
        append(out, "[", 1);
        for (size_t i = first; i < end; i++)
            put_element(out, i);
        append(out, "]", 1);
        return;
    }
    while (2 * left < leaves)
        left *= 2;
    append(out, "(", 1);
    reference(out, first, first + left * leaf, leaf);
    append(out, "+", 1);
    reference(out, first + left * leaf, end, leaf);
    append(out, ")", 1);
}

static const struct fad_monoid texts = {sizeof(struct text), 0, text_identity, text_combine};

static void one_text(size_t n, size_t leaf, size_t grain, size_t first, size_t p)
{
    static struct text want, got;
    struct fad_fold_options o = {.leaf = leaf, .grain = grain, .first = first};
    want.length = got.length = 0;
    if (n)
        reference(&want, first, first + n, leaf);
    assert_int_equal(fad_fold(pools[p], n, &texts, text_leaf, NULL, &o, &got), FAD_OK);
    assert_int_equal(got.length, want.length);
    assert_memory_equal(got.at, want.at, want.length);
}

static void small_trees(void **state)
{
    (void)state;
    for (size_t n = 0; n < 40; n++)
        for (size_t leaf = 1; leaf < 4; leaf++)
            for (size_t p = 0; p < COUNT(pools); p += 2)
                one_text(n, leaf, 1 + n % 3, n % 2 ? SIZE_MAX - 1 - n : n, p);
}

static void random_trees(void **state)
{
    uint64_t seed = 2;
    (void)state;
    for (int round = 0; round < 1000 / SLOWER; round++) {
        size_t n = below(&seed, 900), leaf = 1 + below(&seed, 1 + below(&seed, 64));
        size_t grains[] = {0, 1, 1 + below(&seed, 40), FAD_LEAF_MAX};
        one_text(n, leaf, grains[below(&seed, COUNT(grains))], below(&seed, 2) ? below(&seed, 100000) : 0,
                 below(&seed, COUNT(pools)));
    }
}

/* ---- floating point: one sum, its bits by recursion ---- */

static double term(size_t i)
{
    uint64_t s = i;
    return (unit_random(&s) - 0.5) * (i % 5 ? 1 : 0x1p40);
}

static double sum_reference(size_t begin, size_t end, size_t leaf)
{
    double s = 0;
    size_t left = leaf;
    if (end - begin <= leaf) {
        for (size_t i = begin; i < end; i++)
            s += term(i);
        return s;
    }
    while (2 * left < end - begin)
        left *= 2;
    s = sum_reference(begin, begin + left, leaf);
    return s + sum_reference(begin + left, end, leaf);
}

static void sum_identity(void *acc, void *user)
{
    (void)user;
    *(double *)acc = 0;
}

static void sum_combine(void *left, const void *right, void *user)
{
    (void)user;
    *(double *)left += *(const double *)right;
}

static int sum_leaf(size_t begin, size_t end, void *acc, void *user, size_t *failed)
{
    double s = *(double *)acc;
    (void)user;
    (void)failed;
    for (size_t i = begin; i < end; i++)
        s += term(i);
    *(double *)acc = s;
    return 0;
}

static void random_sums(void **state)
{
    static const struct fad_monoid sums = {sizeof(double), 0, sum_identity, sum_combine};
    uint64_t seed = 3;
    (void)state;
    for (int round = 0; round < 400 / SLOWER; round++) {
        size_t n = 1 + below(&seed, 60000), first = below(&seed, 1000);
        struct fad_fold_options o = {.leaf = 1 + below(&seed, 300), .grain = below(&seed, 3) * 50, .first = first};
        double want = sum_reference(first, first + n, o.leaf);
        for (size_t p = round % 2; p < COUNT(pools); p += 2) {
            double got = 1e300;
            assert_int_equal(fad_fold(pools[p], n, &sums, sum_leaf, NULL, &o, &got), FAD_OK);
            assert_memory_equal(&got, &want, sizeof got);
        }
    }
}

/* ---- accumulators of all sizes and alignments: every byte counts elements, modulo 256 ---- */

struct bytes {
    size_t size, align;
    unsigned misaligned;
};

static void bytes_check(const void *acc, struct bytes *b)
{
    if ((uintptr_t)acc % b->align)
        __atomic_add_fetch(&b->misaligned, 1, __ATOMIC_RELAXED);
}

static void bytes_identity(void *acc, void *user)
{
    bytes_check(acc, user);
    memset(acc, 0, ((struct bytes *)user)->size);
}

static void bytes_combine(void *left, const void *right, void *user)
{
    struct bytes *b = user;
    unsigned char *l = left;
    const unsigned char *r = right;
    bytes_check(left, b);
    bytes_check(right, b);
    for (size_t i = 0; i < b->size; i++)
        l[i] = (unsigned char)(l[i] + r[i]);
}

static int bytes_leaf(size_t begin, size_t end, void *acc, void *user, size_t *failed)
{
    struct bytes *b = user;
    unsigned char *a = acc;
    (void)failed;
    for (size_t i = 0; i < b->size; i++)
        a[i] = (unsigned char)(a[i] + (end - begin) * (i + 1));
    if (begin % 32 == 0)
        usleep(20);
    return 0;
}

static void all_sizes(void **state)
{
    static const size_t sizes[] = {1, 3, 8, 17, 127, 128, 129, 4096, 100000};
    static const size_t aligns[] = {0, 1, 2, 8, 16, 32, 64, 128};
    static unsigned char memory[100200];
    (void)state;
    for (size_t s = 0; s < COUNT(sizes); s++)
        for (size_t a = 0; a < COUNT(aligns); a++)
            for (size_t n = 0; n < 200; n = 3 * n + 1) {
                struct bytes b = {sizes[s], aligns[a] ? aligns[a] : _Alignof(max_align_t), 0};
                struct fad_monoid m = {sizes[s], aligns[a], bytes_identity, bytes_combine};
                struct fad_fold_options o = {.leaf = 3, .grain = 1};
                unsigned char *result = memory + 1; /* need not be aligned */
                memset(memory, 0xaa, sizeof memory);
                assert_int_equal(fad_fold(pools[(s + a) % COUNT(pools)], n, &m, bytes_leaf, &b, &o, result), FAD_OK);
                assert_int_equal(b.misaligned, 0);
                for (size_t i = 0; i < b.size; i++)
                    assert_int_equal(result[i], (unsigned char)(n * (i + 1)));
                assert_int_equal(memory[0], 0xaa);
                assert_int_equal(result[b.size], 0xaa);
            }
}

/* No accumulator: each element once, whatever the shape. */
static int mark(size_t begin, size_t end, void *user, size_t *failed)
{
    unsigned char *seen = user;
    (void)failed;
    for (size_t i = begin; i < end; i++)
        __atomic_add_fetch(&seen[i], 1, __ATOMIC_RELAXED);
    return 0;
}

static void each_element_once(void **state)
{
    static unsigned char seen[20000];
    uint64_t seed = 4;
    (void)state;
    for (int round = 0; round < 500 / SLOWER; round++) {
        size_t n = below(&seed, 8000), first = below(&seed, sizeof seen - n);
        struct fad_fold_options o = {.leaf = below(&seed, 100), .grain = below(&seed, 2), .first = first};
        memset(seen, 0, sizeof seen);
        assert_int_equal(fad_for(pools[below(&seed, COUNT(pools))], n, mark, seen, &o), FAD_OK);
        for (size_t i = 0; i < sizeof seen; i++)
            assert_int_equal(seen[i], i >= first && i - first < n);
    }
}

static int setup(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(workers); i++)
        pools[i] = pool_of(workers[i]);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(workers); i++)
        end_pool(pools[i]);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_trees), cmocka_unit_test(random_trees),      cmocka_unit_test(random_sums),
        cmocka_unit_test(all_sizes),   cmocka_unit_test(each_element_once),
    };
    watchdog();
    return cmocka_run_group_tests(tests, setup, teardown);
}
