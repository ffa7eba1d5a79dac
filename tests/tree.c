/* The arithmetic of the fixed tree, against counting. */
#include "tests/sched_help.h"

#include "sched/tree.h"

static void left_child(void **state)
{
    (void)state;
    for (size_t m = 2; m < 5000; m++) {
        size_t want = 1;
        while (2 * want < m)
            want *= 2;
        assert_int_equal(fadi_tree_left(m), want);
    }
    assert_true(fadi_tree_left(SIZE_MAX) == (size_t)1 << 63);
    assert_true(fadi_tree_left((size_t)1 << 63) == (size_t)1 << 62);
    assert_true(fadi_tree_left(((size_t)1 << 63) + 1) == (size_t)1 << 63);
}

static unsigned depth_by_recursion(size_t m)
{
    unsigned l, r;
    if (m == 1)
        return 0;
    l = depth_by_recursion(fadi_tree_left(m));
    r = depth_by_recursion(m - fadi_tree_left(m));
    return 1 + (l > r ? l : r);
}

static void depth(void **state)
{
    (void)state;
    for (size_t m = 1; m < 600; m++)
        assert_int_equal(fadi_tree_depth(m), depth_by_recursion(m));
    assert_int_equal(fadi_tree_depth(SIZE_MAX), 64);
}

/* The right child that is furthest up on the way to the leaf under the cursor. */
static size_t sibling_by_recursion(size_t lo, size_t hi, size_t cursor, size_t end)
{
    size_t middle;
    if (hi - lo == 1)
        return end;
    middle = lo + fadi_tree_left(hi - lo);
    return cursor < middle ? middle < end ? middle : sibling_by_recursion(lo, middle, cursor, end)
                           : sibling_by_recursion(middle, hi, cursor, end);
}

/* All siblings in turn, as a piece offers them: each is a node, and together they are everything beyond the cursor. */
static void siblings(void **state)
{
    (void)state;
    for (size_t m = 1; m < 70; m++)
        for (size_t cursor = 0; cursor < m; cursor++)
            for (size_t end = m;;) {
                size_t at = fadi_tree_sibling(0, cursor, end);
                assert_int_equal(at, sibling_by_recursion(0, m, cursor, end));
                if (at == end) {
                    assert_int_equal(end, cursor + 1);
                    break;
                }
                assert_in_range(at, cursor + 1, end - 1);
                end = at;
            }
}

static void default_leaf(void **state)
{
    (void)state;
    assert_int_equal(fadi_tree_default_leaf(0), 1);
    assert_int_equal(fadi_tree_default_leaf(1), 1);
    assert_int_equal(fadi_tree_default_leaf(15), 1);
    assert_int_equal(fadi_tree_default_leaf(16), 2);
    assert_int_equal(fadi_tree_default_leaf(127), 8);
    assert_int_equal(fadi_tree_default_leaf(1000), 64);
    assert_int_equal(fadi_tree_default_leaf(10000), 256);
    assert_int_equal(fadi_tree_default_leaf(131072), 512);
    assert_int_equal(fadi_tree_default_leaf(131073), 1024);
    assert_int_equal(fadi_tree_default_leaf(10000000), 4096);
    assert_int_equal(fadi_tree_default_leaf(SIZE_MAX), 4096);
    for (size_t n = 1; n < 20000; n++) {
        size_t leaf = fadi_tree_default_leaf(n);
        assert_true(leaf && (leaf & (leaf - 1)) == 0 && leaf <= 4096);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(left_child),
        cmocka_unit_test(depth),
        cmocka_unit_test(siblings),
        cmocka_unit_test(default_leaf),
    };
    watchdog();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
