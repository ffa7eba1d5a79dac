/* A worker's scratch memory: random pushes and releases, the contents checked at each release. */
#include "tests/sched_help.h"

#include "sched/scratch.h"

struct block {
    unsigned char *at, fill;
    size_t size, mark;
};

static void check(const struct block *b)
{
    for (size_t i = 0; i < b->size; i += b->size > 4096 ? 997 : 1)
        assert_int_equal(b->at[i], b->fill);
}

static void random_pushes(void **state)
{
    uint64_t seed = 9;
    (void)state;
    for (int round = 0; round < 200; round++) {
        struct fadi_scratch s = {0};
        struct block b[64];
        size_t n = 0;
        for (int step = 0; step < 300; step++) {
            if (n < COUNT(b) && below(&seed, 100) < 52) {
                struct block *new = &b[n++];
                new->mark = fadi_scratch_mark(&s);
                new->size = below(&seed, (size_t)1 << below(&seed, 18));
                new->fill = (unsigned char)seed;
                assert_non_null(new->at = fadi_scratch_push(&s, new->size));
                assert_int_equal((uintptr_t)new->at % 128, 0);
                memset(new->at, new->fill, new->size);
            } else if (n) {
                size_t keep = n - 1 - below(&seed, n < 4 ? n : 4);
                for (size_t i = 0; i < n; i++)
                    check(&b[i]);
                n = keep;
                fadi_scratch_release(&s, b[n].mark);
                assert_int_equal(fadi_scratch_mark(&s), b[n].mark);
            }
        }
        fadi_scratch_fini(&s);
        assert_null(s.chunk);
    }
}

static void too_large(void **state)
{
    struct fadi_scratch s = {0};
    (void)state;
    assert_null(fadi_scratch_push(&s, SIZE_MAX));
    assert_null(fadi_scratch_push(&s, SIZE_MAX / 8 + 1));
    assert_int_equal(fadi_scratch_mark(&s), 0);
    assert_non_null(fadi_scratch_push(&s, 0));
    fadi_scratch_fini(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_pushes), cmocka_unit_test(too_large)};
    watchdog();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
