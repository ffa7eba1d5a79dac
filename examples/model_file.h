/** @file model_file.h  Peak models as a program's own structures; read from a CSV file, or generated. */
#ifndef EXAMPLES_MODEL_FILE_H
#define EXAMPLES_MODEL_FILE_H

#include "text.h"

enum model_kind { MODEL_GAUSS, MODEL_LORENTZ, MODEL_VOIGT };
enum { MODEL_KINDS = 3, MODEL_PARAMETERS_MAX = 4 };

/** What parameter[] means. width is the standard deviation of a Gauss peak, for the others half the width at half
 * height. */
enum { MODEL_HEIGHT, MODEL_CENTRE, MODEL_WIDTH, MODEL_MIXING };

/** One peak. Programs change parameter[] in place. */
struct model {
    enum model_kind kind;
    double parameter[MODEL_PARAMETERS_MAX];
    double gradient[MODEL_PARAMETERS_MAX]; /**< of the sum, with respect to parameter[] */
};

/** 3, and 4 for MODEL_VOIGT, which alone has a mixing (0: Gauss, 1: Lorentz). */
size_t model_parameters(enum model_kind kind);

/** Reads models from memory: a first line "kind,height,centre,width,mixing", then one model a line, e.g.
 * "lorentz,1.5,-0.25,0.5" or "voigt,1,0,0.5,0.3"; the empty last field of kinds without a mixing may be left out.
 * Ownership: *models by malloc, the caller's; name is only used for complaints
 * Errors:    false with the complaint */
bool models_parse(const char *data, size_t size, const char *name, struct model **models, size_t *count,
                  struct complaint *complaint);

/** models_parse of the file at path. */
bool models_load(const char *path, struct model **models, size_t *count, struct complaint *complaint);

/** Always the same models for the same count; NULL: no memory. */
struct model *models_generate(size_t count);

#endif
