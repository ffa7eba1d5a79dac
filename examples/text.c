/* See text.h. */
#include "text.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* longer than any number that a program prints; longer words are not numbers but accidents */
#define NUMBER_MAX 128

bool text_complain(struct complaint *complaint, const char *name, size_t line, const char *format, ...)
{
    char sentence[320];
    va_list list;
    va_start(list, format);
    vsnprintf(sentence, sizeof sentence, format, list);
    va_end(list);
    /* the name is cut, not the sentence: which file it was is known from the command line */
    if (line == 0)
        snprintf(complaint->text, sizeof complaint->text, "%.160s: %s", name, sentence);
    else
        snprintf(complaint->text, sizeof complaint->text, "%.160s:%zu: %s", name, line, sentence);
    return false;
}

const char *text_quote(struct span word, char *into, size_t room)
{
    size_t length = word.size < room - 1 ? word.size : room - 1;
    for (size_t i = 0; i < length; i++)
        into[i] = word.at[i] >= ' ' && word.at[i] <= '~' ? word.at[i] : '?';
    into[length] = '\0';
    return into;
}

/* Appends one piece of the file; *done at its end. */
static bool load_piece(FILE *file, const char *path, char **data, size_t *size, size_t *room, bool *done,
                       struct complaint *complaint)
{
    if (*size == *room) {
        size_t larger = *room == 0 ? (size_t)1 << 16 : 2 * *room;
        char *moved = realloc(*data, larger);
        if (moved == NULL)
            return text_complain(complaint, path, 0, "no memory for %zu bytes", larger);
        *data = moved;
        *room = larger;
    }
    size_t got = fread(*data + *size, 1, *room - *size, file);
    if (ferror(file))
        return text_complain(complaint, path, 0, "cannot be read: %s", strerror(errno));
    /* also ends the reading of /dev/zero before it fills the memory */
    if (memchr(*data + *size, '\0', got) != NULL)
        return text_complain(complaint, path, 0, "not a text file: it has a NUL byte");
    *size += got;
    if (*size > TEXT_MAX)
        return text_complain(complaint, path, 0, "larger than %zu bytes", TEXT_MAX);
    *done = feof(file) != 0;
    return true;
}

bool text_load(const char *path, char **data, size_t *size, struct complaint *complaint)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        return text_complain(complaint, path, 0, "cannot be opened: %s", strerror(errno));
    char *buffer = NULL;
    size_t used = 0, room = 0;
    bool done = false, good = true;
    while (good && !done)
        good = load_piece(file, path, &buffer, &used, &room, &done, complaint);
    fclose(file);
    if (!good) {
        free(buffer);
        return false;
    }
    *data = buffer;
    *size = used;
    return true;
}

bool text_line(struct text *text, struct span *line)
{
    if (text->at == text->size)
        return false;
    const char *start = text->data + text->at;
    size_t left = text->size - text->at;
    const char *end = memchr(start, '\n', left);
    size_t length = end == NULL ? left : (size_t)(end - start);
    text->at += end == NULL ? left : length + 1;
    text->line++;
    if (length > 0 && start[length - 1] == '\r')
        length--;
    *line = (struct span){start, length};
    return true;
}

static bool blank(char c)
{
    return c == ' ' || c == '\t';
}

bool text_word(struct span *line, struct span *word)
{
    size_t from = 0;
    while (from < line->size && blank(line->at[from]))
        from++;
    size_t to = from;
    while (to < line->size && !blank(line->at[to]))
        to++;
    *word = (struct span){line->at + from, to - from};
    *line = (struct span){line->at + to, line->size - to};
    return word->size > 0;
}

bool text_blank(struct span line)
{
    struct span word;
    return !text_word(&line, &word);
}

bool text_starts(struct span line, const char *expected)
{
    size_t length = strlen(expected);
    return line.size >= length && memcmp(line.at, expected, length) == 0;
}

bool text_is(struct span word, const char *expected)
{
    return word.size == strlen(expected) && text_starts(word, expected);
}

/* Skips digits, returns how many there were. */
static size_t digits(const char *s, size_t *i)
{
    size_t from = *i;
    while (s[*i] >= '0' && s[*i] <= '9')
        ++*i;
    return *i - from;
}

static void sign(const char *s, size_t *i)
{
    if (s[*i] == '+' || s[*i] == '-')
        ++*i;
}

/* strtod takes more than a data file may hold (hexadecimal, inf, nan, leading blanks): the form is looked at first. */
static bool decimal(const char *s)
{
    size_t i = 0;
    sign(s, &i);
    size_t count = digits(s, &i);
    if (s[i] == '.') {
        i++;
        count += digits(s, &i);
    }
    if (count == 0)
        return false;
    if (s[i] == 'e' || s[i] == 'E') {
        i++;
        sign(s, &i);
        if (digits(s, &i) == 0)
            return false;
    }
    return s[i] == '\0';
}

bool text_number(struct span word, double *value)
{
    char copy[NUMBER_MAX];
    if (word.size >= sizeof copy || memchr(word.at, '\0', word.size) != NULL)
        return false;
    memcpy(copy, word.at, word.size);
    copy[word.size] = '\0';
    if (!decimal(copy))
        return false;
    char *end;
    errno = 0;
    double number = strtod(copy, &end);
    if (*end != '\0' || !isfinite(number) || (errno == ERANGE && number == 0))
        return false;
    *value = number;
    return true;
}

bool text_count(struct span word, size_t *value)
{
    size_t number = 0;
    for (size_t i = 0; i < word.size; i++) {
        if (word.at[i] < '0' || word.at[i] > '9')
            return false;
        number = number * 10 + (size_t)(word.at[i] - '0');
        if (number > TEXT_MAX)
            return false;
    }
    if (word.size == 0)
        return false;
    *value = number;
    return true;
}

bool text_numbers(const struct text *text, struct span line, const char *what, size_t count, double *values,
                  struct complaint *complaint)
{
    struct span word;
    char quoted[32];
    size_t found = 0;
    for (; text_word(&line, &word); found++) {
        if (found == count)
            return text_complain(complaint, text->name, text->line, "more than the %zu numbers of %s", count, what);
        if (!text_number(word, &values[found]))
            return text_complain(complaint, text->name, text->line, "'%s' in %s is not a finite decimal number",
                                 text_quote(word, quoted, sizeof quoted), what);
    }
    if (found < count)
        return text_complain(complaint, text->name, text->line, "%zu of the %zu numbers of %s", found, count, what);
    return true;
}

bool text_ends(struct text *text, struct complaint *complaint)
{
    struct span line;
    char quoted[32];
    while (text_line(text, &line))
        if (!text_blank(line))
            return text_complain(complaint, text->name, text->line, "'%s' after the last line of data",
                                 text_quote(line, quoted, sizeof quoted));
    return true;
}
