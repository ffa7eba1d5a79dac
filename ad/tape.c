/** @file tape.c  Life and growth of tapes. */
#include "ad/second.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* What a new tape has room for; a longer recording doubles it. */
#define FIRST_NODES 1024u
#define FIRST_WORDS 1024u
/* Numbers of recordings are drawn from the process's counter in blocks, so that the counter's line stays quiet. */
#define STAMP_BLOCK 256u
/* A tape that waits for its next use keeps no array of more bytes than this. */
#define KEEP_BYTES ((size_t)64 << 20)

uint32_t fadi_family(void)
{
    static _Atomic uint32_t families;
    /* relaxed: only the number matters */
    uint32_t number = atomic_fetch_add_explicit(&families, 1, memory_order_relaxed);
    return fadi_codeword(number, FADI_FAMILY_BITS) << FADI_FAMILY_SHIFT;
}

void fadi_tape_more_stamps(struct fadi_tape *t)
{
    static _Atomic uint32_t blocks;
    /* relaxed: only the number matters */
    t->stamp_next = atomic_fetch_add_explicit(&blocks, 1, memory_order_relaxed) * STAMP_BLOCK;
    t->stamps_left = STAMP_BLOCK;
}

static void set_limit(struct fadi_tape *t)
{
    t->head.limit = t->error || t->traced || t->recorder || t->busy ? 0 : t->capacity;
}

static void set_capacity(struct fadi_tape *t)
{
    uint64_t nodes = t->base + t->node_room;
    t->capacity = nodes < t->row ? nodes : t->row;
    t->head.nodes = (uintptr_t)t->nodes - (uintptr_t)t->base * sizeof *t->nodes;
    set_limit(t);
}

/* Rows of `row` adjoints; what the shared parameters have collected is kept. */
static int grow_adjoints(struct fadi_tape *t, size_t row)
{
    size_t kept = t->base < t->row ? t->base : 0;
    if (row > SIZE_MAX / sizeof(double) / t->rows)
        return FAD_EOVERFLOW;
    double *adjoints = calloc(t->rows * row, sizeof *adjoints);
    unsigned char *touched = calloc(t->rows * row / FADI_LINE, 1);
    if (!adjoints || !touched) {
        free(adjoints);
        free(touched);
        return FAD_ENOMEM;
    }
    for (size_t r = 0; kept && r < t->rows; r++) {
        memcpy(adjoints + r * row, t->adjoints + r * t->row, kept * sizeof *adjoints);
        memcpy(touched + r * row / FADI_LINE, t->touched + r * t->row / FADI_LINE, kept / FADI_LINE);
    }
    free(t->adjoints);
    free(t->touched);
    t->adjoints = adjoints;
    t->touched = touched;
    t->adjoint_total = t->rows * row;
    t->row = row;
    return FAD_OK;
}

static int grow_nodes(struct fadi_tape *t, uint64_t room)
{
    if (room > SIZE_MAX / sizeof *t->nodes)
        return FAD_EOVERFLOW;
    if (t->traced && t->trace_room < room) {
        struct fadi_trace *trace = realloc(t->trace, (size_t)room * sizeof *trace);
        if (!trace)
            return FAD_ENOMEM;
        t->trace = trace;
        t->trace_room = (size_t)room;
    }
    if (room <= t->node_room)
        return FAD_OK;
    struct fad_node *nodes = realloc(t->nodes, (size_t)room * sizeof *nodes);
    if (!nodes)
        return FAD_ENOMEM;
    t->nodes = nodes;
    t->node_room = (size_t)room;
    return FAD_OK;
}

int fadi_tape_reserve(struct fadi_tape *t, uint64_t end)
{
    uint64_t local = end - t->base, room = t->node_room ? t->node_room : FIRST_NODES;
    int rc = FAD_OK;
    if (end <= t->capacity && !(t->traced && t->trace_room < local))
        return FAD_OK;
    if (end > FADI_ID_END)
        return FAD_EOVERFLOW;
    while (room < local)
        room *= 2;
    if (room > FADI_ID_END - t->base)
        room = FADI_ID_END - t->base;
    rc = grow_nodes(t, room);
    if (!rc && t->base + room > t->row)
        rc = grow_adjoints(t, (size_t)((t->base + room + FADI_PAGE - 1) / FADI_PAGE * FADI_PAGE));
    set_capacity(t); /* also after a failure: the nodes may have moved */
    return rc;
}

int fadi_tape_bind(struct fadi_tape *t, uint64_t base, size_t rows, uint32_t family)
{
    t->family = family;
    if (t->base == base && t->rows == rows)
        return FAD_OK;
    /* All adjoints are zero, so that a new layout costs nothing as long as it fits. */
    size_t row = t->adjoint_total / rows / FADI_PAGE * FADI_PAGE;
    t->base = base;
    t->rows = rows;
    t->row = row > base ? row : 0;
    for (size_t r = 0; t->row && r < rows; r++)
        memset(t->touched + r * t->row / FADI_LINE, 0, (size_t)base / FADI_LINE);
    set_capacity(t);
    int rc = fadi_tape_reserve(t, base + FIRST_NODES);
    if (rc)
        t->rows = 0; /* bound to nothing: the next one has to lay it out again */
    return rc;
}

int fadi_tape_reserve_words(struct fadi_tape *t, size_t count)
{
    size_t room = t->word_room ? t->word_room : FIRST_WORDS;
    if (count <= t->word_room - t->word_count)
        return FAD_OK;
    if (count > UINT32_MAX - t->word_count)
        return FAD_EOVERFLOW;
    while (room < t->word_count + count)
        room *= 2;
    union fadi_word *words = realloc(t->words, room * sizeof *words);
    if (!words)
        return FAD_ENOMEM;
    t->words = words;
    t->word_room = room;
    return FAD_OK;
}

int fadi_tape_reserve_scratch(struct fadi_tape *t, size_t count)
{
    if (count <= t->scratch_room)
        return FAD_OK;
    if (count > SIZE_MAX / 2 / sizeof *t->scratch)
        return FAD_EOVERFLOW;
    count += count / 2;
    fad_real *scratch = malloc(count * sizeof *scratch);
    if (!scratch)
        return FAD_ENOMEM;
    free(t->scratch);
    t->scratch = scratch;
    t->scratch_room = count;
    return FAD_OK;
}

void fadi_tape_trim(struct fadi_tape *t)
{
    fadi_branches_free(&t->branches, 0);
    fadi_second_free(t, KEEP_BYTES);
    if (t->node_room > KEEP_BYTES / sizeof *t->nodes || t->adjoint_total > KEEP_BYTES / sizeof *t->adjoints) {
        free(t->nodes);
        free(t->adjoints);
        free(t->touched);
        t->nodes = NULL;
        t->adjoints = NULL;
        t->touched = NULL;
        t->node_room = t->adjoint_total = t->row = t->rows = 0;
    }
    if (t->word_room > KEEP_BYTES / sizeof *t->words) {
        free(t->words);
        t->words = NULL;
        t->word_room = t->word_count = 0;
    }
    if (t->scratch_room > KEEP_BYTES / sizeof *t->scratch) {
        free(t->scratch);
        t->scratch = NULL;
        t->scratch_room = 0;
    }
}

struct fadi_tape *fadi_tape_new(void)
{
    struct fadi_tape *t = fadi_own_lines(sizeof *t);
    if (!t)
        return NULL;
    memset(t, 0, sizeof *t);
    if (fadi_tape_bind(t, FADI_FIRST_ID, 1, fadi_family()) || fadi_tape_reserve_words(t, FIRST_WORDS) || !fadi_arena_start(t)) {
        fadi_tape_free(t);
        return NULL;
    }
    fadi_tape_restart(t, 0);
    return t;
}

void fadi_tape_free(struct fadi_tape *t)
{
    fadi_branches_free(&t->branches, 0);
    fadi_arena_end(t);
    fadi_second_free(t, 0);
    free(t->nodes);
    free(t->adjoints);
    free(t->touched);
    free(t->words);
    free(t->trace);
    free(t->scratch);
    free(t);
}

void fadi_tape_fail(struct fadi_tape *t, int error)
{
    if (!t->error)
        t->error = error;
    set_limit(t);
}

void fadi_tape_set_recorder(struct fadi_tape *t, const struct fadi_recorder *recorder, void *recording)
{
    t->recorder = recorder;
    t->recording = recording;
    set_limit(t);
}

bool fadi_tape_hold(struct fadi_tape *t)
{
    if (t->busy)
        return false;
    t->busy = true;
    atomic_store_explicit(&t->misused, false, memory_order_relaxed); /* nobody else has the tape yet */
    set_limit(t);
    return true;
}

int fadi_tape_release(struct fadi_tape *t)
{
    t->busy = false;
    set_limit(t);
    /* relaxed: whoever has set it has been joined since */
    return atomic_load_explicit(&t->misused, memory_order_relaxed) ? FAD_EHANDLE : FAD_OK;
}

int fad_tape_destroy(fad_tape *t)
{
    if (!t)
        return FAD_OK;
    if (fadi_tape_of(t)->lent || fadi_tape_of(t)->busy)
        return FAD_EBUSY;
    fadi_tape_free(fadi_tape_of(t));
    return FAD_OK;
}

int fad_tape_error(const fad_tape *t)
{
    return t ? fadi_tape_of_const(t)->error : FAD_EINVAL;
}

void fad_fail(fad_tape *t, int code)
{
    if (t && !fadi_tape_refuses(fadi_tape_of(t)))
        fadi_tape_fail(fadi_tape_of(t), code > 0 ? code : FAD_EINVAL);
}

size_t fad_element_count(const fad_tape *t)
{
    return t ? fadi_tape_of_const(t)->element_count : 0;
}

struct fad_mark fad_tape_mark(const fad_tape *t)
{
    struct fad_mark m = {0, 0, 0, 0};
    if (t) {
        m.next = t->next;
        m.words = fadi_tape_of_const(t)->word_count;
        m.stamp = t->stamp;
    }
    return m;
}

int fad_tape_rewind(fad_tape *t, const struct fad_mark *mark)
{
    struct fadi_tape *tape = fadi_tape_of(t);
    if (!t)
        return FAD_EINVAL;
    if (tape->lent || tape->busy)
        return FAD_EBUSY;
    if (!mark) {
        fadi_tape_restart(tape, 0);
        return FAD_OK;
    }
    if (mark->stamp != t->stamp || mark->next > t->next || mark->words > tape->word_count)
        return FAD_EHANDLE;
    if (tape->error)
        return tape->error;
    if (t->next > tape->dead_end)
        tape->dead_end = t->next;
    t->next = mark->next;
    fadi_branches_free(&tape->branches, mark->next);
    tape->word_count = (size_t)mark->words;
    return FAD_OK;
}

int fad_tape_trace(fad_tape *t, bool on)
{
    struct fadi_tape *tape = fadi_tape_of(t);
    if (!t)
        return FAD_EINVAL;
    if (tape->lent || tape->busy || t->next != tape->base)
        return FAD_EBUSY;
    if (tape->error)
        return tape->error;
    tape->traced = on;
    set_limit(tape);
    return FAD_OK;
}
