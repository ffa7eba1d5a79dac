/** @file text.h  Strict reading of text files of numbers: every complaint names the file and the line.
 *
 * Nothing here calls exit or prints; readers built on it work on memory, so that tests and fuzzers can link them.
 * The "C" locale is taken for granted: programs that call setlocale must leave LC_NUMERIC alone. */
#ifndef EXAMPLES_TEXT_H
#define EXAMPLES_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/** Larger files are refused: they are no data files of these programs. */
#define TEXT_MAX ((size_t)1 << 30)

/** What is wrong with a file, one sentence without a line end: "FILE:LINE: what". */
struct complaint {
    char text[512];
};

/** A text in memory and the place reached in it. line is the number of the line that was read last. */
struct text {
    const char *name;
    const char *data;
    size_t size, at, line;
};

/** A stretch of a text, not terminated. */
struct span {
    const char *at;
    size_t size;
};

/** Reads a whole file, also a pipe.
 * Ownership: *data by malloc, the caller's
 * Errors:    false with the complaint: not readable, larger than TEXT_MAX, a NUL byte (not a text), no memory */
bool text_load(const char *path, char **data, size_t *size, struct complaint *complaint);

/** The next line without its line end (LF or CR LF; the last one may have none). False: no line is left. */
bool text_line(struct text *text, struct span *line);

/** Takes the next word, a run of anything but blanks, off the front of line. False: only blanks are left. */
bool text_word(struct span *line, struct span *word);

bool text_blank(struct span line);
bool text_is(struct span word, const char *expected);
bool text_starts(struct span line, const char *expected);

/** Takes a decimal number, and nothing else, from word: no hexadecimal form, no inf, no nan, nothing left over, and a
 * value that a double can hold. False: *value is as it was. */
bool text_number(struct span word, double *value);

/** The same for a count: digits only, at most TEXT_MAX. */
bool text_count(struct span word, size_t *value);

/** Takes exactly count numbers, the whole of line. what names them in the complaint, e.g. "means".
 * Errors:    false with the complaint */
bool text_numbers(const struct text *text, struct span line, const char *what, size_t count, double *values,
                  struct complaint *complaint);

/** Refuses anything but blank lines up to the end.
 * Errors:    false with the complaint */
bool text_ends(struct text *text, struct complaint *complaint);

/** Writes NAME:LINE: and the formatted sentence; line 0 leaves the number out. Always false, for return. */
bool text_complain(struct complaint *complaint, const char *name, size_t line, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/** Copies at most room - 1 printable characters of word, for complaints; the others become '?'. Returns into. */
const char *text_quote(struct span word, char *into, size_t room);

#endif
