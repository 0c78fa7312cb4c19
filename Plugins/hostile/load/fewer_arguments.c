/* H117: the signature is right and the function isn't: garbage, in the child only. */
#include "../plugin.h"

static double takes_nothing(void) { return 0.5; }

EXTENSION(takes_nothing)
