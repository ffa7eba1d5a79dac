/** @file stock.h  Objects kept for their next use: an array of places, each empty or holding one object.
 *
 *               | take                  | give
 *   who         | any thread            | any thread
 *   linearises  | exchange with NULL    | compare and swap from NULL
 *   order       | acquire               | release: the next user sees what this one wrote
 *
 * Both are lock-free: at most one pass over the window. No place refers to another, so there is no ABA problem and a
 * fork at any moment leaves every place usable in the child (an object that another thread had taken is gone).
 * Each thread starts at a place of its own, and so mostly gets the object back that its cache knows. */
#ifndef FADI_STOCK_H
#define FADI_STOCK_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>

struct fadi_place {
    alignas(64) _Atomic(void *) object; /* a line each: threads use their own places all the time */
};

/** An object, or NULL when none was found. places: a power of two; window: how many are looked at. */
void *fadi_stock_take(struct fadi_place *place, unsigned places, unsigned window);

/** False: no empty place was found, the object is still the caller's. */
bool fadi_stock_give(struct fadi_place *place, unsigned places, unsigned window, void *object);

#endif
