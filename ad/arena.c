/** @file arena.c  The memory of fad_alloc.
 *
 * Stretches come from mmap and not from malloc: a term that writes to what it got without looking must not crash where
 * malloc has an error to report, and address space lasts longer than malloc's patience. When even that fails, the error
 * is set and the term goes on in memory that is in use already: nothing it computes counts any more. */
#include "ad/tape.h"

#include <sys/mman.h>

#define FIRST_BYTES ((size_t)1 << 16)
#define ALIGNMENT ((size_t)32)
/* What a stretch begins with. */
#define HEAD_BYTES ((sizeof(struct fadi_arena) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT)

static struct fadi_arena *map(size_t bytes, struct fadi_arena *older)
{
    struct fadi_arena *a = mmap(NULL, HEAD_BYTES + bytes, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (a == MAP_FAILED)
        return NULL;
    a->older = older;
    a->bytes = bytes;
    a->used = 0;
    return a;
}

static void unmap(struct fadi_arena *a)
{
    while (a) {
        struct fadi_arena *older = a->older;
        munmap(a, HEAD_BYTES + a->bytes);
        a = older;
    }
}

bool fadi_arena_start(struct fadi_tape *t)
{
    t->arena = map(FIRST_BYTES, NULL);
    return t->arena != NULL;
}

void fadi_arena_end(struct fadi_tape *t)
{
    unmap(t->arena);
    t->arena = NULL;
}

void fadi_arena_clear(struct fadi_tape *t)
{
    /* The newest stretch is larger than all others together: next time it will do alone. */
    unmap(t->arena->older);
    t->arena->older = NULL;
    t->arena->used = 0;
}

/* A further stretch of at least `bytes`, or, with the error set, memory that is in use, or NULL. */
static fad_real *more(struct fadi_tape *t, size_t bytes)
{
    size_t room = t->arena->bytes;
    room = room > SIZE_MAX / 4 ? room : 2 * room;
    if (room < bytes)
        room = bytes;
    struct fadi_arena *a = map(room, t->arena);
    if (!a) {
        fadi_tape_fail(t, FAD_ENOMEM);
        return bytes <= t->arena->bytes ? (fad_real *)(void *)((char *)t->arena + HEAD_BYTES) : NULL;
    }
    a->used = bytes;
    t->arena = a;
    return (fad_real *)(void *)((char *)a + HEAD_BYTES);
}

fad_real *fad_alloc(fad_tape *tape, size_t n)
{
    struct fadi_tape *t = fadi_tape_of(tape);
    if (!t || fadi_tape_refuses(t))
        return NULL;
    if (n > SIZE_MAX / 4 / sizeof(fad_real)) {
        fadi_tape_fail(t, FAD_EOVERFLOW);
        return NULL;
    }
    struct fadi_arena *a = t->arena;
    size_t bytes = (n * sizeof(fad_real) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    if (bytes > a->bytes - a->used)
        return more(t, bytes);
    fad_real *memory = (fad_real *)(void *)((char *)a + HEAD_BYTES + a->used);
    a->used += bytes;
    return memory;
}
