/** @file node.c  Nodes whose derivatives are a function's affair. */
#include "ad/tape.h"

enum { HEAD_WORDS = 2 }; /* kind and head */

int fadi_call_reserve(struct fadi_tape *t, size_t words, size_t n)
{
    if (words > UINT32_MAX - HEAD_WORDS || n >= FADI_ID_END)
        return FAD_EOVERFLOW;
    int rc = fadi_tape_reserve(t, t->head.next + 1 + n);
    return rc ? rc : fadi_tape_reserve_words(t, words + HEAD_WORDS);
}

union fadi_word *fadi_call_context(const struct fadi_tape *t)
{
    return t->words + t->word_count + HEAD_WORDS;
}

static void push(struct fadi_tape *t, unsigned op, double value, uint32_t a0, uint32_t a1)
{
    uint64_t at = t->head.next - t->base;
    t->nodes[at] = (struct fad_node){0.0, 0.0, a0, a1};
    if (t->traced)
        t->trace[at] = (struct fadi_trace){value, op};
    t->head.next++;
}

void fadi_call_push(struct fadi_tape *t, unsigned op, const struct fadi_kind *kind, size_t words, size_t n, fad_real *y)
{
    union fadi_word *at = t->words + t->word_count;
    at[0].kind = kind;
    at[1].call.results = (uint32_t)n;
    at[1].call.words = (uint32_t)words;
    push(t, op, 0.0, (uint32_t)t->word_count, FADI_NODE_CALL);
    for (size_t i = 0; i < n; i++) {
        y[i].id = (uint32_t)t->head.next;
        y[i].stamp = t->head.stamp;
        push(t, FADI_OP_RESULT, y[i].value, (uint32_t)i, FADI_NODE_RESULT);
    }
    t->word_count += words + HEAD_WORDS;
}
