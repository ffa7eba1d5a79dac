/** @file scratch.h  A worker's stack of memory for the pieces of folds: last in, first out, kept between calls. */
#ifndef FADI_SCRATCH_H
#define FADI_SCRATCH_H

#include <stddef.h>

struct fadi_chunk;

/** All zero: empty. Threads: the owner only. */
struct fadi_scratch {
    struct fadi_chunk *chunk; /* the newest; older ones below it */
};

/** How much is in use; release gives back everything that was pushed after. */
size_t fadi_scratch_mark(const struct fadi_scratch *s);
/** size bytes aligned to 128, or NULL. Cost: no allocation once a call of that size has been made. */
void *fadi_scratch_push(struct fadi_scratch *s, size_t size);
void fadi_scratch_release(struct fadi_scratch *s, size_t mark);
void fadi_scratch_fini(struct fadi_scratch *s);

#endif
