/** @file run.c  One leaf of a sum: its elements in blocks, form by form. */
#include <stdlib.h>
#include <string.h>

#include "ad/program/block.h"

/* Rows of so many bytes in all are fetched ahead: less may be in a cache, and then it only costs time. */
#define FETCH_FROM ((size_t)2 << 20)

static void run_block(struct fadi_block *b)
{
    if (b->count == 0)
        return;
    b->lanes = (b->count + FADI_LANES - 1) / FADI_LANES * FADI_LANES;
    for (size_t i = b->count; i < b->lanes; i++) {
        b->row[i] = b->row[b->count - 1];
        if (b->plan->x_tangent)
            b->tangent[i] = b->tangent[b->count - 1];
    }
    b->frame.count = b->count;
    fadi_block_load(b);
    b->plan->replay(b->f->code->words, &b->frame);
    fadi_block_store(b);
    b->count = 0;
}

static void start_form(struct fadi_block *b, size_t form)
{
    const struct fadi_plan *p = b->plan;
    b->f = p->forms + form;
    b->count = 0;
    b->frame = (struct fadi_frame){.slots = b->m->slots,
                                   .stride = b->f->form->block + FADI_LANES,
                                   .registers = b->f->registers,
                                   .sums = b->sums + b->f->first_sum,
                                   .rows = b->row};
}

/* Elements in rows of one length, the usual case. */
static void run_rows(struct fadi_block *b, size_t begin, size_t end)
{
    const struct fadi_call *c = b->plan->c;
    const struct fad_sum *s = c->s;
    size_t stride = s->x_stride ? s->x_stride : s->x_count, block = b->f->form->block;
    size_t bytes = c->n * stride * sizeof(double) < FETCH_FROM ? 0 : block * stride * sizeof(double);
    b->frame.fetch_step = (bytes / (b->f->code->body_count + 1) + 64) / 64 * 64;
    for (size_t k = begin; k < end; k += block) {
        b->count = end - k < block ? end - k : block;
        const double *row = s->x + k * stride;
        for (size_t i = 0; i < b->count; i++, row += stride)
            b->row[i] = row;
        for (size_t i = 0; b->plan->x_tangent && i < b->count; i++)
            b->tangent[i] = b->plan->x_tangent + (k + i) * stride;
        for (size_t i = 0; b->plan->needs_k && i < b->count; i++)
            b->k[i] = k + i;
        for (size_t i = 0; c->wants_x && i < b->count; i++)
            b->start[i] = (k + i - c->first) * s->x_count;
        b->frame.fetch = (uintptr_t)row;
        b->frame.fetch_end = (uintptr_t)row + bytes;
        run_block(b);
    }
}

/* Elements of one form in a sorted chunk. */
static void run_sorted(struct fadi_block *b, const struct fadi_chunk *c, uint32_t from, uint32_t to)
{
    for (; from < to; from++) {
        size_t i = c->order[from];
        b->k[b->count] = c->begin + i;
        b->row[b->count] = c->row[i];
        b->start[b->count] = c->start[i];
        if (b->plan->x_tangent)
            b->tangent[b->count] = b->plan->x_tangent + fadi_place_of(b->plan->c, c->begin + i);
        if (++b->count == b->f->form->block)
            run_block(b);
    }
    run_block(b);
}

static int run_chunks(struct fadi_block *b, struct fadi_plan *p, size_t begin, size_t end, size_t *failed)
{
    uint32_t first[FADI_FORMS_MAX + 1];
    size_t forms = p->program->form_count;
    for (; begin < end; begin += FADI_CHUNK) {
        size_t count = end - begin < FADI_CHUNK ? end - begin : FADI_CHUNK;
        int rc = fadi_chunk_fill(b->m->chunk, p, begin, begin + count, failed);
        if (rc)
            return rc;
        fadi_chunk_sort(b->m->chunk, forms, first);
        for (size_t f = 0; f < forms; f++) {
            start_form(b, f);
            run_sorted(b, b->m->chunk, first[f], first[f + 1]);
        }
    }
    return FAD_OK;
}

/* Moves the row to the accumulator; it is zero afterwards. */
static int move(const struct fadi_plan *p, struct fadi_memory *m, struct fadi_partial *to)
{
    struct fadi_accs *accs = &p->c->store->accs;
    if (!to->acc)
        to->acc = fadi_acc_take(accs);
    int rc = fadi_acc_move(to->acc, 0, m->row, NULL, p->lines);
    for (size_t i = 0; i < p->picked; i++) {
        size_t page = p->sum_pages + i * p->pick_pages;
        int moved = fadi_acc_move(to->acc, page, m->row + page * FADI_PAGE, m->marks + page * FADI_PAGE / FADI_LINE,
                                  p->c->s->shared_count / FADI_LINE + 1);
        rc = rc ? rc : moved;
    }
    return rc;
}

int fadi_program_leaf(size_t begin, size_t end, void *partial, void *plan, size_t *failed)
{
    struct fadi_plan *p = plan;
    struct fadi_partial *total = partial;
    size_t row = p->beside ? 0 : (p->sum_pages + p->picked * p->pick_pages) * FADI_PAGE;
    struct fadi_memory *m = fadi_memory_take(p->slot_doubles, row, !p->rows);
    struct fadi_block b;
    int rc = FAD_OK;
    if (!m)
        return fadi_call_own(p->c, begin, FAD_ENOMEM);
    b.plan = p;
    b.m = m;
    b.sums = p->beside ? total->sums : m->row + 1; /* after the place of the id that is nobody's */
    if (p->rows) {
        start_form(&b, 0);
        run_rows(&b, begin, end);
    } else {
        rc = run_chunks(&b, p, begin, end, failed);
    }
    /* after a failure too: the next user of the memory needs zeros */
    int moved = p->beside ? FAD_OK : move(p, m, total);
    fadi_memory_give(m);
    return rc ? rc : fadi_call_own(p->c, begin, moved);
}
