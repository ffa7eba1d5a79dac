#include "sched/scratch.h"

#include <stdint.h>
#include <stdlib.h>

#define ALIGN 128u
#define FIRST 16384u

/* Above the newest chunk in use there may be an empty one, kept for the next call. */
struct fadi_chunk {
    struct fadi_chunk *below, *above;
    size_t base; /* bytes in use in the chunks below */
    size_t size, used;
};

size_t fadi_scratch_mark(const struct fadi_scratch *s)
{
    return s->chunk ? s->chunk->base + s->chunk->used : 0;
}

static struct fadi_chunk *put_on_top(struct fadi_scratch *s, struct fadi_chunk *c, size_t base)
{
    c->below = s->chunk;
    c->above = NULL;
    c->base = base;
    c->used = 0;
    if (s->chunk)
        s->chunk->above = c;
    return s->chunk = c;
}

/* A chunk with room for size bytes on top: the one that was kept, or a larger one in its place. One in use that is empty but
 * too small is replaced too, so that sizes settle. */
static struct fadi_chunk *chunk_for(struct fadi_scratch *s, size_t size)
{
    struct fadi_chunk *top = s->chunk, *kept = top ? top->above : NULL, *c;
    size_t want = top ? 2 * top->size : FIRST, base = fadi_scratch_mark(s);
    if (kept && kept->size >= size)
        return put_on_top(s, kept, base);
    while (want < size)
        want *= 2;
    c = aligned_alloc(ALIGN, want + ALIGN);
    if (!c)
        return NULL;
    free(kept);
    if (top && top->used == 0) {
        s->chunk = top->below;
        free(top);
    }
    c->size = want;
    return put_on_top(s, c, base);
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

/* Takes the top chunk off and keeps it, or the one kept above it, which is larger. */
static void drop_top(struct fadi_scratch *s)
{
    struct fadi_chunk *c = s->chunk, *below = c->below;
    below->above = c->above ? c->above : c;
    if (c->above)
        free(c);
    s->chunk = below;
}

void fadi_scratch_release(struct fadi_scratch *s, size_t mark)
{
    while (s->chunk && s->chunk->below && s->chunk->base >= mark)
        drop_top(s);
    if (s->chunk)
        s->chunk->used = mark - s->chunk->base;
}

void fadi_scratch_fini(struct fadi_scratch *s)
{
    if (s->chunk)
        free(s->chunk->above);
    while (s->chunk) {
        struct fadi_chunk *below = s->chunk->below;
        free(s->chunk);
        s->chunk = below;
    }
}
