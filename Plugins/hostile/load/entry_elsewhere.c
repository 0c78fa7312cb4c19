/* H116: the entry symbol comes from a library that this one needs (libneighbour.so), not from itself. */
#include "hostile.h"

extern int neighbour_value(void);
EXPORT int uses_neighbour(void) { return neighbour_value(); }
