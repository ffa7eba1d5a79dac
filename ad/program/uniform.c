/** @file uniform.c  Whether a term does what it promised: the same operations for every element.
 *
 * A recording with NaN for all inputs finds what depends on their values (branches, constants made from them); recordings of
 * the same numbers under other k find what depends on k or on the user's data, and those of other elements with their own numbers
 * find branches that NaN does not take. None of them sees everything: a table that happens to agree in the elements that were
 * looked at does. Comparing every element (FAD_CHECK=1) does see it. */
#include "ad/program/program.h"

#include <string.h>

#define HASHED 5

/* Sentences by the operation in which two recordings differ first. */
#define SENTENCES(text)                                                                                                \
    {                                                                                                                  \
        FADI_UNARY_OPS(text##1) FADI_BINARY_OPS(text##2) FADI_OTHER_OPS(text##0)                                       \
    }
#define VALUES0(kind, name)                                                                                            \
    [FADI_OP_##kind] = "what the term does depends on its numbers: recordings differ first in " #name,
#define VALUES1(kind, name, V, P) VALUES0(kind, name)
#define VALUES2(kind, name, V, P, Q) VALUES0(kind, name)
#define ELEMENTS0(kind, name)                                                                                          \
    [FADI_OP_##kind] = "the term does not do the same for this element: recordings differ first in " #name,
#define ELEMENTS1(kind, name, V, P) ELEMENTS0(kind, name)
#define ELEMENTS2(kind, name, V, P, Q) ELEMENTS0(kind, name)
static const char *const by_values[FADI_OP_COUNT] = SENTENCES(VALUES);
static const char *const by_element[FADI_OP_COUNT] = SENTENCES(ELEMENTS);

static const char *sentence(const char *const *list, unsigned op)
{
    if (op < FADI_OP_COUNT && list[op])
        return list[op];
    return list == by_values ? "what the term does depends on its numbers: recordings have different lengths or results"
           : op == FADI_G_DATA
               ? "the term does not read the same array by fad_data for this element"
               : "the term does not do the same for this element: recordings have different lengths or results";
}

static int refuse(struct fad_failure *why, int status, size_t k, const char *reason)
{
    *why = (struct fad_failure){status, k, status > 0 ? status : 0, reason ? reason : fad_strerror(status)};
    return status;
}

/* b, a recording of element k, against a. */
static int compare(const struct fadi_capture *a, const struct fadi_capture *b, const char *const *list, size_t k,
                   struct fad_failure *why)
{
    unsigned op = FADI_OP_NONE;
    if (b->error == FAD_ENOMEM || b->error == FAD_EOVERFLOW)
        return refuse(why, b->error, k, b->reason);
    if (b->error)
        return refuse(why, FAD_EDATADEPENDENT, k,
                      b->error == FAD_EDATADEPENDENT ? b->reason : "the term fails for some elements or numbers only");
    if (fadi_capture_differ(a, b, &op) != FADI_NO_NODE)
        return refuse(why, FAD_EDATADEPENDENT, k, sentence(list, op));
    return FAD_OK;
}

int fadi_uniform_element(const struct fadi_form *f, const struct fadi_call *c, size_t k, struct fad_failure *why)
{
    struct fadi_capture p = {.entries = NULL};
    struct fadi_span x;
    int rc = fadi_locate(c, k, &x);
    if (!rc) {
        fadi_capture(c, k, &x, false, &p);
        rc = compare(&f->capture, &p, by_element, k, why);
    }
    fadi_capture_fini(&p);
    return rc;
}

/* Element number i of n, spread by a hash. */
static size_t hashed(size_t n, unsigned i)
{
    uint64_t h = (n + i + 1) * UINT64_C(0x9e3779b97f4a7c15);
    h = (h ^ h >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    return (size_t)((h ^ h >> 27) % n);
}

static size_t probe(const struct fadi_call *c, unsigned i)
{
    return c->first + (i == 0 ? 0 : i == 1 ? c->n / 2 : i == 2 ? c->n - 1 : hashed(c->n, i));
}

static bool has_form(const struct fadi_form *f, const struct fadi_call *c, size_t k)
{
    struct fadi_span x;
    return !fadi_locate(c, k, &x) && x.count == f->own && fadi_kind_of(c, k) == f->kind;
}

/* From k on, the next element that has the form; there is one. */
static size_t next_of(const struct fadi_form *f, const struct fadi_call *c, size_t k)
{
    while (!has_form(f, c, k))
        k = k + 1 < c->first + c->n ? k + 1 : c->first;
    return k;
}

/* The form's own element under another k. */
static int compare_under(const struct fadi_form *f, const struct fadi_call *c, size_t k, const struct fadi_span *x,
                         struct fadi_capture *p, struct fad_failure *why)
{
    fadi_capture(c, k, x, false, p);
    int rc = compare(&f->capture, p, by_element, k, why);
    return rc || fadi_capture_same_bases(&f->capture, p)
               ? rc
               : refuse(why, FAD_EDATADEPENDENT, k, sentence(by_element, FADI_G_DATA));
}

int fadi_uniform_form(const struct fadi_form *f, const struct fadi_call *c, struct fad_failure *why)
{
    struct fadi_capture p = {.entries = NULL};
    struct fadi_span x;
    int rc = fadi_locate(c, f->element, &x);
    if (!rc) {
        fadi_capture(c, f->element, &x, true, &p);
        rc = compare(&f->capture, &p, by_values, f->element, why);
    }
    for (unsigned i = 0; i < 3 + HASHED && !rc; i++) {
        size_t k = next_of(f, c, probe(c, i));
        rc = compare_under(f, c, k, &x, &p, why);
        if (!rc)
            rc = fadi_uniform_element(f, c, k, why);
    }
    fadi_capture_fini(&p);
    return rc;
}
