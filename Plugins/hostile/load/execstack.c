/* H114: wants an executable stack (linked with -z execstack). */
#include "../plugin.h"

EXTENSION(three_downloads)
