/** @file scalars.c  Prologue and epilogue: one number at a time. */
#include "ad/program/code.h"

void fadi_run_scalars(const struct fadi_scalar *s, size_t count, double *r)
{
    for (const struct fadi_scalar *end = s + count; s < end; s++) {
        double a = r[s->operand[0]], b = r[s->operand[1]], c = r[s->operand[2]], v;
        switch (s->op) {
        case FADI_OP_ADD:
            v = a + b;
            break;
        case FADI_OP_MUL:
            v = a * b;
            break;
        case FADI_OP_FMA:
            v = fma(a, b, c);
            break;
        default:
            v = fadi_graph_value(s->op, a, b, c);
        }
        r[s->result] = v;
    }
}
