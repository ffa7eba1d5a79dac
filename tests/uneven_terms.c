/* See uneven_terms.h. */
#include "tests/uneven_terms.h"

#include <stdlib.h>
#include <string.h>

double uneven_table[UNEVEN_MOST];

#define TERM(name) \
    static int name(fad_tape *t, size_t k, const fad_real *a, const fad_real *x, fad_real *y, void *user)
#define UNUSED (void)k, (void)user

/* ---- broken promises ---- */

TERM(odd_elements_add)
{
    (void)user;
    *y = k % 2 ? fad_add(t, a[0], x[0]) : fad_mul(t, a[0], x[0]);
    return 0;
}

TERM(odd_elements_do_more)
{
    (void)user;
    *y = fad_mul(t, a[0], x[0]);
    if (k % 2)
        *y = fad_add(t, *y, fad_square(t, a[1]));
    return 0;
}

/* the same operations on other operands */
TERM(picks_by_index)
{
    (void)user;
    *y = fad_mul(t, a[k % UNEVEN_SHARED], x[0]);
    return 0;
}

TERM(index_as_a_number)
{
    (void)user;
    *y = fad_mul(t, fad_mul(t, a[0], x[0]), (double)(k % 64));
    return 0;
}

TERM(looks_up_a_factor)
{
    const double *table = user;
    *y = fad_mul(t, table[k], fad_mul(t, a[0], x[0]));
    return 0;
}

TERM(looks_up_a_coefficient)
{
    const double *table = user;
    const double left[2] = {table[k], 1};
    *y = fad_mul(t, fad_dot_d(t, 2, left, a), x[0]);
    return 0;
}

TERM(looks_up_what_to_do)
{
    const double *table = user;
    *y = table[k] > 3 ? fad_max(t, a[0], x[0]) : fad_min(t, a[0], x[0]);
    return 0;
}

TERM(loops_as_often_as_a_table_says)
{
    const double *table = user;
    *y = fad_const(0);
    for (double i = 0; i < table[k]; i++)
        *y = fad_add(t, *y, fad_mul(t, a[0], x[0]));
    return 0;
}

TERM(takes_another_elements_data)
{
    const double *table = user;
    *y = fad_mul(t, fad_data(t, table, 1, k / 2), fad_mul(t, a[0], x[0]));
    return 0;
}

TERM(takes_data_from_a_place_that_moves)
{
    const double *table = user;
    *y = fad_mul(t, fad_data(t, table + k, 1, 0), fad_mul(t, a[0], x[0]));
    return 0;
}

TERM(branches_on_a_parameter)
{
    UNUSED;
    *y = a[0].value < 3 ? fad_mul(t, a[0], x[0]) : fad_sub(t, a[0], x[0]);
    return 0;
}

TERM(branches_on_data)
{
    UNUSED;
    *y = fad_value(t, x[0]) > 2 ? fad_mul(t, a[0], x[0]) : fad_sub(t, a[0], x[0]);
    return 0;
}

TERM(branches_on_a_result)
{
    fad_real z = fad_mul(t, a[0], x[0]);
    UNUSED;
    *y = z.value > 4 ? fad_square(t, z) : z.value <= 4 ? fad_neg(t, z) : z;
    return 0;
}

TERM(makes_a_constant_of_data)
{
    UNUSED;
    *y = fad_mul(t, fad_value(t, x[0]), fad_mul(t, a[0], x[1]));
    return 0;
}

TERM(makes_a_constant_of_a_parameter)
{
    UNUSED;
    *y = fad_mul(t, fad_const(a[1].value), fad_mul(t, a[0], x[0]));
    return 0;
}

TERM(looks_into_a_mask)
{
    UNUSED;
    *y = fad_lt(t, a[0], x[0]).holds ? fad_mul(t, a[0], x[1]) : fad_add(t, a[1], x[1]);
    return 0;
}

const struct uneven uneven_terms[] = {
    {"odd elements add", odd_elements_add}, {"odd elements do more", odd_elements_do_more},
    {"picks by index", picks_by_index}, {"index as a number", index_as_a_number},
    {"looks up a factor", looks_up_a_factor}, {"looks up a coefficient", looks_up_a_coefficient},
    {"looks up what to do", looks_up_what_to_do}, {"loops as often as a table says", loops_as_often_as_a_table_says},
    {"takes another element's data", takes_another_elements_data},
    {"takes data from a place that moves", takes_data_from_a_place_that_moves},
    {"branches on a parameter", branches_on_a_parameter}, {"branches on data", branches_on_data},
    {"branches on a result", branches_on_a_result}, {"makes a constant of data", makes_a_constant_of_data},
    {"makes a constant of a parameter", makes_a_constant_of_a_parameter}, {"looks into a mask", looks_into_a_mask},
};
const size_t uneven_count = sizeof uneven_terms / sizeof *uneven_terms;

/* ---- kept ones ---- */

TERM(takes_data_as_such)
{
    const double *table = user;
    *y = fad_mul(t, fad_data(t, table, 1, k), fad_mul(t, a[0], x[0]));
    return 0;
}

/* a column of a table, and one that is the same for all */
TERM(takes_data_with_a_stride)
{
    const double *table = user;
    fad_real column = fad_data(t, table + 1, 3, k % (UNEVEN_MOST / 4)), same = fad_data(t, table, 0, k);
    *y = fad_add(t, fad_mul(t, column, a[1]), fad_mul(t, same, x[0]));
    return 0;
}

TERM(selects)
{
    UNUSED;
    *y = fad_select(t, fad_lt(t, a[0], x[0]), fad_mul(t, a[0], x[1]), fad_add(t, a[1], x[1]));
    return 0;
}

TERM(loops_over_its_own_numbers)
{
    UNUSED;
    *y = fad_const(0);
    for (size_t j = 0; j < fad_element_count(t); j++)
        *y = fad_add(t, *y, fad_square(t, fad_sub(t, x[j], a[j])));
    return 0;
}

TERM(takes_room)
{
    fad_real *r = fad_alloc(t, UNEVEN_OWN);
    UNUSED;
    if (!r)
        return 1;
    for (size_t j = 0; j < UNEVEN_OWN; j++)
        r[j] = fad_mul(t, x[j], a[2]);
    *y = fad_dot(t, UNEVEN_OWN, r, a);
    return 0;
}

TERM(shared_only)
{
    (void)x;
    UNUSED;
    *y = fad_add(t, fad_square(t, a[0]), fad_mul(t, a[1], a[2]));
    return 0;
}

TERM(own_only)
{
    (void)a;
    UNUSED;
    *y = fad_mul(t, x[0], x[1]);
    return 0;
}

TERM(one_input)
{
    (void)t, (void)a;
    UNUSED;
    *y = x[1];
    return 0;
}

TERM(a_constant)
{
    (void)t, (void)a, (void)x;
    UNUSED;
    *y = fad_const(3);
    return 0;
}

/* Nothing flows to the branch not taken, here never taken, though its partial derivatives are infinite or NaN. */
TERM(a_branch_that_is_singular)
{
    fad_real zero = fad_sub(t, x[0], x[0]);
    UNUSED;
    *y = fad_add(t, fad_select(t, fad_lt(t, a[0], 0), fad_sqrt(t, fad_mul(t, zero, a[1])), fad_mul(t, x[0], a[0])),
                 fad_mul(t, 0, fad_select(t, fad_lt(t, a[0], 0), fad_div(t, x[1], zero), x[1])));
    return 0;
}

const struct uneven even_terms[] = {
    {"takes data as such", takes_data_as_such}, {"takes data with a stride", takes_data_with_a_stride},
    {"selects", selects}, {"loops over its own numbers", loops_over_its_own_numbers}, {"takes room", takes_room},
    {"shared only", shared_only}, {"own only", own_only}, {"one input", one_input}, {"a constant", a_constant},
    {"a branch that is singular", a_branch_that_is_singular},
};
const size_t even_count = sizeof even_terms / sizeof *even_terms;

TERM(frozen)
{
    const double *factor = user;
    (void)k;
    *y = fad_mul(t, *factor, fad_mul(t, a[0], x[0]));
    return 0;
}

const struct uneven frozen_term = {"frozen", frozen};

/* NaN goes the way that 2 goes too. */
TERM(branches_unseen)
{
    UNUSED;
    *y = a[0].value > 2 ? fad_mul(t, a[0], x[0]) : fad_sub(t, a[0], x[0]);
    return 0;
}

const struct uneven unseen_branch_term = {"branches unseen", branches_unseen};

/* ---- sums ---- */

struct uneven_sum uneven_sum(const struct uneven *term, size_t n)
{
    struct uneven_sum u;
    memset(&u, 0, sizeof u);
    u.data = malloc(n * UNEVEN_OWN * sizeof *u.data);
    u.x = malloc(n * UNEVEN_OWN * sizeof *u.x);
    for (size_t i = 0; i < n * UNEVEN_OWN; i++)
        u.data[i] = (double)(mix(i, 1) % 7);
    for (size_t k = 0; k < UNEVEN_MOST; k++)
        uneven_table[k] = (double)(1 + mix(k, 2) % 6);
    for (size_t j = 0; j < UNEVEN_SHARED; j++)
        u.parameters[j] = (double)(2 + j);
    u.s.terms = n;
    u.s.shared_count = UNEVEN_SHARED;
    u.s.x_count = UNEVEN_OWN;
    u.s.x = u.data;
    u.s.term = term->term;
    u.s.user = uneven_table;
    return u;
}

void uneven_end(struct uneven_sum *u)
{
    free(u->data);
    free(u->x);
}

int uneven_gradient(struct uneven_sum *u, fad_pool *pool)
{
    u->s.shared = u->parameters;
    return fad_sum_gradient(pool, &u->s, &u->value, u->shared, u->x);
}

bool uneven_equal(const struct uneven_sum *a, const struct uneven_sum *b)
{
    return same_bits(&a->value, &b->value, sizeof a->value) && same_bits(a->shared, b->shared, sizeof a->shared) &&
           same_bits(a->x, b->x, a->s.terms * UNEVEN_OWN * sizeof(double));
}
