/** @file digest.c  A hash of a recording. */
#include "ad/tape.h"

#include <string.h>

/* Multiply and fold: a product of 64-bit words, its halves combined. Nothing here needs to withstand an adversary. */
uint64_t fadi_digest_mix(uint64_t h, uint64_t v)
{
    __extension__ typedef unsigned __int128 wide;
    wide product = (wide)(h ^ v ^ UINT64_C(0x9e3779b97f4a7c15)) * UINT64_C(0xd6e8feb86659fd93);
    return (uint64_t)product ^ (uint64_t)(product >> 64) ^ (h << 1 | h >> 63);
}

/* The sign of a zero counts; the bits of a NaN do not. */
uint64_t fadi_digest_double(uint64_t h, double v)
{
    uint64_t bits;
    if (v != v)
        v = fadi_canonical(v);
    memcpy(&bits, &v, sizeof bits);
    return fadi_digest_mix(h, bits);
}

static uint64_t mix_segments(uint64_t h, const union fadi_word *p)
{
    uint32_t head;
    do {
        uint32_t first = p->head.first, count;
        head = p->head.count;
        count = head & ~FADI_SEGMENT_MORE;
        p++;
        h = fadi_digest_mix(h, count);
        for (uint32_t i = 0; i < count; i++) {
            h = fadi_digest_mix(h, first ? first + i : p[count + i / 2].id[i % 2]);
            h = fadi_digest_double(h, p[i].partial);
        }
        p += count + (first ? 0 : (count + (size_t)1) / 2);
    } while (head & FADI_SEGMENT_MORE);
    return h;
}

static uint64_t mix_node(uint64_t h, const struct fadi_tape *t, uint64_t id)
{
    const struct fad_node *node = t->nodes + (id - t->base);
    if (node->a1 == FADI_NODE_MANY)
        return mix_segments(fadi_digest_mix(h, FADI_NODE_MANY), t->words + node->a0);
    if (node->a1 == FADI_NODE_CALL) {
        const union fadi_word *words = t->words + node->a0;
        h = fadi_digest_mix(fadi_digest_mix(h, FADI_NODE_CALL), words[1].call.results);
        return words[0].kind->digest(h, t, words + 2);
    }
    if (node->a1 == FADI_NODE_RESULT)
        return fadi_digest_mix(fadi_digest_mix(h, FADI_NODE_RESULT), node->a0);
    /* an operand that is the node itself is absent */
    h = fadi_digest_mix(h, node->a0 == id ? 0 : node->a0);
    h = fadi_digest_mix(h, node->a1 == id ? 0 : node->a1);
    h = fadi_digest_double(h, node->a0 == id ? 0.0 : node->p0);
    return fadi_digest_double(h, node->a1 == id ? 0.0 : node->p1);
}

uint64_t fad_tape_digest(const fad_tape *tape)
{
    const struct fadi_tape *t = fadi_tape_of_const(tape);
    uint64_t h = 1;
    if (!t)
        return 0;
    for (uint64_t id = t->base; id < tape->next; id++) {
        h = mix_node(h, t, id);
        if (t->traced) {
            h = fadi_digest_mix(h, t->trace[id - t->base].op);
            h = fadi_digest_double(h, t->trace[id - t->base].value);
        }
    }
    return fadi_digest_mix(h, tape->next - t->base);
}
