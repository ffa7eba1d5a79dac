/* The executors of programs: every instruction in every width of vectors gives the bits of the scalar functions, for numbers of
 * all sizes, and sums over the elements go lane by lane in the order that is their definition. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ad/program/code.h"
#include "ad/tape.h"

enum { BLOCK = 128, STRIDE = BLOCK + 8, SLOTS = 12, REGISTERS = 8, SUMS = 12 };

static const struct executor {
    const char *name;
    fadi_replay *run;
} executors[] = {
    {"generic", fadi_replay_generic},
#if defined(__x86_64__)
    {"avx2", fadi_replay_avx2},
    {"avx512", fadi_replay_avx512},
#endif
};
enum { EXECUTORS = sizeof executors / sizeof executors[0] };

static bool can_run(const struct executor *e)
{
#if defined(__x86_64__)
    return e->run != fadi_replay_avx512 || fadi_replay_choose() == fadi_replay_avx512;
#else
    return e->run == fadi_replay_generic;
#endif
}

static uint64_t bits_of(double v)
{
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    return bits;
}

/* Equal, or both NaN: of a NaN only that it is one comes out of a sum. */
static bool same(double a, double b)
{
    return bits_of(a) == bits_of(b) || (a != a && b != b);
}

static double *memory(size_t count)
{
    double *m = fadi_own_lines(count * sizeof *m);
    assert_non_null(m);
    memset(m, 0, count * sizeof *m);
    return m;
}

/* Corners first, then numbers of all sizes. */
static double number(size_t i)
{
    static const double corners[] = {0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, INFINITY, -INFINITY, NAN, 0x1p-1074, -0x1p-1030,
                                     0x1p1023, 709.5, -709.5, 745.0, 710.0, 0x1p1010, -3.0, 27.0, 1e-20, 800.0, 28.5, -28.5,
                                     3.14159265358979312, 1e5, -1e-300, 171.5, 0x1p-460, 0x1p501};
    enum { CORNERS = sizeof corners / sizeof corners[0] };
    if (i < CORNERS)
        return corners[i];
    uint64_t h = i * UINT64_C(0x9e3779b97f4a7c15);
    h = (h ^ h >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
    double unit = (double)(h >> 12) * 0x1p-52 * (h & 1 ? -1.0 : 1.0);
    return i % 3 ? unit * 10.0 : ldexp(unit, (int)(h % 200) - 100);
}

static bool is_mask(unsigned op)
{
    return op == FADI_OP_AND || op == FADI_OP_OR || op == FADI_OP_NOT || op == FADI_OP_SELECT;
}

/* Operand j of lane i in round r; masks where masks are read. */
static double operand(unsigned op, unsigned j, size_t i, size_t r)
{
    static const size_t apart[] = {1, 31, 17};
    double v = number((i * apart[j] + r * BLOCK * (j + 1)) % 4001);
    return is_mask(op) && (op != FADI_OP_SELECT || j == 0) ? fadi_graph_value(FADI_OP_LT, v, 0.0, 0.0) : v;
}

/* Registers may stand for operands of these, in any combination but all of them; of select not for the mask. */
static bool takes_pattern(unsigned op, unsigned pattern)
{
    unsigned arity = fadi_graph_arity(op);
    if (pattern == 0)
        return true;
    if (arity < 2 || pattern >= (1u << arity) - 1)
        return false;
    switch (op) {
    case FADI_OP_ADD: case FADI_OP_SUB: case FADI_OP_MUL: case FADI_OP_DIV: case FADI_OP_MULZ: case FADI_G_MULZZ:
    case FADI_G_DIVZ: case FADI_OP_LT: case FADI_OP_LE: case FADI_OP_EQ: case FADI_OP_FMA: case FADI_G_FMS: case FADI_G_FNMA:
        return true;
    default:
        return op == FADI_OP_SELECT && !(pattern & 1);
    }
}

static void run_one(const struct executor *e, unsigned op, unsigned pattern, size_t r)
{
    double *slots = memory(SLOTS * STRIDE), registers[REGISTERS];
    unsigned arity = fadi_graph_arity(op);
    uint32_t words[8] = {op << FADI_CODE_SHIFT | pattern, 0};
    size_t count = r % 2 ? BLOCK : BLOCK - 3;
    for (unsigned j = 0; j < arity; j++) {
        words[2 + j] = pattern >> j & 1 ? j : j + 1;
        registers[j] = operand(op, j, 5, r);
        for (size_t i = 0; i < BLOCK; i++)
            slots[(j + 1) * STRIDE + i] = operand(op, j, i, r);
    }
    words[2 + arity] = (uint32_t)FADI_CODE_END << FADI_CODE_SHIFT;
    e->run(words, &(struct fadi_frame){slots, STRIDE, registers, NULL, count});
    for (size_t i = 0; i < count; i++) {
        double x[3] = {0, 0, 0};
        for (unsigned j = 0; j < arity; j++)
            x[j] = pattern >> j & 1 ? registers[j] : slots[(j + 1) * STRIDE + i];
        double expected = fadi_graph_value(op, x[0], x[1], x[2]);
        if (!same(slots[i], expected))
            fail_msg("%s: %s, pattern %x, of %a, %a, %a: %a, should be %a", e->name, fadi_graph_name(op), pattern, x[0], x[1],
                     x[2], slots[i], expected);
    }
    free(slots);
}

static void operations_have_the_scalar_bits(void **state)
{
    (void)state;
    unsigned seen = 0;
    for (unsigned e = 0; e < EXECUTORS; e++)
        for (unsigned op = 1; op < FADI_G_END && can_run(executors + e); op++) {
            if (fadi_graph_arity(op) == 0 || op == FADI_G_SUM || op == FADI_OP_PRODUCT)
                continue;
            for (unsigned pattern = 0; pattern < 8; pattern++)
                for (size_t r = 0; r < 16 && takes_pattern(op, pattern); r++, seen++)
                    run_one(executors + e, op, pattern, r);
        }
    assert_true(seen > 1000);
}

/* ---- Sums ---- */

static double tree(const double *l)
{
    return ((l[0] + l[4]) + (l[2] + l[6])) + ((l[1] + l[5]) + (l[3] + l[7]));
}

static double sum_of(const double *a, const double *b, size_t count)
{
    double l[8] = {0, 0, 0, 0, 0, 0, 0, 0};
    for (size_t i = 0; i < count; i++)
        l[i % 8] = b ? fma(a[i], b[i], l[i % 8]) : l[i % 8] + a[i];
    return tree(l);
}

/* kind: FADI_CODE_ACC, _GER or _PAIRS, n sums of count elements. */
static void check_sums(const struct executor *e, unsigned kind, uint32_t n, size_t count)
{
    double *slots = memory(SLOTS * STRIDE), sums[SUMS];
    uint32_t words[64], *w = words;
    for (size_t i = 0; i < SLOTS * STRIDE; i++)
        slots[i] = number(100 + i);
    for (unsigned i = 0; i < SUMS; i++)
        sums[i] = 1.0;
    *w++ = kind << FADI_CODE_SHIFT;
    if (kind == FADI_CODE_GER)
        *w++ = SLOTS - 1;
    *w++ = n;
    for (uint32_t j = 0; j < n; j++) {
        *w++ = j;
        if (kind == FADI_CODE_PAIRS)
            *w++ = (j + 3) % SLOTS;
        *w++ = n - 1 - j;
    }
    *w = (uint32_t)FADI_CODE_END << FADI_CODE_SHIFT;
    e->run(words, &(struct fadi_frame){slots, STRIDE, NULL, sums, count});
    for (uint32_t j = 0; j < n; j++) {
        const double *b = kind == FADI_CODE_ACC ? NULL : slots + (kind == FADI_CODE_GER ? SLOTS - 1 : (j + 3) % SLOTS) * STRIDE;
        double expected = 1.0 + sum_of(slots + j * STRIDE, b, count);
        if (!same(sums[n - 1 - j], expected))
            fail_msg("%s: kind %u, %u sums, %zu elements, sum %u: %a, should be %a", e->name, kind, n, count, j,
                     sums[n - 1 - j], expected);
    }
    free(slots);
}

static void sums_go_lane_by_lane(void **state)
{
    static const size_t counts[] = {1, 2, 7, 8, 9, 15, 16, 17, 64, 127, 128};
    (void)state;
    for (unsigned e = 0; e < EXECUTORS; e++)
        for (unsigned c = 0; c < sizeof counts / sizeof counts[0] && can_run(executors + e); c++)
            for (uint32_t n = 1; n < SLOTS; n++)
                for (unsigned kind = FADI_CODE_GER; kind <= FADI_CODE_ACC; kind++)
                    check_sums(executors + e, kind, n, counts[c]);
}

/* ---- Chains ---- */

static double link_value(unsigned kind, bool first, double sum, double a, double b)
{
    if (kind == FADI_CODE_POLY)
        return fma(sum, a, b);
    if (kind == FADI_CODE_ADD)
        return sum + a;
    return first ? a * b : fma(a, b, sum);
}

/* The result goes to slot `result`, which may be an operand's too. */
static void check_chain(const struct executor *e, unsigned kind, unsigned how, uint32_t n, uint32_t result, size_t count)
{
    double *slots = memory(SLOTS * STRIDE), *before = memory(SLOTS * STRIDE), registers[REGISTERS];
    uint32_t words[64], *w = words;
    for (size_t i = 0; i < SLOTS * STRIDE; i++)
        before[i] = slots[i] = number(200 + i);
    for (unsigned i = 0; i < REGISTERS; i++)
        registers[i] = number(300 + i);
    *w++ = kind << FADI_CODE_SHIFT | how;
    *w++ = result;
    *w++ = 2;
    *w++ = n;
    for (uint32_t j = 0; j < n; j++) {
        if (kind == FADI_CODE_DOT_U)
            *w++ = j % REGISTERS;
        *w++ = (j + 1) % SLOTS;
        if (kind == FADI_CODE_DOT_V || kind == FADI_CODE_POLY)
            *w++ = kind == FADI_CODE_POLY ? j % REGISTERS : (j + 5) % SLOTS;
    }
    *w = (uint32_t)FADI_CODE_END << FADI_CODE_SHIFT;
    e->run(words, &(struct fadi_frame){slots, STRIDE, registers, NULL, count});
    for (size_t i = 0; i < count; i++) {
        double sum = how == FADI_START_SLOT ? before[2 * STRIDE + i] : how == FADI_START_REGISTER ? registers[2] : 0.0;
        for (uint32_t j = 0; j < n; j++) {
            double v = before[(j + 1) % SLOTS * STRIDE + i], u = registers[j % REGISTERS];
            sum = link_value(kind, j == 0 && how == FADI_START_NONE, sum, kind == FADI_CODE_DOT_U ? u : v,
                             kind == FADI_CODE_DOT_U ? v : kind == FADI_CODE_POLY ? u : before[(j + 5) % SLOTS * STRIDE + i]);
        }
        if (!same(slots[result * STRIDE + i], sum))
            fail_msg("%s: kind %u, start %u, %u links, lane %zu: %a, should be %a", e->name, kind, how, n, i,
                     slots[result * STRIDE + i], sum);
    }
    free(slots);
    free(before);
}

static void chains_are_their_links(void **state)
{
    static const size_t counts[] = {1, 8, 40, 121, 128};
    (void)state;
    for (unsigned e = 0; e < EXECUTORS; e++)
        for (unsigned kind = FADI_CODE_DOT_U; kind <= FADI_CODE_POLY && can_run(executors + e); kind++)
            for (unsigned how = 0; how <= FADI_START_NONE; how++)
                for (uint32_t n = 1; n < 11; n++)
                    for (unsigned c = 0; c < sizeof counts / sizeof counts[0]; c++)
                        if (how != FADI_START_NONE || kind == FADI_CODE_DOT_U || kind == FADI_CODE_DOT_V)
                            check_chain(executors + e, kind, how, n, c % SLOTS, counts[c]);
}

/* ---- Rows ---- */

enum { WIDE = 45, APART = 47, FIRST = 3, ROW_MOST = WIDE - FIRST };

/* Rows of elements, anywhere in memory; those beyond the last element are the last one's again. */
static double *make_rows(const double **row, size_t count)
{
    double *data = malloc((count * APART + 1) * sizeof *data);
    assert_non_null(data);
    for (size_t i = 0; i < count * APART + 1; i++)
        data[i] = number(400 + i);
    for (size_t i = 0; i < BLOCK; i++)
        row[i] = data + 1 + (i < count ? i : count - 1) * APART;
    return data;
}

static void check_dot_row(const struct executor *e, unsigned how, uint32_t n, size_t count)
{
    double *slots = memory(2 * STRIDE), registers[ROW_MOST], before[BLOCK];
    const double *row[BLOCK];
    double *data = make_rows(row, count);
    uint32_t words[64] = {(uint32_t)FADI_CODE_DOT_ROW << FADI_CODE_SHIFT | how, 1, how == FADI_START_REGISTER ? 2 : 1, n, FIRST};
    for (size_t i = 0; i < BLOCK; i++)
        before[i] = slots[STRIDE + i] = number(200 + i);
    for (uint32_t j = 0; j < ROW_MOST; j++) {
        registers[j] = number(300 + j);
        words[5 + j] = ROW_MOST - 1 - j;
    }
    words[5 + n] = (uint32_t)FADI_CODE_END << FADI_CODE_SHIFT;
    e->run(words, &(struct fadi_frame){slots, STRIDE, registers, NULL, count, .rows = row});
    for (size_t i = 0; i < count; i++) {
        double sum = how == FADI_START_SLOT ? before[i] : how == FADI_START_REGISTER ? registers[2] : 0.0;
        for (uint32_t j = 0; j < n; j++)
            sum = link_value(FADI_CODE_DOT_U, j == 0 && how == FADI_START_NONE, sum, registers[ROW_MOST - 1 - j], row[i][FIRST + j]);
        if (!same(slots[STRIDE + i], sum))
            fail_msg("%s: start %u, %u components, lane %zu: %a, should be %a", e->name, how, n, i, slots[STRIDE + i], sum);
    }
    free(data);
    free(slots);
}

static void check_outer_row(const struct executor *e, uint32_t n, size_t count)
{
    double *slots = memory(STRIDE), sums[ROW_MOST], column[BLOCK];
    const double *row[BLOCK];
    double *data = make_rows(row, count);
    uint32_t words[64] = {(uint32_t)FADI_CODE_GER_ROW << FADI_CODE_SHIFT, 0, n, FIRST};
    for (size_t i = 0; i < BLOCK; i++)
        slots[i] = number(200 + i);
    for (uint32_t j = 0; j < n; j++) {
        sums[j] = 1.0;
        words[4 + j] = n - 1 - j;
    }
    words[4 + n] = (uint32_t)FADI_CODE_END << FADI_CODE_SHIFT;
    e->run(words, &(struct fadi_frame){slots, STRIDE, NULL, sums, count, .rows = row});
    for (uint32_t j = 0; j < n; j++) {
        for (size_t i = 0; i < count; i++)
            column[i] = row[i][FIRST + j];
        double expected = 1.0 + sum_of(slots, column, count);
        if (!same(sums[n - 1 - j], expected))
            fail_msg("%s: %u components, %zu elements, sum %u: %a, should be %a", e->name, n, count, j, sums[n - 1 - j], expected);
    }
    free(data);
    free(slots);
}

static void rows_are_read_where_they_lie(void **state)
{
    static const size_t counts[] = {1, 7, 8, 9, 16, 23, 24, 121, 128};
    (void)state;
    for (unsigned e = 0; e < EXECUTORS; e++)
        for (unsigned c = 0; c < sizeof counts / sizeof counts[0] && can_run(executors + e); c++)
            for (uint32_t n = 8; n <= ROW_MOST; n++) {
                for (unsigned how = 0; how <= FADI_START_NONE; how++)
                    check_dot_row(executors + e, how, n, counts[c]);
                check_outer_row(executors + e, n, counts[c]);
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operations_have_the_scalar_bits),
        cmocka_unit_test(sums_go_lane_by_lane),
        cmocka_unit_test(chains_are_their_links),
        cmocka_unit_test(rows_are_read_where_they_lie),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
