/* The readers of the example programs: good files, and files damaged in many ways. A damaged file has to be refused
 * with "NAME:LINE: reason", and nothing of it may come out. Texts are parsed from a copy of exactly their size, so that
 * a build with -fsanitize=address sees a reader that goes beyond the end. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "damage.h"
#include "examples/gmm_file.h"
#include "examples/model_file.h"
#include "examples/nist_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- good files ---- */

static void good_files_are_accepted(void **state)
{
    (void)state;
    for (size_t i = 0; i < SAMPLES; i++) {
        const struct sample *s = &samples[i];
        assert_int_equal(parse_with(s, s->size, s->size, ""), 0);
        assert_int_equal(parse_with(s, s->size, s->size, "\n \r\n\n"), 0);
        size_t end = s->size;
        while (s->data[end - 1] == '\n' || s->data[end - 1] == '\r')
            end--;
        assert_int_equal(parse_with(s, end, s->size, ""), 0);
        assert_int_equal(parse_with(s, end, s->size, "\r\n"), 0);
    }
}

static void nist_values_are_read(void **state)
{
    struct nist_set set;
    struct complaint complaint;
    (void)state;
    assert_true(nist_parse(samples[NELSON].data, samples[NELSON].size, SAMPLE_NAME, &set, &complaint));
    assert_string_equal(set.name, "Nelson");
    assert_int_equal(set.name_line, 2);
    assert_int_equal(set.parameters, 3);
    assert_int_equal(set.predictors, 2);
    assert_int_equal(set.observations, 128);
    assert_int_equal(set.data_line, 61);
    assert_true(set.start[0][1] == 0.0001 && set.start[1][2] == -0.05);
    assert_true(set.certified[1] == 5.6177717026E-09 && set.deviation[2] == 3.9572366543E-03);
    assert_true(set.rss == 3.7976833176E+00 && set.rsd == 1.7430280130E-01);
    assert_true(set.rows[0] == 15 && set.rows[1] == 1 && set.rows[2] == 180);
    assert_true(set.rows[127 * 3] == 1.2 && set.rows[127 * 3 + 1] == 64 && set.rows[127 * 3 + 2] == 275);
    nist_release(&set);
}

static void gmm_values_are_read(void **state)
{
    struct gmm_problem p;
    struct complaint complaint;
    (void)state;
    assert_true(gmm_parse(samples[ADBENCH].data, samples[ADBENCH].size, SAMPLE_NAME, &p, &complaint));
    assert_int_equal(p.dimension, 2);
    assert_int_equal(p.components, 3);
    assert_int_equal(p.points, 1);
    assert_int_equal(p.parameters, 18);
    assert_true(p.parameter[0] == -0.649014 && p.parameter[3] == 0.092339 && p.parameter[17] == -1.270071);
    assert_true(p.point[0] == 1.175171 && p.point[1] == 2.029160);
    assert_true(p.gamma == 1 && p.m == 0);
    gmm_release(&p);
}

static void model_values_are_read(void **state)
{
    struct model *models;
    size_t count;
    struct complaint complaint;
    (void)state;
    assert_true(models_parse(samples[PEAKS].data, samples[PEAKS].size, SAMPLE_NAME, &models, &count, &complaint));
    assert_int_equal(count, 10);
    assert_int_equal(models[2].kind, MODEL_VOIGT);
    assert_true(models[2].parameter[MODEL_HEIGHT] == 2 && models[2].parameter[MODEL_MIXING] == 0.35);
    assert_true(models[6].kind == MODEL_GAUSS && models[6].parameter[MODEL_CENTRE] == 2.5);
    free(models);
}

/* ---- damage of every kind in every place ---- */

static void truncated_at_every_line(void **state)
{
    (void)state;
    for (size_t i = 0; i < SAMPLES; i++)
        for (size_t line = 1; line <= samples[i].lines; line++) {
            /* a list of models has no count; it ends where it ends, but not in its first line */
            if (!sample_has_count(&samples[i]) && line > 2)
                continue;
            size_t got = parse_with(&samples[i], line_start(&samples[i], line), samples[i].size, "");
            if (got == 0)
                fail_msg("%s was accepted without its lines from %zu on", samples[i].file, line);
        }
}

static void truncated_at_every_byte(void **state)
{
    (void)state;
    for (size_t i = 0; i < SAMPLES; i++) {
        size_t last = line_start(&samples[i], samples[i].lines);
        for (size_t at = 0; at < samples[i].size; at++)
            if (parse_with(&samples[i], at, samples[i].size, "") == 0 && at < last && sample_has_count(&samples[i]))
                fail_msg("%s was accepted without its bytes from %zu on", samples[i].file, at);
    }
}

static void line_missing_or_twice(void **state)
{
    (void)state;
    for (size_t i = 0; i < SAMPLES; i++) {
        const struct sample *s = &samples[i];
        for (size_t line = 1; line <= s->lines; line++) {
            size_t from = line_start(s, line), to = line_start(s, line + 1);
            if (!sample_has_count(s) && line > 1)
                continue;
            if (parse_with(s, from, to, "") == 0)
                fail_msg("%s was accepted without line %zu", s->file, line);
            char twice[256] = "";
            assert_true(to - from < sizeof twice);
            memcpy(twice, s->data + from, to - from);
            if (parse_with(s, from, from, twice) == 0)
                fail_msg("%s was accepted with line %zu twice", s->file, line);
        }
    }
}

static void letter_for_every_digit(void **state)
{
    (void)state;
    for (size_t i = 0; i < SAMPLES; i++) {
        const struct sample *s = &samples[i];
        size_t line = 1, title = i == NELSON ? 60 : 0; /* names of columns: x1, x2 */
        for (size_t at = 0; at < s->size; at++) {
            if (line >= s->numbers && line != title && s->data[at] >= '0' && s->data[at] <= '9') {
                size_t got = parse_with(s, at, at + 1, "o");
                if (got != line)
                    fail_msg("%s with a letter in line %zu: complaint of line %zu", s->file, line, got);
            }
            line += s->data[at] == '\n';
        }
    }
}

/* 20,000 texts with some bytes changed: whatever comes of them, there is no crash, and each complaint has its form. */
static void random_damage(void **state)
{
    static const char *const pieces[] = {"",  "\n",    "\r",  " ", "-",    ".", "e",
                                         "9", "99999", "nan", ",", "\xff", "(", "b"};
    uint64_t random = 20240229;
    (void)state;
    for (int round = 0; round < 20000; round++) {
        struct sample s = samples[round % SAMPLES];
        char *copy = malloc(s.size);
        assert_non_null(copy);
        memcpy(copy, s.data, s.size);
        s.data = copy;
        for (int change = 0; change < 3; change++) {
            random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
            copy[(random >> 33) % s.size] = " \n.-e0x,"[random >> 61];
        }
        size_t at = (random >> 20) % s.size, taken = (random >> 60) < 8;
        parse_with(&s, at, at + taken, pieces[(random >> 40) % (sizeof pieces / sizeof *pieces)]);
        free(copy);
    }
}

/* ---- damage of particular kinds: what stands in the file, which one of them, what is put there, the line ---- */

static void not_a_number(void **state)
{
    static const char *const wrong[] = {
        "nan",   "NaN",  "inf", "-inf", "infinity", "1e999", "-1e999", "1e-999", "0x1p3", "1,5",  "1.5.", "--1.5",
        "1e+",   "e5",   ".",   "+",    "1d5",      "1.5f",  "1_0",    "1\v5",   "",      "1 5",  "1\r5", "1 ,5",
        "\xc3\xa4"};
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        refuses(&samples[MISRA1A], "0.0001", wrong[i], 42);
        refuses(&samples[MISRA1A], "1.2455138894E-01", wrong[i], 44);
        refuses(&samples[MISRA1A], "114.9E0", wrong[i], 62);
        refuses(&samples[NELSON], "180E0", wrong[i], 61);
        refuses(&samples[MIXTURE], "-1.080861", wrong[i], 7);
        refuses(&samples[REFERENCE], "-2047.8983249027781", wrong[i], 1);
        refuses(&samples[PEAKS], "1.25", wrong[i], 2);
    }
    char digits[300] = "0.";
    memset(digits + 2, '1', 200);
    refuses(&samples[MISRA1A], "114.9E0", digits, 62);
}

static void nist_counts_that_disagree(void **state)
{
    const struct sample *s = &samples[MISRA1A];
    (void)state;
    refuses(s, "14 Observations", "15 Observations", 40);
    refuses(s, "14 Observations", "0 Observations", 27);
    refuses(s, "14 Observations", "-14 Observations", 27);
    refuses(s, "14 Observations", "99999999999999999999 Observations", 27);
    refuses(s, "14 Observations", "14 Observation", 40);
    refuses(s, "2 Parameters", "3 Parameters", 40);
    refuses(s, "2 Parameters", "2 Parameters\r\n2 Parameters", 33);
    refuses(s, "1 Predictor", "2 Predictor", 61);
    refuses(s, "1 Predictor", "70 Predictor", 40);
    refuses(s, "1 Response", "2 Response", 40);
    refuses(s, "(lines 61 to 74)", "(lines 61 to 75)", 40);
    refuses(s, "(lines 61 to 74)", "(lines 61 to 1000000060)", 40);
    refuses(s, "(lines 61 to 74)", "(lines 74 to 61)", 7);
    refuses(s, "(lines 61 to 74)", "(lines 61 74)", 7);
    refuses(s, "(lines 61 to 74)", "(lines 40 to 53)", 7);
    refuses(s, "(lines 41 to 47)", "(lines 40 to 47)", 7);
    refuses(s, "(lines 41 to 42)", "(lines 41 to 43)", 7 + 33);
    refuses(s, "Observations:                            14", "Observations: 15", 47);
    refuses(s, "Freedom:                                12", "Freedom: 13", 46);
    refuses(s, "1.0187876330E-01", "1.0187876430E-01", 47);
    refuses(s, "Residual Sum", "Residual sum", 44);
    refuses(s, "b2 =", "b3 =", 42);
    refuses(s, "b2 =", "b2", 42);
    refuses(s, "Data:   y", "Date:   y", 60);
    refuses(s, "14\r\n\r\n\r\n", "14\r\n\r\nx\r\n", 49);
    refuses(s, "NIST/ITL", "NIST", 1);
    refuses(s, "Misra1a ", "a-name-of-more-than-thirty-one-characters ", 2);
    refuses(s, "760.0E0", "760.0E0 1", 74);
    refuses(s, "760.0E0", "760.0E0\n1 2", 75);
}

/* Counts that the file cannot hold are refused before room is made for them. */
static void silly_counts(void **state)
{
    char text[4096];
    struct complaint complaint;
    (void)state;
    static const char *const sizes[] = {
        "1000000 1000000 1000000000", "1048576 1048576 1", "1 1 1000000000", "1048577 1 1", "3 4 401", "3 4 399",
        "3 5 400", "4 4 400", "3 4", "3 4 400 1", "0 4 400", "3 0 400", "3 4 0", "-3 4 400", "3.0 4 400",
        "18446744073709551617 4 400", ""};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        size_t got = parse_with(&samples[MIXTURE], 0, strlen("3 4 400"), sizes[i]);
        if (got == 0)
            fail_msg("a mixture of sizes \"%s\" was accepted", sizes[i]);
    }
    size_t from = 0;
    for (size_t line = 1; line < 60; line++)
        from += (size_t)snprintf(text + from, sizeof text - from, "%s\n",
                                 line == 1   ? "NIST/ITL StRD"
                                 : line == 2 ? "Dataset Name: Big"
                                 : line == 4 ? "File Format: ASCII"
                                 : line == 5 ? "Starting Values (lines 41 to 41)"
                                 : line == 6 ? "Certified Values (lines 41 to 46)"
                                 : line == 7 ? "Data (lines 61 to 1000000060)"
                                 : line == 20 ? "Data: 1 Response"
                                 : line == 21 ? "64 Predictors"
                                 : line == 22 ? "1000000000 Observations"
                                 : line == 23 ? "1 Parameter"
                                              : "");
    assert_false(nist_parse(text, from, SAMPLE_NAME, &(struct nist_set){0}, &complaint));
    assert_non_null(strstr(complaint.text, ":40: "));
    assert_non_null(strstr(complaint.text, "more than the file can hold"));
}

static void values_out_of_range(void **state)
{
    (void)state;
    refuses(&samples[MIXTURE], "0.5 2", "0 2", 414);
    refuses(&samples[MIXTURE], "0.5 2", "-0.5 2", 414);
    refuses(&samples[MIXTURE], "0.5 2", "0.5 2.5", 414);
    refuses(&samples[MIXTURE], "0.5 2", "0.5 -1", 414);
    refuses(&samples[MIXTURE], "0.5 2", "0.5 2\n1", 415);
    refuses(&samples[PEAKS], "kind,", "Kind,", 1);
    refuses(&samples[PEAKS], "gauss,1.25", "gaus,1.25", 2);
    refuses(&samples[PEAKS], "1.5,0.75", "1.5,0", 2);
    refuses(&samples[PEAKS], "1.5,0.75", "1.5,-0.75", 2);
    refuses(&samples[PEAKS], "1.5,0.75", "1.5", 2);
    refuses(&samples[PEAKS], "1.5,0.75", "1.5,0.75,0.5", 2);
    refuses(&samples[PEAKS], "0.5,0.35", "0.5", 4);
    refuses(&samples[PEAKS], "0.5,0.35", "0.5,1.01", 4);
    refuses(&samples[PEAKS], "0.5,0.35", "0.5,0.35,", 4);
    refuses(&samples[PEAKS], "0.5,0.35", "0.5,0.35\n\nx", 6);
}

static void a_mixing_field_may_be_empty(void **state)
{
    char title[] = "kind,height,centre,width,mixing\n";
    const struct sample s = {.file = "a list", .reader = READ_MODELS, .data = title, .size = 32};
    (void)state;
    assert_int_equal(parse_with(&s, s.size, s.size, " gauss , 1 ,2,3,\t\nlorentz,1,2,3"), 0);
    assert_int_equal(parse_with(&s, s.size, s.size, ""), 1);
    assert_int_equal(parse_with(&s, s.size, s.size, "gauss,1,2,3,,\n"), 2);
}

static void files_that_are_none(void **state)
{
    char *data = NULL;
    size_t size = 0;
    struct complaint complaint;
    (void)state;
    assert_false(text_load("/nonexistent/file", &data, &size, &complaint));
    assert_non_null(strstr(complaint.text, "/nonexistent/file: cannot be opened: "));
    assert_false(text_load("/", &data, &size, &complaint));
    assert_false(text_load("/dev/zero", &data, &size, &complaint));
    assert_non_null(strstr(complaint.text, "NUL"));
    assert_null(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_files_are_accepted),   cmocka_unit_test(nist_values_are_read),
        cmocka_unit_test(gmm_values_are_read),       cmocka_unit_test(model_values_are_read),
        cmocka_unit_test(truncated_at_every_line),   cmocka_unit_test(truncated_at_every_byte),
        cmocka_unit_test(line_missing_or_twice),     cmocka_unit_test(letter_for_every_digit),
        cmocka_unit_test(random_damage),             cmocka_unit_test(not_a_number),
        cmocka_unit_test(nist_counts_that_disagree), cmocka_unit_test(silly_counts),
        cmocka_unit_test(values_out_of_range),       cmocka_unit_test(a_mixing_field_may_be_empty),
        cmocka_unit_test(files_that_are_none),
    };
    return cmocka_run_group_tests(tests, load_samples, free_samples);
}
