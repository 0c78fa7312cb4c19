/* H111: needs a symbol that no library has */
#include "hostile.h"
extern int32_t h111_defined_nowhere(void);
EXPORT int32_t ok(void) { return h111_defined_nowhere(); }
