/** @file program.h  The inside of a program: one form for each kind of term and each number of an element's own values.
 *
 *   capture.c            a term is recorded
 *   primal.c             the recording becomes a graph (graph.c, value.c)
 *   reverse.c forward.c  derivatives, as more of the graph (partial.c, sums.c)
 *   lower.c select.c slots.c  the graph becomes code
 *   uniform.c form.c     whether a term is what it promised; a form and its codes
 *   program.c            the public calls
 *   plan.c run.c         one call of a sum; one worker's part of it (replay.c, scalars.c)
 *
 * Threads: a form is not changed after its creation, except that codes are added when a call first needs them: under the lock,
 * published by release, so that any number of threads may use a program at once. */
#ifndef FADI_PROGRAM_PROGRAM_H
#define FADI_PROGRAM_PROGRAM_H

#include <pthread.h>

#include "ad/program/build.h"
#include "ad/program/code.h"

#define FADI_WANTED_END 32u

struct fadi_form {
    uint32_t kind;
    size_t own;     /* an element's own values */
    size_t element; /* one that has this form */
    struct fadi_capture capture;
    struct fadi_build build;
    size_t block;
    bool has_gradient, has_tangent, has_second;         /* parts of the graph */
    _Atomic(struct fadi_code *) codes[FADI_WANTED_END]; /* by what is wanted */
};

struct fad_program {
    size_t shared_count, touch_count, y_count;
    fad_term *term;
    size_t form_count;
    struct fadi_form *forms;
    pthread_mutex_t lock;
};

/** Records the terms of a call and checks that they are uniform. FAD_OK, FAD_ENOMEM, FAD_EOVERFLOW, FAD_EDATADEPENDENT,
 * FAD_EUNSUPPORTED, or what the term returned; why is filled with element and reason. */
int fadi_program_new(struct fad_program **p, const struct fadi_call *c, struct fad_failure *why);
void fadi_program_free(struct fad_program *p);

/** The form's code for what is wanted. NULL: *rc says why. */
const struct fadi_code *fadi_form_code(struct fad_program *p, struct fadi_form *f, unsigned wanted, int *rc);
int fadi_form_init(struct fadi_form *f, const struct fadi_call *c, struct fad_failure *why);
void fadi_form_fini(struct fadi_form *f);
/** Forms of one program at most: descriptions with more kinds and lengths are left to the tape. */
#define FADI_FORMS_MAX 256u
/** The form of elements of a kind and length, or form_count. */
size_t fadi_program_form_of(const struct fad_program *p, uint32_t kind, size_t own);
static inline uint32_t fadi_kind_of(const struct fadi_call *c, size_t k)
{
    return c->s->kind ? c->s->kind[k] : 0;
}

/** Whether element k does what the form's recording says. */
int fadi_uniform_element(const struct fadi_form *f, const struct fadi_call *c, size_t k, struct fad_failure *why);
/** Whether the form's element does the same with other numbers and under other k. */
int fadi_uniform_form(const struct fadi_form *f, const struct fadi_call *c, struct fad_failure *why);

#endif
