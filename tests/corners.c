/* See corners.h. */
#include "tests/corners.h"

#include <math.h>

#define INF INFINITY
#define SAME NAN /* the value is not looked at */

const struct corner corners[] = {
    /* A10: the second derivative needs second order */
    {OP_POW, 2, {0, 2}, 0, {0, 0}},
    {OP_POW, 2, {0, 1.875}, 0, {0, 0}},
    {OP_POW, 2, {0, 1}, 0, {1, 0}},
    {OP_POW, 2, {0, 0}, 1, {0, 0}},
    {OP_POW, 2, {0, 0.5}, 0, {INF, 0}},
    {OP_POW, 2, {2, 0}, 1, {0, 0x1.62e42fefa39efp-1}},
    {OP_POW, 2, {-2, 0}, 1, {0, 0}},
    {OP_POW, 2, {NAN, 0}, 1, {0, 0}},
    {OP_POW, 2, {-2, 0.5}, NAN, {NAN, NAN}},
    {OP_POW, 2, {NAN, 2}, NAN, {NAN, NAN}},
    /* A24, A25 */
    {OP_POW, 2, {-5, 5}, -3125, {3125, 0}},
    {OP_POW, 2, {-2, 3}, -8, {12, 0}},
    {OP_POW, 2, {-1, -1}, -1, {-1, 0}},
    {OP_SQRT, 1, {0}, 0, {INF}},
    {OP_SQRT, 1, {-0.0}, -0.0, {INF}},
    {OP_SQRT, 1, {INF}, INF, {0}},
    {OP_SQRT, 1, {-1}, NAN, {NAN}},
    {OP_CBRT, 1, {0}, 0, {INF}},
    {OP_CBRT, 1, {-0.0}, -0.0, {INF}},
    {OP_ABS, 1, {0}, 0, {0}},
    {OP_ABS, 1, {-0.0}, 0, {0}},
    {OP_ABS, 1, {-3}, 3, {-1}},
    {OP_ABS, 1, {-INF}, INF, {-1}},
    {OP_ABS, 1, {NAN}, NAN, {NAN}},
    /* A12 */
    {OP_NORM2, 3, {0, 0, 0}, 0, {0, 0, 0}},
    {OP_NORM2, 3, {-0.0, 0, -0.0}, 0, {0, 0, 0}},
    {OP_NORM2, 3, {1, 0, 0}, 1, {1, 0, 0}},
    {OP_NORM2, 3, {0, -2, 0}, 2, {0, -1, 0}},
    {OP_NORM2, 2, {0x3p700, 0x4p700}, 0x5p700, {0.6, 0.8}},
    {OP_NORM2, 2, {0x3p-1060, 0x4p-1060}, 0x5p-1060, {0.6, 0.8}},
    {OP_NORM2, 1, {-7}, 7, {-1}},
    {OP_HYPOT, 2, {0, 0}, 0, {0, 0}},
    {OP_HYPOT, 2, {-0.0, 0}, 0, {0, 0}},
    {OP_HYPOT, 2, {-3, 0}, 3, {-1, 0}},
    {OP_HYPOT, 2, {0x3p700, 0x4p700}, 0x5p700, {0.6, 0.8}},
    {OP_ATAN2, 2, {0, 0}, 0, {0, 0}},
    {OP_ATAN2, 2, {-0.0, -0.0}, SAME, {0, 0}},
    {OP_ATAN2, 2, {0, 2}, 0, {0.5, 0}},
    {OP_ATAN2, 2, {2, 0}, SAME, {0, -0.5}},
    {OP_ATAN2, 2, {0, 0x1p600}, 0, {0x1p-600, 0}},
    {OP_ATAN2, 2, {0, 0x1p-600}, 0, {0x1p600, 0}},
    /* A13 */
    {OP_MAX, 2, {1, 1}, 1, {0.5, 0.5}},
    {OP_MIN, 2, {1, 1}, 1, {0.5, 0.5}},
    {OP_MAX, 2, {0, -0.0}, -0.0, {0.5, 0.5}},
    {OP_MAX, 2, {-0.0, 0}, 0, {0.5, 0.5}},
    {OP_MIN, 2, {-0.0, 0}, 0, {0.5, 0.5}},
    {OP_MAX, 2, {INF, INF}, INF, {0.5, 0.5}},
    {OP_MAX, 2, {-INF, 2}, 2, {0, 1}},
    {OP_MAX, 2, {NAN, 1}, NAN, {1, 0}},
    {OP_MAX, 2, {1, NAN}, NAN, {0, 1}},
    {OP_MIN, 2, {NAN, 1}, NAN, {1, 0}},
    {OP_MIN, 2, {1, NAN}, NAN, {0, 1}},
    {OP_LOGSUMEXP, 3, {-INF, -INF, -INF}, -INF, {0, 0, 0}},
    {OP_LOGSUMEXP, 3, {1, INF, -INF}, INF, {0, 1, 0}},
    {OP_LOGSUMEXP, 3, {INF, 3, INF}, INF, {0.5, 0, 0.5}},
    {OP_LOGSUMEXP, 4, {INF, INF, INF, INF}, INF, {0.25, 0.25, 0.25, 0.25}},
    {OP_LOGSUMEXP, 3, {-INF, 7, -INF}, 7, {0, 1, 0}},
    {OP_LOGSUMEXP, 2, {-1e300, 1e300}, 1e300, {0, 1}},
    {OP_LOGSUMEXP, 2, {1000, 1000}, SAME, {0.5, 0.5}},
    {OP_LOGSUMEXP, 3, {1, NAN, INF}, NAN, {NAN, NAN, NAN}},
    {OP_LOGSUMEXP, 1, {-4}, -4, {1}},
    {OP_LOG1PEXP, 1, {1e300}, 1e300, {1}},
    {OP_LOG1PEXP, 1, {-1e300}, 0, {0}},
    {OP_LOG1PEXP, 1, {INF}, INF, {1}},
    {OP_LOG1PEXP, 1, {-INF}, 0, {0}},
    {OP_LOG1PEXP, 1, {NAN}, NAN, {NAN}},
    {OP_LOG1PEXP, 1, {0}, 0x1.62e42fefa39efp-1, {0.5}},
    {OP_LOG, 1, {0}, -INF, {INF}},
    {OP_LOG1P, 1, {-1}, -INF, {INF}},
    {OP_EXP, 1, {-INF}, 0, {0}},
    {OP_EXP, 1, {1e300}, INF, {INF}},
    {OP_EXPM1, 1, {-INF}, -1, {0}},
    {OP_TANH, 1, {INF}, 1, {0}},
    {OP_TANH, 1, {-1e300}, -1, {0}},
    {OP_ERF, 1, {-INF}, -1, {0}},
    {OP_ERFC, 1, {1e200}, 0, {0}},
    {OP_ATAN, 1, {1e200}, SAME, {0}},
    {OP_ASIN, 1, {1}, SAME, {INF}},
    {OP_ACOS, 1, {-1}, SAME, {-INF}},
    {OP_INV, 1, {0}, INF, {-INF}},
    {OP_DIV, 2, {1, 0}, INF, {INF, -INF}},
    {OP_DIV, 2, {0, 0x1p-1040}, 0, {INF, 0}},
    {OP_MUL, 2, {0, INF}, NAN, {INF, 0}},
};
const size_t corner_count = sizeof corners / sizeof *corners;

bool is_output(double got, double expected)
{
    uint64_t nan = UINT64_C(0x7ff8000000000000);
    return isnan(expected) ? same_bits(&got, &nan, sizeof got) : is_bits(got, expected);
}
