#include "sched/tree.h"

#include <limits.h>

static unsigned floor_log2(size_t m)
{
    return (unsigned)(sizeof(unsigned long long) * CHAR_BIT) - 1 - (unsigned)__builtin_clzll(m);
}

size_t fadi_tree_left(size_t m)
{
    return (size_t)1 << floor_log2(m - 1);
}

unsigned fadi_tree_depth(size_t m)
{
    return m > 1 ? floor_log2(m - 1) + 1 : 0;
}

size_t fadi_tree_sibling(size_t lo, size_t cursor, size_t end)
{
    while (end - lo > 1) {
        size_t middle = lo + fadi_tree_left(end - lo);
        if (cursor < middle)
            return middle;
        lo = middle;
    }
    return end;
}

size_t fadi_tree_default_leaf(size_t n)
{
    size_t leaf = 1;
    while (leaf < 4096 && 2 * leaf <= n / 8 && leaf * leaf / 2 < n)
        leaf *= 2;
    return leaf;
}
