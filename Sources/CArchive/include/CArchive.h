#ifndef OUTRIDER_ARCHIVE_H
#define OUTRIDER_ARCHIVE_H

#include <archive.h>
#include <archive_entry.h>
#include <stdint.h>

/* Loads libarchive. NULL, or why it can't be: a sentence of dlerror(3), valid until this thread loads something else.
   Nothing of <archive.h> may be called before this has returned NULL once. From any thread, any number of times. */
const char *outrider_archive_load(void);

/* What of content is looked at, in bytes: `total`, and beyond `free` no more than `ratio` times what was read. */
struct outrider_gzip_limits {
    uint64_t total, free, ratio;
};

/* What is wrong with a gzip file whose checksums (RFC 1952) don't agree with what it has: libarchive doesn't compare them. NULL:
   nothing, it isn't gzip, or it has more than the limits. The text is a constant. From any thread. */
const char *outrider_gzip_error(int file, struct outrider_gzip_limits limits);

#endif
