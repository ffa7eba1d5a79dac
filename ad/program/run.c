/** @file run.c  One leaf of a sum: its elements in blocks, form by form. */
#include <stdlib.h>
#include <string.h>

#include "ad/program/run.h"

/* One block. */
struct block {
    const struct fadi_plan *plan;
    const struct fadi_plan_form *f;
    struct fadi_memory *m;
    struct fadi_frame frame;
    size_t count;
    size_t k[FADI_BLOCK_MAX];
    struct fadi_span x[FADI_BLOCK_MAX];
};

static double *column(const struct block *b, const struct fadi_column *c)
{
    return b->frame.slots + c->slot * b->frame.stride;
}

/* ---- What the body reads ---- */

static const uint32_t *picks(const struct block *b, size_t i)
{
    const struct fad_sum *s = b->plan->c->s;
    return s->touch + b->k[i] * s->touch_count;
}

static void load_column(const struct block *b, const struct fadi_column *c)
{
    double *to = column(b, c);
    const struct fadi_plan *p = b->plan;
    switch (c->what) {
    case FADI_G_X:
        for (size_t i = 0; i < b->count; i++)
            to[i] = b->x[i].data[c->index];
        break;
    case FADI_G_X_TANGENT:
        for (size_t i = 0; i < b->count; i++)
            to[i] = p->x_tangent && !(p->c->s->x_fixed && p->c->s->x_fixed[c->index])
                        ? p->x_tangent[fadi_place_of(p->c, b->k[i]) + c->index]
                        : 0.0;
        break;
    case FADI_G_DATA:
        for (size_t i = 0; i < b->count; i++)
            to[i] = b->f->bases[c->index][b->k[i] * b->f->form->build.column_stride[c->index]];
        break;
    case FADI_G_TOUCH:
        for (size_t i = 0; i < b->count; i++)
            to[i] = p->c->s->shared[picks(b, i)[c->index]];
        break;
    default:
        for (size_t i = 0; i < b->count; i++) {
            uint32_t at = picks(b, i)[c->index];
            to[i] = p->r->shared_tangent && !(p->c->s->shared_fixed && p->c->s->shared_fixed[at]) ? p->r->shared_tangent[at] : 0.0;
        }
    }
    for (size_t i = b->count; i % FADI_LANES; i++) /* lanes that do not count compute with numbers that do */
        to[i] = to[b->count - 1];
}

/* ---- What it leaves ---- */

static void store_each(const struct block *b, const struct fadi_column *c, const double *from)
{
    struct fadi_call *call = b->plan->c;
    for (size_t i = 0; i < b->count; i++)
        call->term_values[(b->k[i] - call->first) * call->y_count + c->index] = fadi_canonical(from[i]);
}

static bool stores_own(const struct block *b, size_t i)
{
    const struct fadi_call *c = b->plan->c;
    return !c->x_overlaps && !(c->s->x_blocks && !c->s->x_blocks[b->k[i]].gradient);
}

static void store_own(const struct block *b, const struct fadi_column *c, const double *from)
{
    struct fadi_call *call = b->plan->c;
    size_t own = b->f->form->own, o = c->index / own, j = c->index % own;
    if (call->s->x_fixed && call->s->x_fixed[j])
        return;
    for (size_t i = 0; i < b->count; i++)
        if (stores_own(b, i))
            call->x_built[o * call->x_total + b->x[i].start + j] = fadi_canonical(from[i]);
}

/* Components that are fixed, or that the term does not use, have no column. */
static void clear_own(const struct block *b)
{
    struct fadi_call *call = b->plan->c;
    size_t columns = 0, own = b->f->form->own;
    for (size_t i = 0; i < b->f->code->out_count; i++)
        columns += b->f->code->out[i].what == FADI_WANT_OWN;
    if (columns == own * call->y_count && !call->s->x_fixed)
        return;
    for (size_t i = 0; i < b->count; i++)
        for (size_t o = 0; o < call->y_count && stores_own(b, i); o++)
            memset(call->x_built + o * call->x_total + b->x[i].start, 0, own * sizeof *call->x_built);
}

static double *pick_row(const struct block *b, unsigned what, size_t o)
{
    const struct fadi_plan *p = b->plan;
    size_t region = what == FADI_WANT_SECOND && (p->wanted & FADI_WANT_SHARED) ? p->c->y_count + o : o;
    return b->m->row + (p->sum_pages + region * p->pick_pages) * FADI_PAGE;
}

/* In the order of the elements, and of each one's parameters. */
static void scatter(const struct block *b)
{
    const struct fadi_code *code = b->f->code;
    size_t touched = b->plan->c->s->touch_count;
    for (size_t i = 0; i < b->count; i++)
        for (size_t j = 0; j < code->out_count; j++) {
            const struct fadi_column *c = code->out + j;
            if (c->what != FADI_WANT_SHARED && c->what != FADI_WANT_SECOND)
                continue;
            double *row = pick_row(b, c->what, c->index / touched);
            size_t at = picks(b, i)[c->index % touched] + (size_t)1;
            row[at] += column(b, c)[i];
            b->m->marks[((size_t)(row - b->m->row) + at) / FADI_LINE] = 1;
        }
}

static void store_outputs(const struct block *b)
{
    const struct fadi_code *code = b->f->code;
    if (b->plan->wanted & FADI_WANT_OWN)
        clear_own(b);
    for (size_t j = 0; j < code->out_count; j++) {
        const struct fadi_column *c = code->out + j;
        if (c->what == FADI_WANT_EACH)
            store_each(b, c, column(b, c));
        else if (c->what == FADI_WANT_OWN)
            store_own(b, c, column(b, c));
    }
    if (b->plan->picked)
        scatter(b);
}

/* ---- A leaf ---- */

static void run_block(struct block *b)
{
    const struct fadi_code *code = b->f->code;
    if (b->count == 0)
        return;
    b->frame.count = b->count;
    for (size_t j = 0; j < code->in_count; j++)
        load_column(b, code->in + j);
    b->plan->replay(code->words, &b->frame);
    store_outputs(b);
    b->count = 0;
}

static void start_form(struct block *b, size_t form)
{
    const struct fadi_plan *p = b->plan;
    b->f = p->forms + form;
    b->frame = (struct fadi_frame){.slots = b->m->slots,
                                   .stride = b->f->form->block + FADI_LANES,
                                   .registers = b->f->registers,
                                   .sums = b->m->row + 1 + b->f->first_sum};
}

static void run_form(struct block *b, size_t form, size_t begin, size_t end)
{
    const struct fadi_plan *p = b->plan;
    start_form(b, form);
    for (size_t k = begin; k < end; k++) {
        if (p->form_of && p->form_of[k - p->c->first] != form)
            continue;
        b->k[b->count] = k;
        fadi_locate(p->c, k, b->x + b->count);
        if (++b->count == b->f->form->block)
            run_block(b);
    }
    run_block(b);
}

/* Whatever may be wrong with an element's description, in order: the lowest one is reported. */
static int check(const struct fadi_plan *p, size_t k)
{
    const struct fad_sum *s = p->c->s;
    struct fad_failure why;
    struct fadi_span x;
    size_t form = p->form_of ? p->form_of[k - p->c->first] : 0;
    int rc = fadi_locate(p->c, k, &x);
    for (size_t j = 0; j < s->touch_count && !rc; j++)
        if (s->touch[k * s->touch_count + j] >= s->shared_count)
            rc = FAD_EINVAL;
    if (!rc && p->checks)
        rc = fadi_uniform_element(p->forms[form].form, p->c, k, &why);
    return rc;
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
    const struct fad_sum *s = p->c->s;
    bool every = s->x_offsets || s->x_blocks || s->touch || p->checks;
    for (size_t k = begin; k < end && every; k++) {
        int rc = check(p, k);
        if (rc) {
            *failed = k;
            return fadi_call_own(p->c, k, rc);
        }
    }
    struct fadi_memory *m = fadi_memory_take(p->slot_doubles, (p->sum_pages + p->picked * p->pick_pages) * FADI_PAGE);
    struct block b;
    if (!m)
        return fadi_call_own(p->c, begin, FAD_ENOMEM);
    b.plan = p;
    b.m = m;
    b.count = 0;
    for (size_t f = 0; f < p->program->form_count; f++)
        run_form(&b, f, begin, end);
    int rc = move(p, m, partial);
    fadi_memory_give(m);
    return fadi_call_own(p->c, begin, rc);
}
