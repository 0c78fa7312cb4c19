#ifndef OUTRIDER_ARCHIVE_H
#define OUTRIDER_ARCHIVE_H

#include <archive.h>
#include <archive_entry.h>

/* Loads libarchive. NULL, or why it can't be: a sentence of dlerror(3), valid until this thread loads something else.
   Nothing of <archive.h> may be called before this has returned NULL once. From any thread, any number of times. */
const char *outrider_archive_load(void);

#endif
