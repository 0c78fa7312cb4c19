/* The signature is right and the function isn't: garbage, in the child only.
 *
 * H117: Garbage in the child only.
 *   run
 *   expect returned|crashed 0/0
 */
#include "plugin.h"

static double takes_nothing(void) { return 0.5; }

EXTENSION(takes_nothing)
