#include "sched/scratch.h"

#include <stdint.h>
#include <stdlib.h>

#define ALIGN 128u
#define FIRST 16384u

struct fadi_chunk {
    struct fadi_chunk *below;
    size_t base; /* bytes in use in the chunks below */
    size_t size, used;
};

size_t fadi_scratch_mark(const struct fadi_scratch *s)
{
    return s->chunk ? s->chunk->base + s->chunk->used : 0;
}

/* A chunk with room for size bytes on top; one that is empty but too small is replaced, so that sizes settle. */
static struct fadi_chunk *chunk_for(struct fadi_scratch *s, size_t size)
{
    struct fadi_chunk *top = s->chunk, *c;
    size_t want = top ? 2 * top->size : FIRST, base = fadi_scratch_mark(s);
    while (want < size)
        want *= 2;
    c = aligned_alloc(ALIGN, want + ALIGN);
    if (!c)
        return NULL;
    if (top && top->used == 0) {
        s->chunk = top->below;
        free(top);
    }
    *c = (struct fadi_chunk){s->chunk, base, want, 0};
    return s->chunk = c;
}

void *fadi_scratch_push(struct fadi_scratch *s, size_t size)
{
    struct fadi_chunk *c = s->chunk;
    if (size > SIZE_MAX / 8)
        return NULL;
    size = (size + ALIGN - 1) / ALIGN * ALIGN;
    if ((!c || c->size - c->used < size) && !(c = chunk_for(s, size)))
        return NULL;
    c->used += size;
    return (char *)c + ALIGN + c->used - size;
}

void fadi_scratch_release(struct fadi_scratch *s, size_t mark)
{
    struct fadi_chunk *c = s->chunk;
    while (c && c->below && c->base >= mark) {
        s->chunk = c->below;
        free(c);
        c = s->chunk;
    }
    if (c)
        c->used = mark - c->base;
}

void fadi_scratch_fini(struct fadi_scratch *s)
{
    while (s->chunk) {
        struct fadi_chunk *below = s->chunk->below;
        free(s->chunk);
        s->chunk = below;
    }
}
