/* The readers of the examples, called so that what they promise is looked at. Without cmocka: a fuzzer uses it too. */
#ifndef TESTS_PARSE_H
#define TESTS_PARSE_H

#include "examples/text.h"

enum reader { READ_NIST, READ_GMM, READ_REFERENCE, READ_MODELS, READERS };

/** The name that all texts are parsed under. */
#define SAMPLE_NAME "some.file"

enum { TEXT_COMPLAINT = sizeof(struct complaint) };

/** Parses a copy of exactly that size, so that a build with -fsanitize=address sees a reader that goes beyond the end.
 * *line: of the complaint; 0 if the text was accepted.
 * False: why[room] says which promise was broken: a result that was touched by a failure, a complaint that has not the form
 * NAME:LINE: reason, or a number that is not finite in what was accepted. */
bool reader_holds(enum reader reader, const char *data, size_t size, size_t *line, char *why, size_t room);

/** The lines of a text; one without a line end at the end counts. */
size_t text_lines(const char *data, size_t size);

#endif
