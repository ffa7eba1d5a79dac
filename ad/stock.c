/** @file stock.c  See stock.h. */
#include "ad/stock.h"

#include <pthread.h>
#include <stdint.h>

#include "common/point.h"

/* pthread_self differs in its middle bits; the product's top bits mix all of them. */
static unsigned own_place(void)
{
    return (unsigned)((uint64_t)(uintptr_t)pthread_self() * UINT64_C(0x9e3779b97f4a7c15) >> 40);
}

void *fadi_stock_take(struct fadi_place *place, unsigned places, unsigned window)
{
    unsigned start = own_place();
    for (unsigned i = 0; i < window; i++) {
        struct fadi_place *p = place + ((start + i) & (places - 1));
        /* relaxed: only a hint that saves an exchange */
        if (!atomic_load_explicit(&p->object, memory_order_relaxed))
            continue;
        FADI_POINT(stock_take);
        /* acquire, pairs with the release in give: the object's contents */
        void *object = atomic_exchange_explicit(&p->object, NULL, memory_order_acquire);
        if (object)
            return object;
    }
    return NULL;
}

bool fadi_stock_give(struct fadi_place *place, unsigned places, unsigned window, void *object)
{
    unsigned start = own_place();
    for (unsigned i = 0; i < window; i++) {
        struct fadi_place *p = place + ((start + i) & (places - 1));
        void *empty = NULL;
        /* relaxed: only a hint */
        if (atomic_load_explicit(&p->object, memory_order_relaxed))
            continue;
        FADI_POINT(stock_give);
        /* release, pairs with the acquire in take; relaxed on failure: nothing is read */
        if (atomic_compare_exchange_strong_explicit(&p->object, &empty, object, memory_order_release,
                                                    memory_order_relaxed))
            return true;
    }
    return false;
}
