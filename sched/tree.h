/** @file tree.h  The fixed tree of a fold: arithmetic on numbers of leaves.
 *
 * A node over m > 1 leaves has as its left child the largest power of two of leaves that is smaller than m. So every
 * aligned run of 2^j leaves is a node, and a node is a range [lo, hi) of leaf numbers. */
#ifndef FADI_TREE_H
#define FADI_TREE_H

#include <stdbool.h>
#include <stddef.h>

/** Leaves of the left child of a node over m > 1 leaves. */
size_t fadi_tree_left(size_t m);
/** Levels below a node over m >= 1 leaves: ceil(log2(m)). */
unsigned fadi_tree_depth(size_t m);
/** Where in [lo, end) the largest right child beyond the cursor begins; end if there is none. lo begins a node, end is
 * its end or where an earlier such child began. */
size_t fadi_tree_sibling(size_t lo, size_t cursor, size_t end);
/** The leaf that n elements get when none is given: the largest power of two that is not above n / 8, the square root of 8 n
 * and 4096, but at least 1. So cheap elements do not pay for many leaves, and costly ones still make many tasks. */
size_t fadi_tree_default_leaf(size_t n);

#endif
