/** @file plan.c  One call of a sum by a program: what is done once, before and after the fold. */
#include <stdlib.h>
#include <string.h>

#include "ad/program/run.h"

static size_t pages_of(size_t count)
{
    return count / FADI_PAGE + 1;
}

/* ---- Before ---- */

static int invalid(struct fadi_call *c, const char *reason)
{
    c->reason = reason;
    return FAD_EINVAL;
}

static int check_program(struct fadi_call *c, const struct fad_program *p)
{
    const struct fad_sum *s = c->s;
    if (p->term != s->term)
        return invalid(c, "the program was made from another term");
    if (p->shared_count != s->shared_count || p->y_count != c->y_count)
        return invalid(c, "the program was made for another number of shared parameters or values");
    if (p->touch_count != (s->touch ? s->touch_count : 0))
        return invalid(c, "the program was made for another touch_count");
    return FAD_OK;
}

/* Whether elements have one form and lie in rows; else which form belongs to which kind and length. */
static int find_places(struct fadi_plan *p)
{
    struct fadi_call *c = p->c;
    const struct fad_sum *s = c->s;
    bool one = !s->x_offsets && !s->x_blocks && !s->kind;
    for (size_t f = p->program->form_count; f-- > 0;)
        p->quick[(p->program->forms[f].kind * 5 + p->program->forms[f].own) % FADI_QUICK] = (uint16_t)(f + 1);
    p->rows = one && !s->touch && !p->checks;
    if (!one || (p->program->form_count == 1 && p->program->forms[0].own == s->x_count))
        return FAD_OK;
    return invalid(c, "the program was made for another x_count");
}

static size_t form_at(struct fadi_plan *p, size_t k)
{
    struct fadi_span x;
    return fadi_locate(p->c, k, &x) ? p->program->form_count : fadi_plan_form_of(p, fadi_kind_of(p->c, k), x.count);
}

/* How many elements have each form, if a code asks for it. */
static void count_terms(struct fadi_plan *p)
{
    bool asked = false;
    for (size_t f = 0; f < p->program->form_count; f++)
        for (size_t i = 0; i < p->forms[f].code->inputs; i++)
            asked |= p->forms[f].code->scalars[i].op == FADI_G_TERMS;
    if (asked && p->rows)
        p->forms[0].terms = p->c->n;
    for (size_t k = p->c->first; asked && !p->rows && k < p->c->first + p->c->n; k++) {
        size_t form = form_at(p, k);
        if (form < p->program->form_count) /* others fail in their leaf */
            p->forms[form].terms++;
    }
}

static double input_of(const struct fadi_plan *p, const struct fadi_plan_form *f, const struct fadi_scalar *s)
{
    const struct fad_sum *sum = p->c->s;
    uint32_t j = s->operand[0];
    if (s->op == FADI_G_SHARED)
        return sum->shared[j];
    if (s->op == FADI_G_TERMS)
        return (double)f->terms;
    return p->r->shared_tangent && !(sum->shared_fixed && sum->shared_fixed[j]) ? p->r->shared_tangent[j] : 0.0;
}

static int run_prologue(struct fadi_plan *p, struct fadi_plan_form *f)
{
    const struct fadi_code *code = f->code;
    f->registers = malloc((code->registers + (size_t)1) * sizeof *f->registers);
    if (!f->registers)
        return FAD_ENOMEM;
    memcpy(f->registers, code->constants, code->constant_count * sizeof *f->registers);
    for (size_t i = 0; i < code->inputs; i++)
        f->registers[code->scalars[i].result] = input_of(p, f, code->scalars + i);
    fadi_run_scalars(code->scalars + code->inputs, code->prologue, f->registers);
    return FAD_OK;
}

/* An element of this call that has the form: the one that was recorded, if it is there, or the first one; else the end. */
static size_t element_of(struct fadi_plan *p, size_t form)
{
    size_t k = p->forms[form].form->element, end = p->c->first + p->c->n;
    if (p->rows || (k >= p->c->first && k < end && form_at(p, k) == form))
        return k >= p->c->first && k < end ? k : p->c->first;
    for (k = p->c->first; k < end && form_at(p, k) != form;)
        k++;
    return k;
}

/* Records one element again: arrays of fad_data may have moved, and what the term reads from elsewhere must not have changed. */
static int refresh(struct fadi_plan *p, size_t form)
{
    struct fadi_plan_form *f = p->forms + form;
    size_t k = element_of(p, form);
    struct fadi_span x;
    unsigned op;
    if (k >= p->c->first + p->c->n)
        return FAD_OK;
    int rc = fadi_locate(p->c, k, &x);
    if (rc)
        return rc;
    rc = fadi_capture(p->c, k, &x, false, &f->fresh);
    if (rc == FAD_ENOMEM || rc == FAD_EOVERFLOW)
        return rc;
    if (rc || fadi_capture_differ(&f->form->capture, &f->fresh, &op) != FADI_NO_NODE) {
        p->c->reason = "the term does something else than when the program was made: create it again";
        return FAD_ESTALE;
    }
    f->bases = f->fresh.bases;
    return FAD_OK;
}

static int plan_form(struct fadi_plan *p, size_t form)
{
    struct fadi_plan_form *f = p->forms + form;
    int rc;
    f->code = fadi_form_code(p->program, f->form, p->wanted, &rc);
    if (!f->code)
        return rc;
    size_t slots = f->code->slots * (f->form->block + FADI_LANES);
    for (size_t i = 0; i < f->code->out_count; i++)
        f->own_columns += f->code->out[i].what == FADI_WANT_OWN;
    for (size_t i = 0; i < f->code->in_count; i++)
        p->needs_k |= f->code->in[i].what != FADI_G_X;
    f->first_sum = p->sums;
    p->sums += f->code->sums;
    p->slot_doubles = slots > p->slot_doubles ? slots : p->slot_doubles;
    f->bases = f->form->capture.bases;
    return p->c->s->program ? refresh(p, form) : FAD_OK;
}

static int prepare(struct fadi_plan *p)
{
    struct fadi_call *c = p->c;
    int rc = check_program(c, p->program);
    p->forms = calloc(p->program->form_count + 1, sizeof *p->forms);
    p->replay = fadi_replay_choose();
    p->needs_k = c->s->touch || c->s->x_blocks;
    for (size_t f = 0; p->forms && f < p->program->form_count; f++)
        p->forms[f].form = p->program->forms + f;
    if (!rc)
        rc = p->forms ? find_places(p) : FAD_ENOMEM;
    for (size_t f = 0; f < p->program->form_count && !rc; f++)
        rc = plan_form(p, f);
    if (!rc)
        count_terms(p);
    for (size_t f = 0; f < p->program->form_count && !rc; f++)
        rc = run_prologue(p, p->forms + f);
    if (rc)
        return rc;
    p->lines = p->sums / FADI_LINE + 1;
    p->sum_pages = pages_of(p->sums);
    p->pick_pages = pages_of(c->s->shared_count);
    if (c->s->touch)
        p->picked = c->y_count * ((p->wanted & FADI_WANT_SHARED ? 1 : 0) + (p->wanted & FADI_WANT_SECOND ? 1 : 0));
    p->beside = p->sums <= FADI_BESIDE_MAX && !p->picked;
    c->store = fadi_keep_store();
    if (!c->store)
        return FAD_ENOMEM;
    c->wants_x = p->r->wants_x;
    fadi_accs_start(&c->store->accs, p->beside ? 0 : p->sum_pages + p->picked * p->pick_pages);
    if (!p->r->x_tangent)
        return c->wants_x ? fadi_prepare_x(c) : FAD_OK;
    rc = fadi_seed_x(c);
    if (!rc)
        p->x_tangent = p->r->x_tangent + p->r->direction * fadi_place_of(c, c->s->terms);
    return rc;
}

/* ---- After ---- */

static void add_outputs(double *to, const uint32_t *from, size_t count, const double *registers)
{
    for (size_t i = 0; to && from && i < count; i++)
        if (from[i] != FADI_NO_NODE)
            to[i] += registers[from[i]];
}

static void run_epilogues(const struct fadi_plan *p, const struct fadi_partial *total)
{
    const struct fadi_request *r = p->r;
    size_t y = p->c->y_count, shared = y * p->c->s->shared_count;
    for (size_t i = 0; i < p->program->form_count; i++) {
        struct fadi_plan_form *f = p->forms + i;
        const struct fadi_code *code = f->code;
        double *sums = f->registers + code->first_sum;
        for (size_t j = 0; j < code->sums; j++)
            sums[j] = p->beside ? fadi_canonical(total->sums[f->first_sum + j]) : 0.0;
        if (total->acc)
            fadi_acc_read_at(total->acc, 1 + f->first_sum, code->sums, sums);
        fadi_run_scalars(code->scalars + code->inputs + code->prologue, code->epilogue, f->registers);
        add_outputs(r->value, code->value, y, f->registers);
        add_outputs(r->shared, code->shared, shared, f->registers);
        add_outputs(r->tangent, code->tangent, y, f->registers);
        add_outputs(r->second, code->second, shared, f->registers);
    }
}

static void clear(double *to, size_t count)
{
    for (size_t i = 0; to && i < count; i++)
        to[i] = 0.0;
}

static void make_canonical(const struct fadi_plan *p, double *to, size_t count, bool shared)
{
    const struct fad_sum *s = p->c->s;
    for (size_t i = 0; to && i < count; i++)
        to[i] = shared && s->shared_fixed && s->shared_fixed[i % s->shared_count] ? 0.0 : fadi_canonical(to[i]);
}

static void read_picked(const struct fadi_plan *p, const struct fadi_acc *acc, double *to, size_t region)
{
    size_t shared = p->c->s->shared_count;
    for (size_t o = 0; to && acc && o < p->c->y_count; o++)
        fadi_acc_read(acc, p->sum_pages + (region + o) * p->pick_pages, shared, to + o * shared);
}

/* Nothing fails any more. */
static void deliver(fad_pool *pool, const struct fadi_plan *p, const struct fadi_partial *total)
{
    struct fadi_acc *acc = total->acc;
    const struct fadi_request *r = p->r;
    size_t y = p->c->y_count, shared = y * p->c->s->shared_count;
    clear(r->value, y);
    clear(r->tangent, y);
    clear(r->shared, shared);
    clear(r->second, shared);
    run_epilogues(p, total);
    if (p->picked) {
        read_picked(p, acc, r->shared, 0);
        read_picked(p, acc, r->second, p->wanted & FADI_WANT_SHARED ? y : 0);
    }
    make_canonical(p, r->value, y, false);
    make_canonical(p, r->tangent, y, false);
    make_canonical(p, r->shared, shared, true);
    make_canonical(p, r->second, shared, true);
    if (p->wanted & FADI_WANT_OWN)
        fadi_deliver_x(pool, p->c, r->x);
    if (acc) {
        fadi_acc_empty(acc, p->c->store->accs.pages);
        fadi_acc_give(&p->c->store->accs, acc);
    }
}

/* ---- The call ---- */

static size_t beside(const struct fadi_plan *p)
{
    return p->beside ? p->sums : 0;
}

static void identity(void *partial, void *plan)
{
    struct fadi_partial *a = partial;
    a->acc = NULL;
    clear(a->sums, beside(plan));
}

static void combine(void *left, const void *right, void *plan)
{
    struct fadi_partial *a = left;
    const struct fadi_partial *b = right;
    struct fadi_accs *accs = &((struct fadi_plan *)plan)->c->store->accs;
    for (size_t i = 0; i < beside(plan); i++)
        a->sums[i] += b->sums[i];
    if (!a->acc) {
        a->acc = b->acc;
    } else if (b->acc) {
        fadi_acc_add(a->acc, b->acc, accs->pages);
        fadi_acc_give(accs, b->acc);
    }
}

/* The reason why an element failed is found again, since leaves have nowhere to put a sentence. */
static int fail_at(struct fadi_plan *p, int status, const struct fad_failure *why)
{
    struct fad_failure reason;
    fadi_call_fail_at(p->c, status, why);
    if (status == FAD_EDATADEPENDENT && p->c->s->failure && why->index != SIZE_MAX) {
        size_t form = form_at(p, why->index);
        if (form < p->program->form_count && fadi_uniform_element(p->forms[form].form, p->c, why->index, &reason))
            p->c->s->failure->reason = reason.reason;
    }
    return status;
}

static int fold(fad_pool *pool, struct fadi_plan *p)
{
    struct fad_monoid monoid = {sizeof(struct fadi_partial) + beside(p) * sizeof(double), alignof(struct fadi_partial),
                                identity, combine};
    struct fad_failure why;
    struct fad_fold_options options = fadi_call_options(p->c, &why);
    union {
        struct fadi_partial partial;
        double room[sizeof(struct fadi_partial) / sizeof(double) + FADI_BESIDE_MAX];
    } total;
    int rc = fad_fold(pool, p->c->n, &monoid, fadi_program_leaf, p, &options, &total);
    if (rc)
        return fail_at(p, rc, &why);
    deliver(pool, p, &total.partial);
    return FAD_OK;
}

static unsigned wanted_by(const struct fadi_request *r)
{
    return (r->value ? FADI_WANT_VALUE : 0u) | (r->shared ? FADI_WANT_SHARED : 0u) | (r->wants_x ? FADI_WANT_OWN : 0u) |
           (r->tangent ? FADI_WANT_TANGENT : 0u) | (r->second ? FADI_WANT_SECOND : 0u);
}

static bool asks_for_checks(void)
{
    const char *v = getenv("FAD_CHECK");
    return v && v[0] == '1' && v[1] == '\0';
}

int fadi_program_run(fad_pool *pool, struct fadi_call *c, struct fad_program *program, const struct fadi_request *r)
{
    struct fadi_plan p = {.c = c, .program = program, .r = r, .wanted = wanted_by(r), .checks = asks_for_checks()};
    int rc = fadi_call_fail(c, prepare(&p));
    if (!rc)
        rc = fold(pool, &p);
    for (size_t f = 0; p.forms && f < program->form_count; f++) {
        free(p.forms[f].registers);
        fadi_capture_fini(&p.forms[f].fresh);
    }
    free(p.forms);
    fadi_call_finish(c, rc != FAD_OK);
    return rc;
}

int fadi_program_open(struct fadi_call *c, struct fad_program **p, bool *made)
{
    struct fad_failure why;
    *p = c->s->rule ? NULL : (struct fad_program *)c->s->program;
    *made = false;
    if (*p || !c->s->uniform || c->s->rule || c->n == 0)
        return FAD_OK;
    int rc = fadi_program_new(p, c, &why);
    if (rc == FAD_ENOMEM || rc == FAD_EOVERFLOW)
        return fadi_call_fail(c, rc);
    *made = rc == FAD_OK;
    return FAD_OK; /* the tape takes all other terms, and tells about those that fail */
}

void fadi_program_close(struct fad_program *p, bool made)
{
    if (made)
        fadi_program_free(p);
}

int fadi_program_try(fad_pool *pool, struct fadi_call *c, const struct fadi_request *r, bool *done)
{
    struct fad_program *p;
    bool made;
    int rc = fadi_program_open(c, &p, &made);
    *done = rc || p;
    if (!rc && p)
        rc = fadi_program_run(pool, c, p, r);
    fadi_program_close(p, made);
    return rc;
}
