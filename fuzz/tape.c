/* Random programs of operations on a tape. The first byte is read as options, then there are six inputs, each a byte for its
 * kind and up to eight for its value, then three bytes a step: the operation, and a seed that its operands come from.
 *
 * Options: with bit 0 steps are kept where they are smooth and moderate, and the result is compared with long double and
 * with differences (tests/expression_check.c). Without it, anything is done to anything, infinities and NaN included, and
 * the same operations have to come to the same bits on plain numbers, on a tape, on a traced tape, and on one that has
 * recorded something else in between and come back to a mark. Bits 2 - 7: which inputs are constants there. */
#include "tests/expression.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct bytes {
    const uint8_t *at;
    size_t left;
};

static unsigned next_byte(struct bytes *b)
{
    if (b->left == 0)
        return 0;
    b->left--;
    return *b->at++;
}

static double next_number(struct bytes *b)
{
    static const double special[] = {0.0, -0.0, 1.0, -1.0, 0.5, 2.0, INFINITY, -INFINITY,
                                     NAN, 1e308, -1e308, 5e-324, 710.0, -2.5, 0x1p-30, 1e17};
    unsigned kind = next_byte(b);
    if (kind < 64)
        return special[kind % (sizeof special / sizeof *special)];
    unsigned high = next_byte(b), low = next_byte(b);
    if (kind < 192)
        return (double)(int16_t)(high << 8 | low) * 0x1p-12;
    uint64_t bits = (uint64_t)high << 8 | low;
    for (int i = 0; i < 6; i++)
        bits = bits << 8 | next_byte(b);
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* The next step, on registers below `registers`. */
static void next_step(struct bytes *b, struct step *s, unsigned registers)
{
    enum operation op = (enum operation)(next_byte(b) % OP_COUNT);
    unsigned high = next_byte(b);
    struct dice d = {(high << 8 | next_byte(b)) * UINT64_C(0x100000000)};
    step_random_on(s, op, &d, registers);
}

static void stop(const char *why)
{
    fprintf(stderr, "%s\n", why);
    abort();
}

static fad_tape *tape_of(bool traced)
{
    static fad_tape *tapes[2];
    if (tapes[traced] == NULL) {
        tapes[traced] = fad_tape_create();
        if (tapes[traced] == NULL || fad_tape_trace(tapes[traced], traced) != 0)
            stop("no tape");
    }
    if (fad_tape_rewind(tapes[traced], NULL) != 0)
        stop("a tape cannot be emptied");
    return tapes[traced];
}

/* ---- smooth ---- */

static void smooth(struct bytes *b, double *inputs)
{
    struct expression e = {0};
    fad_real r[EXPRESSION_REGISTERS];
    char why[256];
    for (unsigned j = 0; j < EXPRESSION_INPUTS; j++) {
        if (!(fabs(inputs[j]) < 64) || (inputs[j] != 0 && fabs(inputs[j]) < 1e-9))
            inputs[j] = 1.5;
        r[j] = fad_const(inputs[j]);
    }
    while (b->left > 0 && e.steps + 1 < EXPRESSION_STEPS) {
        struct step *s = e.step + e.steps;
        unsigned to = EXPRESSION_INPUTS + e.steps;
        long double operand[EXPRESSION_OPERANDS];
        next_step(b, s, to);
        for (unsigned k = 0; k < s->count; k++)
            operand[k] = r[s->operand[k]].value;
        if (!step_acceptable(s, operand))
            continue;
        r[to] = expression_step(NULL, s, r);
        e.steps++;
    }
    if (e.steps < 2)
        return;
    expression_finish(&e, e.steps + 1);
    if (!expression_holds(tape_of(false), &e, inputs, why, sizeof why) ||
        !expression_holds(tape_of(true), &e, inputs, why, sizeof why))
        stop(why);
}

/* ---- anything ---- */

struct outcome {
    double value[EXPRESSION_REGISTERS], gradient[EXPRESSION_INPUTS];
    uint64_t digest;
};

/* Which bits a NaN has is the processor's choice of operand, until it is delivered. */
static bool same_value(double a, double b)
{
    return is_bits(a, b) || (isnan(a) && isnan(b));
}

/* Runs e; with stray: half of it, something else, and back. */
static void run(fad_tape *t, const struct expression *e, const double *inputs, unsigned constants, bool stray,
                struct outcome *o)
{
    fad_real r[EXPRESSION_REGISTERS], end[EXPRESSION_REGISTERS];
    unsigned last = EXPRESSION_INPUTS + e->steps - 1;
    for (unsigned j = 0; j < EXPRESSION_INPUTS; j++)
        r[j] = t == NULL || constants >> j & 1 ? fad_const(inputs[j]) : fad_input(t, inputs[j]);
    for (unsigned i = 0; i < e->steps; i++) {
        if (stray && i == e->steps / 2) {
            struct fad_mark mark = fad_tape_mark(t);
            memcpy(end, r, sizeof end);
            for (unsigned k = i; k < e->steps; k++)
                end[EXPRESSION_INPUTS + k] = fad_mul(t, fad_input(t, 3), expression_step(t, e->step + k, end));
            if (fad_tape_rewind(t, &mark) != 0)
                stop("a mark is refused");
        }
        r[EXPRESSION_INPUTS + i] = expression_step(t, e->step + i, r);
    }
    for (unsigned i = 0; i <= last; i++)
        o->value[i] = r[i].value;
    if (t == NULL)
        return;
    o->digest = fad_tape_digest(t);
    if (fad_tape_reverse(t, r[last], 1, EXPRESSION_INPUTS, r, o->gradient) != 0)
        stop("the sweep fails");
    double again[EXPRESSION_INPUTS];
    if (fad_tape_reverse(t, r[last], 1, EXPRESSION_INPUTS, r, again) != 0 ||
        !same_bits(again, o->gradient, sizeof again))
        stop("a second sweep differs");
}

static void compare(const struct outcome *a, const struct outcome *b, unsigned registers, const char *why)
{
    for (unsigned i = 0; i < registers; i++)
        if (!same_value(a->value[i], b->value[i]))
            stop(why);
}

static void anything(struct bytes *b, const double *inputs, unsigned constants)
{
    struct expression e = {0};
    struct outcome plain, tape, traced, stray;
    while (b->left > 0 && e.steps < EXPRESSION_STEPS) {
        next_step(b, e.step + e.steps, EXPRESSION_INPUTS + e.steps);
        e.steps++;
    }
    if (e.steps == 0)
        return;
    unsigned registers = EXPRESSION_INPUTS + e.steps;
    run(NULL, &e, inputs, constants, false, &plain);
    run(tape_of(false), &e, inputs, constants, false, &tape);
    run(tape_of(true), &e, inputs, constants, false, &traced);
    run(tape_of(false), &e, inputs, constants, true, &stray);
    compare(&plain, &tape, registers, "values with and without derivatives differ");
    compare(&tape, &traced, registers, "values on a traced tape differ");
    compare(&tape, &stray, registers, "values after a rewind differ");
    if (!same_bits(tape.gradient, traced.gradient, sizeof tape.gradient))
        stop("the gradient of a traced tape differs");
    if (!same_bits(tape.gradient, stray.gradient, sizeof tape.gradient) || tape.digest != stray.digest)
        stop("the recording after a rewind differs");
    for (unsigned j = 0; j < EXPRESSION_INPUTS; j++)
        if ((tape.gradient[j] == 0 && signbit(tape.gradient[j])) || (constants >> j & 1 && tape.gradient[j] != 0))
            stop("-0, or the gradient of a constant");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bytes b = {data, size};
    double inputs[EXPRESSION_INPUTS];
    unsigned options = next_byte(&b);
    for (unsigned j = 0; j < EXPRESSION_INPUTS; j++)
        inputs[j] = next_number(&b);
    if (options & 1)
        smooth(&b, inputs);
    else
        anything(&b, inputs, options >> 2);
    return 0;
}
