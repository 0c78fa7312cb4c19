/* The entry symbol comes from a library that this one needs (libneighbour.so), not from itself.
 *
 * H116: The message says that another library defines it.
 *   run
 *   expect loadFailed
 */
#include "hostile.h"

extern int neighbour_value(void);
EXPORT int uses_neighbour(void) { return neighbour_value(); }
