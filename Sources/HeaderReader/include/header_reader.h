#ifndef OUTRIDER_HEADER_READER_H
#define OUTRIDER_HEADER_READER_H

#include <stdint.h>

/* What a plugin of Outrider's own exports: it reads C headers with libclang, inside the walls. Its host calls these through the
   same calls as those of any other library, and believes nothing of what comes back. */

/* Parses `source` with `arguments`, one a line, by the libclang at the path `library`. Returns how many bytes its description has,
   or a negative number: outrider_header_problem says why. */
int64_t outrider_header_parse(const char *library, const char *arguments, const char *source);

/* Copies the description that the last parse made, at most `length` bytes of it. */
int32_t outrider_header_copy(void *target, uint64_t length);

/* Why the last parse failed. */
const char *outrider_header_problem(void);

#endif
