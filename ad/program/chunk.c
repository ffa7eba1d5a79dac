/** @file chunk.c  Elements of several forms, or anywhere in memory: found, checked and sorted, a chunk at a time. */
#include <string.h>

#include "ad/program/run.h"

size_t fadi_plan_form_of(struct fadi_plan *p, uint32_t kind, size_t own)
{
    size_t guess = p->quick[(kind * 5 + own) % FADI_QUICK];
    if (guess && p->program->forms[guess - 1].kind == kind && p->program->forms[guess - 1].own == own)
        return guess - 1;
    return fadi_program_form_of(p->program, kind, own);
}

/* Whatever may be wrong with element k. */
static int check(struct fadi_plan *p, size_t k, size_t form)
{
    const struct fad_sum *s = p->c->s;
    struct fad_failure why;
    if (form == p->program->form_count)
        return FAD_EINVAL;
    for (size_t j = 0; j < s->touch_count; j++)
        if (s->touch[k * s->touch_count + j] >= s->shared_count)
            return FAD_EINVAL;
    return p->checks ? fadi_uniform_element(p->forms[form].form, p->c, k, &why) : FAD_OK;
}

int fadi_chunk_fill(struct fadi_chunk *c, struct fadi_plan *p, size_t begin, size_t end, size_t *failed)
{
    struct fadi_call *call = p->c;
    c->begin = begin;
    c->count = end - begin;
    for (size_t k = begin; k < end; k++) {
        struct fadi_span x;
        int rc = fadi_locate(call, k, &x);
        size_t form = rc ? 0 : fadi_plan_form_of(p, fadi_kind_of(call, k), x.count);
        rc = rc ? rc : check(p, k, form);
        if (rc) {
            *failed = k;
            return fadi_call_own(call, k, rc);
        }
        c->form[k - begin] = (uint16_t)form;
        c->row[k - begin] = x.data;
        c->start[k - begin] = x.start;
    }
    return FAD_OK;
}

void fadi_chunk_sort(struct fadi_chunk *c, size_t forms, uint32_t *first)
{
    uint32_t next[FADI_FORMS_MAX + 1];
    memset(first, 0, (forms + 1) * sizeof *first);
    for (size_t i = 0; i < c->count; i++)
        first[c->form[i] + 1]++;
    for (size_t f = 0; f < forms; f++)
        first[f + 1] += first[f];
    memcpy(next, first, forms * sizeof *next);
    for (size_t i = 0; i < c->count; i++)
        c->order[next[c->form[i]]++] = (uint16_t)i;
}
