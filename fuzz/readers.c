/* The readers of the examples. The first byte chooses the reader, the others are the text. */
#include "tests/parse.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char why[TEXT_COMPLAINT + 64];
    size_t line;
    if (size == 0)
        return 0;
    if (!reader_holds((enum reader)(data[0] % READERS), (const char *)data + 1, size - 1, &line, why, sizeof why)) {
        fprintf(stderr, "%s\n", why);
        abort();
    }
    return 0;
}
