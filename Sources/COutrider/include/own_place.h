/* For OutriderC alone; not installed. */
#ifndef OWN_PLACE_H
#define OWN_PLACE_H

/* The path that the shared object with this function was loaded by (dladdr(3)); NULL where it isn't known. */
const char *outrider_own_place(void);

/* From now on this process has threads of the library's, which a child of fork(2) won't have. */
void outrider_has_threads(void);

/* Whether this process was forked from one with such threads: nothing answers here, and locks may be held by threads that aren't. */
int outrider_was_forked(void);

#endif
