/* For OutriderC alone; not installed. */
#ifndef OWN_PLACE_H
#define OWN_PLACE_H

/* The path that the shared object with this function was loaded by (dladdr(3)); NULL where it isn't known. */
const char *outrider_own_place(void);

#endif
