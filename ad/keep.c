/** @file keep.c  Tapes and stores that wait for their next use, in the process and not in a pool: calls without a pool use
 * them too, and a nested call on another pool finds them as well. */
#include <stdlib.h>

#include "ad/call.h"

/* Places for as many workers as a pool can have; a thread looks at the window from its own place on. */
#define PLACES 1024u
#define WINDOW 16u
/* A store with larger accumulators, or more memory of another kind, is not kept. */
#define KEEP_BYTES ((size_t)64 << 20)

static struct fadi_place tapes[PLACES], stores[PLACES];

struct fadi_tape *fadi_keep_tape(void)
{
    struct fadi_tape *t = fadi_stock_take(tapes, PLACES, WINDOW);
    if (!t) {
        t = fadi_tape_new();
        if (t)
            t->lent = true;
    }
    return t;
}

void fadi_keep_tape_back(struct fadi_tape *t)
{
    fadi_tape_trim(t);
    if (!fadi_stock_give(tapes, PLACES, WINDOW, t))
        fadi_tape_free(t);
}

static void free_store(struct fadi_store *store)
{
    fadi_accs_end(&store->accs);
    free(store->shared.memory);
    free(store->plain_shared.memory);
    free(store->x_starts.memory);
    free(store->x_built.memory);
    free(store);
}

struct fadi_store *fadi_keep_store(void)
{
    struct fadi_store *store = fadi_stock_take(stores, PLACES, WINDOW);
    if (!store) {
        store = aligned_alloc(alignof(struct fadi_store), sizeof *store);
        if (store)
            *store = (struct fadi_store){.shared = {NULL, 0}};
    }
    return store;
}

void fadi_keep_store_back(struct fadi_store *store)
{
    size_t bytes = fadi_accs_bytes(&store->accs);
    if (bytes > KEEP_BYTES || store->shared.bytes > KEEP_BYTES ||
        store->plain_shared.bytes > KEEP_BYTES || store->x_starts.bytes > KEEP_BYTES || store->x_built.bytes > KEEP_BYTES || !fadi_stock_give(stores, PLACES, WINDOW, store))
        free_store(store);
}

void *fadi_room_for(struct fadi_room *room, size_t bytes)
{
    if (!room->memory || room->bytes < bytes) {
        void *memory = fadi_own_lines(bytes ? bytes : 1);
        if (!memory)
            return NULL;
        free(room->memory);
        *room = (struct fadi_room){memory, bytes};
    }
    return room->memory;
}

/* So that a leak checker, or a program that unloads the library, finds nothing left. */
static __attribute__((destructor)) void free_all(void)
{
    void *object;
    while ((object = fadi_stock_take(tapes, PLACES, PLACES)))
        fadi_tape_free(object);
    while ((object = fadi_stock_take(stores, PLACES, PLACES)))
        free_store(object);
}
