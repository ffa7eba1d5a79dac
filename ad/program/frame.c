/** @file frame.c  Memory that workers use in leaves, kept from call to call. */
#include <stdlib.h>
#include <string.h>

#include "ad/program/run.h"

#define PLACES 1024u
#define WINDOW 16u
/* Memory beyond this is not kept. */
#define KEEP_DOUBLES ((size_t)8 << 20)

static struct fadi_place memories[PLACES];

static void free_memory(struct fadi_memory *m)
{
    free(m->slots);
    free(m->row);
    free(m->marks);
    free(m->chunk);
    free(m);
}

static bool grow_slots(struct fadi_memory *m, size_t slots)
{
    if (slots <= m->slot_room)
        return true;
    double *memory = slots > SIZE_MAX / 16 ? NULL : fadi_own_lines(slots * sizeof *memory);
    if (!memory)
        return false;
    memset(memory, 0, slots * sizeof *memory); /* lanes that nobody fills are computed with too */
    free(m->slots);
    m->slots = memory;
    m->slot_room = slots;
    return true;
}

static bool grow_row(struct fadi_memory *m, size_t row)
{
    if (row <= m->row_room)
        return true;
    double *memory = row > SIZE_MAX / 16 ? NULL : fadi_own_lines(row * sizeof *memory);
    unsigned char *marks = memory ? calloc(row / FADI_LINE + 1, 1) : NULL;
    if (!marks) {
        free(memory);
        return false;
    }
    memset(memory, 0, row * sizeof *memory);
    free(m->row);
    free(m->marks);
    m->row = memory;
    m->marks = marks;
    m->row_room = row;
    return true;
}

static bool grow_chunk(struct fadi_memory *m, bool chunk)
{
    if (chunk && !m->chunk)
        m->chunk = malloc(sizeof *m->chunk);
    return !chunk || m->chunk;
}

struct fadi_memory *fadi_memory_take(size_t slots, size_t row, bool chunk)
{
    struct fadi_memory *m = fadi_stock_take(memories, PLACES, WINDOW);
    if (!m)
        m = calloc(1, sizeof *m);
    if (m && (!grow_slots(m, slots) || !grow_row(m, row) || !grow_chunk(m, chunk))) {
        fadi_memory_give(m);
        return NULL;
    }
    return m;
}

void fadi_memory_give(struct fadi_memory *m)
{
    if (m->slot_room > KEEP_DOUBLES || m->row_room > KEEP_DOUBLES || !fadi_stock_give(memories, PLACES, WINDOW, m))
        free_memory(m);
}

static __attribute__((destructor)) void free_all(void)
{
    struct fadi_memory *m;
    while ((m = fadi_stock_take(memories, PLACES, PLACES)))
        free_memory(m);
}
