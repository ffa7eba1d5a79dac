/** @file program.c  Programs as users see them. */
#include <foldad/program.h>

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ad/program/program.h"

size_t fadi_program_form_of(const struct fad_program *p, uint32_t kind, size_t own)
{
    size_t i = 0;
    while (i < p->form_count && (p->forms[i].kind != kind || p->forms[i].own != own))
        i++;
    return i;
}

static bool one_form(const struct fad_sum *s)
{
    return !s->x_offsets && !s->x_blocks && !s->kind;
}

static int add_form(struct fad_program *p, uint32_t kind, size_t own, size_t k)
{
    if (p->form_count == FADI_FORMS_MAX)
        return FAD_EUNSUPPORTED;
    if ((p->form_count & (p->form_count - 1)) == 0) { /* full: it has room for a power of two */
        size_t room = p->form_count ? 2 * p->form_count : 1;
        struct fadi_form *forms = realloc(p->forms, room * sizeof *forms);
        if (!forms)
            return FAD_ENOMEM;
        p->forms = forms;
    }
    struct fadi_form *f = p->forms + p->form_count++;
    memset(f, 0, sizeof *f);
    f->kind = kind;
    f->own = own;
    f->element = k;
    return FAD_OK;
}

static int find_forms(struct fad_program *p, const struct fadi_call *c)
{
    size_t end = one_form(c->s) ? 1 : c->n, last = SIZE_MAX;
    int rc = FAD_OK;
    for (size_t k = c->first; k < c->first + end && !rc; k++) {
        struct fadi_span x;
        uint32_t kind = fadi_kind_of(c, k);
        if (fadi_locate(c, k, &x))
            return FAD_EINVAL;
        if (last < p->form_count && p->forms[last].kind == kind && p->forms[last].own == x.count)
            continue;
        last = fadi_program_form_of(p, kind, x.count);
        if (last == p->form_count)
            rc = add_form(p, kind, x.count, k);
    }
    return rc;
}

int fadi_program_new(struct fad_program **out, const struct fadi_call *c, struct fad_failure *why)
{
    struct fad_program *p = calloc(1, sizeof *p);
    *why = (struct fad_failure){FAD_ENOMEM, SIZE_MAX, 0, "no memory"};
    if (!p || pthread_mutex_init(&p->lock, NULL)) {
        free(p);
        return FAD_ENOMEM;
    }
    p->shared_count = c->s->shared_count;
    p->touch_count = c->s->touch ? c->s->touch_count : 0;
    p->y_count = c->y_count;
    p->term = c->s->term;
    int rc = find_forms(p, c);
    if (rc)
        *why = (struct fad_failure){rc, SIZE_MAX, 0,
                                    rc == FAD_EUNSUPPORTED ? "too many kinds and lengths of terms" : fad_strerror(rc)};
    for (size_t f = 0; f < p->form_count && !rc; f++) {
        rc = fadi_form_init(p->forms + f, c, why);
        if (rc && why->status != rc)
            *why = (struct fad_failure){rc, p->forms[f].element, 0, fad_strerror(rc)};
    }
    if (rc) {
        fadi_program_free(p);
        return rc;
    }
    *out = p;
    return FAD_OK;
}

void fadi_program_free(struct fad_program *p)
{
    for (size_t f = 0; f < p->form_count; f++)
        fadi_form_fini(p->forms + f);
    pthread_mutex_destroy(&p->lock);
    free(p->forms);
    free(p);
}

int fadi_program_create(fad_program **out, const struct fad_sum *s)
{
    struct fadi_call c;
    struct fad_failure why;
    struct fad_program *p;
    int rc = fadi_describe(&c, s);
    if (!rc && !out) {
        c.reason = "the place for the program is NULL";
        rc = FAD_EINVAL;
    }
    if (!rc && c.n == 0) {
        c.reason = "there is no element to record";
        rc = FAD_EINVAL;
    }
    if (rc)
        return fadi_call_fail(&c, rc);
    rc = fadi_program_new(&p, &c, &why);
    if (rc) {
        if (s->failure)
            *s->failure = why;
        return rc;
    }
    *out = p;
    return FAD_OK;
}

int fad_program_destroy(fad_program *p)
{
    if (p)
        fadi_program_free(p);
    return FAD_OK;
}

/* ---- Description ---- */

struct text {
    char *to;
    size_t size, length;
};

__attribute__((format(printf, 2, 3))) static void say(struct text *t, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    size_t room = t->length < t->size ? t->size - t->length : 0;
    int n = vsnprintf(room ? t->to + t->length : NULL, room, format, arguments);
    va_end(arguments);
    t->length += n > 0 ? (size_t)n : 0;
}

static void say_code(struct text *t, const struct fadi_form *f, const char *name, const struct fadi_code *c)
{
    size_t scratch = (c->slots * (f->block + FADI_LANES) + c->registers + c->sums) * sizeof(double);
    size_t bytes = c->word_count * sizeof *c->words + (c->inputs + c->prologue + c->epilogue) * sizeof *c->scalars +
                   (c->in_count + c->out_count) * sizeof *c->in;
    say(t, "  %s\n", name);
    say(t, "    prologue  %zu instructions, %u constants, %zu inputs\n", c->prologue, c->constant_count, c->inputs);
    say(t, "    body      %zu instructions, %u slots, %zu columns in, %zu out, %u sums\n", c->body_count, c->slots,
        c->in_count, c->out_count, c->sums);
    say(t, "    epilogue  %zu instructions\n", c->epilogue);
    say(t, "    code bytes: %zu\n    scratch bytes: %zu\n", bytes, scratch);
}

static void say_form(struct text *t, const struct fadi_form *f)
{
    static const char *const parts[] = {"value",   "shared gradient", "x gradient",
                                        "tangent", "Hessian product"};
    say(t, "form: kind %u, %zu values an element, %u operations recorded, block %zu\n", f->kind, f->own,
        f->capture.next - f->capture.shared - f->capture.own, f->block);
    for (unsigned i = 0; i < FADI_WANTED_END; i++) {
        /* acquire, as in form.c */
        const struct fadi_code *c = atomic_load_explicit(f->codes + i, memory_order_acquire);
        char name[96] = "";
        for (unsigned j = 0; c && j < 5; j++)
            if (i >> j & 1) {
                if (name[0])
                    strcat(name, ", ");
                strcat(name, parts[j]);
            }
        if (c)
            say_code(t, f, name, c);
    }
}

size_t fad_program_describe(const fad_program *p, char *to, size_t size)
{
    struct text t = {to, to ? size : 0, 0};
    if (!p)
        return 0;
    say(&t, "program: %zu shared parameters, %zu picked, %zu values, %zu forms\n", p->shared_count, p->touch_count,
        p->y_count, p->form_count);
    for (size_t f = 0; f < p->form_count; f++)
        say_form(&t, p->forms + f);
    return t.length;
}
