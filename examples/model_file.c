/* See model_file.h. */
#include "model_file.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static const char *const kind_name[MODEL_KINDS] = {"gauss", "lorentz", "voigt"};

size_t model_parameters(enum model_kind kind)
{
    return kind == MODEL_VOIGT ? 4 : 3;
}

static struct span trim(struct span s)
{
    while (s.size > 0 && (s.at[0] == ' ' || s.at[0] == '\t')) {
        s.at++;
        s.size--;
    }
    while (s.size > 0 && (s.at[s.size - 1] == ' ' || s.at[s.size - 1] == '\t'))
        s.size--;
    return s;
}

/* Takes the next field off the front of line. False: the line is used up; the last field is followed by no comma. */
static bool field(struct span *line, struct span *value)
{
    if (line->at == NULL)
        return false;
    const char *comma = memchr(line->at, ',', line->size);
    size_t length = comma == NULL ? line->size : (size_t)(comma - line->at);
    *value = trim((struct span){line->at, length});
    *line = comma == NULL ? (struct span){NULL, 0} : (struct span){comma + 1, line->size - length - 1};
    return true;
}

static bool read_kind(const struct text *text, struct span word, enum model_kind *kind, struct complaint *complaint)
{
    char quoted[32];
    for (int i = 0; i < MODEL_KINDS; i++)
        if (text_is(word, kind_name[i])) {
            *kind = (enum model_kind)i;
            return true;
        }
    return text_complain(complaint, text->name, text->line, "kind '%s' is none of gauss, lorentz, voigt",
                         text_quote(word, quoted, sizeof quoted));
}

static bool read_model(const struct text *text, struct span line, struct model *model, struct complaint *complaint)
{
    struct span word;
    char quoted[32];
    if (!field(&line, &word) || !read_kind(text, word, &model->kind, complaint))
        return false;
    size_t count = model_parameters(model->kind);
    for (size_t j = 0; j < count; j++) {
        if (!field(&line, &word))
            return text_complain(complaint, text->name, text->line, "%zu of the %zu numbers of a %s model", j, count,
                                 kind_name[model->kind]);
        if (!text_number(word, &model->parameter[j]))
            return text_complain(complaint, text->name, text->line, "'%s' is not a finite decimal number",
                                 text_quote(word, quoted, sizeof quoted));
    }
    if (count == 3 && field(&line, &word) && word.size > 0)
        return text_complain(complaint, text->name, text->line, "'%s': a %s model has no mixing",
                             text_quote(word, quoted, sizeof quoted), kind_name[model->kind]);
    if (field(&line, &word))
        return text_complain(complaint, text->name, text->line, "more than five fields");
    if (!(model->parameter[MODEL_WIDTH] > 0))
        return text_complain(complaint, text->name, text->line, "width is %.17g, but has to be above 0",
                             model->parameter[MODEL_WIDTH]);
    if (count == 4 && !(model->parameter[MODEL_MIXING] >= 0 && model->parameter[MODEL_MIXING] <= 1))
        return text_complain(complaint, text->name, text->line, "mixing is %.17g, but has to lie from 0 to 1",
                             model->parameter[MODEL_MIXING]);
    return true;
}

/* Room for one more model. */
static bool grow(struct model **list, size_t used, size_t *room)
{
    if (used < *room)
        return true;
    size_t larger = *room == 0 ? 64 : 2 * *room;
    struct model *moved = realloc(*list, larger * sizeof *moved);
    if (moved == NULL)
        return false;
    *list = moved;
    *room = larger;
    return true;
}

static bool read_models(struct text *text, struct model **list, size_t *used, struct complaint *complaint)
{
    struct span line;
    size_t room = 0;
    while (text_line(text, &line) && !text_blank(line)) {
        if (!grow(list, *used, &room))
            return text_complain(complaint, text->name, text->line, "no memory for more models");
        (*list)[*used] = (struct model){0};
        if (!read_model(text, line, &(*list)[*used], complaint))
            return false;
        ++*used;
    }
    if (*used == 0)
        return text_complain(complaint, text->name, text->line, "the file has no model");
    return text_ends(text, complaint);
}

bool models_parse(const char *data, size_t size, const char *name, struct model **models, size_t *count,
                  struct complaint *complaint)
{
    struct text text = {.name = name, .data = data, .size = size};
    struct span line;
    if (!text_line(&text, &line))
        return text_complain(complaint, name, 1, "the file is empty");
    if (!text_is(trim(line), "kind,height,centre,width,mixing"))
        return text_complain(complaint, name, 1, "the first line has to be kind,height,centre,width,mixing");
    struct model *list = NULL;
    size_t used = 0;
    if (!read_models(&text, &list, &used, complaint)) {
        free(list);
        return false;
    }
    *models = list;
    *count = used;
    return true;
}

bool models_load(const char *path, struct model **models, size_t *count, struct complaint *complaint)
{
    char *data;
    size_t size;
    if (!text_load(path, &data, &size, complaint))
        return false;
    bool good = models_parse(data, size, path, models, count, complaint);
    free(data);
    return good;
}

/* SplitMix64: any seed gives a good stream, and whole numbers are the same on every machine. */
static uint64_t mix(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* A multiple of 2^-20 in [low, low + 2^bits): exact, so that no compiler can round it differently. */
static double between(uint64_t *state, double low, int bits)
{
    return low + (double)(mix(state) >> (44 - bits)) * 0x1p-20;
}

struct model *models_generate(size_t count)
{
    struct model *list = calloc(count, sizeof *list);
    uint64_t state = 1;
    if (list == NULL)
        return NULL;
    for (size_t k = 0; k < count; k++) {
        struct model *m = &list[k];
        m->kind = (enum model_kind)(mix(&state) % MODEL_KINDS);
        m->parameter[MODEL_HEIGHT] = between(&state, 0.5, 0);
        m->parameter[MODEL_CENTRE] = between(&state, -8, 4);
        m->parameter[MODEL_WIDTH] = between(&state, 0.5, 1);
        m->parameter[MODEL_MIXING] = m->kind == MODEL_VOIGT ? between(&state, 0, 0) : 0;
    }
    return list;
}
